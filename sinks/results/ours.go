package results

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/internal/telemetry"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/sinks"
	"aiperf.dev/aiperf/sinks/receipt"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/decide"
)

// read are the files that a comparison rests on.
var read = []string{resultdir.LockName, resultdir.Table("metrics", "parquet"), resultdir.Table("runs", "parquet")}

func readOurs(dir string) (*System, error) {
	if err := checkManifest(dir); err != nil {
		return nil, err
	}
	lock, err := resultdir.ReadLock(dir)
	if err != nil {
		return nil, refuse(dir, err.Error(), "the directory is damaged: run the experiment again")
	}
	s := &System{Arm: decide.Arm{Name: dir}, Ours: true, Trials: lock.Trials, AllowInvalid: allowsInvalid(dir)}
	labels := labelsOf(lock.Cells)
	for i, c := range lock.Cells {
		s.Cells = append(s.Cells, decide.ArmCell{
			Label: labels[i], Alike: alikeOf(c.Benchmark),
			Closed: sweep.Closed(phasesOf(c.Benchmark)),
			Judged: sweep.Percentile(sweep.Planned(phasesOf(c.Benchmark))),
		})
	}
	told, err := Receipts(dir)
	if err != nil {
		return nil, refuse(dir, err.Error(), "the directory is damaged: run the experiment again")
	}
	s.receipts = map[string][]*receipt.Receipt{}
	for _, r := range told.Runs {
		s.receipts[r.Cell] = append(s.receipts[r.Cell], r.Receipt)
	}
	s.Stamps, s.Failure = reported(dir)
	s.Command = commandOf(dir)
	return s, s.fill(dir, lock.Cells)
}

// reported is what the reports of the runs say: whose arrival stamps they have, in order, each
// once, none where no run says so; and what most of the failed requests failed with, the kind
// with one of its messages; "" for none.
func reported(dir string) (stamps []string, failure string) {
	runs, _ := resultdir.Begun(dir) // a damaged journal says nothing
	reports := resultdir.ReportsOf(dir)
	type failed struct {
		Kind, Message string
		Count         int
	}
	var kinds []failed
	for _, r := range runs {
		var report struct {
			Stamps string   `json:"stamps"`
			Errors []failed `json:"errors"`
		}
		if reports.Read(r.Run, r.Dir, &report) != nil {
			continue
		}
		if report.Stamps != "" && !slices.Contains(stamps, report.Stamps) {
			stamps = append(stamps, report.Stamps)
		}
		for _, e := range report.Errors {
			i := slices.IndexFunc(kinds, func(k failed) bool { return k.Kind == e.Kind })
			if i < 0 {
				kinds = append(kinds, e)
				continue
			}
			kinds[i].Count += e.Count
		}
	}
	slices.Sort(stamps)
	if len(kinds) == 0 {
		return stamps, ""
	}
	most := slices.MaxFunc(kinds, func(a, b failed) int { return a.Count - b.Count })
	return stamps, strings.TrimSuffix(most.Kind+": "+most.Message, ": ")
}

// commandOf is what measured a directory, as it was typed; "" where that is not known.
func commandOf(dir string) string {
	var doc struct {
		Command string `json:"command"`
	}
	if readJSON(filepath.Join(dir, resultdir.ResolvedName), &doc) != nil {
		return ""
	}
	return doc.Command
}

// allowsInvalid reports whether the experiment takes INVALID runs. A directory that
// does not say does not.
func allowsInvalid(dir string) bool {
	var doc struct {
		Experiment struct {
			AllowInvalid bool `json:"allow_invalid"`
		} `json:"experiment"`
	}
	return readJSON(filepath.Join(dir, resultdir.ResolvedName), &doc) == nil && doc.Experiment.AllowInvalid
}

// labelsOf names cells by what distinguishes them, not by their order: the
// values of their axes.
func labelsOf(cells []resultdir.LockCell) []string {
	out := make([]string, len(cells))
	for i, c := range cells {
		var parts []string
		for _, path := range slices.Sorted(maps.Keys(c.Point)) {
			v := c.Point[path]
			if object, ok := v.(map[string]any); ok && object["label"] != nil { // it has a name, as on every screen
				parts = append(parts, fmt.Sprint(object["label"]))
				continue
			}
			parts = append(parts, fmt.Sprintf("%s %v", path[strings.LastIndex(path, ".")+1:], v))
		}
		if out[i] = strings.Join(parts, ", "); len(parts) == 0 {
			out[i] = "base"
		}
	}
	return out
}

