// Package speedbench puts the runs of SPEED-Bench's categories together in one table: a row
// for each model, a column for each category. In go result directories, ours or AIPerf's,
// out comes a Report, which writes itself as AIPerf's speed-bench-report does.
package speedbench

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/words"
)

// The files of a run.
const (
	runFile    = "profile_export_aiperf.json"
	serverFile = "server_metrics_export.json"
)

// Metrics are the figures that a report can be of.
func Metrics() []string { return []string{"accept_length", "accept_rate", "throughput"} }

// sets are the categories that belong together, in the order of their columns.
var sets = [][]string{
	{
		"coding", "humanities", "math", "multilingual", "qa", "rag", "reasoning", "roleplay", "stem", "summarization",
		"writing",
	},
	{"low_entropy", "mixed", "high_entropy"},
	{"gsm8k", "math500", "mtbench", "humaneval", "mbpp"},
}

// Report is one figure by model and category.
type Report struct {
	Runs       int
	Warnings   []string
	Models     []string
	Categories []string
	cells      map[[2]string][]float64
}

// Find is the result directories among dirs and below them.
func Find(dirs []string) (runs, warnings []string) {
	for _, d := range dirs {
		if info, err := os.Stat(d); err != nil || !info.IsDir() {
			warnings = append(warnings, d+" is not a directory, skipping")
			continue
		}
		_ = filepath.WalkDir(d, func(path string, e fs.DirEntry, err error) error { // what cannot be read has no run
			if err != nil || !e.IsDir() {
				return nil
			}
			if _, err := os.Stat(filepath.Join(path, runFile)); err == nil {
				runs = append(runs, path)
				return fs.SkipDir
			}
			return nil
		})
	}
	return runs, warnings
}

// Read makes the report of a metric.
func Read(runs []string, metric string) *Report {
	r := &Report{Runs: len(runs), cells: map[[2]string][]float64{}}
	models, categories := map[string]bool{}, map[string]bool{}
	for _, dir := range runs {
		model, category, v, err := one(dir, metric)
		if err != nil {
			r.Warnings = append(r.Warnings, err.Error())
			continue
		}
		key := [2]string{model, category}
		r.cells[key] = append(r.cells[key], v)
		models[model], categories[category] = true, true
	}
	r.Models, r.Categories = slices.Sorted(maps.Keys(models)), slices.Sorted(maps.Keys(categories))
	for _, set := range sets {
		if place := func(c string) int { return slices.Index(set, c) }; !slices.ContainsFunc(r.Categories,
			func(c string) bool { return place(c) < 0 }) {
			slices.SortFunc(r.Categories, func(a, b string) int { return cmp.Compare(place(a), place(b)) })
		}
	}
	return r
}

// run is the part of a result that a report needs.
type run struct {
	Input struct {
		Models   struct{ Items []struct{ Name string } }
		Datasets []struct{ Format, Dataset string }
	} `json:"input_config"`
	Throughput struct{ Avg *float64 } `json:"output_token_throughput"`
}

// one is the figure of one run.
func one(dir, metric string) (model, category string, v float64, err error) {
	var r run
	if err := read(filepath.Join(dir, runFile), &r); err != nil {
		return "", "", 0, err
	}
	for _, d := range r.Input.Datasets {
		for _, name := range []string{d.Format, d.Dataset} {
			for _, prefix := range []string{"speed_bench_", "spec_al_"} {
				if rest, ok := strings.CutPrefix(name, prefix); ok && category == "" {
					category = rest
				}
			}
		}
	}
	if category == "" {
		return "", "", 0, fmt.Errorf("cannot determine category from %s, skipping", dir)
	}
	model = "unknown"
	if items := r.Input.Models.Items; len(items) > 0 && items[0].Name != "" {
		model = words.Clip(items[0].Name, 200)
	}
	category = words.Clip(category, 60)
	if metric == "throughput" {
		if r.Throughput.Avg == nil {
			return "", "", 0, fmt.Errorf("no output token throughput in %s", dir)
		}
		return model, category, *r.Throughput.Avg, nil
	}
	var s served
	if err := read(filepath.Join(dir, serverFile), &s); err != nil {
		return "", "", 0, err
	}
	v, ok := s.rate()
	if metric == "accept_length" {
		v, ok = s.length()
	}
	if !ok {
		return "", "", 0, fmt.Errorf("the server metrics in %s say nothing of %s", dir, metric)
	}
	return model, category, v, nil
}

