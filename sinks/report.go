package sinks

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/sweep"
)

// Report is what a person is told about a finished plan, in one place for the
// console, Markdown and JSON.
type Report struct {
	Plan    *sweep.Plan
	Results *sweep.Results
	Verdict string
	Doubts  []Doubt // checks that are not clean, worst first
	Elapsed time.Duration
	Dir     string
	Stopped string // why the plan ended early; "" if it did not

	// One run, when the plan is a single one.
	Full, Steady *metrics.Summary
	Client       string // what the client itself used: "client 11 % of 2 cores · lag p99 0.09 ms"
	Asked        string // what was asked for, where it can be compared: "asked 64"

	Errors  []ErrorCount // most frequent first
	Sent    int64        // over all runs
	Failed  int64
	Notices []string // one line each, said once
}

// Doubt is one check of the verdict that is not clean, over all runs.
type Doubt struct {
	Verdict, Check, Detail, Try string
	Runs                        int // how many say so
}

// ErrorCount is one kind of failure with the server's own words.
type ErrorCount struct {
	Kind, Message string
	Count         int64
}

// WriteConsole prints the report for a terminal: 80 columns, plain text.
func (r *Report) WriteConsole(w io.Writer) error {
	var b strings.Builder
	r.head(&b)
	b.WriteByte('\n')
	if r.Full != nil {
		r.single(&b)
		r.gates(&b)
	} else {
		r.matrix(&b)
	}
	r.problems(&b)
	fmt.Fprintf(&b, "\n%s/   %s\n", r.Dir, r.files())
	_, err := io.WriteString(w, b.String())
	return err
}

// head is the verdict with what it is about.
func (r *Report) head(b *strings.Builder) {
	parts := []string{}
	if r.Full != nil {
		if r.Client != "" {
			parts = append(parts, r.Client)
		}
	} else {
		parts = append(parts, fmt.Sprintf("%s × %s", plural(len(r.Plan.Cells), "cell"), plural(r.Plan.Trials, "trial")), elapsed(r.Elapsed))
	}
	if n := len(r.Doubts); n > 0 && r.Full == nil {
		parts = append(parts, plural(n, "check")+" not clean (aiperf checks DIR)")
	}
	fmt.Fprintf(b, "%s   %s\n", r.Verdict, strings.Join(parts, " · "))
	for i, d := range r.Doubts {
		if i == maxDoubts {
			fmt.Fprintf(b, "  … and %d more: aiperf checks %s\n", len(r.Doubts)-maxDoubts, r.Dir)
			break
		}
		in := ""
		if d.Runs > 1 {
			in = fmt.Sprintf(" (%d runs)", d.Runs)
		}
		wrapped(b, "  "+d.Verdict+" "+d.Check+": ", d.Detail+in)
		if d.Verdict == "INVALID" && d.Try != "" {
			wrapped(b, "    try: ", d.Try)
		}
	}
	if r.Stopped != "" {
		fmt.Fprintf(b, "PARTIAL: %s; --resume measures the rest\n", r.Stopped)
	}
}

// What a screen holds; summary.md has all.
const (
	maxDoubts  = 5
	maxNotices = 2
)

// problems are errors and notices.
func (r *Report) problems(b *strings.Builder) {
	if r.Sent > 0 && (r.Failed > 0 || r.Full != nil) {
		fmt.Fprintf(b, "%-17s%s of %s\n", "Errors", grouped(float64(r.Failed)), grouped(float64(r.Sent)))
	}
	for i, e := range r.Errors {
		if i == 3 {
			break
		}
		wrapped(b, fmt.Sprintf("  %s× %s: ", grouped(float64(e.Count)), e.Kind), clip(e.Message, 200))
	}
	for i, n := range r.Notices {
		if i == maxNotices {
			fmt.Fprintf(b, "note: %d more in summary.md\n", len(r.Notices)-maxNotices)
			break
		}
		wrapped(b, "note: ", n)
	}
}

func (r *Report) files() string {
	if r.Full != nil {
		return "requests.parquet · profile_export_aiperf.json · summary.md"
	}
	return "summary.md · *.parquet · *.arrow · *.csv"
}