func checkManifest(dir string) error {
	m, err := resultdir.ReadManifest(dir)
	switch {
	case os.IsNotExist(err):
		return refuse(dir, "not finished: it has no "+resultdir.ManifestName,
			"aiperf run --resume, or aiperf export "+dir)
	case err != nil:
		return refuse(dir, err.Error(), "the directory is damaged: run the experiment again")
	case m.Schema != resultdir.ManifestSchema:
		return refuse(dir, fmt.Sprintf("written in %q, this program reads %q", m.Schema, resultdir.ManifestSchema),
			"compare with the version of aiperf that wrote it")
	}
	for _, name := range read {
		i := slices.IndexFunc(m.Files, func(f resultdir.ManifestFile) bool { return f.Path == name })
		if i < 0 {
			return refuse(dir, name+" is not in its manifest",
				"tables.formats must have parquet; aiperf export writes it")
		}
		if sum, _, err := resultdir.Digest(filepath.Join(dir, name)); err != nil || sum != m.Files[i].SHA256 {
			return refuse(dir, name+" is not the file that was written",
				"the directory is damaged: run the experiment again")
		}
	}
	return nil
}

// maxJSON bounds what is read into memory of one document.
const maxJSON = 256 << 20

func readJSON(path string, into any) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxJSON))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, into); err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	return nil
}

// fill reads the runs and their metrics out of the tables.
func (s *System) fill(dir string, cells []resultdir.LockCell) error {
	runs, err := sinks.ReadTable(dir, "runs", among("cell_index", "trial", "ok", "failed", "cancelled", "cut", "unsent",
		"sent", "verdict"))
	if err != nil {
		return refuse(dir, err.Error(), "the directory is damaged: run the experiment again")
	}
	at := map[[2]int]*decide.Outcome{}
	for i := range runs.N {
		cell, trial := number(runs, "cell_index", i), number(runs, "trial", i)
		if cell < 0 || cell >= len(s.Cells) || trial >= s.Trials { // what comes after the trials is the sentinel
			continue
		}
		o := decide.Outcome{
			Run: sweep.Run{Trial: trial}, Verdict: validity.Parse(text(runs, "verdict", i)),
			OK: int64(number(runs, "ok", i)), Failed: int64(number(runs, "failed", i)),
			Cancelled: int64(number(runs, "cancelled", i)), Cut: max(0, int64(number(runs, "cut", i))), Unsent: max(0,
				int64(number(runs, "unsent", i))), Sent: int64(number(runs, "sent", i)), Taints: validity.Taints{},
		}
		if o.Verdict == validity.Failed {
			o.Err = "the run gave nothing"
		} else if o.OK == 0 && o.Failed > 0 {
			o.Err = "every request failed"
		}
		s.Cells[cell].Runs = append(s.Cells[cell].Runs, o)
	}
	for c := range s.Cells {
		slices.SortStableFunc(s.Cells[c].Runs, func(a, b decide.Outcome) int { return a.Run.Trial - b.Run.Trial })
		for i := range s.Cells[c].Runs {
			o := &s.Cells[c].Runs[i]
			at[[2]int{c, o.Run.Trial}] = o
		}
	}
	if err := fillChecks(dir, cells, at); err != nil {
		return err
	}
	if err := fillAnswers(dir, at); err != nil {
		return err
	}
	return s.fillMetrics(dir, at)
}

// fillAnswers reads how questions with known answers were answered: a comparison pairs them.
func fillAnswers(dir string, at map[[2]int]*decide.Outcome) error {
	if _, err := os.Stat(filepath.Join(dir, resultdir.Table("answers", "parquet"))); err != nil {
		return nil //nolint:nilerr // nothing was asked
	}
	_, err := sinks.EachTable(dir, "requests", among("cell_index", "trial", "item", "answer", "answer_why", "in_window"),
		func(rows *sinks.TableRows) error {
			for i := range rows.N {
				o := at[[2]int{number(rows, "cell_index", i), number(rows, "trial", i)}]
				if item := text(rows, "item", i); o != nil && item != "" && float(rows, "in_window", i) == 1 {
					o.Answers.Count(item, text(rows, "answer", i), text(rows, "answer_why", i))
				}
			}
			return nil
		})
	if err != nil {
		return refuse(dir, err.Error(), "the directory is damaged: run the experiment again")
	}
	return nil
}

// fillChecks reads what single runs said of overload, whose mean decides, and how far their numbers may be off.
func fillChecks(dir string, cells []resultdir.LockCell, at map[[2]int]*decide.Outcome) error {
	rows, err := sinks.ReadTable(dir, "checks", among("cell_index", "trial", "level", "check", "value", "limit",
		"severity"))
	if err != nil {
		return refuse(dir, err.Error(), "the directory is damaged: run the experiment again")
	}
	fillReports(dir, cells, at, !planInDoubt(rows))
	for i := range rows.N {
		o := at[[2]int{number(rows, "cell_index", i), number(rows, "trial", i)}]
		if o == nil || text(rows, "level", i) != "run" || text(rows, "check", i) != validity.Backlog {
			continue
		}
		if limit := float(rows, "limit", i); !math.IsNaN(limit) { // a run that is too short to tell has none
			o.Backlog = &decide.Backlog{Share: float(rows, "value", i), Limit: limit}
		}
	}
	return nil
}