// read reads a file of JSON.
func read(path string, into any) error {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("no %s in %s", filepath.Base(path), filepath.Dir(path))
	}
	if err == nil {
		err = json.Unmarshal(b, into)
	}
	if err != nil {
		return fmt.Errorf("%s cannot be read: %w", path, err)
	}
	return nil
}

// served is what a server's own metrics say.
type served struct {
	Metrics map[string]struct {
		Series []struct {
			Stats struct{ Avg, Total *float64 }
		}
	}
}

// average is that of the first series of a metric.
func (s *served) average(names ...string) (float64, bool) {
	for _, name := range names {
		if list := s.Metrics[name].Series; len(list) > 0 && list[0].Stats.Avg != nil {
			return *list[0].Stats.Avg, true
		}
	}
	return 0, false
}

// total is the growth of a counter, over all of its series.
func (s *served) total(name string) (sum float64, found bool) {
	for _, name := range []string{name, name + "_total"} {
		for _, one := range s.Metrics[name].Series {
			if one.Stats.Total != nil {
				sum, found = sum+*one.Stats.Total, true
			}
		}
	}
	return sum, found
}

// share is that of two counters.
func (s *served) share(of, all string) (float64, bool) {
	n, ok := s.total(of)
	m, also := s.total(all)
	return n / m, ok && also && m > 0
}

// length is the mean number of tokens that a step of the target model gave.
func (s *served) length() (float64, bool) {
	if v, ok := s.average("sglang:spec_accept_length", "vllm:spec_decode_mean_accepted_length",
		"trtllm:spec_accept_length"); ok {
		return v, true
	}
	if v, ok := s.share("vllm:spec_decode_num_accepted_tokens", "vllm:spec_decode_num_drafts"); ok {
		return 1 + v, true // the step's own token
	}
	for _, name := range slices.Sorted(maps.Keys(s.Metrics)) {
		if strings.Contains(name, "spec") && strings.Contains(name, "accept") && strings.Contains(name, "length") {
			if v, ok := s.average(name); ok {
				return v, true
			}
		}
	}
	return 0, false
}

// rate is the share of drafted tokens that were accepted.
func (s *served) rate() (float64, bool) {
	if v, ok := s.average("sglang:spec_accept_rate", "vllm:spec_accept_rate", "trtllm:spec_accept_rate"); ok {
		return v, true
	}
	return s.share("vllm:spec_decode_num_accepted_tokens", "vllm:spec_decode_num_draft_tokens")
}

// value is a cell, the mean of its runs.
func (r *Report) value(model, category string) (v float64, ok bool) {
	all := r.cells[[2]string{model, category}]
	for _, one := range all {
		v += one / float64(len(all))
	}
	return v, len(all) > 0
}

// rows are the lines of the table; what is missing is absent.
func (r *Report) rows(absent string) [][]string {
	rows := [][]string{slices.Concat([]string{"Model"}, r.Categories, []string{"Overall"})}
	for _, m := range r.Models {
		row, sum, n := []string{m}, 0.0, 0.0
		for _, c := range r.Categories {
			v, ok := r.value(m, c)
			if !ok {
				row = append(row, absent)
				continue
			}
			row, sum, n = append(row, fmt.Sprintf("%.2f", v)), sum+v, n+1
		}
		rows = append(rows, append(row, fmt.Sprintf("%.2f", sum/n)))
	}
	return rows
}

// CSV writes the table as such.
func (r *Report) CSV(w io.Writer) error { return csv.NewWriter(w).WriteAll(r.rows("")) }

// Print writes the table for people.
func (r *Report) Print(w io.Writer) {
	rows := r.rows("-")
	width := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			width[i] = max(width[i], len([]rune(cell)), 8)
		}
	}
	line := func(row []string) {
		parts := make([]string, len(row))
		for i, cell := range row {
			parts[i] = fmt.Sprintf("%*s", width[i], cell)
		}
		fmt.Fprintln(w, strings.Join(parts, "  "))
	}
	rule := make([]string, len(width))
	for i, n := range width {
		rule[i] = strings.Repeat("-", n)
	}
	line(rows[0])
	line(rule)
	for _, row := range rows[1:] {
		line(row)
	}
}
