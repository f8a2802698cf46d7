package loadgen

import "time"

// constant arrives every 1/rate, first after one gap: arrival i is due when
// i requests have become due in operational time.
type constant struct {
	pace pace
	i    int64
}

func (c *constant) Next() (time.Duration, bool) {
	c.i++
	return c.pace.at(float64(c.i)), true
}
