package aiperf

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/stats"
)

// Recheck is what came of recomputing one run's summary from its records.
type Recheck struct {
	Dir      string
	Records  int
	Checked  int      // values compared
	Bad      []string // one line per value that the records do not support
	Notes    []string
	Produced string // aiperf_version of the summary
}

// RecheckDirs are the directories below dir that hold a run's summary beside its
// records, AIPerf's or ours, in lexical order.
func RecheckDirs(dir string) ([]string, error) {
	var out []string
	err := filepath.WalkDir(filepath.Clean(dir)+string(filepath.Separator),
		func(path string, e fs.DirEntry, err error) error {
			if err != nil || !e.IsDir() {
				return err
			}
			if e.Name() == "phases" || e.Name() == "incomplete" {
				return filepath.SkipDir
			}
			if _, _, err := profilePair(path); err == nil {
				out = append(out, filepath.Clean(path)) // the root ends in a separator, so that a link is followed
			}
			return nil
		})
	return out, err
}

// profilePair finds a run's summary and records, whatever prefix they have.
func profilePair(dir string) (summary, records string, err error) {
	names, _ := ProfileNames("") // has no mistake to make
	summary, records = filepath.Join(dir, names.JSON), filepath.Join(dir, names.Records)
	if exists(summary) && exists(records) {
		return summary, records, nil
	}
	found, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil {
		return "", "", err
	}
	for _, r := range found {
		if s := strings.TrimSuffix(r, ".jsonl") + ".json"; exists(s) {
			return s, r, nil
		}
	}
	return "", "", fmt.Errorf("%s: no summary with its records", dir)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// recheckRecord is a line of profile_export.jsonl as far as it is needed.
type recheckRecord struct {
	Metadata struct {
		Start     int64  `json:"request_start_ns"`
		End       int64  `json:"request_end_ns"`
		Phase     string `json:"benchmark_phase"`
		Cancelled bool   `json:"was_cancelled"`
	} `json:"metadata"`
	Metrics map[string]struct {
		Value json.RawMessage `json:"value"`
		Unit  string          `json:"unit"`
	} `json:"metrics"`
	Error json.RawMessage `json:"error"`
}

// measured reports whether the request is no warmup.
func (r *recheckRecord) measured() bool {
	return r.Metadata.Phase == "" || r.Metadata.Phase == "profiling"
}

func (r *recheckRecord) failed() bool { return len(r.Error) > 0 && string(r.Error) != "null" }

// values of a metric: one, or several for a list.
func (r *recheckRecord) values(tag string) []float64 {
	m, ok := r.Metrics[tag]
	if !ok {
		return nil
	}
	var one float64
	if json.Unmarshal(m.Value, &one) == nil {
		return []float64{one}
	}
	var many []float64
	_ = json.Unmarshal(m.Value, &many) // neither: no values
	return many
}

// value is NaN when the metric is absent or a list.
func (r *recheckRecord) value(tag string) float64 {
	if v := r.values(tag); len(v) == 1 {
		return v[0]
	}
	return math.NaN()
}

// recheckStat is a metric of the summary.
type recheckStat map[string]any

func (s recheckStat) get(name string) float64 {
	if v, ok := s[name].(float64); ok {
		return v
	}
	return math.NaN()
}

// rechecker holds one run while it is gone through.
type rechecker struct {
	*Recheck
	ok, failed []recheckRecord // of profiling
	cancelled  bool
	summary    map[string]json.RawMessage
	stats      map[string]recheckStat
	columns    map[string][]float64
	units      map[string]string
}

// RecheckProfile recomputes the summary of the run in dir from its records:
// every distribution, the counts, sums and rates, what must hold within each
// record, and the CSV. The error says that the files cannot be read.
func RecheckProfile(dir string) (*Recheck, error) {
	summary, records, err := profilePair(dir)
	if err != nil {
		return nil, err
	}
	c := &rechecker{
		Recheck: &Recheck{Dir: dir}, columns: map[string][]float64{}, units: map[string]string{},
		stats: map[string]recheckStat{},
	}
	if err := c.readSummary(summary); err != nil {
		return nil, err
	}
	if err := c.readRecords(records); err != nil {
		return nil, err
	}
	if !c.complete(filepath.Base(records)) {
		return c.Recheck, nil // every value would differ, and none would say why
	}
	c.distributions()
	c.derived()
	c.identities()
	if err := c.csv(strings.TrimSuffix(summary, ".json") + ".csv"); err != nil {
		return nil, err
	}
	return c.Recheck, nil
}

func (c *rechecker) readSummary(path string) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, &c.summary); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	_ = json.Unmarshal(c.summary["aiperf_version"], &c.Produced) // absent in old files
	for tag, v := range c.summary {
		var s recheckStat
		if json.Unmarshal(v, &s) == nil && s["unit"] != nil {
			c.stats[tag] = s
		}
	}
	return nil
}

func (c *rechecker) readRecords(path string) error { return eachRecord(path, c.add) }

