package results

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/decide"
)

// summarySuffix ends the name of AIPerf's summary of one run; what is before it
// is the user's to choose.
const summarySuffix = "_aiperf.json"

// deepest is how far below the directory a summary may lie: profile_runs, trial,
// cell and one more.
const deepest = 4

// mostRuns bounds how many summaries are read.
const mostRuns = 20_000

// readAIPerf reads the summaries below a directory: the directories of a trial
// (run_0001, trial_0001) give its number, the others the cell's label.
func readAIPerf(dir string) (*System, error) {
	found, err := summaries(dir)
	if err != nil {
		return nil, refuse(dir, err.Error(), "")
	}
	s := &System{Arm: decide.Arm{Name: dir}}
	for _, f := range found {
		o, body, err := readSummary(filepath.Join(dir, filepath.FromSlash(f.path)))
		if err != nil {
			return nil, refuse(dir, f.path+": "+err.Error(), "the directory is damaged, or not AIPerf's")
		}
		if o == nil {
			continue
		}
		o.Run.Trial = f.trial
		i := slices.IndexFunc(s.Cells, func(c decide.ArmCell) bool { return c.Label == f.label })
		if i < 0 {
			i = len(s.Cells)
			s.Cells = append(s.Cells, decide.ArmCell{
				Label: f.label, Alike: facts(body),
				Closed: sweep.Closed(phasesOf(body)), Judged: sweep.Percentile(sweep.Planned(phasesOf(body))),
			})
		}
		s.Cells[i].Runs = append(s.Cells[i].Runs, *o)
		s.Trials = max(s.Trials, len(s.Cells[i].Runs))
	}
	if len(s.Cells) == 0 {
		return nil, refuse(dir, "holds no results", "name a directory of aiperf's, with "+resultdir.ManifestName+
			", or one of AIPerf's, with "+resultdir.SummaryName)
	}
	return s, nil
}

// holdsSummaries reports whether a summary lies in dir or below.
func holdsSummaries(dir string) bool {
	found, err := summaries(dir)
	return err == nil && len(found) > 0
}

// aiperfRuns reads the runs of a directory of AIPerf's, ordered by label and trial.
func aiperfRuns(dir string) ([]Run, error) {
	found, err := summaries(dir)
	if err != nil {
		return nil, refuse(dir, err.Error(), "")
	}
	var out []Run
	for _, f := range found {
		full := filepath.Join(dir, filepath.FromSlash(f.path))
		o, _, err := readSummary(full)
		if err != nil {
			return nil, refuse(dir, f.path+": "+err.Error(), "the directory is damaged, or not AIPerf's")
		}
		if o == nil {
			continue
		}
		r := Run{Label: f.label, Trial: max(f.trial, 0), Stats: o.Summaries[0].Stats, Err: o.Err, Sent: o.OK + o.Failed}
		var head struct {
			Version string `json:"aiperf_version"`
		}
		if readJSON(full, &head) == nil {
			r.Version = head.Version
		}
		records := strings.TrimSuffix(full, summarySuffix) + ".jsonl"
		if st, err := os.Stat(records); err == nil && st.Mode().IsRegular() {
			r.Each = func(take func(*Request) error) error { return eachLine(records, take) }
		}
		out = append(out, r)
	}
	if len(out) == 0 {
		return nil, refuse(dir, "holds no results", "name a directory of aiperf's, with "+resultdir.ManifestName+
			", or one of AIPerf's, with "+resultdir.SummaryName)
	}
	return out, nil
}

// line is what is read of one request of AIPerf's.
type line struct {
	Metadata struct {
		Credit    float64 `json:"credit_issued_ns"`
		Start     float64 `json:"request_start_ns"`
		End       float64 `json:"request_end_ns"`
		Phase     string  `json:"benchmark_phase"`
		Cancelled bool    `json:"was_cancelled"`
	} `json:"metadata"`
	Metrics map[string]struct {
		Value json.RawMessage `json:"value"`
	} `json:"metrics"`
	Error *struct {
		Code    json.Number `json:"code"`
		Type    string      `json:"type"`
		Message string      `json:"message"`
	} `json:"error"`
}

// get is a metric of one value, NaN where there is none.
func (l *line) get(tag string) float64 {
	var v float64
	if raw := l.Metrics[tag].Value; raw == nil || json.Unmarshal(raw, &v) != nil {
		return math.NaN()
	}
	return v
}

// request is the line; a moment when it was due is that of its credit.
func (l *line) request() *Request {
	r := &Request{
		Intended: l.Metadata.Credit, Sent: l.Metadata.Start, End: l.Metadata.End,
		TTFT: l.get(metrics.TimeToFirstToken), ITL: l.get(metrics.InterTokenLatency),
		Latency: l.get(metrics.RequestLatency),
		ISL:     l.get(metrics.InputSequenceLength), OSL: l.get(metrics.OutputSequenceLength),
		UsagePrompt: l.get(metrics.UsagePromptTokens), Status: "ok",
	}
	switch {
	case l.Metadata.Cancelled:
		r.Status = "cancelled"
	case l.Error != nil:
		r.Status, r.ErrorKind, r.ErrorMessage = "error", l.Error.Type, l.Error.Message
		if l.Error.Code != "" {
			r.ErrorKind = strings.TrimSpace(l.Error.Code.String() + " " + r.ErrorKind)
		}
	}
	return r
}

