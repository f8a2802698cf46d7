package aiperf_test

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"aiperf.dev/aiperf/internal/telemetry"
	"aiperf.dev/aiperf/sinks/aiperf"
)

// pagesRun writes the files of server metrics of the pages that AIPerf was shown, with
// the same phases.
func pagesRun(t *testing.T) string {
	t.Helper()
	v := chatRun(t, nil)
	v.info.GPUs = true
	t0 := time.Unix(0, 1_795_448_700_123_456_000)
	at := func(ms int64) int64 { return ms * 1e6 }
	v.info.T0, v.info.Start, v.info.End, v.info.BenchmarkID, v.info.Version = t0, t0.Add(time.Second),
		t0.Add(3400*time.Millisecond), "4dec3190c4b4", "0.13.0"
	v.info.Phases = []aiperf.PhaseName{
		{Name: "warmup", Warmup: true, Start: at(350), End: at(990)},
		{Name: "profiling", Start: at(1000), End: at(3400)},
	}
	v.info.Config = aiperf.InputConfig{}
	const source, gpus = "http://127.0.0.1:8000/metrics", "http://127.0.0.1:9400/dcgm1/metrics"
	families, samples := looks(t, "pages.jsonl", "server", source)
	_, more := looks(t, "gpu_pages.jsonl", telemetry.DCGM, gpus)
	samples = append(samples, more...)
	v.writeAs(t, aiperf.Profile{
		Slice: 500 * time.Millisecond,
		Pages: &aiperf.Pages{
			Formats:  []string{"json", "csv", "jsonl", "parquet"},
			Families: map[string]map[string]telemetry.Family{source: families},
		},
		GPUs: &aiperf.GPUs{
			Fields: telemetry.GPUFields(), Asked: []string{gpus, "http://127.0.0.1:1/metrics"},
			Shown: true,
		},
		JSON: true, Samples: each(samples),
	})
	return v.dir
}

// each hands samples over one by one.
func each(samples []telemetry.Sample) func(add func(telemetry.Sample)) error {
	return func(add func(telemetry.Sample)) error {
		for _, s := range samples {
			add(s)
		}
		return nil
	}
}

// looks are samples of recorded pages, as a Scraper tells them, and their families.
func looks(
	t *testing.T, name, collector, source string,
) (families map[string]telemetry.Family, samples []telemetry.Sample) {
	t.Helper()
	families = map[string]telemetry.Family{}
	last, published := "", map[[3]string]int64{}
	for _, line := range lines(t, name) {
		var look struct {
			At   int64 `json:"t_ns"`
			Took int64 `json:"took_ns"`
			Body string
		}
		if err := json.Unmarshal(line, &look); err != nil {
			t.Fatal(err)
		}
		page, err := telemetry.Parse([]byte(look.Body))
		if err != nil {
			t.Fatal(err)
		}
		add := func(metric, labels, kind string, value float64) {
			samples = append(samples, telemetry.Sample{
				At: look.At, Source: source, Collector: collector,
				Metric: metric, Labels: labels, Kind: kind, Value: value,
			})
		}
		for _, f := range page.Families {
			families[f.Name] = f
			for _, x := range f.Values {
				published[[3]string{f.Name, x.Labels, x.Kind}] = look.At
				if look.Body != last {
					add(f.Name, x.Labels, x.Kind, x.V)
				}
			}
		}
		for key, at := range published {
			if at != look.At {
				add(key[0], key[1], key[2], math.NaN())
				delete(published, key)
			}
		}
		last = look.Body
		add(telemetry.Up, "", telemetry.Gauge, 1)
		add(telemetry.Duration, "", telemetry.Gauge, float64(look.Took)/1e9)
	}
	return families, samples
}

