package page

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sinks"
	"aiperf.dev/aiperf/sinks/report/chart"
)

// doubt is one check of one run that is not clean.
type doubt struct {
	Finding
	cell   *chart.Cell // nil for one of the whole plan
	beyond float64     // how many times its limit
}

// readChecks reads the checks that moved a verdict.
func readChecks(d *chart.Data) ([]doubt, error) {
	var out []doubt
	for _, dir := range d.Dirs {
		if d.Foreign[dir] != "" {
			continue // nobody judged the measurement
		}
		t, err := sinks.ReadTable(dir, "checks", nil)
		if err != nil {
			return nil, err
		}
		for i := range t.N {
			verdict := validity.OfSeverity(t.Texts["severity"][i])
			if verdict <= validity.Valid {
				continue
			}
			out = append(out, doubt{Finding{
				Verdict: verdict, Check: t.Texts["check"][i], Detail: words.Clip(t.Texts["detail"][i], textLimit),
			}, find(d, dir, t.Texts["cell"][i]), beyond(t, i)})
		}
	}
	return out, nil
}

// beyond is how many times the limit of a check was reached, as the screen ranks
// the runs of one check.
func beyond(t *sinks.TableRows, i int) float64 {
	values, limits := t.Floats["value"], t.Floats["limit"]
	switch {
	case values == nil || math.IsNaN(values[i]):
		return 0
	case limits == nil || math.IsNaN(limits[i]) || limits[i] == 0:
		return math.Abs(values[i])
	}
	return math.Abs(values[i] / limits[i])
}

func find(d *chart.Data, dir, id string) *chart.Cell {
	for _, c := range d.Cells {
		if c.ID == id && c.Dir == dir {
			return c
		}
	}
	return nil
}

func ofCell(list []doubt, c *chart.Cell) []doubt {
	return slices.DeleteFunc(slices.Clone(list), func(x doubt) bool { return x.cell != c })
}

// placed says in each finding of which cell it is, where there are several: a load that a search tried beyond
// its answer says nothing against the answer.
func placed(d *chart.Data, list []doubt) []doubt {
	if len(d.Cells) < 2 {
		return list
	}
	held, load := d.Held(), d.Load()
	out := slices.Clone(list)
	for i := range out {
		c := out[i].cell
		if c == nil {
			continue
		}
		out[i].At = "at " + d.Label(c)
		if d.Searched() && held != nil && c.At(load) > held.At(load) {
			out[i].At += ", above the answer"
		}
	}
	return out
}