// longestLine bounds a line: AIPerf writes bodies elsewhere.
const longestLine = 16 << 20

// eachLine goes through the measured requests of a file.
func eachLine(path string, take func(*Request) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	in := bufio.NewScanner(f)
	in.Buffer(nil, longestLine)
	for n := 1; in.Scan(); n++ {
		var l line
		if err := json.Unmarshal(in.Bytes(), &l); err != nil {
			return fmt.Errorf("%s:%d: %w", path, n, err)
		}
		if l.Metadata.Phase == "warmup" {
			continue
		}
		if err := take(l.request()); err != nil {
			return err
		}
	}
	if err := in.Err(); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// summary is where one lies.
type summary struct {
	path, label string
	trial       int
}

func summaries(dir string) ([]summary, error) {
	var out []summary
	err := filepath.WalkDir(dir, func(full string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if rel, err := filepath.Rel(dir, full); err == nil && strings.Count(filepath.ToSlash(rel), "/") >= deepest {
				return filepath.SkipDir
			}
			if full != dir && (name == "aggregate" || name == "sweep_aggregate" || name == "phases" ||
				name == "logs" || strings.HasPrefix(name, ".")) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, summarySuffix) {
			return nil
		}
		if len(out) == mostRuns {
			return fmt.Errorf("more than %d runs", mostRuns)
		}
		rel, err := filepath.Rel(dir, full)
		if err != nil {
			return err
		}
		out = append(out, locate(filepath.ToSlash(rel)))
		return nil
	})
	slices.SortStableFunc(out, func(a, b summary) int {
		return cmp.Or(strings.Compare(a.label, b.label), a.trial-b.trial, strings.Compare(a.path, b.path))
	})
	return out, err
}

// locate reads cell and trial out of a path.
func locate(p string) summary {
	s := summary{path: p}
	var label []string
	for _, part := range strings.Split(path.Dir(p), "/") {
		kind, n, _ := strings.Cut(part, "_")
		k, err := strconv.Atoi(n)
		switch {
		case part == "." || part == "profile_runs":
		case err == nil && (kind == "run" || kind == "trial"):
			s.trial = k - 1
		default:
			label = append(label, part)
		}
	}
	if s.label = strings.Join(label, ", "); s.label == "" {
		s.label = "base"
	}
	return s
}

// readSummary reads one; nil for a JSON file that is no summary.
func readSummary(path string) (*decide.Outcome, json.RawMessage, error) {
	var doc map[string]json.RawMessage
	if err := readJSON(path, &doc); err != nil {
		return nil, nil, err
	}
	if doc["input_config"] == nil {
		return nil, nil, nil
	}
	o := &decide.Outcome{Run: sweep.Run{}, Taints: validity.Taints{}}
	full := metrics.Summary{Window: decide.Full}
	for _, tag := range metrics.Tags() { // in the order of the catalogue; what it does not have is not compared
		var fields map[string]json.RawMessage
		if raw := doc[tag]; raw == nil || json.Unmarshal(raw, &fields) != nil {
			continue
		}
		if st, ok := readStat(tag, fields); ok {
			full.Stats = append(full.Stats, st)
		}
	}
	count := func(tag string) int64 {
		if st, ok := full.Get(tag); ok {
			return int64(st.Avg)
		}
		return 0
	}
	o.OK, o.Failed = count(metrics.RequestCount), count(metrics.ErrorRequestCount)
	if o.Summaries = []metrics.Summary{full}; o.OK == 0 {
		o.Err = "no request succeeded"
	}
	var cancelled bool
	if json.Unmarshal(doc["was_cancelled"], &cancelled) == nil && cancelled {
		o.Err = "the run was cancelled"
	}
	return o, doc["input_config"], nil
}

// readStat takes the numbers of one metric. AIPerf's scalars have an average
// only.
func readStat(tag string, fields map[string]json.RawMessage) (metrics.Stat, bool) {
	var unit string
	if json.Unmarshal(fields["unit"], &unit) != nil {
		return metrics.Stat{}, false
	}
	st := metrics.Blank(tag, unit)
	if m, ok := metrics.Lookup(tag); ok && m.Unit != unit { // another scale: not comparable with ours
		return metrics.Stat{}, false
	}
	st.Scalar = len(fields) <= 2
	for name, raw := range fields {
		var v float64
		if name != "unit" && json.Unmarshal(raw, &v) == nil && metrics.Finite(v) {
			st.Put(name, v)
		}
	}
	return st, !math.IsNaN(st.Avg)
}
