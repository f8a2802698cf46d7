package mockserver

// words are the vocabulary of every answer. Each is one token of o200k_base,
// and so is each when they are strung together, so that a client that counts
// the text finds exactly the tokens the server made.
var words = [...]string{
	" the", " of", " and", " to", " in", " is", " that", " it", " was", " for", " on", " are", " as", " with", " his",
	" they",
	" at", " be", " this", " have", " from", " or", " one", " had", " by", " word", " but", " not", " what", " all",
	" were", " we",
	" when", " your", " can", " said", " there", " use", " an", " each", " which", " she",
	" do", " how", " their", " if", " will", " up",
}

// text appends tokens from..to of an answer. Answers begin at different words,
// so that they differ.
func text(b []byte, n int64, from, to int) []byte {
	for i := from; i < to; i++ {
		b = append(b, words[(int(n)+i)%len(words)]...)
	}
	return b
}