func (s *System) fillMetrics(dir string, at map[[2]int]*decide.Outcome) error {
	rows, err := sinks.ReadTable(dir, "metrics", among("cell_index", "trial", "level", "part", "span", "metric", "stat",
		"value", "ci_low", "ci_high", "unit", "n", "n_effective", "taint", "method", "better"))
	if err != nil {
		return refuse(dir, err.Error(), "the directory is damaged: run the experiment again")
	}
	several := severalParts(rows)
	for i := range rows.N {
		o := at[[2]int{number(rows, "cell_index", i), number(rows, "trial", i)}]
		if o == nil || text(rows, "level", i) != "run" {
			continue
		}
		tag := text(rows, "metric", i)
		if err := declare(rows, i, tag); err != nil {
			return refuse(dir, err.Error(), "results in which it means the same can be compared")
		}
		if _, beside := telemetry.MeasureOf(tag); beside {
			if o.Beside == nil {
				o.Beside = decide.Beside{}
			}
			o.Beside.Add(text(rows, "span", i), decide.Key{Tag: tag, Stat: text(rows, "stat", i)}, decide.Told{
				Value: float(rows, "value", i), Low: float(rows, "ci_low", i), High: float(rows, "ci_high", i),
			})
		}
		if several[figure(rows, i)] {
			continue
		}
		st := statOf(o, text(rows, "span", i), tag, text(rows, "unit", i))
		stat := text(rows, "stat", i)
		st.Put(stat, float(rows, "value", i))
		if n := float(rows, "n", i); !math.IsNaN(n) {
			st.Put("count", n)
			st.Put("n_effective", float(rows, "n_effective", i))
			st.Scalar = false
		}
		if taint := text(rows, "taint", i); taint != "" {
			t := validity.ParseTaint(taint)
			o.Taints.Add(tag+"."+stat, t.Check, t.Level)
		}
	}
	return nil
}

// declare makes a plug-in's metric known, as the program that measured it knew it.
func declare(rows *sinks.TableRows, i int, tag string) error {
	if text(rows, "method", i) != sinks.PluginMethod {
		return nil
	}
	if _, builtIn := metrics.Lookup(tag); builtIn {
		return fmt.Errorf("metric %s is of a plug-in, and now built in", tag)
	}
	return telemetry.Declare(telemetry.Measure{
		Tag: tag, Unit: text(rows, "unit", i), LargerIsBetter: text(rows, "better", i) == "higher",
	})
}

// figure tells figures of runs apart, but not the servers that they are of.
func figure(rows *sinks.TableRows, i int) [4]string {
	return [4]string{
		strconv.Itoa(number(rows, "cell_index", i)), strconv.Itoa(number(rows, "trial", i)),
		text(rows, "span", i), text(rows, "metric", i),
	}
}

// severalParts are the figures that a run has from several servers' pages: none of them
// is the run's.
func severalParts(rows *sinks.TableRows) map[[4]string]bool {
	parts, several := map[[4]string]string{}, map[[4]string]bool{}
	for i := range rows.N {
		part := text(rows, "part", i)
		if part == "" || text(rows, "level", i) != "run" {
			continue
		}
		f := figure(rows, i)
		if had, ok := parts[f]; ok && had != part {
			several[f] = true
		}
		parts[f] = part
	}
	return several
}

// statOf finds or makes the Stat of a metric in a window of a run. Whoever has a
// number of samples is no scalar.
func statOf(o *decide.Outcome, window, tag, unit string) *metrics.Stat {
	w := slices.IndexFunc(o.Summaries, func(s metrics.Summary) bool { return s.Window == window })
	if w < 0 {
		w = len(o.Summaries)
		o.Summaries = append(o.Summaries, metrics.Summary{Window: window})
	}
	stats := &o.Summaries[w].Stats
	if n := len(*stats); n > 0 && (*stats)[n-1].Tag == tag { // rows come metric by metric
		return &(*stats)[n-1]
	}
	for i := range *stats {
		if (*stats)[i].Tag == tag {
			return &(*stats)[i]
		}
	}
	st := metrics.Blank(tag, unit)
	st.Scalar = true
	*stats = append(*stats, st)
	return &(*stats)[len(*stats)-1]
}

func among(names ...string) func(string) bool {
	return func(column string) bool { return slices.Contains(names, column) }
}

func number(t *sinks.TableRows, column string, i int) int {
	v := float(t, column, i)
	if math.IsNaN(v) {
		return -1
	}
	return int(v)
}

func float(t *sinks.TableRows, column string, i int) float64 {
	if v := t.Floats[column]; i < len(v) {
		return v[i]
	}
	return math.NaN()
}

func text(t *sinks.TableRows, column string, i int) string {
	if v := t.Texts[column]; i < len(v) {
		return v[i]
	}
	return ""
}
