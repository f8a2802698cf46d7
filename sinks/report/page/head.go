package page

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/internal/secret"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sinks/report/chart"
	"aiperf.dev/aiperf/sinks/report/chart/draw"
)

// told is the small line above the answer: the experiment, the model, the servers, the
// day and how long it took.
func (p *Page) told(d *chart.Data) {
	kinds, servers := asked(d)
	model := strings.Join(slices.DeleteFunc(append([]string{words.Clip(d.Model, serverLong)}, kinds...),
		func(s string) bool { return s == "" }), " · ")
	when := d.Day()
	if d.Took > 0 && when != "" {
		when += " · " + words.Span(d.Took)
	}
	for _, text := range []string{d.Name, model, few(servers), when} {
		if text != "" {
			p.Told = append(p.Told, text)
		}
	}
}

// serversMost is how many servers the head names.
const serversMost = 3

// serverLong is how many characters of an address, or of a name, the head has room for.
const serverLong = 120

func few(list []string) string {
	if n := len(list) - serversMost; n > 0 {
		return strings.Join(list[:serversMost], " · ") + " · " + words.Count(n, "more server")
	}
	return strings.Join(list, " · ")
}

// asked is which API of which servers the cells ask, each server behind its name in a
// comparison. What may be secret in an address is masked, whatever the file says.
func asked(d *chart.Data) (kinds, servers []string) {
	add := func(to *[]string, text string) {
		if text = words.Clip(text, serverLong); text != "" && !slices.Contains(*to, text) {
			*to = append(*to, text)
		}
	}
	systems, named := systems(d), map[string][]string{}
	for _, dir := range d.Dirs {
		b, err := os.ReadFile(filepath.Join(dir, resultdir.ResolvedName))
		if err != nil {
			continue // another program's, or an older one's
		}
		var doc struct {
			Cells []struct {
				ID        string
				Benchmark struct {
					Endpoint struct {
						Type      string
						URLs      []string
						Streaming bool
					}
				}
			}
		}
		if json.Unmarshal(b, &doc) != nil {
			continue
		}
		for _, c := range doc.Cells {
			e := c.Benchmark.Endpoint
			kind := e.Type
			if e.Streaming {
				kind += ", streaming"
			}
			add(&kinds, kind)
			for _, u := range e.URLs {
				shown := words.Clip(secret.URL(u), serverLong)
				add(&servers, shown)
				if name := systems[[2]string{dir, c.ID}]; name != "" && name != u && name != shown &&
					!slices.Contains(named[shown], name) {
					named[shown] = append(named[shown], name)
				}
			}
		}
	}
	for i, s := range servers {
		if len(servers) > 1 && len(named[s]) == 1 {
			servers[i] = named[s][0] + " " + s
		}
	}
	return kinds, servers
}

// systems are the names by which a comparison tells systems apart, by the directory and the
// identity of their cells.
func systems(d *chart.Data) map[[2]string]string {
	out := map[[2]string]string{}
	for _, c := range d.Cells {
		out[[2]string{c.Dir, c.ID}] = words.Clip(d.System(c), serverLong)
	}
	return out
}

// tiles are the figures of the head: what changed between two systems, or those of the
// cell that the answer names, or their range, and how many requests failed.
func (p *Page) tiles(d *chart.Data, errs []failed) {
	if d.AllFailed() { // the answer says so
		return
	}
	switch changes := d.Changes(); {
	case len(changes) > 0:
		p.changed(changes)
	case len(d.Tiers()) > 0:
		p.limited(d)
	default:
		p.figures(d)
	}
	p.Tiles = append(p.Tiles, errorsTile(d, errs))
}

// errorsTile is how many requests failed, how that changed between two systems, or at the
// load that the answer of a search names: above it requests are meant to fail.
func errorsTile(d *chart.Data, errs []failed) Tile {
	failing := failing(errs)
	t := Tile{"Errors", words.Whole(failing), "of " + words.Count(d.Requests.Total, "request"), ""}
	if failing > 0 {
		t.Class = "bad"
	}
	other := func(c chart.Change) bool { return c.Metric != errorsName }
	if list := slices.DeleteFunc(slices.Clone(d.Changes()), other); len(list) > 0 {
		if change := ofMetric(list); change.Class != "" {
			return Tile{t.Label, change.Value, t.Value + " " + t.Note, change.Class}
		}
	}
	if held := d.Held(); held != nil {
		if s := d.Get(held, metrics.ErrorRate, "avg"); !math.IsNaN(s.Value) {
			t.Value, t.Note, t.Class = joinedUnit(words.Number(percent(s.Value))+" %"), "at "+d.Label(held), ""
			if s.Value > 0 {
				t.Class = "bad"
			}
		}
	}
	return t
}

