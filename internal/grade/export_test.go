package grade

// Pickled reads a pickle of one text.
var Pickled = pickled
