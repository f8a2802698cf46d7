package page

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
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
	kinds, servers := asked(d.Dirs)
	model := strings.Join(slices.DeleteFunc(append([]string{d.Model}, kinds...),
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

func few(list []string) string {
	if n := len(list) - serversMost; n > 0 {
		return strings.Join(list[:serversMost], " · ") + " · " + words.Count(n, "more server")
	}
	return strings.Join(list, " · ")
}

// asked is which API of which servers the cells of some directories ask. What may be
// secret in an address is masked, whatever the file says.
func asked(dirs []string) (kinds, servers []string) {
	add := func(to *[]string, text string) {
		if text = words.Clip(text, 120); text != "" && !slices.Contains(*to, text) {
			*to = append(*to, text)
		}
	}
	for _, dir := range dirs {
		b, err := os.ReadFile(filepath.Join(dir, resultdir.ResolvedName))
		if err != nil {
			continue // another program's, or an older one's
		}
		var doc struct {
			Cells []struct {
				Benchmark struct {
					Endpoint struct {
						Type, Label string
						URLs        []string
						Streaming   bool
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
				add(&servers, strings.TrimSpace(e.Label+" "+secret.URL(u)))
			}
		}
	}
	return kinds, servers
}

// tiles are the figures of the head: what changed between two systems, or those of the
// cell that the answer names, or their range, and how many requests failed.
func (p *Page) tiles(d *chart.Data, errs []failed) {
	failing, total := failing(errs), d.Requests.Total
	switch changes := d.Changes(); {
	case d.AllFailed():
	case len(changes) > 0:
		p.changed(changes)
	default:
		p.figures(d)
	}
	errors := Tile{"Errors", words.Whole(failing), "of " + words.Count(total, "request"), ""}
	if failing > 0 {
		errors.Class = "bad"
	}
	p.Tiles = append(p.Tiles, errors)
}

// changedMost is how many metrics have a tile.
const changedMost = 3

// changed is a tile a metric: its change, or the range of it over the workloads.
func (p *Page) changed(list []chart.Change) {
	for i := 0; i < len(list) && len(p.Tiles) < changedMost; {
		n := i + 1
		for n < len(list) && list[n].Metric == list[i].Metric {
			n++
		}
		if list[i].Metric == metrics.Series(metrics.ErrorRate, "") { // they have a tile of their own
			i = n
			continue
		}
		low, high, better, worse, equal, found := math.Inf(1), math.Inf(-1), 0, 0, 0, 0
		for k := range list[i:n] {
			c := &list[i+k]
			if math.IsNaN(c.Value) {
				continue
			}
			low, high = min(low, c.Value), max(high, c.Value)
			if c.Equal() {
				equal++
			}
			if c.Low > 0 || c.High < 0 {
				found++
			}
			switch c.Ink() {
			case draw.Good:
				better++
			case draw.Bad:
				worse++
			}
		}
		if low <= high {
			t := Tile{Label: list[i].Metric, Value: chart.Percent(low), Note: "not decided yet"}
			if a, b := chart.Percent(low), chart.Percent(high); a != b {
				t.Value = strings.TrimSuffix(a, " %") + " to " + b
			}
			of := ""
			if n-i > 1 {
				of = " in " + words.Whole(better+worse) + " of " + words.Count(n-i, "workload")
			}
			switch {
			case equal == n-i && list[i].Decided: // as the sentence of the comparison says it
				t.Note = list[i].Within
				for k := range list[i:n] {
					if c := &list[i+k]; c.Low > 0 || c.High < 0 {
						t.Note = c.Within
					}
				}
			case equal == n-i && found > 0:
				t.Note = fmt.Sprintf("changed, within the margin of %.2g %%", 100*list[i].Margin)
			case equal == n-i:
				t.Note = fmt.Sprintf("equal within %.2g %%", 100*list[i].Margin)
			case better > 0 && worse > 0:
				t.Note = words.Count(better, "workload") + " better, " + words.Whole(worse) + " worse"
			case better > 0:
				t.Note, t.Class = "better"+of, "good"
			case worse > 0:
				t.Note, t.Class = "worse"+of, "bad"
			}
			t.Value = joinedUnit(t.Value)
			p.Tiles = append(p.Tiles, t)
		}
		i = n
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
	for _, m := range []struct{ label, tag, stat, unit string }{
		{"Output", metrics.OutputTokenThroughput, "avg", "tok/s"},
		{"Throughput", metrics.RequestThroughput, "avg", "req/s"},
		{metrics.Series(metrics.TimeToFirstToken, "p50"), metrics.TimeToFirstToken, "p50", "ms"},
		{metrics.Series(metrics.InterTokenLatency, "p50"), metrics.InterTokenLatency, "p50", "ms"},
		{metrics.Series(metrics.RequestLatency, "p50"), metrics.RequestLatency, "p50", "ms"},
	} {
		if len(p.Tiles) == changedMost || m.tag == metrics.RequestThroughput && len(p.Tiles) > 0 {
			continue
		}
		low, high := math.Inf(1), math.Inf(-1)
		taint := ""
		for _, c := range of {
			if s := d.Get(c, m.tag, m.stat); !math.IsNaN(s.Value) && !math.IsInf(s.Value, 0) {
				if m.tag == metrics.InterTokenLatency && s.Value == 0 { // all tokens came at once: no gap was seen
					continue
				}
				low, high = min(low, s.Value), max(high, s.Value)
				if s.Taint != "" {
					taint = validity.ParseTaint(s.Taint).Sentence()
				}
			}
		}
		if low > high {
			continue
		}
		t := Tile{Label: m.label, Value: words.Amount(low, m.unit)}
		switch a, b := words.Number(low), words.Number(high); {
		case a != b:
			t.Value = a + " to " + b + " " + m.unit
			t.Note = "over " + words.Count(len(of), "cell")
		case len(d.Cells) > 1 && len(of) == 1:
			t.Note = "at " + d.Label(of[0])
		default:
			t.Note = spread(d, of[0], m.tag, m.stat)
		}
		t.Value = joinedUnit(t.Value)
		if taint != "" {
			t.Class, t.Note = "warn", taint
		}
		p.Tiles = append(p.Tiles, t)
	}
}

// joinedUnit keeps a number and its unit on one line, and no line begins with a dot.
func joinedUnit(text string) string {
	return strings.NewReplacer(" · ", "\u00a0· ", " %", "\u00a0%", " ms", "\u00a0ms", " tok/s",
		"\u00a0tok/s", " req/s", "\u00a0req/s").Replace(text)
}

func isThroughput(objective string) bool {
	return strings.HasPrefix(strings.TrimSpace(objective), "throughput") && !strings.HasSuffix(objective, withoutLimits)
}

// spread is the highest percentile that a cell supports beside a median, or the interval
// of a mean.
func spread(d *chart.Data, c *chart.Cell, tag, stat string) string {
	if stat != "p50" {
		return bounds(d.Get(c, tag, stat))
	}
	for _, tail := range []string{"p99", "p95", "p90", "p75"} {
		if s := d.Get(c, tag, tail); !math.IsNaN(s.Value) && !s.Unsupported {
			return tail + " " + words.Millis(s.Value)
		}
	}
	return ""
}