// What the files say of GPUs is what AIPerf 0.13 says about the same pages
// (testdata/servermetrics/record_gpus.py).
func TestGPUsAreAIPerfs(t *testing.T) {
	t.Parallel()
	dir := pagesRun(t)
	var got struct {
		Telemetry struct {
			Summary struct {
				Configured []string `json:"endpoints_configured"`
				Successful []string `json:"endpoints_successful"`
			}
			Endpoints any
		} `json:"telemetry_data"`
	}
	var want any
	if err := json.Unmarshal(load(t, filepath.Join(dir, "profile_export_aiperf.json")), &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(load(t, "testdata/servermetrics/gpu_telemetry_data.json"), &want); err != nil {
		t.Fatal(err)
	}
	for _, d := range differ("", got.Telemetry.Endpoints, want) {
		t.Error(d)
	}
	if s := got.Telemetry.Summary; len(s.Configured) != 2 || len(s.Successful) != 1 {
		t.Errorf("%+v", s)
	}
	sameLines(t, filepath.Join(dir, "gpu_telemetry_export.jsonl"), "gpu_telemetry_export.jsonl")
	text := string(load(t, filepath.Join(dir, "profile_export_aiperf.csv")))
	for _, part := range []string{
		"\r\n\r\n\r\nEndpoint,GPU_Index,GPU_Name,GPU_UUID,Platform,Metric,avg,min,max,sum,p1,p5,p10,p25,p50,p75,p90,p95,p99,std,Hostname\r\n",
		"127.0.0.1:9400/dcgm1,0,NVIDIA H200,GPU-0,nvidia,NVIDIA GPU Power Usage (W),268.12,100.50,435.75,2145.00,103.11,113.54,126.58,165.69,268.12,370.56,409.68,422.71,433.14,127.49,localhost\r\n",
		"127.0.0.1:9400/dcgm1,1,NVIDIA H200,GPU-1,nvidia,NVIDIA XID Errors (count),0.00,,,,,,,,,,,,,,localhost\r\n",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("the CSV file lacks %q", part)
		}
	}
	text = string(load(t, filepath.Join(dir, "profile_export_console.txt")))
	for _, part := range []string{
		"AIPerf | GPU Telemetry Summary\n1/2 telemetry sources reachable\n• 127.0.0.1:1 ✘ (unreachable)\n• 127.0.0.1:9400/dcgm1 ✔\n",
		"127.0.0.1:9400/dcgm1 | GPU 1 | NVIDIA H200\n",
		"│ NVIDIA GPU Power Usage (W) │ ",
	} {
		if !strings.Contains(text, strings.TrimPrefix(part, "│")) {
			t.Errorf("the console's file lacks %q", part)
		}
	}
}

// sameLines compares a file of JSON lines with a recorded one.
func sameLines(t *testing.T, name, recordedName string) {
	t.Helper()
	mine, recorded := bytes.Split(bytes.TrimSpace(load(t, name)), []byte("\n")), lines(t, recordedName)
	if len(mine) != len(recorded) {
		t.Fatalf("%d lines, AIPerf's %d", len(mine), len(recorded))
	}
	for i := range mine {
		var a, b any
		if json.Unmarshal(mine[i], &a) != nil || json.Unmarshal(recorded[i], &b) != nil {
			t.Fatalf("line %d is not JSON: %s", i, mine[i])
		}
		for _, d := range differ(fmt.Sprintf("line %d", i), a, b) {
			t.Error(d)
		}
	}
}

func lines(t *testing.T, name string) (out [][]byte) {
	t.Helper()
	b := load(t, filepath.Join("testdata/servermetrics", name))
	scan := bufio.NewScanner(bytes.NewReader(b))
	scan.Buffer(nil, 1<<20)
	for scan.Scan() {
		out = append(out, bytes.Clone(scan.Bytes()))
	}
	return out
}

