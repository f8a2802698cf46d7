package aiperf

import (
	"encoding/json"
	"math"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/telemetry"
	"aiperf.dev/aiperf/sinks"
)

// pageFixed are the columns of server_metrics_export.parquet around those of labels. A
// label of one of these names has no column.
func pageFixed() (before, after []sinks.Field) {
	text := func(name string) sinks.Field { return sinks.Field{Name: name, Kind: sinks.Text, Null: true} }
	real := func(name string) sinks.Field { return sinks.Field{Name: name, Kind: sinks.Float64, Null: true} }
	before = []sinks.Field{
		text("endpoint_url"), text("metric_name"), text("metric_type"), text("unit"), text("description"),
		{Name: "timestamp_ns", Kind: sinks.Int64, Null: true},
	}
	return before, []sinks.Field{real("value"), real("sum"), real("count"), text("bucket_le"), real("bucket_count")}
}

// parquet writes server_metrics_export.parquet: a row for each sample of the window, of
// a histogram one for each of its buckets. Counts are those since the look before it.
func (p *pageSet) parquet(to *sinks.Artifact) (rows int64, err error) {
	start, end := p.window(true)
	fields, labels := p.parquetFields(start, end)
	out := sinks.NewLoose(to, "server_metrics_export", fields, p.parquetMeta(labels, start, end))
	before, _ := pageFixed()
	for s := range p.within(start, end) {
		texts, numbers := make([]string, len(fields)), make([]float64, len(fields))
		copy(texts, []string{s.source, s.name, s.Type, s.unit, s.help})
		for _, l := range s.Labels {
			if i, found := slices.BinarySearch(labels, l[0]); found {
				texts[len(before)+i] = l[1]
			}
		}
		value := len(before) + len(labels)
		sum, count, le, inBucket := value+1, value+2, value+3, value+4
		for i := range numbers {
			numbers[i] = math.NaN()
		}
		ref := max(s.ref, 0)
		if s.ref < 0 {
			ref = s.from
		}
		for k := s.from; k <= s.to; k++ {
			at := p.T0.UnixNano() + s.At[k]
			if s.Type != telemetry.Histogram {
				numbers[value] = s.Values[k]
				if s.Type == telemetry.Counter {
					numbers[value] = max(s.Values[k]-s.Values[ref], 0)
				}
				out.Row(texts, numbers, at)
				rows++
				continue
			}
			numbers[sum], numbers[count] = max(s.Sums[k]-s.Sums[ref], 0), max(s.Counts[k]-s.Counts[ref], 0)
			for i, edge := range s.Edges {
				texts[le], numbers[inBucket] = pyEdge(edge), max(s.Buckets[k][i]-s.Buckets[ref][i], 0)
				out.Row(texts, numbers, at)
				rows++
			}
		}
	}
	return rows, out.Close()
}

// parquetFields are the columns, and the labels that have one.
func (p *pageSet) parquetFields(start, end int64) (fields []sinks.Field, labels []string) {
	before, after := pageFixed()
	taken, seen := map[string]bool{}, map[string]bool{}
	for _, f := range slices.Concat(before, after) {
		taken[f.Name] = true
	}
	for s := range p.within(start, end) {
		for _, l := range s.Labels {
			if !taken[l[0]] {
				seen[l[0]] = true
			}
		}
	}
	labels = sortedKeys(seen)
	fields = before
	for _, l := range labels {
		fields = append(fields, sinks.Field{Name: l, Kind: sinks.Text, Null: true})
	}
	return append(fields, after...), labels
}

// parquetMeta are the file's own keys. It was written by no Python.
func (p *pageSet) parquetMeta(labels []string, start, end int64) map[string]string {
	t0 := p.T0.UnixNano()
	kinds, total := map[string]int{
		telemetry.Gauge: 0, telemetry.Counter: 0,
		telemetry.Histogram: 0, telemetry.Unknown: 0,
	}, 0
	for s := range p.within(math.MinInt64, math.MaxInt64) {
		kinds[s.Type]++
		total++
	}
	text := func(v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			return ""
		}
		return string(b)
	}
	meta := map[string]string{
		"aiperf.schema_version": "1.0", "aiperf.version": p.Version, "aiperf.benchmark_id": p.BenchmarkID,
		"aiperf.exporter":                   "ServerMetricsParquetExporter",
		"aiperf.export_timestamp_utc":       time.Now().UTC().Format("2006-01-02T15:04:05.000000+00:00"),
		"aiperf.go_version":                 strings.TrimPrefix(runtime.Version(), "go"),
		"aiperf.time_filter_start_ns":       strconv.FormatInt(t0+start, 10),
		"aiperf.time_filter_end_ns":         strconv.FormatInt(t0+end, 10),
		"aiperf.profiling_duration_ns":      strconv.FormatInt(end-start, 10),
		"aiperf.profiling_duration_seconds": string(appendNumber(nil, float64(end-start)/1e9)),
		"aiperf.endpoint_urls":              text(p.sources), "aiperf.endpoint_count": strconv.Itoa(len(p.sources)),
		"aiperf.label_columns": text(append([]string{}, labels...)), "aiperf.label_count": strconv.Itoa(len(labels)),
		"aiperf.metric_count": strconv.Itoa(total), "aiperf.metric_type_counts": text(kinds),
		"aiperf.schema_note": "Label columns vary by endpoint/model. Use union_by_name=true for cross-file queries.",
	}
	if host, err := os.Hostname(); err == nil {
		meta["aiperf.hostname"] = host
	}
	if input, err := p.Config.json(); err == nil {
		meta["aiperf.input_config"] = string(input)
	}
	return meta
}