// grouped is a line a check, worst first, with the words of its worst run. A finding that makes
// some numbers invalid and leaves the others has the verdict of the whole, as on the screen.
func grouped(list []doubt, whole validity.Verdict) []Finding {
	var worst []doubt
	counts := map[string]int{}
	for _, x := range list {
		if counts[x.Check]++; counts[x.Check] == 1 {
			worst = append(worst, x)
			continue
		}
		i := slices.IndexFunc(worst, func(f doubt) bool { return f.Check == x.Check })
		if cmp.Or(cmp.Compare(x.Verdict, worst[i].Verdict), cmp.Compare(x.beyond, worst[i].beyond)) > 0 {
			worst[i] = x
		}
	}
	for i := range worst {
		if whole > validity.Valid {
			worst[i].Verdict = min(worst[i].Verdict, whole)
		}
	}
	failed := func(x doubt) int { // it is about every figure
		if x.Check == validity.Errors {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(worst, func(a, b doubt) int {
		return cmp.Or(cmp.Compare(b.Verdict, a.Verdict), failed(b)-failed(a), counts[b.Check]-counts[a.Check])
	})
	var out []Finding
	for _, x := range worst {
		if n := counts[x.Check]; n > 1 {
			x.Where = "the worst of " + words.Count(n, "run")
		}
		out = append(out, x.Finding)
	}
	return out
}

// conclusions are the sentences that were said when each plan ended; of several
// plans with the name of the result.
func conclusions(dirs []string) []string {
	var out []string
	names := chart.Names(dirs)
	for i, dir := range dirs {
		of := ""
		if len(dirs) > 1 {
			of = names[i] + ": "
		}
		for _, s := range manifestOf(dir).Conclusions {
			out = append(out, words.Line(of+s))
		}
	}
	return out
}

// interrupted says that results are partial, "" of those that are whole.
func interrupted(d *chart.Data) string {
	var names []string
	for i, name := range chart.Names(d.Dirs) {
		m := manifestOf(d.Dirs[i])
		if spent := d.Searched() && m.ExitCode != int(diag.Interrupted); m.Interrupted && !spent { // its answer says so
			names = append(names, name)
		}
	}
	switch {
	case len(names) == 0:
		return ""
	case len(d.Dirs) == 1:
		return "Partial: it was interrupted; to finish it, give the same command with --resume"
	}
	return "Partial: " + words.And(names) + " was interrupted"
}

// manifestOf is the directory's manifest; one that cannot be read says nothing.
func manifestOf(dir string) resultdir.Manifest {
	m, _ := resultdir.ReadManifest(dir)
	return m
}

// sources are the files a reader wants to see whole.
func sources() (names []string) {
	for _, ending := range resultdir.SourceEndings {
		names = append(names, resultdir.SourceName+ending)
	}
	return append(names, resultdir.MarkdownName, resultdir.ResolvedName)
}

const sourceMost = 64 << 10

// facts is how it was measured.
func (p *Page) facts(d *chart.Data) error {
	names := chart.Names(d.Dirs)
	for i, dir := range d.Dirs {
		if d.Foreign[dir] != "" {
			p.Facts = append(p.Facts, Fact{Name: "result", Text: names[i], Code: true, First: true},
				Fact{Name: "program", Text: d.Foreign[dir] + " " + d.Version},
				Fact{Name: "verdict", Text: "none: these files do not say whether the client kept up"})
			continue
		}
		m := manifestOf(dir)
		meta, err := sinks.ReadTable(dir, "cells", func(string) bool { return false })
		if err != nil {
			return err
		}
		if len(d.Dirs) > 1 {
			p.Facts = append(p.Facts, Fact{Name: "result", Text: names[i], Code: true, First: true})
		}
		end := ""
		if !m.Finished.IsZero() {
			end = m.Finished.UTC().Format("2006-01-02 15:04:05 UTC")
		}
		if at := d.Ended(dir); end == "" && !at.IsZero() { // the page is written before the manifest
			end = at.UTC().Format("2006-01-02 15:04:05 UTC")
		}
		if m.Interrupted {
			end += " (interrupted: partial)"
		}
		p.Facts = append(p.Facts,
			Fact{Name: "finished", Text: end}, Fact{Name: "program", Text: "aiperf " + meta.Meta["aiperf.version"]},
			Fact{Name: "machine", Text: host(meta.Meta["aiperf.host"])},
			Fact{Name: "plan", Text: meta.Meta["aiperf.plan_sha256"], Code: true},
		)
		for _, f := range m.Files {
			if f.Path == resultdir.Table("requests", "parquet") || f.Path == resultdir.Table("metrics", "parquet") {
				p.Facts = append(p.Facts, Fact{Name: f.Path, Text: "sha256 " + f.SHA256, Code: true})
			}
		}
		for _, name := range sources() {
			of := ""
			if len(d.Dirs) > 1 {
				of = names[i] + ": "
			}
			p.source(dir, name, of)
		}
	}
	return nil
}

// source shows a file of a directory; of names the result where there are several.
func (p *Page) source(dir, name, of string) {
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return
	}
	if short := new(bytes.Buffer); name == resultdir.ResolvedName && json.Indent(short, b, "", " ") == nil {
		b = short.Bytes()
	}
	text := words.Clean(string(b))
	if len(text) > sourceMost {
		text = text[:sourceMost] + "\n… cut; the file has all"
	}
	if strings.HasPrefix(name, "experiment.") {
		p.Facts = append(p.Facts, Fact{Name: "to repeat it", Text: "aiperf run " + name, Code: true})
	}
	p.Sources = append(p.Sources, Fact{Name: of + name, Text: text})
}

// host is the machine in words.
func host(text string) string {
	var h struct {
		Cores int    `json:"cores"`
		Name  string `json:"name"`
	}
	if json.Unmarshal([]byte(text), &h) != nil || h.Cores == 0 {
		return ""
	}
	return fmt.Sprintf("%s, %s", h.Name, words.Count(h.Cores, "core"))
}