// The files of server metrics are those that AIPerf 0.13 makes of the same pages
// (testdata/servermetrics/record.py).
func TestPagesAreAIPerfs(t *testing.T) {
	t.Parallel()
	dir := pagesRun(t)
	var got, want any
	for _, f := range []struct {
		name string
		into *any
	}{
		{filepath.Join(dir, "server_metrics_export.json"), &got},
		{"testdata/servermetrics/server_metrics_export.json", &want},
	} {
		if err := json.Unmarshal(load(t, f.name), f.into); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range differ("", got, want) {
		t.Error(d)
	}
	ours, theirs := records(t, filepath.Join(dir, "server_metrics_export.csv")),
		records(t, "testdata/servermetrics/server_metrics_export.csv")
	for i := range max(len(ours), len(theirs)) {
		if a, b := at(ours, i), at(theirs, i); a != b {
			t.Errorf("CSV row %d:\n%s\nAIPerf's\n%s", i, a, b)
		}
	}
	sameLines(t, filepath.Join(dir, "server_metrics_export.jsonl"), "server_metrics_export.jsonl")
}

func at(rows []string, i int) string {
	if i < len(rows) {
		return rows[i]
	}
	return "(none)"
}

// records are the rows of a CSV file with sections, its comments among them.
func records(t *testing.T, name string) (out []string) {
	t.Helper()
	r := csv.NewReader(bytes.NewReader(load(t, name)))
	r.FieldsPerRecord = -1
	all, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range all {
		out = append(out, strings.Join(row, "|"))
	}
	return out
}

// differ compares JSON values; numbers are equal within 1e-9 of each other.
func differ(path string, got, want any) (out []string) {
	switch w := want.(type) {
	case map[string]any:
		g, _ := got.(map[string]any)
		for k := range w {
			out = append(out, differ(path+"."+k, g[k], w[k])...)
		}
		for k := range g {
			if _, has := w[k]; !has {
				out = append(out, fmt.Sprintf("%s.%s: %v, AIPerf has none", path, k, g[k]))
			}
		}
		return out
	case []any:
		g, _ := got.([]any)
		if len(g) != len(w) {
			return []string{fmt.Sprintf("%s: %d items, AIPerf's %d", path, len(g), len(w))}
		}
		for i := range w {
			out = append(out, differ(fmt.Sprintf("%s[%d]", path, i), g[i], w[i])...)
		}
		return out
	case float64:
		if g, ok := got.(float64); ok && math.Abs(g-w) <= 1e-9*max(1, math.Abs(w)) {
			return nil
		}
	}
	if !reflect.DeepEqual(got, want) {
		out = append(out, fmt.Sprintf("%s: %v, AIPerf's %v", path, got, want))
	}
	return out
}

// The Parquet file has AIPerf's columns and its rows, each once.
func TestPagesParquet(t *testing.T) {
	t.Parallel()
	f, err := os.Open(filepath.Join(pagesRun(t), "server_metrics_export.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	file, err := parquet.OpenFile(f, st.Size())
	if err != nil {
		t.Fatal(err)
	}
	recorded := lines(t, "parquet_rows.jsonl")
	var names []string
	if err := json.Unmarshal(recorded[0], &names); err != nil {
		t.Fatal(err)
	}
	var ours []string
	for _, c := range file.Schema().Columns() {
		ours = append(ours, c[0])
	}
	if !reflect.DeepEqual(ours, names) {
		t.Fatalf("columns %q, AIPerf's %q", ours, names)
	}
	left := map[string]int{}
	for _, line := range recorded[1:] {
		var row []any
		if err := json.Unmarshal(line, &row); err != nil {
			t.Fatal(err)
		}
		left[shown(row)]++
	}
	if got := int(file.NumRows()); got != len(recorded)-1 {
		t.Errorf("%d rows, AIPerf's %d", got, len(recorded)-1)
	}
	for _, group := range file.RowGroups() {
		in := group.Rows()
		buf := make([]parquet.Row, 64)
		for {
			n, err := in.ReadRows(buf)
			for _, r := range buf[:n] {
				row := make([]any, len(names))
				for _, v := range r {
					switch {
					case v.IsNull():
					case v.Kind() == parquet.Double:
						row[v.Column()] = v.Double()
					case v.Kind() == parquet.Int64:
						row[v.Column()] = float64(v.Int64())
					default:
						row[v.Column()] = v.String()
					}
				}
				if left[shown(row)]--; left[shown(row)] < 0 {
					t.Fatalf("AIPerf has no row %s", shown(row))
				}
			}
			if err != nil {
				break
			}
		}
		in.Close()
	}
}

// shown is a row with numbers to nine digits; an empty text is none.
func shown(row []any) string {
	var parts []string
	for _, v := range row {
		switch v := v.(type) {
		case float64:
			parts = append(parts, fmt.Sprintf("%.9g", v))
		case string:
			parts = append(parts, v)
		default:
			parts = append(parts, "")
		}
	}
	return strings.Join(parts, "|")
}
