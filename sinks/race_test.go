//go:build race

package sinks_test

// raceEnabled tells whether the race detector is on.
const raceEnabled = true
