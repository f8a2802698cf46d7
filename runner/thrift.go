package runner

import "runtime/debug"

// thriftPercent is how much garbage may pile up, in percent of what is in use,
// while results are written. Nothing is measured then, and what is in use is
// long lists of numbers, cheap to look through.
const thriftPercent = 25

// thrift lets less garbage pile up until the function it returns is called.
// A user's own lower limit (GOGC) stays.
func thrift() (end func()) {
	before := debug.SetGCPercent(thriftPercent)
	if before >= 0 && before < thriftPercent {
		debug.SetGCPercent(before)
	}
	return func() { debug.SetGCPercent(before) }
}
