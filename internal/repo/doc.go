// Package repo tests the repository itself: which room may import which, that
// every package says what it is, and that documents keep up with the code.
package repo