// errorsName is what changes of the share of failed requests are called.
var errorsName = metrics.Series(metrics.ErrorRate, "")

// changedMost is how many metrics have a tile.
const changedMost = 3

// changed is a tile a metric: its change, or the range of it over the workloads.
func (p *Page) changed(list []chart.Change) {
	for i := 0; i < len(list) && len(p.Tiles) < changedMost; {
		n := i + 1
		for n < len(list) && list[n].Metric == list[i].Metric {
			n++
		}
		if list[i].Metric != errorsName { // they have a tile of their own
			p.Tiles = append(p.Tiles, ofMetric(list[i:n]))
		}
		i = n
	}
}

// ofMetric is the tile of one metric, whose changes these are, a workload each.
func ofMetric(list []chart.Change) Tile {
	t := Tile{Label: list[0].Metric, Value: "–", Note: list[0].Instead}
	low, high, better, worse, equal, found, open := math.Inf(1), math.Inf(-1), 0, 0, 0, 0, 0
	within := ""
	for k := range list {
		c := &list[k]
		if math.IsNaN(c.Value) {
			open++
			continue
		}
		low, high = min(low, c.Value), max(high, c.Value)
		if c.Equal() {
			equal++
			if within == "" || c.Found() && found == 0 {
				within = c.Within
			}
			if c.Found() {
				found++
			}
		}
		switch c.Ink() {
		case draw.Good:
			better++
		case draw.Bad:
			worse++
		}
	}
	if low > high {
		if len(list) == 1 {
			t.Note = joined(t.Note, list[0].Values)
		}
		return t
	}
	size := func(v float64) string { return (&chart.Change{Value: v, Points: list[0].Points}).Size() }
	t.Value, t.Note = size(low), "not decided yet"
	if a, b := size(low), size(high); a != b {
		number, _, _ := strings.Cut(a, " ")
		t.Value = number + " to " + b
	}
	t.Value = joinedUnit(t.Value)
	in := func(part int) string {
		if len(list) == 1 {
			return ""
		}
		return " in " + words.Whole(part) + " of " + words.Count(len(list), "workload")
	}
	switch margin := list[0].Margin; {
	case equal > 0 && equal+open == len(list):
		t.Note = fmt.Sprintf("equal within %.2g %%", 100*margin)
		if found > 0 {
			t.Note = fmt.Sprintf("changed, within the margin of %.2g %%", 100*margin)
		}
		if within != "" { // as the sentence of the comparison says it
			t.Note = within
		}
		if open > 0 {
			t.Note += in(equal)
		}
	case better > 0 && worse > 0:
		t.Note = words.Count(better, "workload") + " better, " + words.Whole(worse) + " worse"
	case better > 0:
		t.Note, t.Class = "better"+in(better), "good"
	case worse > 0:
		t.Note, t.Class = "worse"+in(worse), "bad"
	}
	if len(list) == 1 {
		t.Note = joined(t.Note, list[0].Values)
	}
	return t
}

// joined is a remark with the values that it is about.
func joined(note, values string) string {
	return joinedUnit(strings.TrimPrefix(strings.TrimSuffix(note+" · "+values, " · "), " · "))
}

// limited is a tile for each of several limits: the load that holds, and the one that fails.
func (p *Page) limited(d *chart.Data) {
	for _, t := range d.Tiers() {
		if len(p.Tiles) == changedMost {
			return
		}
		tile := Tile{Label: t.Name, Value: "–", Note: "no load holds"}
		if t.Holds != nil {
			tile.Value, tile.Note = d.Label(t.Holds), "holds; no higher load fails"
		}
		if t.Holds != nil && t.Fails != nil {
			tile.Note = "holds; " + d.Label(t.Fails) + " fails"
		}
		p.Tiles = append(p.Tiles, tile)
	}
}

