package metrics

import "aiperf.dev/aiperf/internal/record"

// Counting is what a metric counts: how many requests are in a set of parts of the
// partition (record.Partition), or which share of another set they are.
type Counting struct {
	Of    record.Parts
	Good  bool         // of them only those that met every SLO
	Among record.Parts // 0: a count, and not a share
}

func (c Counting) given() bool { return c.Of != 0 }

// value is what t has of it.
func (c Counting) value(t *Totals, scale float64) float64 {
	n := float64(t.In(c.Of))
	if c.Among == 0 {
		return n
	}
	return scale * per(n, float64(t.In(c.Among)))
}

// complete gives metrics that count requests their formula, and AIPerf's beside it
// where its files count others.
func complete(rows []Metric) []Metric {
	for i := range rows {
		m := &rows[i]
		if m.Derived == nil && m.Counts.given() {
			m.Derived = func(t *Totals) float64 { return m.Counts.value(t, m.Full()) }
		}
		if m.theirs == nil && m.AIPerf.Counts.given() {
			m.theirs = func(t *Totals) float64 { return m.AIPerf.Counts.value(t, m.Full()) }
		}
	}
	return rows
}

// AIPerf counts what was cancelled as asked among the errors, and nowhere what was
// cut off or never sent.
const (
	theirErrors   = record.InFailed | record.InCancelled
	theirAttempts = record.InOK | theirErrors
)

// theirGoodShare is AIPerf's share of good requests.
func (t *Totals) theirGoodShare() float64 {
	return per(t.ifJudged(float64(t.GoodSent), true), float64(t.In(theirAttempts)))
}

// CountTags are the metrics that count the parts, one for each.
var CountTags = map[record.Parts]string{
	record.InOK: RequestCount, record.InFailed: ErrorRequestCount, record.InCut: CutRequestCount,
	record.InCancelled: CancelledRequestCount, record.InUnsent: UnsentRequestCount,
}

// In is how many requests of the summary are in a set of parts; 0 where it does not
// count them.
func (s *Summary) In(set record.Parts) (n float64) {
	if st, ok := s.Get(CompletedRequestCount); ok && set&record.Answered == record.Answered {
		n, set = st.Avg, set&^record.Answered
	}
	for part, tag := range CountTags {
		if st, ok := s.Get(tag); ok && set&part != 0 {
			n += st.Avg
		}
	}
	return n
}
