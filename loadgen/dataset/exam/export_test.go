package exam

// Balanced is the choice of mmlu's examples.
var Balanced = balanced