// figures are those of the only cell, of the one that is best for throughput, or the
// range over all cells.
func (p *Page) figures(d *chart.Data) {
	of := d.Cells
	if i := slices.IndexFunc(of, func(c *chart.Cell) bool {
		return slices.ContainsFunc(objectives(c),
			isThroughput)
	}); i >= 0 {
		of = of[i : i+1]
	}
	if held := d.Held(); held != nil { // the load that the answer names
		of = []*chart.Cell{held}
	}
	for _, m := range []figured{
		{"Output", metrics.OutputTokenThroughput, "avg", "tok/s"},
		{"Throughput", metrics.RequestThroughput, "avg", "req/s"},
		{"Right answers", metrics.Accuracy, "avg", "%"},
		{metrics.Series(metrics.TimeToFirstToken, "p50"), metrics.TimeToFirstToken, "p50", "ms"},
		{metrics.Series(metrics.InterTokenLatency, "p50"), metrics.InterTokenLatency, "p50", "ms"},
		{metrics.Series(metrics.RequestLatency, "p50"), metrics.RequestLatency, "p50", "ms"},
	} {
		if len(p.Tiles) == changedMost || m.tag == metrics.RequestThroughput && len(p.Tiles) > 0 {
			continue
		}
		if t, ok := m.tile(d, of); ok {
			p.Tiles = append(p.Tiles, t)
		}
	}
}

// figured is a figure that has a tile.
type figured struct{ label, tag, stat, unit string }

// tile shows the figure of some cells, if any of them has it.
func (m figured) tile(d *chart.Data, of []*chart.Cell) (Tile, bool) {
	if m.tag == metrics.Accuracy { // whether answers stay right is a question of all loads
		of = d.Cells
	}
	low, high, n, doubtful, taint, wrong := math.Inf(1), math.Inf(-1), 0, 0, "", false
	for _, c := range of {
		s := d.Get(c, m.tag, m.stat)
		if math.IsNaN(s.Value) || math.IsInf(s.Value, 0) ||
			m.tag == metrics.InterTokenLatency && s.Value == 0 { // all tokens came at once: no gap was seen
			continue
		}
		if m.unit == "%" {
			s.Value *= 100
		}
		n++
		low, high = min(low, s.Value), max(high, s.Value)
		if s.Taint != "" {
			doubtful++
			is := validity.ParseTaint(s.Taint)
			taint, wrong = is.Sentence(), is.Level == validity.Wrong
		}
	}
	if n == 0 {
		return Tile{}, false
	}
	t := Tile{Label: m.label, Value: words.Amount(low, m.unit)}
	switch a, b := words.Number(low), words.Number(high); {
	case a != b:
		t.Value = a + " to " + b + " " + m.unit
		t.Note = "over " + words.Count(n, "cell")
	case len(d.Cells) > 1 && len(of) == 1:
		t.Note = "at " + d.Label(of[0])
	default:
		t.Note = spread(d, of[0], m.tag, m.stat)
	}
	switch t.Value = joinedUnit(t.Value); {
	case doubtful > 0 && n == 1:
		t.Class, t.Note = "warn", taint
		if wrong {
			t.Class = "bad"
		}
	case doubtful == n:
		t.Class, t.Note = "warn", t.Note+", all in doubt"
	case doubtful > 0:
		t.Note += ", " + words.Whole(doubtful) + " in doubt"
	}
	return t, true
}

var (
	ends       = regexp.MustCompile(`\[([^][, ]+), ([^][, ]+)\]`)
	percentile = regexp.MustCompile(` (p[0-9]+(?:\.[0-9]+)?\b)`)
)

// joinedUnit keeps a number and its unit on one line, a percentile and what it is of, and the
// ends of an interval, and no line begins with a dot.
func joinedUnit(text string) string {
	text = strings.NewReplacer(" · ", "\u00a0· ", " %", "\u00a0%", " ms", "\u00a0ms", " tok/s",
		"\u00a0tok/s", " req/s", "\u00a0req/s").Replace(text)
	text = ends.ReplaceAllString(text, "[$1,\u00a0$2]")
	return percentile.ReplaceAllString(text, "\u00a0$1")
}

func isThroughput(objective string) bool {
	return strings.HasPrefix(strings.TrimSpace(objective), "throughput") && !strings.HasSuffix(objective, withoutLimits)
}

// spread is the highest percentile that a cell supports beside a median, or the interval
// of a mean; beside tokens a second that have none, requests a second.
func spread(d *chart.Data, c *chart.Cell, tag, stat string) string {
	if stat != "p50" {
		within := bounds(d.Get(c, tag, stat))
		if rate := d.Get(c, metrics.RequestThroughput, "avg"); within == "" && tag == metrics.OutputTokenThroughput &&
			!math.IsNaN(rate.Value) {
			return words.Amount(rate.Value, "req/s")
		}
		return within
	}
	for _, tail := range []string{"p99", "p95", "p90", "p75"} {
		if s := d.Get(c, tag, tail); !math.IsNaN(s.Value) && !s.Unsupported {
			return tail + " " + words.Millis(s.Value)
		}
	}
	return ""
}
