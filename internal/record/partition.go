package record

// Parts is a set of the parts into which due requests fall: each request is in
// exactly one of them. Every count, ratio and word about how requests ended is a
// set of these.
type Parts uint8

// The parts.
const (
	InOK Parts = 1 << iota
	InFailed
	InCut
	InCancelled
	InUnsent

	Answered  = InOK | InFailed                // their end is known, and was nobody's wish
	WasSent   = Answered | InCut | InCancelled // the server got them
	Attempted = Answered | InCut | InUnsent    // what SLOs are about: all but what was cancelled as asked
	Due       = WasSent | InUnsent             // all
)

// PartRow is a part of the partition in words.
type PartRow struct {
	Part Parts
	Name string // in tables and on screens
	Doc  string
}

var partition = []PartRow{
	{InOK, "ok", "the whole answer came"},
	{InFailed, "failed", "the server, the way to it, or this program did not do what was asked"},
	{InCut, "cut", "it was still in flight when its phase or the run ended: it lasted at least until then"},
	{InCancelled, "cancelled", "it was ended on purpose, because the experiment asks for cancellations: neither a success nor an error"},
	{InUnsent, "unsent", "it was due but never sent, so its user got no answer, which is worse than any latency; `error_kind` has the reason"},
}

// Partition are the parts, in the order of their bits.
func Partition() []PartRow { return partition }

// Part is the part that a request with this status is in.
func (s Status) Part() Parts {
	switch s {
	case OK:
		return InOK
	case Cut:
		return InCut
	case Cancelled:
		return InCancelled
	case Unsent:
		return InUnsent
	}
	return InFailed
}

// Names are those of the parts of the set, in order.
func (p Parts) Names() (names []string) {
	for _, row := range partition {
		if p&row.Part != 0 {
			names = append(names, row.Name)
		}
	}
	return names
}

// Counts is how many requests are in each part.
type Counts struct{ OK, Failed, Cut, Cancelled, Unsent int64 }

// of are the counts in the order of the partition.
func (c *Counts) of() [5]*int64 {
	return [...]*int64{&c.OK, &c.Failed, &c.Cut, &c.Cancelled, &c.Unsent}
}

// Add counts n more requests of one part.
func (c *Counts) Add(part Parts, n int64) {
	for i, of := range c.of() {
		if part == 1<<i {
			*of += n
		}
	}
}

// Plus is the sum of both.
func (c Counts) Plus(d Counts) Counts {
	for i, of := range c.of() {
		*of += *d.of()[i]
	}
	return c
}

// In is how many are in any part of the set.
func (c Counts) In(set Parts) (n int64) {
	for i, of := range c.of() {
		if set&(1<<i) != 0 {
			n += *of
		}
	}
	return n
}
