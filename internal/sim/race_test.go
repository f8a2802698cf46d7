//go:build race

package sim

// raced: the race detector makes plans ten times as slow, and finds in the single
// runs what it would find in many.
const raced = true