// eachRecord visits the lines of a profile_export.jsonl.
func eachRecord(path string, visit func(recheckRecord)) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 1<<20)
	for n := 1; ; n++ {
		line, err := in.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			var r recheckRecord
			if err := json.Unmarshal(line, &r); err != nil {
				return fmt.Errorf("%s: line %d: %w", path, n, err)
			}
			visit(r)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
}

// complete reports whether the records are those that the summary counts.
func (c *rechecker) complete(records string) bool {
	counted := c.stats["request_count"].get("avg")
	c.Checked++
	if math.IsNaN(counted) || counted == float64(len(c.ok)) {
		return true
	}
	c.Bad = append(c.Bad, fmt.Sprintf("%s: %d successful requests, the summary counts %s: one of the files is cut or of another run",
		records, len(c.ok), amountOf(counted)))
	return false
}

func (c *rechecker) add(r recheckRecord) {
	if !r.measured() {
		return
	}
	c.Records++
	c.cancelled = c.cancelled || r.Metadata.Cancelled
	if r.failed() {
		c.failed = append(c.failed, r)
		return
	}
	c.ok = append(c.ok, r)
	for tag, m := range r.Metrics {
		c.units[tag] = m.Unit
		c.columns[tag] = append(c.columns[tag], r.values(tag)...)
	}
}

// compare counts a value and says where written and recomputed differ by more
// than rel.
func (c *rechecker) compare(what string, written, recomputed, rel float64) {
	c.Checked++
	a, b := math.IsNaN(written), math.IsNaN(recomputed)
	if a && b || !a && !b && math.Abs(written-recomputed) <= max(rel*max(math.Abs(written), math.Abs(recomputed)),
		1e-9) {
		return
	}
	c.Bad = append(c.Bad, fmt.Sprintf("%s: written %s, its records give %s",
		what, amountOf(written), amountOf(recomputed)))
}

func amountOf(v float64) string {
	if math.IsNaN(v) {
		return "nothing"
	}
	return strconv.FormatFloat(v, 'g', 9, 64)
}

const recheckTolerance = 1e-6

// distributions compares every statistic of every metric that records have.
func (c *rechecker) distributions() {
	for _, tag := range slices.Sorted(maps.Keys(c.columns)) {
		values := c.columns[tag]
		s, ok := c.stats[tag]
		if !ok || s["count"] == nil || len(values) == 0 {
			continue
		}
		if s["unit"] != c.units[tag] {
			c.Bad = append(c.Bad, fmt.Sprintf("%s: unit %v in the summary, %s in its records", tag, s["unit"],
				c.units[tag]))
		}
		slices.Sort(values)
		sum := stats.Sum(values)
		want := map[string]float64{
			"count": float64(len(values)), "sum": sum, "avg": sum / float64(len(values)), "std": stats.Std(values),
			"min": values[0], "max": values[len(values)-1],
		}
		for _, p := range []int{1, 5, 10, 25, 50, 75, 90, 95, 99} {
			want["p"+strconv.Itoa(p)] = stats.Quantile(values, float64(p)/100)
		}
		for _, name := range slices.Sorted(maps.Keys(s)) {
			if v, known := want[name]; known {
				rel := recheckTolerance
				if name == "std" && v > 0 { // nearly equal values share their leading digits
					rel *= max(1, math.Abs(values[len(values)-1])/v)
				}
				c.compare(tag+" "+name, s.get(name), v, rel)
			}
		}
	}
}

// scalar compares a metric with one value, if the summary has it.
func (c *rechecker) scalar(tag string, want float64) {
	if s, ok := c.stats[tag]; ok {
		c.compare(tag, s.get("avg"), want, recheckTolerance)
	}
}

// derived compares counts, sums and rates.
func (c *rechecker) derived() {
	ok, all := float64(len(c.ok)), float64(len(c.ok)+len(c.failed))
	if _, there := c.stats["request_count"]; !there && ok > 0 {
		c.Bad = append(c.Bad, fmt.Sprintf("request_count: absent, there are %d records without error", len(c.ok)))
	}
	c.scalar("request_count", ok)
	c.scalar("error_request_count", float64(len(c.failed)))
	c.scalar("completed_request_count", all)
	c.scalar("request_error_rate", 100*float64(len(c.failed))/all)
	for total, of := range map[string]string{
		"total_osl": "output_sequence_length", "total_isl": "input_sequence_length",
		"total_output_tokens": "output_token_count", "total_reasoning_tokens": "reasoning_token_count",
	} {
		if v, has := c.columns[of]; has {
			c.scalar(total, stats.Sum(v))
		}
	}
	duration, window := c.duration(), c.window()
	c.scalar("benchmark_duration", duration)
	c.rates(duration, window)
	if s, has := c.stats["effective_concurrency"]; has && !c.cancelled && window > 0 {
		busy := 0.0
		for _, rs := range [][]recheckRecord{c.ok, c.failed} {
			for i := range rs {
				busy += float64(rs[i].Metadata.End-rs[i].Metadata.Start) / 1e9
			}
		}
		if string(c.summary["was_cancelled"]) != "true" {
			c.compare("effective_concurrency avg", s.get("avg"), busy/window, 1e-3)
		}
	}
}