// row is one line of the report on a single run.
type row struct {
	name, tag string
	always    bool // shown although the from-intended twin says the same
}

// rows are the distributions people look at first.
var rows = []row{
	{"TTFT", "time_to_first_token", true},
	{"TTFT from intended", "time_to_first_token_from_intended", false},
	{"TTFO", "time_to_first_output_token", false},
	{"ITL", "inter_token_latency", true},
	{"Request latency", "request_latency", true},
	{"Latency from intended", "request_latency_from_intended", false},
	{"Output tok/s/user", "output_token_throughput_per_user", true},
}

// single is the report on one run.
func (r *Report) single(b *strings.Builder) {
	latency, ok := r.Full.Get("request_latency")
	if !ok {
		return
	}
	about := fmt.Sprintf("n=%s", grouped(float64(latency.Count)))
	if r.Steady != nil {
		about += ", steady beside it"
	}
	fmt.Fprintf(b, "%-22s%12s%12s%12s   %s\n", "", "p50", "p90", "p99", about)
	for _, x := range rows {
		s, ok := r.Full.Get(x.tag)
		if !ok || !x.always && r.redundant(x.tag, s) {
			continue
		}
		unit := s.Unit
		if unit != "ms" {
			unit = ""
		}
		p99 := amount(s.P99, unit)
		if !stats.Certified(0.99, s.NEff) {
			p99 += " ?"
		}
		fmt.Fprintf(b, "%-22s%12s%12s%12s%s\n", x.name, amount(s.P50, unit), amount(s.P90, unit), p99, r.beside(x.tag, unit))
	}
	r.rates(b)
	if n := latency.NEff; !stats.Certified(0.99, n) {
		fmt.Fprintf(b, "?: n too small for p99 (need %d, effective n is %.0f)\n", stats.Floor(0.99), n)
	}
}

// beside is the steady window's median, when it differs by more than 2 %.
func (r *Report) beside(tag, unit string) string {
	if r.Steady == nil {
		return ""
	}
	full, _ := r.Full.Get(tag)
	s, ok := r.Steady.Get(tag)
	if !ok || math.Abs(s.P50/full.P50-1) < 0.02 {
		return ""
	}
	return "   steady p50 " + amount(s.P50, unit)
}

// redundant tells whether a row says nothing that its twin has not said: they
// are within 5 % at p99.
func (r *Report) redundant(tag string, s metrics.Stat) bool {
	twin := map[string]string{
		"time_to_first_token_from_intended": "time_to_first_token", "time_to_first_output_token": "time_to_first_token",
		"request_latency_from_intended": "request_latency",
	}[tag]
	t, ok := r.Full.Get(twin)
	return ok && math.Abs(s.P99/t.P99-1) <= 0.05
}

// rates are the scalars, with goodput when SLOs are set.
func (r *Report) rates(b *strings.Builder) {
	scalar := func(tag string) (float64, bool) {
		s, ok := r.Full.Get(tag)
		return s.Avg, ok && !math.IsNaN(s.Avg)
	}
	var parts []string
	if v, ok := scalar("output_token_throughput"); ok {
		parts = append(parts, grouped(v)+" out tok/s")
	}
	if v, ok := scalar("request_throughput"); ok {
		parts = append(parts, grouped(v)+" req/s")
	}
	if v, ok := scalar("output_sequence_length"); ok {
		osl := "OSL " + grouped(v)
		if r.Asked != "" {
			osl += " (" + r.Asked + ")"
		}
		parts = append(parts, osl)
	}
	if v, ok := scalar("input_sequence_length"); ok {
		parts = append(parts, "ISL "+grouped(v))
	}
	fmt.Fprintf(b, "%-17s%s\n", "Throughput", strings.Join(parts, "   "))
	if g, ok := scalar("goodput"); ok {
		share, _ := scalar("good_request_fraction")
		fmt.Fprintf(b, "%-17s%s req/s (%s)\n", "Goodput", grouped(g), percentage(share))
	}
}
