package telemetry

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// The kinds of a sample. A histogram gives a bucket per edge (label le), a count and a
// sum, a summary a quantile per share (label quantile), a count and a sum.
const (
	Gauge    = "gauge"
	Counter  = "counter"
	Unknown  = "unknown"
	Bucket   = "bucket"
	Count    = "count"
	Sum      = "sum"
	Quantile = "quantile"
)

// The types of families that have several kinds of samples.
const (
	Histogram = "histogram"
	Summary   = "summary"
)

// What is taken of one page. A server that says more is cut, and that is said.
const (
	maxPage   = 16 << 20 // bytes
	maxSeries = 20_000   // sample lines
	maxLabels = 4 << 10  // bytes of one series' labels
)

// Page is what one exposition says.
type Page struct {
	Families []Family // by name
	Doubts   []string // what was left out, one line each; without figures, so that equal pages have equal doubts
}

// Family is a metric of a page.
type Family struct {
	Name   string  `json:"name"`
	Help   string  `json:"help,omitempty"`
	Unit   string  `json:"unit,omitempty"`
	Type   string  `json:"type"` // gauge, counter, histogram, summary, unknown
	Values []Value `json:"-"`
}

// Value is one sample of a family.
type Value struct {
	Labels string // a JSON object with its keys in order, "" for none
	Kind   string
	V      float64
}

// NotPrometheusError says that an answer is something else than a page of metrics.
type NotPrometheusError struct{ Reason string }

func (e *NotPrometheusError) Error() string { return e.Reason }

// Parse reads Prometheus' text format, and OpenMetrics as far as it is the same. A
// timestamp of the page is dropped, since it is of another clock; so are exemplars, and
// values that are not finite.
func Parse(body []byte) (*Page, error) {
	switch text := bytes.TrimSpace(body); {
	case len(body) > maxPage:
		return nil, &NotPrometheusError{fmt.Sprintf("the page is larger than %d MiB", maxPage>>20)}
	case len(text) == 0:
		return nil, &NotPrometheusError{"the page is empty"}
	case text[0] == '[' || text[0] == '{' && isObject(text):
		return nil, &NotPrometheusError{"the answer is JSON, not Prometheus text"}
	case text[0] == '<':
		return nil, &NotPrometheusError{"the answer is HTML, not Prometheus text"}
	}
	page := &Page{}
	plain, units := page.normal(body)
	byName, err := families(plain)
	if err != nil {
		var at expfmt.ParseError
		if errors.As(err, &at) {
			err = errors.New(at.Msg)
		}
		return nil, &NotPrometheusError{"the page is not Prometheus text: " + short(err.Error())}
	}
	for name, f := range byName {
		if strings.HasSuffix(name, "_created") { // when a series began, by another clock
			continue
		}
		page.Families = append(page.Families, page.family(f, units[name]))
	}
	slices.SortFunc(page.Families, func(a, b Family) int { return strings.Compare(a.Name, b.Name) })
	slices.Sort(page.Doubts)
	page.Doubts = slices.Compact(page.Doubts)
	return page, nil
}

// families is what expfmt reads of a page. expfmt panics at some malformed pages, such as
// a sample without a name behind a type: {}0.
func families(text []byte) (out map[string]*dto.MetricFamily, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("its labels or names are malformed")
		}
	}()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	return parser.TextToMetricFamilies(bytes.NewReader(text))
}

// isObject tells a JSON object from a sample whose name is quoted: {"name",label="x"} 1.
func isObject(text []byte) bool {
	rest := bytes.TrimSpace(text[1:])
	if len(rest) == 0 || rest[0] != '"' {
		return true
	}
	end := bytes.IndexByte(rest[1:], '"')
	return end < 0 || bytes.HasPrefix(bytes.TrimSpace(rest[end+2:]), []byte(":"))
}

// doubt says something of the page.
func (p *Page) doubt(line string) { p.Doubts = append(p.Doubts, line) }

