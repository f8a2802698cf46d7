package verdict

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/record"
)

// Sent at 0; first content in (30, 40] ms, last in (70, 100] ms, 4 tokens.
//
//	TTFT 30..40, latency 70..100, ITL (70−40)/3..(100−30)/3 = 10..23.3
func TestBothEndsOfBoundedStamps(t *testing.T) {
	t.Parallel()
	r := record.New()
	r.Status, r.Streamed, r.Sent, r.OSL = record.OK, true, 0, 4
	r.Chunks = []record.Chunk{
		{At: 5e6, Low: 5e6, Kind: record.Usage}, // not content
		{At: 40e6, Low: 30e6},
		{At: 40e6, Low: 30e6, SameRead: true},
		{At: 100e6, Low: 70e6, Kind: record.Tool},
		{At: 110e6, Low: 100e6, Kind: record.Done},
	}
	p := &PhaseEvidence{}
	for range 3 {
		p.bounds(&r)
	}
	var got []Bound
	for _, b := range p.Bounds() {
		if b.Stat == "p99" {
			got = append(got, b)
		}
	}
	want := []Bound{
		{"time_to_first_token", "p99", 30, 40}, {"request_latency", "p99", 70, 100}, // ITL: the answer came in several reads
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("bounds (-want +got):\n%s", diff)
	}
	for i := range r.Chunks {
		r.Chunks[i].Low = r.Chunks[i].At - 100 // less than the resolution of the stamps
	}
	exact := &PhaseEvidence{}
	exact.bounds(&r)
	for _, x := range exact.Bounds() {
		t.Errorf("%s %s is bounded by %v and %v although they are one value", x.Metric, x.Stat, x.Low, x.High)
	}
}

// summed are the statistics of records, as a run's table has them.
func summed(records []record.Record) func(tag string) (metrics.Stat, bool) {
	c := metrics.NewCollector(metrics.Options{Streaming: true, Tokens: true})
	for i := range records {
		c.Add(&records[i])
	}
	whole := c.Summaries()[0]
	return whole.Get
}

// nothingShown is a table without numbers.
func nothingShown(string) (metrics.Stat, bool) { return metrics.Stat{}, false }

// A cap that makes requests wait shows in words; a clean closed loop says nothing.
func TestNoticesInWords(t *testing.T) {
	t.Parallel()
	notes := func(spoil func(r *record.Record)) []Notice {
		w := clean()
		e := NewEvidence(w.result, w.host)
		for i := range w.records {
			if spoil != nil && i%10 == 0 {
				spoil(&w.records[i])
			}
			e.Add(&w.records[i])
		}
		e.sortSamples()
		return e.Notices(summed(w.records))
	}
	if n := notes(nil); len(n) != 0 {
		t.Errorf("a clean run has notices: %+v", n)
	}
	n := notes(func(r *record.Record) { r.Intended -= 500e6 })
	if len(n) != 0 {
		t.Errorf("a closed loop, where no schedule wanted anything: %+v", n)
	}
	w := clean()
	open(w)
	e := NewEvidence(w.result, w.host)
	for i := range w.records {
		if w.records[i].UsageCompletion = 32; i%10 == 0 {
			w.records[i].Intended -= 500e6
		}
		e.Add(&w.records[i])
	}
	e.sortSamples()
	said := e.Notices(summed(w.records))
	if len(said) != 3 || said[0].ID != "intended.time_to_first_token" ||
		!strings.Contains(said[1].Text, "99.9 ms from sending and 600 ms from schedule") ||
		!strings.Contains(said[2].Text, "100 % apart (median)") {
		t.Errorf("requests that waited 500 ms: %+v", said)
	}
	if !strings.Contains(said[1].Text, "requests waited for a slot") {
		t.Errorf("requests that waited: %s", said[1].Text)
	}
	p := e.Phases[0]
	p.Lateness, p.Wait = p.Wait, p.Lateness
	if said := e.Notices(summed(w.records)); !strings.Contains(said[1].Text,
		"this client sent late, by 500 ms (p99), so the second is too high") {
		t.Errorf("requests that this client sent late: %s", said[1].Text)
	}
	for i := range w.records[:20] { // of a hundred: more than p99 leaves out
		w.records[i].Status, w.records[i].Sent, w.records[i].InWindow, w.records[i].Measured = record.Unsent,
			record.None, false, true
	}
	if said := e.Notices(summed(w.records)); !strings.Contains(said[0].Text,
		"and ∞ from schedule: requests that were cut off or never sent count as infinite") || math.IsInf(said[0].Size, 0) {
		t.Errorf("arrivals that were never sent: %+v", said[0])
	}
	all := NoticeCounts{}
	all.Add([]Notice{{"a", "small", 1}, {"b", "other", 1}})
	all.Add([]Notice{{"a", "large", 2}})
	if diff := cmp.Diff([]string{"large (the worst of 2 runs)", "other"}, all.Lines()); diff != "" {
		t.Errorf("over runs (-want +got):\n%s", diff)
	}
}
