package metrics

// Over says what kind of quantity a metric is when runs are repeated: how its
// trials are brought together, and what bounds it by nature.
type Over uint8

// The kinds. A distribution's statistics are levels, save the average of a share.
const (
	Level  Over = iota // positive: latency, throughput, rate; brought together on the log scale
	Signed             // either sign
	Share              // part of a whole, Per says of which
	Events             // how often something happened; a run that counted nothing has 0
)

// Full is the value of a share of everything: 100 where the unit is per cent.
func (m *Metric) Full() float64 {
	if m.Unit == "%" {
		return 100
	}
	return 1
}