// normal is the page in the form that expfmt reads, at most maxSeries samples of it, and
// the units that it names. What expfmt would stop at is left out.
func (p *Page) normal(body []byte) (out []byte, units map[string]string) {
	r := reading{
		page: p, units: map[string]string{}, types: map[string]string{}, helps: map[string]bool{},
		sampled: map[string]bool{}, out: make([]byte, 0, len(body)),
	}
	r.open = bytes.HasSuffix(bytes.TrimSpace(body), []byte("# EOF"))
	for line := range bytes.Lines(body) {
		line = bytes.TrimSpace(line)
		switch {
		case len(line) == 0:
		case line[0] == '#':
			r.comment(string(line))
		case !r.sample(line):
			return r.out, r.units
		}
	}
	return r.out, r.units
}

// reading is what normal knows of the lines before.
type reading struct {
	page    *Page
	open    bool // OpenMetrics
	out     []byte
	units   map[string]string
	types   map[string]string // by name
	helps   map[string]bool
	sampled map[string]bool
	last    string // name of the last sample
	samples int
}

// comment takes a line of help, type or unit.
func (r *reading) comment(line string) {
	words := strings.SplitN(line, " ", 4)
	if len(words) < 4 || words[0] != "#" {
		return
	}
	name, rest := words[2], words[3]
	switch words[1] {
	case "UNIT":
		r.units[name], r.units[name+"_total"] = rest, rest
	case "HELP":
		r.help(name, rest)
		if r.open { // a counter's samples have another name there
			r.help(name+"_total", rest)
		}
	case "TYPE":
		kind := strings.ToLower(strings.TrimSpace(rest))
		if !slices.Contains([]string{Gauge, Counter, Histogram, Summary}, kind) {
			kind = "untyped"
		}
		if r.open && kind == "counter" && !strings.HasSuffix(name, "_total") {
			name += "_total"
		}
		if r.types[name] != "" || r.sampled[name] {
			r.page.doubt("a TYPE line that is repeated or comes after the samples is ignored")
			return
		}
		r.types[name] = kind
		r.out = fmt.Appendf(r.out, "# TYPE %s %s\n", name, kind)
	}
}

func (r *reading) help(name, text string) {
	if !r.helps[name] {
		r.helps[name] = true
		r.out = fmt.Appendf(r.out, "# HELP %s %s\n", name, text)
	}
}

// sample takes a sample; false when there have been enough.
func (r *reading) sample(line []byte) bool {
	at, ok := valueAt(line)
	value, _, _ := bytes.Cut(bytes.TrimSpace(line[at:]), []byte(" "))
	f, err := strconv.ParseFloat(string(value), 64)
	name := nameOf(line)
	switch {
	case !ok, err != nil && !errors.Is(err, strconv.ErrRange), f < 0 && r.counts(name):
		r.page.doubt("lines that are not Prometheus text are left out")
		return true
	case at > maxLabels:
		r.page.doubt(fmt.Sprintf("series with more than %d KiB of labels are left out", maxLabels>>10))
		return true
	}
	if r.samples++; r.samples > maxSeries {
		r.page.doubt(fmt.Sprintf("only the first %d samples of the page are taken", maxSeries))
		return false
	}
	if name != r.last {
		r.last, r.sampled[name] = name, true
	}
	r.out = append(append(append(append(r.out, line[:at]...), ' '), value...), '\n')
	return true
}

// counts reports whether name is of a histogram's counts, which cannot be negative.
func (r *reading) counts(name string) bool {
	for _, end := range []string{"_bucket", "_count"} {
		if base, ok := strings.CutSuffix(name, end); ok && r.types[base] == Histogram {
			return true
		}
	}
	return false
}

// nameOf is the name at the head of a sample.
func nameOf(line []byte) string {
	if i := bytes.IndexAny(line, "{ \t"); i >= 0 {
		line = line[:i]
	}
	return string(line)
}

// valueAt is where the value of a sample begins: behind its name and labels.
func valueAt(line []byte) (at int, ok bool) {
	at = bytes.IndexAny(line, "{ \t")
	if at < 0 {
		return 0, false
	}
	if line[at] != '{' {
		return at, true
	}
	quoted := false
	for i := at + 1; i < len(line); i++ {
		switch c := line[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case c == '}' && !quoted:
			return i + 1, i+1 < len(line)
		}
	}
	return 0, false
}

