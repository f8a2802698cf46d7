package page

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sinks"
	"aiperf.dev/aiperf/sinks/report"
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
				verdict, t.Texts["check"][i], words.Clip(t.Texts["detail"][i], textLimit),
				"",
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
	slices.SortStableFunc(worst, func(a, b doubt) int {
		return cmp.Or(cmp.Compare(b.Verdict, a.Verdict), counts[b.Check]-counts[a.Check])
	})
	var out []Finding
	for _, x := range worst {
		if n := counts[x.Check]; n > 1 {
			x.Where = words.Count(n, "run")
		}
		if whole > validity.Valid {
			x.Verdict = min(x.Verdict, whole)
		}
		out = append(out, x.Finding)
	}
	return out
}

// failed is one kind of failure in one cell.
type failed struct {
	Failure
	cell     *chart.Cell
	measured int // of the count, after the warmup and not ended on purpose
}

// kindsMost bounds how many kinds are told apart: a server may say something
// else each time.
const kindsMost = 10_000

// digits differ between failures that are one: the number of a request, a moment.
var digits = regexp.MustCompile(`[0-9]+`)

// readErrors counts failures by kind and words. Those whose words differ in
// numbers only are one kind, with the words of the first.
func readErrors(d *chart.Data) ([]failed, error) {
	want := map[string]bool{"cell": true, "status": true, "error_kind": true, "error_message": true, "phase": true}
	var out []failed
	at := map[string]int{}
	count := func(dir, cell, kind, message string, c *chart.Cell, measured bool) {
		k := strings.Join([]string{dir, cell, kind, alike(message)}, "\x00")
		j, ok := at[k]
		if !ok {
			if len(at) == kindsMost {
				return
			}
			j = len(out)
			at[k] = j
			out = append(out, failed{Failure{0, kind, message}, c, 0})
		}
		out[j].Count++
		if measured {
			out[j].measured++
		}
	}
	for _, f := range d.Failures {
		count(f.Cell.Dir, f.Cell.ID, words.Clip(f.Kind, 80), words.Clip(f.Message, textLimit), f.Cell, true)
	}
	for _, dir := range d.Dirs {
		if d.Foreign[dir] != "" {
			continue
		}
		_, err := sinks.EachTable(dir, "requests", func(c string) bool { return want[c] },
			func(t *sinks.TableRows) error {
				for i := range t.N {
					if t.Texts["status"][i] == "ok" {
						continue
					}
					kind, message := words.Clip(cmp.Or(t.Texts["error_kind"][i], t.Texts["status"][i]), 80),
						words.Clip(t.Texts["error_message"][i], textLimit)
					measured := t.Texts["phase"][i] != "warmup" &&
						record.Status(t.Texts["status"][i]).Part() == record.InFailed
					count(dir, t.Texts["cell"][i], kind, message, find(d, dir, t.Texts["cell"][i]), measured)
				}
				return nil
			})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// alike is a message without what differs between two of one kind.
func alike(message string) string { return digits.ReplaceAllString(message, "0") }

// failuresMost is how many kinds of failures stand above the table.
const failuresMost = 3

// failing is how many requests failed.
func failing(list []failed) (n int) {
	for _, f := range list {
		n += f.measured
	}
	return n
}

// failures says how many requests of all cells failed, and in which words most of
// them did; in which words alone where the whole result failed.
func failures(list []failed, total int, whole bool) string {
	var kinds []Failure
	all := 0
	for _, f := range list {
		if f.measured == 0 {
			continue
		}
		all += f.measured
		i := slices.IndexFunc(kinds, func(k Failure) bool {
			return k.Kind == f.Kind &&
				alike(k.Message) == alike(f.Message)
		})
		if i < 0 {
			i, kinds = len(kinds), append(kinds, Failure{0, f.Kind, f.Message})
		}
		kinds[i].Count += f.measured
	}
	if all == 0 {
		return ""
	}
	slices.SortStableFunc(kinds, func(a, b Failure) int { return b.Count - a.Count })
	var said []string
	what := words.Whole(int64(all)) + " of " + words.Count(total, "request") + " failed: "
	if whole { // the answer has the number
		what = "The error: "
		if len(kinds) > 1 {
			what = "The errors: "
		}
	}
	for i, k := range kinds {
		if i == failuresMost {
			rest := 0
			for _, k := range kinds[i:] {
				rest += k.Count
			}
			said = append(said, report.OtherFailures(int64(rest), len(kinds)-i))
			break
		}
		text := k.Kind
		if len(kinds) > 1 {
			text = words.Whole(int64(k.Count)) + " × " + text
		}
		if k.Message != "" {
			text += ", “" + words.Clip(k.Message, 100) + "”"
		}
		said = append(said, text)
	}
	return what + strings.Join(said, "; ")
}

// errorsOf are the most frequent failures of a cell.
func errorsOf(list []failed, c *chart.Cell) []Failure {
	var out []Failure
	for _, f := range list {
		if f.cell == c {
			out = append(out, f.Failure)
		}
	}
	slices.SortStableFunc(out, func(a, b Failure) int { return b.Count - a.Count })
	return out[:min(len(out), 10)]
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
