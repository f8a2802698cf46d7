//go:build race

package transport_test

// raceEnabled tells whether the race detector is on.
const raceEnabled = true
