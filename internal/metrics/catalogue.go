package metrics

import (
	"math"
	"slices"

	"aiperf.dev/aiperf/internal/record"
)

// Group says in which table a metric is shown.
type Group string

// The groups, in the order the console shows them.
const (
	Main      Group = "main"      // the headline table
	Hidden    Group = "hidden"    // in files only
	Usage     Group = "usage"     // what the server claimed
	HTTP      Group = "http"      // where a request's time went on the wire
	Effective Group = "effective" // time-weighted over the window
	Active    Group = "active"    // the same, over the time with such requests
	Adjusted  Group = "adjusted"  // failures counted as infinitely slow
	Trust     Group = "trust"     // as the schedule saw it
)

// words head the groups in docs and on the screen.
var words = map[Group]string{
	Main: "in the headline table", Hidden: "in files only", Usage: "what the server claims",
	HTTP:      "where the time went on the wire",
	Effective: "weighted by time", Active: "over the time in which something was active",
	Adjusted: "failures counted as infinitely slow",
	Trust:    "as the schedule saw it",
}

// Words say what the metrics of the group have in common.
func (g Group) Words() string { return words[g] }

// Needs is a set of properties a run must have for a metric to be computed.
type Needs uint8

// The properties.
const (
	Streaming   Needs = 1 << iota // answers are event streams
	Tokens                        // the endpoint type produces tokens
	ClientCount                   // headline counts are the client's own
	FailedOnly                    // reads failed records instead of successful ones
	Limits                        // SLOs are set
	Answers                       // some requests are questions with known answers
)

// Words are the properties, one by one.
func (n Needs) Words() (out []string) {
	for i, word := range []string{
		"streaming", "an endpoint with tokens", "client-side counts", "failed requests",
		"SLOs", "questions with known answers",
	} {
		if n&(1<<i) != 0 {
			out = append(out, word)
		}
	}
	return out
}

// Basis is a set of things that metrics rest on. A check of the verdict says which
// of them it touches.
type Basis uint8

// What metrics rest on.
const (
	FirstToken    Basis = 1 << iota // when the first content came
	WholeAnswer                     // when the last content came
	Gaps                            // the time between contents
	SinceIntended                   // when a request was due
	PerSecond                       // how much was done in the window
	InFlight                        // how many requests were under way
	TokenCounts                     // how many tokens were produced
	Outcomes                        // which part of the requests ended how
)

// Resting are the tags of the metrics that rest on one of these.
func Resting(on Basis) (tags []string) {
	for i := range catalogue {
		if catalogue[i].Rests&on != 0 {
			tags = append(tags, catalogue[i].Tag)
		}
	}
	return slices.Clip(tags)
}

// Heading is a column that tables of cells have for a metric.
type Heading struct {
	Place  int    // among the columns
	Stat   string // "p99"
	Wide   bool   // only where there is room for it: not on a terminal
	Beside string // left out where this metric is told, which says more,
	Narrow bool   // in tables without room only
}

// Place says where AIPerf's own files have a metric.
type Place struct {
	// its rank among those that stand before the run's own members in the JSON; 0: it stands after them
	Head    int
	RunOnly bool     // told for a whole run only: not of one request, nor of a slice of time
	Unknown bool     // AIPerf has no such metric: it is in the summaries, not in the lines of requests
	NoZero  bool     // a counter that is left out where it counted nothing
	Failing bool     // left out where nothing failed
	Ours    bool     // not in its files at all
	Counts  Counting // of requests, where it counts others than we do
}

// Metric is one row of the catalogue. Exactly one of Record, List, Derived,
// Spans and Of says how it is computed, save that a Derived metric may also
// have a Record that says what one request contributes, or Spans that it is
// read from.
type Metric struct {
	Tag    string
	Header string // without unit
	Unit   string // display unit
	// Formula says how it is computed, from stamps and other tags.
	Formula string
	// Elsewhere says what other tools call it, or mean by the same word.
	Elsewhere string
	// Short is what a heading and a line call it: "TTFT"; "": the header.
	Short string
	// Spoken are the short forms that people type.
	Spoken []string
	// Headings are its columns in tables of cells.
	Headings []Heading
	// Rests is what the metric rests on: what makes that doubtful makes it so.
	Rests Basis
	Group Group
	Order int // within the group's table
	Needs Needs
	// LargerIsBetter turns the comparison of an SLO around.
	LargerIsBetter bool
	Neutral        bool     // describes the work or the load: neither more nor less of it is better
	Int            bool     // per-request values are whole numbers
	Over           Over     // how trials are brought together
	Counts         Counting // of requests: of which parts of them
	Per            string   // of a share of something else: the tag that counts the whole; "": the values themselves
	AIPerf         Place

	Record func(*record.Record) float64 // one value per request, NaN when absent
	// of a Record that runs from sending: from when the request was due
	Due     func(*record.Record) float64
	List    func(*record.Record, []float64) []float64 // appends several values per request
	Derived func(*Totals) float64                     // one value per run
	Spans   span                                      // a level over time
	Active  bool                                      // only the time in which a request brings the level about
	Of      string                                    // error-adjusted form of this tag

	undecided func(*Totals) float64 // of good requests: how much is not known
	theirs    func(*Totals) float64 // Derived by AIPerf's definition, where that is another
}