// duration is last content − first start over the successes, in s.
func (c *rechecker) duration() float64 {
	first, last := int64(math.MaxInt64), math.Inf(-1)
	for i := range c.ok {
		latency := c.ok[i].value("request_latency")
		if math.IsNaN(latency) {
			return math.NaN()
		}
		first = min(first, c.ok[i].Metadata.Start)
	}
	for i := range c.ok {
		last = max(last, float64(c.ok[i].Metadata.Start-first)+c.ok[i].value("request_latency")*1e6)
	}
	return last / 1e9
}

// window is end_time − start_time, in s; NaN when they are not told.
func (c *rechecker) window() float64 {
	at := func(key string) (time.Time, error) {
		var s string
		if err := json.Unmarshal(c.summary[key], &s); err != nil {
			return time.Time{}, err
		}
		return time.Parse("2006-01-02T15:04:05.999999999", s)
	}
	start, err1 := at("start_time")
	end, err2 := at("end_time")
	if err1 != nil || err2 != nil {
		return math.NaN()
	}
	return end.Sub(start).Seconds()
}

// rates may divide by the window or by benchmark_duration, but all by the same.
func (c *rechecker) rates(duration, window float64) {
	sum := func(tag string) float64 {
		if v, ok := c.columns[tag]; ok {
			return stats.Sum(v)
		}
		return math.NaN()
	}
	isl, osl := sum("input_sequence_length"), sum("output_sequence_length")
	used := map[string]bool{}
	for _, r := range []struct {
		tag       string
		numerator float64
	}{
		{"request_throughput", float64(len(c.ok))},
		{"output_token_throughput", osl},
		{"input_token_throughput", isl},
		{"total_token_throughput", isl + osl},
	} {
		s, ok := c.stats[r.tag]
		if !ok || math.IsNaN(r.numerator) || r.numerator == 0 {
			continue
		}
		c.Checked++
		by := r.numerator / s.get("avg")
		near := func(d float64) bool { return math.Abs(by-d) <= max(1e-5*max(by, d), 2e-6) }
		switch {
		case near(window):
			used["start_time..end_time"] = true
		case near(duration):
			used["benchmark_duration"] = true
		default:
			c.Bad = append(c.Bad, fmt.Sprintf("%s: %s divides by %.6f s; the window is %.6f s, benchmark_duration %.6f s", r.tag, amountOf(s.get("avg")), by, window, duration))
		}
	}
	switch {
	case len(used) > 1:
		c.Bad = append(c.Bad, "rates: they divide by different times")
	case used["benchmark_duration"] && !used["start_time..end_time"]:
		c.Notes = append(c.Notes, "rates divide by benchmark_duration")
	}
}

// identities compares what must hold within each successful record.
func (c *rechecker) identities() {
	for i := range c.ok {
		r := &c.ok[i]
		latency, ttft := r.value("request_latency"), r.value("time_to_first_token")
		osl, isl := r.value("output_sequence_length"), r.value("input_sequence_length")
		for _, x := range []struct {
			tag  string
			want float64
		}{
			{"e2e_output_token_throughput", osl / latency * 1e3},
			{"decode_duration", latency - ttft},
			{"prefill_throughput_per_user", isl / ttft * 1e3},
		} {
			if v := r.value(x.tag); !math.IsNaN(v) && !math.IsNaN(x.want) {
				c.compare(fmt.Sprintf("record %d %s", i, x.tag), v, x.want, recheckTolerance)
			}
		}
		if gaps := r.values("inter_chunk_latency"); len(gaps) > 0 && !math.IsNaN(latency-ttft) {
			c.compare(fmt.Sprintf("record %d sum of inter_chunk_latency", i), stats.Sum(gaps), latency-ttft,
				recheckTolerance)
		}
	}
}

// csv compares the two numbers that every summary CSV has.
func (c *rechecker) csv(path string) error {
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		c.Notes = append(c.Notes, "no "+filepath.Base(path))
		return nil
	}
	if err != nil {
		return err
	}
	if !bytes.Contains(raw, []byte("\r\n")) {
		c.Bad = append(c.Bad, filepath.Base(path)+": its lines do not end in CRLF")
	}
	in := csv.NewReader(bytes.NewReader(raw))
	in.FieldsPerRecord = -1
	rows, err := in.ReadAll()
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for _, row := range rows {
		if len(row) < 2 {
			continue
		}
		v, err := strconv.ParseFloat(row[1], 64)
		if err != nil {
			continue
		}
		for name, tag := range map[string]string{
			"Request Count":            "request_count",
			"Time to First Token (ms)": "time_to_first_token", "Request Latency (ms)": "request_latency",
		} {
			if s, ok := c.stats[tag]; ok && row[0] == name {
				c.Checked++
				if math.Abs(v-s.get("avg")) > 0.0051 {
					c.Bad = append(c.Bad, fmt.Sprintf("%s: %s %s, the summary has %s", filepath.Base(path), name,
						row[1], amountOf(s.get("avg"))))
				}
			}
		}
	}
	return nil
}
