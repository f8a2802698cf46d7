//go:build !race

// Package race tells tests whether the race detector is on: it allocates and takes
// time by itself, so what counts allocations or CPU says nothing beside it.
package race

// Enabled reports whether the race detector is on.
const Enabled = false
