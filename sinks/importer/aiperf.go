package importer

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/stats"
)

// AIPerf writes a summary of a run (JSON, and the same with two decimals as CSV) and its
// records, a line each. The folders of a trial (run_0001, trial_0001) give its number, the
// others the cell's label.

// newestAIPerf is the newest form of the summary that is known here.
const newestAIPerf = "1.5"

func knowsAIPerf(h *head) bool {
	switch {
	case h.has("metadata.request_start_ns", "metadata.benchmark_phase", "metrics"):
		return true // records
	case h.json:
		return h.has("input_config") && !h.has("input_config.perf_analyzer") && (h.has("request_count.unit") ||
			h.has("request_throughput.unit") || h.has("request_latency.unit") || h.has("benchmark_duration.unit"))
	}
	return isAIPerfCSV(h)
}

func isAIPerfCSV(h *head) bool {
	columns := strings.Split(h.first, ",")
	return columns[0] == "Metric" && slices.Contains(columns, "avg") && slices.Contains(columns, "std")
}

func isRecords(h *head) bool { return h.has("metadata.request_start_ns") }

// readAIPerf brings together what lies in one folder: a summary has its records beside it,
// under its name.
func readAIPerf(files []found, res *Result) error {
	taken := map[string]bool{}
	for _, kind := range []func(*head) bool{
		func(h *head) bool { return h.json && !isRecords(h) }, isAIPerfCSV, isRecords,
	} {
		for _, f := range files {
			stem := stemOf(f.full)
			if !kind(f.head) || taken[stem] {
				continue
			}
			taken[stem] = true
			run, err := readAIPerfRun(f, res)
			if err != nil {
				return named(f, err)
			}
			run.Label, run.Trial = locate(f.rel)
			records := stem + ".jsonl"
			if st, err := os.Stat(records); err == nil && st.Mode().IsRegular() {
				run.Each = func(take func(*Request) error) error { return eachLine(records, take) }
			}
			res.Runs = append(res.Runs, *run)
		}
	}
	return nil
}

// stemOf is what the files of one run have in common: their folder, and how their names begin.
func stemOf(full string) string {
	base := strings.TrimSuffix(full, path.Ext(full))
	return strings.TrimSuffix(base, "_aiperf")
}

func readAIPerfRun(f found, res *Result) (*Run, error) {
	switch {
	case isRecords(f.head):
		return summarise(f.full)
	case f.head.json:
		return readAIPerfJSON(f.full, res)
	}
	res.note("%s: read from the CSV, whose figures have two decimals", cmp.Or(f.rel, path.Base(f.full)))
	return readAIPerfCSV(f.full)
}

// locate reads cell and trial out of a path.
func locate(rel string) (label string, trial int) {
	var parts []string
	for _, part := range strings.Split(path.Dir(rel), "/") {
		kind, n, _ := strings.Cut(part, "_")
		k, err := strconv.Atoi(n)
		switch {
		case part == "." || part == "profile_runs":
		case err == nil && (kind == "run" || kind == "trial"):
			trial = max(k-1, 0)
		default:
			parts = append(parts, part)
		}
	}
	return cmp.Or(strings.Join(parts, ", "), baseLabel), trial
}

// mostSummary bounds a summary, which is read whole.
const mostSummary = 256 << 20

func readAIPerfJSON(full string, res *Result) (*Run, error) {
	f, err := os.Open(full)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	d := json.NewDecoder(io.LimitReader(f, mostSummary))
	var doc map[string]json.RawMessage
	if err := d.Decode(&doc); err != nil {
		return nil, damaged(d, err)
	}
	run := &Run{Config: doc["input_config"]}
	text := func(key string) (s string) {
		_ = json.Unmarshal(doc[key], &s) // "" where it is no string
		return s
	}
	if run.Version = text("aiperf_version"); compareVersions(text("schema_version"), newestAIPerf) > 0 {
		res.note("schema %s is newer than those that are known here, up to %s: what it added is left out",
			text("schema_version"), newestAIPerf)
	}
	for _, tag := range sortedKeys(doc) {
		var fields map[string]json.RawMessage
		if json.Unmarshal(doc[tag], &fields) != nil || fields["unit"] == nil {
			continue
		}
		run.addFields(tag, fields)
	}
	run.counts()
	var cancelled bool
	if json.Unmarshal(doc["was_cancelled"], &cancelled) == nil && cancelled {
		run.Err = "the run was cancelled"
	}
	var invalid []string // of a nightly's scenario
	if json.Unmarshal(doc["runtime_submission_invalid_reasons"], &invalid) == nil && len(invalid) > 0 {
		res.note("AIPerf itself calls the run invalid: %s", strings.Join(invalid, "; "))
	}
	for _, layout := range []string{"2006-01-02T15:04:05.999999", time.RFC3339Nano} {
		if at, err := time.ParseInLocation(layout, text("start_time"), time.Local); err == nil {
			run.Began = at
		}
	}
	return run, nil
}

// addFields takes the numbers of one metric. A scalar has an average only. One in another
// unit than ours is no metric of ours.
func (r *Run) addFields(tag string, fields map[string]json.RawMessage) {
	var unit string
	if json.Unmarshal(fields["unit"], &unit) != nil {
		return
	}
	metric := tag
	if m, ok := metrics.Lookup(tag); ok && m.Unit != unit {
		metric = tag + " (" + unit + ")"
	}
	_, distribution := fields["p50"]
	for _, name := range sortedKeys(fields) {
		var v float64
		if name == "unit" || json.Unmarshal(fields[name], &v) != nil {
			continue
		}
		stat := name
		if name == "avg" && len(fields) <= 2 && !distribution {
			stat = ""
		}
		r.Figures = append(r.Figures, Figure{Key: tag + "." + name, Metric: metric, Stat: stat, Value: v})
	}
}

