package sinks

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"aiperf.dev/aiperf/internal/atomicfile"
	"aiperf.dev/aiperf/internal/metrics"
)

// WriteProfile writes one run's AIPerf files into dir: the records of its
// journal as JSON lines and, when at least one request succeeded, the summary
// as JSON and CSV. jsonSummary and records can be turned off as
// artifacts.summary and artifacts.records do. Last comes the mark that the
// results are complete.
func WriteProfile(dir, prefix, journal string, info *RunInfo, sum *metrics.Summary, jsonSummary, records bool) ([]FileInfo, error) {
	names, err := ProfileNames(prefix)
	if err != nil {
		return nil, err
	}
	var files []FileInfo
	rec, file, err := writeRecords(dir, names.Records, journal, info, sum, records)
	if err != nil {
		return nil, err
	}
	if records {
		files = append(files, file)
	}
	if rec.ok > 0 {
		more, err := writeSummary(dir, names, info, sum, rec.errors.list(), jsonSummary)
		if err != nil {
			return files, err
		}
		files = append(files, more...)
	}
	return files, writeReady(dir, names.Ready, info)
}

func writeSummary(dir string, names Names, info *RunInfo, sum *metrics.Summary, errs []object, jsonSummary bool) ([]FileInfo, error) {
	var files []FileInfo
	if jsonSummary {
		b, err := summaryJSON(info, sum, errs)
		if err != nil {
			return nil, fmt.Errorf("write %s: %w", filepath.Join(dir, names.JSON), err)
		}
		f, err := writeArtifact(dir, names.JSON, "summary", b)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	f, err := writeArtifact(dir, names.CSV, "summary", summaryCSV(sum, info.Telemetry != nil))
	if err != nil {
		return files, err
	}
	return append(files, f), nil
}

// headOrder are the metrics that stand before the run's own members; the
// others follow after them.
func headOrder() []string {
	return []string{
		"request_throughput", "request_latency", "request_count", "time_to_first_token", "time_to_second_token",
		"inter_token_latency", "output_token_throughput", "output_token_throughput_per_user", "output_sequence_length",
		"input_sequence_length", "goodput", "good_request_count", "output_token_count", "reasoning_token_count",
		"inter_chunk_latency", "total_output_tokens", "total_reasoning_tokens", "benchmark_duration", "total_isl",
		"total_osl", "error_request_count", "error_isl", "total_error_isl",
	}
}

// summaryJSON is profile_export_aiperf.json, schema 1.4.
func summaryJSON(info *RunInfo, sum *metrics.Summary, errs []object) ([]byte, error) {
	head := headOrder()
	o := object{}.with("schema_version", "1.4").with("aiperf_version", info.Version).with("benchmark_id", info.BenchmarkID)
	for _, tag := range head {
		if s, ok := sum.Get(tag); ok {
			o = o.with(tag, statJSON(s))
		}
	}
	if info.Telemetry != nil {
		o = o.with("telemetry_data", info.Telemetry)
	}
	input := info.InputConfig
	if input == nil {
		input = json.RawMessage("{}")
	}
	o = o.with("input_config", input).with("run_info", info.runInfo()).
		with("was_cancelled", info.WasCancelled).with("is_complete", info.complete())
	if !info.complete() {
		o = o.with("incomplete_reason", info.incompleteReason())
	}
	o = o.with("error_summary", errs).with("start_time", localTime(info.Start)).with("end_time", localTime(info.End))
	if info.Warmup != nil {
		o = o.with("warmup_metrics", allStats(info.Warmup))
	}
	for _, s := range sum.Stats {
		if !slices.Contains(head, s.Tag) {
			o = o.with(s.Tag, statJSON(s))
		}
	}
	return indented(o)
}

func allStats(sum *metrics.Summary) object {
	o := object{}
	for _, s := range sum.Stats {
		o = o.with(s.Tag, statJSON(s))
	}
	return o
}

// jsonStats are the statistics of a distribution, in AIPerf's order.
func jsonStats() []string {
	return []string{"avg", "p1", "p5", "p10", "p25", "p50", "p75", "p90", "p95", "p99", "min", "max", "std", "count", "sum"}
}

// statJSON is one metric; what could not be computed is left out.
func statJSON(s metrics.Stat) object {
	o := object{}.with("unit", s.Unit)
	if s.Scalar {
		return o.with("avg", number(s.Avg))
	}
	for _, name := range jsonStats() {
		switch v := s.Value(name); {
		case !isFinite(v):
		case name == "count":
			o = o.with(name, s.Count)
		default:
			o = o.with(name, number(v))
		}
	}
	return o
}

func isFinite(f float64) bool { return f-f == 0 }

// csvStats are the columns of the summary CSV.
func csvStats() []string {
	return []string{"avg", "min", "max", "sum", "p1", "p5", "p10", "p25", "p50", "p75", "p90", "p95", "p99", "std"}
}

// summaryCSV is profile_export_aiperf.csv: a block of distributions, a block
// of scalars, both by tag, and the header of the GPU block when GPUs were
// asked about. CRLF; two decimals; an absent statistic is an empty cell.
func summaryCSV(sum *metrics.Summary, gpu bool) []byte {
	byTag := slices.Clone(sum.Stats)
	slices.SortFunc(byTag, func(a, b metrics.Stat) int {
		if a.Tag < b.Tag {
			return -1
		}
		return 1
	})
	b := csvLine(nil, append([]string{"Metric"}, csvStats()...)...)
	for _, s := range byTag {
		if s.Scalar {
			continue
		}
		row := []string{title(s)}
		for _, name := range csvStats() {
			row = append(row, decimals(s.Value(name), 2))
		}
		b = csvLine(b, row...)
	}
	b = csvLine(append(b, "\r\n"...), "Metric", "Value")
	for _, s := range byTag {
		if s.Scalar {
			b = csvLine(b, title(s), decimals(s.Avg, 2))
		}
	}
	if gpu {
		b = append(b, "\r\n\r\n"...)
		b = csvLine(b, append([]string{"Endpoint", "GPU_Index", "GPU_Name", "GPU_UUID", "Platform", "Metric"}, csvStats()...)...)
	}
	return b
}

// title is a metric's name in a CSV: counts go without their unit.
func title(s metrics.Stat) string {
	if s.Unit == "" || s.Unit == "count" || s.Unit == "requests" {
		return s.Header
	}
	return s.Header + " (" + s.Unit + ")"
}

// decimals is v with n decimals, "" when there is no v.
func decimals(v float64, n int) string {
	if !isFinite(v) {
		return ""
	}
	return strconv.FormatFloat(v, 'f', n, 64)
}

func csvLine(b []byte, cells ...string) []byte {
	for i, c := range cells {
		if i > 0 {
			b = append(b, ',')
		}
		if c != "" {
			b = appendCSV(b, c)
		}
	}
	return append(b, "\r\n"...)
}

// writeReady writes the mark by which watchers see that everything is there.
func writeReady(dir, name string, info *RunInfo) error {
	b, err := appendJSON(nil, object{}.with("ready", true).with("was_cancelled", info.WasCancelled).with("partial", !info.complete()))
	if err != nil {
		return err
	}
	f, err := atomicfile.Create(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	defer f.Abort()
	if err := f.Chmod(os.FileMode(0o600)); err != nil {
		return err
	}
	if _, err := f.Write(b); err != nil {
		return err
	}
	return f.Commit()
}
