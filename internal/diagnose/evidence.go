package diagnose

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/telemetry"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/sinks"
)

// Evidence is what the tables say of the runs of a plan, as far as it is asked about.
type Evidence struct {
	runs   map[sinks.Place]*run
	checks map[int]map[string]string // by cell, then check: what a check that tripped says
	wrong  map[int]bool              // cells of which one of clientChecks makes a run INVALID
	plan   map[string]string         // the same of checks over the plan
	all    map[string]bool           // checks that were made at all
}

// run is one trial of a cell: figures by window, of the client and of each of the
// server's pages of metrics. A figure is named as an expression names it.
type run struct {
	client  map[string]map[string]float64            // by window
	sources map[string]map[string]map[string]float64 // by window, then page
}

// wanted are the statistics that facts are made of, by metric.
var wanted = func() map[string][]string {
	out := map[string][]string{}
	for _, tag := range []string{
		metrics.TimeToFirstToken, metrics.RequestLatency, metrics.InterTokenLatency, metrics.RequestThroughput,
		metrics.EffectiveConcurrency, metrics.RequestCount, metrics.ErrorRequestCount, metrics.CutRequestCount,
	} {
		out[tag] = []string{"avg"}
	}
	out[metrics.EffectiveConcurrency] = []string{"avg", "max"}
	out[cappedShare] = []string{"avg"}
	for word, stats := range map[string][]string{
		"running": {"avg", "p50", "max"}, "waiting": {"avg", "p50", "max"}, "kv_use": {"p50", "p90", "max"},
		"preemptions": {"sum"}, "generated_tokens": {"sum", "rate"},
		"prefix_hit_rate": {"avg"}, "queue_time": {"sum", "count"}, "prefill_time": {"sum", "count"},
		"decode_time": {"sum", "count"}, "ttft": {"sum", "count"}, "itl": {"sum", "count"}, "e2e": {"sum", "count"},
	} {
		out[server(word)] = stats
	}
	return out
}()

// server is the metric of a word of the vocabulary of servers.
func server(word string) string { return telemetry.Tag(word) }

// cappedShare is the metric of how long limits on power and heat held clocks down.
const cappedShare = "gpu_capped"

// looks is the name under which a page's figures have how often it was read.
const looks = "looks"

// Rows is the evidence of the rows of both tables.
func Rows(figures []sinks.MetricRow, checks []sinks.CheckRow) *Evidence {
	e := &Evidence{}
	for i := range figures {
		e.Metric(&figures[i])
	}
	for i := range checks {
		e.Check(&checks[i])
	}
	return e
}

// Metric takes a row of the table metrics.
func (e *Evidence) Metric(row *sinks.MetricRow) {
	if row.Level != "run" || !slices.Contains(wanted[row.Metric], row.Stat) {
		return
	}
	if e.runs == nil {
		e.runs = map[sinks.Place]*run{}
	}
	r := e.runs[row.Place]
	if r == nil {
		r = &run{map[string]map[string]float64{}, map[string]map[string]map[string]float64{}}
		e.runs[row.Place] = r
	}
	into := r.client
	key := row.Window
	if _, ours := metrics.Lookup(row.Metric); !ours && row.Metric != cappedShare {
		if r.sources[row.Window] == nil {
			r.sources[row.Window] = map[string]map[string]float64{}
		}
		into, key = r.sources[row.Window], row.Part
	}
	if into[key] == nil {
		into[key] = map[string]float64{}
	}
	into[key][row.Metric+"."+row.Stat] = row.Value
	if row.Metric == server("running") {
		into[key][looks] = float64(row.N)
	}
}

// Check takes a row of the table checks.
func (e *Evidence) Check(row *sinks.CheckRow) {
	if e.all == nil {
		e.all, e.plan, e.checks = map[string]bool{}, map[string]string{}, map[int]map[string]string{}
		e.wrong = map[int]bool{}
	}
	e.all[row.Check] = true
	if validity.OfSeverity(row.Severity) < validity.Degraded {
		return
	}
	if row.Place.Cell == sinks.All {
		e.plan[row.Check] = row.Detail
		return
	}
	if slices.Contains(clientChecks, row.Check) && validity.OfSeverity(row.Severity) == validity.Invalid {
		e.wrong[row.Place.Cell] = true
	}
	if e.checks[row.Place.Cell] == nil {
		e.checks[row.Place.Cell] = map[string]string{}
	}
	e.checks[row.Place.Cell][row.Check] = cmp.Or(e.checks[row.Place.Cell][row.Check], row.Detail)
}

// trial is one run as facts read it: over the steady window where both have it. Of
// several pages of metrics the one is taken whose server had most to do: what limits one
// replica limits those requests, and sums over a router and its workers would count
// twice.
type trial struct {
	client, server map[string]float64
	whole          *trial // over the whole run; nil where this is that
	pages          int
	share          float64 // of the requests, the server's
}

func (r *run) trial() trial {
	whole := r.over("full")
	if r.client["steady"] == nil || r.sources["steady"] == nil {
		return whole
	}
	t := r.over("steady")
	t.whole = &whole
	return t
}

// over are the figures of a window.
func (r *run) over(window string) trial {
	sources := r.sources[window]
	t := trial{client: r.client[window], pages: len(sources), share: 1}
	all := 0.0
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		s := sources[name]
		all += zero(s[server("e2e")+".count"])
		if t.server == nil || work(s) > work(t.server) {
			t.server = s
		}
	}
	if n := zero(t.server[server("e2e")+".count"]); t.pages > 1 && all > 0 {
		t.share = n / all
	}
	return t
}

// work is how much a server did.
func work(s map[string]float64) float64 {
	return cmp.Or(zero(s[server("e2e")+".count"]), zero(s[server("generated_tokens")+".sum"]),
		zero(s[server("running")+".avg"]))
}

func zero(v float64) float64 {
	if math.IsNaN(v) {
		return 0
	}
	return v
}

// of is a figure of the client, NaN where there is none.
func (t *trial) of(tag string) float64 { return value(t.client, tag+".avg") }

// says is a figure of the server, NaN where it does not say it.
func (t *trial) says(word, stat string) float64 { return value(t.server, server(word)+"."+stat) }

// each is the mean of a histogram of the server, in ms.
func (t *trial) each(word string) float64 {
	if n := t.says(word, "count"); n > 0 {
		return 1e3 * t.says(word, "sum") / n
	}
	return math.NaN()
}

// leastLooks is how often a page must be read in a run for what a gauge says to be of the
// run, and not of the moments before and behind it.
const leastLooks = 8

// gauge is a statistic of a gauge, NaN where the page was read too seldom.
func (t *trial) gauge(word, stat string) float64 {
	if !(t.server[looks] >= leastLooks) {
		return math.NaN()
	}
	return t.says(word, stat)
}

func value(of map[string]float64, name string) float64 {
	if v, ok := of[name]; ok {
		return v
	}
	return math.NaN()
}
