// Package tokenizer counts, encodes and decodes text as a model would. In goes
// a name (a built-in encoding or a tokenizer.json), out comes a Tokenizer.
// Nothing is ever fetched from a network.
package tokenizer

// Tokenizer is safe for concurrent use.
type Tokenizer interface {
	Name() string
	// Encode appends the ids of text to dst.
	Encode(dst []int, text string) []int
	// Decode is the text of ids.
	Decode(ids []int) string
	// Count is len(Encode(nil, text)) without keeping the ids.
	Count(text string) int
}
