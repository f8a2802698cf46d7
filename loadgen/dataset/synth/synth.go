// Package synth makes what synthetic conversations consist of: numbers out of
// distributions, and texts of an exact number of tokens.
//
// A Stream gives the random numbers of one use, reached by index; Lengths and
// Pairs draw counts from it. A Corpus is text in pieces whose token counts are
// known; a Writer puts them together.
package synth
