// Package receipt says what a run delivered: its load, its tokens, its data, who measured
// whom, and what each number means. Results of two runs are compared by their receipts
// first: Differences names what was not the same, and which metrics that can move.
//
// A receipt is filled from our tables or from what another tool wrote: New gives one in
// which everything is unknown, and Number, Text and Flag set fields by the names of Fields.
// What nobody told stays unknown, and the unknown equals nothing, not even itself.
package receipt