// family is f as plain data.
func (p *Page) family(f *dto.MetricFamily, unit string) Family {
	out := Family{Name: f.GetName(), Help: f.GetHelp(), Unit: unit, Type: Unknown}
	seen := map[string]bool{}
	add := func(labels []*dto.LabelPair, kind string, v float64, extra ...string) {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return
		}
		text := labelText(labels, extra...)
		if seen[kind+text] {
			p.doubt("a series is repeated; its first sample is used")
			return
		}
		seen[kind+text] = true
		out.Values = append(out.Values, Value{text, kind, v})
	}
	for _, m := range f.GetMetric() {
		switch {
		case m.Counter != nil:
			out.Type = Counter
			add(m.Label, Counter, m.Counter.GetValue())
		case m.Gauge != nil:
			out.Type = Gauge
			add(m.Label, Gauge, m.Gauge.GetValue())
		case m.Untyped != nil:
			add(m.Label, Unknown, m.Untyped.GetValue())
		case m.Histogram != nil:
			out.Type = Histogram
			h := m.Histogram
			for _, b := range h.Bucket {
				add(m.Label, Bucket, max(float64(b.GetCumulativeCount()), b.GetCumulativeCountFloat()), "le",
					edge(b.GetUpperBound()))
			}
			add(m.Label, Count, max(float64(h.GetSampleCount()), h.GetSampleCountFloat()))
			add(m.Label, Sum, h.GetSampleSum())
		case m.Summary != nil:
			out.Type = Summary
			for _, q := range m.Summary.Quantile {
				add(m.Label, Quantile, q.GetValue(), "quantile", edge(q.GetQuantile()))
			}
			add(m.Label, Count, float64(m.Summary.GetSampleCount()))
			add(m.Label, Sum, m.Summary.GetSampleSum())
		}
	}
	if out.Unit == "" {
		out.Unit = unitOf(out.Name)
	}
	return out
}

// edge is the upper edge of a bucket as Prometheus writes it.
func edge(v float64) string {
	if math.IsInf(v, 1) {
		return "+Inf"
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// labelText is labels, and a pair more, as a JSON object; of a repeated name
// the first counts.
func labelText(labels []*dto.LabelPair, extra ...string) string {
	pairs := make([][2]string, 0, len(labels)+1)
	for _, l := range labels {
		pairs = append(pairs, [2]string{l.GetName(), l.GetValue()})
	}
	if len(extra) == 2 {
		pairs = append(pairs, [2]string{extra[0], extra[1]})
	}
	slices.SortStableFunc(pairs, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
	pairs = slices.CompactFunc(pairs, func(a, b [2]string) bool { return a[0] == b[0] })
	return Labels(pairs)
}

// units are what the end of a metric's name says about its unit, as AIPerf reads it, the
// longer ends first.
var units = []struct{ end, unit string }{
	{"_seconds", "seconds"},
	{"_milliseconds", "milliseconds"},
	{"_ms", "milliseconds"},
	{"_bytes", "bytes"},
	{"_tokens", "tokens"},
	{"_requests", "requests"},
	{"_reqs", "requests"},
	{"_errors", "errors"},
	{"_blocks", "blocks"},
	{"_ratio", "ratio"},
	{"_percent", "percent"},
	{"_perc", "ratio"},
	{"_celsius", "celsius"},
	{"_joules", "joules"},
	{"_watts", "watts"},
	{"_gb_s", "GB/s"},
}

// unitOf is the unit that a name ends with; "" where it names none.
func unitOf(name string) string {
	name = strings.TrimSuffix(name, "_total")
	for _, u := range units {
		if strings.HasSuffix(name, u.end) {
			return u.unit
		}
	}
	return ""
}

// short is a foreign text of at most 200 bytes, whole characters.
func short(s string) string {
	if len(s) > 200 {
		s = strings.ToValidUTF8(s[:200], "") + "…"
	}
	return s
}