// counts takes the requests that ended out of the figures.
func (r *Run) counts() {
	r.OK, r.Failed = r.count(metrics.RequestCount), r.count(metrics.ErrorRequestCount)
	if r.OK == 0 {
		r.Err = "no request succeeded"
	}
}

func (r *Run) count(tag string) int64 {
	for _, f := range r.Figures {
		if f.Metric == tag && (f.Stat == "" || f.Stat == "avg") {
			return int64(f.Value)
		}
	}
	return 0
}

// readAIPerfCSV reads the two blocks of a summary: distributions and values.
func readAIPerfCSV(full string) (*Run, error) {
	f, err := os.Open(full)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	run := &Run{}
	if err := run.readBlocks(io.LimitReader(f, mostSummary), tagOfHeader); err != nil {
		return nil, err
	}
	run.counts()
	return run, nil
}

// readBlocks reads "Metric,avg,…" and "Metric,Value"; what follows is about machines. tag
// names the metric of a row: "Request Latency (ms)".
func (r *Run) readBlocks(in io.Reader, tag func(header string) string) error {
	c := csv.NewReader(in)
	c.FieldsPerRecord, c.ReuseRecord = -1, true
	var columns []string
	for {
		row, err := c.Read()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case len(row) == 0 || row[0] == "":
			continue
		case row[0] == "Endpoint" || len(row) > 1 && row[1] == "GPU":
			return nil // telemetry
		case row[0] == "Metric":
			columns = slices.Clone(row)
			continue
		case columns == nil:
			return errors.New("its first line names no columns")
		}
		for i := 1; i < min(len(row), len(columns)); i++ {
			v, err := strconv.ParseFloat(row[i], 64)
			if err != nil {
				continue // a statistic that the metric does not have
			}
			stat := columns[i]
			if stat == "Value" {
				stat = ""
			}
			r.Figures = append(r.Figures, Figure{
				Key: row[0] + "." + columns[i], Metric: tag(row[0]), Stat: stat, Value: v,
			})
		}
	}
}

// tagOfHeader is the tag of "Time to First Token (ms)"; the header itself where it is none
// of ours, or in another unit.
func tagOfHeader(header string) string {
	name, unit, _ := strings.Cut(strings.TrimSuffix(header, ")"), " (")
	for _, tag := range metrics.Tags() {
		m, _ := metrics.Lookup(tag)
		if strings.EqualFold(m.Header, name) && (unit == "" || unit == m.Unit || m.Unit == "") {
			return tag
		}
	}
	return header
}

// line is what is read of one record.
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
		Unit  string          `json:"unit"`
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

// eachRecord goes through the measured lines of a file.
func eachRecord(full string, take func(*line) error) error {
	f, err := os.Open(full)
	if err != nil {
		return err
	}
	defer f.Close()
	in := bufio.NewScanner(f)
	in.Buffer(nil, longestLine)
	for n := 1; in.Scan(); n++ {
		var l line
		if err := json.Unmarshal(in.Bytes(), &l); err != nil {
			return fmt.Errorf("%s:%d: %w", full, n, err)
		}
		if l.Metadata.Phase == "warmup" {
			continue
		}
		if err := take(&l); err != nil {
			return err
		}
	}
	if err := in.Err(); err != nil {
		return fmt.Errorf("%s: %w", full, err)
	}
	return nil
}

func eachLine(full string, take func(*Request) error) error {
	return eachRecord(full, func(l *line) error { return take(l.request()) })
}

// summarise makes the figures of a run of its records alone, as AIPerf would have: it
// leaves failed requests out, percentiles are linear and deviations those of the whole.
func summarise(full string) (*Run, error) {
	run := &Run{}
	values := map[string][]float64{}
	err := eachRecord(full, func(l *line) error {
		if l.Error != nil || l.Metadata.Cancelled {
			run.Failed++
			return nil
		}
		run.OK++
		for tag, of := range l.Metrics {
			m, ok := metrics.Lookup(tag)
			if v := l.get(tag); ok && m.Unit == of.Unit && metrics.Finite(v) {
				values[tag] = append(values[tag], v)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, tag := range sortedKeys(values) {
		run.Figures = append(run.Figures, describe(tag, values[tag])...)
	}
	run.Figures = append(run.Figures,
		Figure{Key: metrics.RequestCount, Metric: metrics.RequestCount, Value: float64(run.OK)},
		Figure{Key: metrics.ErrorRequestCount, Metric: metrics.ErrorRequestCount, Value: float64(run.Failed)})
	if run.OK == 0 {
		run.Err = "no request succeeded"
	}
	return run, nil
}

// describe are the statistics of values, which it sorts.
func describe(metric string, values []float64) []Figure {
	slices.Sort(values)
	mean, variance := 0.0, 0.0
	for _, v := range values {
		mean += v / float64(len(values))
	}
	for _, v := range values {
		variance += (v - mean) * (v - mean) / float64(len(values))
	}
	out := []Figure{
		{Metric: metric, Stat: "avg", Value: mean},
		{Metric: metric, Stat: "min", Value: values[0]},
		{Metric: metric, Stat: "max", Value: values[len(values)-1]},
		{Metric: metric, Stat: "std", Value: math.Sqrt(variance)},
		{Metric: metric, Stat: "count", Value: float64(len(values))},
	}
	for _, p := range []float64{1, 5, 10, 25, 50, 75, 90, 95, 99} {
		out = append(out, Figure{Metric: metric, Stat: fmt.Sprintf("p%g", p), Value: stats.Quantile(values, p/100)})
	}
	for i := range out {
		out[i].Key = metric + "." + out[i].Stat
	}
	return out
}