// Distribution reports whether the metric has percentiles.
func (m *Metric) Distribution() bool { return m.Derived == nil }

// Better says which way the metric is better, in one word: "higher", "lower", "neither", or
// "nearer 0" for one that has a sign.
func (m *Metric) Better() string {
	switch {
	case m.Neutral:
		return "neither"
	case m.Over == Signed:
		return "nearer 0"
	case m.LargerIsBetter:
		return "higher"
	}
	return "lower"
}

// PerRequest reports whether one request has a value, so that an SLO can be set on it.
func (m *Metric) PerRequest() bool { return m.Record != nil && m.Needs&FailedOnly == 0 }

// parted reports whether its mean in the steady window is over parts of requests: of
// lengths, so that rate × mean length is tokens per second.
func (m *Metric) parted() bool { return m.Record != nil && m.Unit == "tokens" }

// residence reports whether its mean in the steady window is the time that requests spent
// there for each that was delivered there, so that rate × mean latency is in flight.
func (m *Metric) residence() bool { return m.Tag == RequestLatency }

// correlated reports whether the effective sample size is worth its price: for
// times and rates, not for counts and shares of them.
func (m *Metric) correlated() bool {
	return m.Record != nil && !m.Int && m.Group != HTTP && m.Group != Usage
}

func since(from, to func(*record.Record) int64) func(*record.Record) float64 {
	return func(r *record.Record) float64 { return spanMS(from(r), to(r)) }
}

// The stamps, for since.
func intended(r *record.Record) int64  { return r.Intended }
func sent(r *record.Record) int64      { return r.Sent }
func writeEnd(r *record.Record) int64  { return r.WriteEnd }
func firstByte(r *record.Record) int64 { return r.FirstByte }
func end(r *record.Record) int64       { return r.End }

func total(tag string) func(*Totals) float64 {
	return func(t *Totals) float64 { return t.Sum(tag) }
}

// catalogue is every metric there is, in the order of the tables. To add one, add its literal to its
// family, in catalogue_….go, and its case to TestRecompute. It has no room behind its end, so that whoever
// appends to it has a copy: runs are written beside each other.
var catalogue = slices.Clip(complete(slices.Concat(requestMetrics, fullMetrics, normalizedMetrics, mediaMetrics,
	runMetrics, scheduleMetrics, usageMetrics, wireMetrics, levelMetrics, adjustedMetrics)))

// Catalogue is every metric, in table order. The slice must not be changed.
func Catalogue() []Metric { return catalogue }

// Tags are the tags of the catalogue, in its order.
func Tags() []string {
	tags := make([]string, len(catalogue))
	for i := range catalogue {
		tags[i] = catalogue[i].Tag
	}
	return tags
}

// Lookup finds a metric by tag.
func Lookup(tag string) (*Metric, bool) {
	if i := position(tag); i >= 0 {
		return &catalogue[i], true
	}
	return nil, false
}

// position is the place of a tag in the catalogue, -1 when it has none.
func position(tag string) int {
	for i := range catalogue {
		if catalogue[i].Tag == tag {
			return i
		}
	}
	return -1
}

// chunkLatency is the metric whose values are gaps between content events.
const chunkLatency = InterChunkLatency

// Stats are the names of the statistics the metric has, as tables and gates
// spell them.
func (m *Metric) Stats() []string {
	switch {
	case m.Derived != nil:
		return []string{"avg"}
	case m.Spans != noSpan:
		return []string{"avg", "min", "max", "std", "p50", "p90", "p95", "p99"}
	case m.Of != "":
		return []string{"count", "min", "p1", "p5", "p10", "p25", "p50", "p75", "p90", "p95", "p99", "p999", "max"}
	}
	return StatNames()
}

// StatNames are the statistics a full distribution has.
func StatNames() []string {
	return []string{
		"avg", "min", "max", "sum", "std", "count", "p1", "p5", "p10", "p25", "p50",
		"p75", "p90", "p95", "p99", "p999", "n_effective",
	}
}

// per is a/b, NaN when b is not positive.
func per(a, b float64) float64 {
	if !(b > 0) {
		return math.NaN()
	}
	return a / b
}
