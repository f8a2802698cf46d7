package genaiperf

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/atomicfile"
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/stats"
)

// Folder is the name of the folder of the result, as GenAI-Perf names it: "m-openai-chat-concurrency2".
func (m *Merged) Folder() string {
	c := m.Runs[0].Config
	parts := []string{strings.ReplaceAll(strings.Join(c.Models, "_"), "/", "_")}
	if parts[0] == "" {
		parts[0] = "model"
	}
	if c.Endpoint.Type != "" {
		parts = append(parts, "openai", c.Endpoint.Type)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Analyzer.Stimulus)) {
		parts = append(parts, name+c.Analyzer.Stimulus[name].String())
	}
	return strings.Map(func(r rune) rune {
		if r == '/' || r == '\\' || r < ' ' {
			return '_'
		}
		return r
	}, strings.Join(parts, "-"))
}

// Alike says in what runs differ that are merged; "" for nothing.
func (m *Merged) Alike() string {
	first := m.Runs[0]
	for _, r := range m.Runs[1:] {
		for _, x := range []struct{ what, a, b string }{
			{"model", strings.Join(first.Config.Models, ","), strings.Join(r.Config.Models, ",")},
			{"endpoint type", first.Config.Endpoint.Type, r.Config.Endpoint.Type},
			{"load", fmt.Sprint(first.Config.Analyzer.Stimulus), fmt.Sprint(r.Config.Analyzer.Stimulus)},
			{"goodput", string(first.Config.Input.Goodput), string(r.Config.Input.Goodput)},
		} {
			if x.a != x.b {
				return fmt.Sprintf("%s and %s do not have the same %s: %s and %s", first.Dir, r.Dir, x.what, x.a, x.b)
			}
		}
	}
	return ""
}

// percentiles of GenAI-Perf's files.
var percentiles = []int{1, 5, 10, 25, 50, 75, 90, 95, 99}

// Write writes the three files into dir.
func (m *Merged) Write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return failed(err)
	}
	summary, err := m.summary()
	if err != nil {
		return err
	}
	all := stampsFile{
		Version: m.Runs[0].stamps.Version, Kind: m.Runs[0].stamps.Kind, Endpoint: m.Runs[0].stamps.Endpoint,
	}
	for _, r := range m.Runs {
		for _, e := range r.stamps.Experiments {
			if len(all.Experiments) == 0 {
				all.Experiments = append(all.Experiments, experiment{Experiment: e.Experiment})
			}
			to := &all.Experiments[0]
			to.Requests, to.Boundaries = append(to.Requests, e.Requests...), append(to.Boundaries, e.Boundaries...)
		}
	}
	stamps, err := json.Marshal(all)
	if err != nil {
		return err
	}
	for name, b := range map[string][]byte{
		"profile_export.json": stamps, "profile_export_genai_perf.json": summary, "profile_export_genai_perf.csv": m.csv(),
	} {
		if err := atomicfile.Write(filepath.Join(dir, name), b); err != nil {
			return failed(err)
		}
	}
	return nil
}

func failed(err error) error { return &diag.Error{Code: diag.Failed, Message: err.Error(), Cause: err} }

// statistics are those of a metric, by their names in the files.
func (x *Metric) statistics() (names []string, values []float64) {
	if x.Values == nil {
		return []string{"avg"}, []float64{x.Value}
	}
	names, values = []string{"avg"}, []float64{stats.Mean(x.Values)}
	for _, p := range percentiles {
		names, values = append(names, fmt.Sprintf("p%d", p)), append(values, stats.Quantile(x.Values, float64(p)/100))
	}
	low, high := stats.MinMax(x.Values)
	return append(names, "min", "max", "std"), append(values, low, high, stats.Std(x.Values))
}

// summary is profile_export_genai_perf.json, its members in order.
func (m *Merged) summary() ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("{")
	for i := range m.Metrics {
		x := &m.Metrics[i]
		fmt.Fprintf(&b, "\n %q: {\n  \"unit\": %q", x.Tag, x.Unit)
		names, values := x.statistics()
		for k, name := range names {
			v, err := json.Marshal(values[k])
			if err != nil {
				return nil, fmt.Errorf("%s %s: %w", x.Tag, name, err)
			}
			fmt.Fprintf(&b, ",\n  %q: %s", name, v)
		}
		b.WriteString("\n },")
	}
	config := m.Runs[0].config
	if len(config) == 0 {
		config = []byte("{}")
	}
	b.WriteString("\n \"input_config\": ")
	if err := json.Indent(&b, config, " ", " "); err != nil {
		return nil, err
	}
	b.WriteString("\n}\n")
	return b.Bytes(), nil
}

// csvColumns are the statistics of the first block of the CSV, csvMetrics its rows in order.
var (
	csvColumns = []string{"avg", "min", "max", "p99", "p95", "p90", "p75", "p50", "p25", "p10", "p5", "p1"}
	csvMetrics = []string{
		"time_to_first_token", "time_to_second_token", "request_latency", "inter_token_latency",
		"output_token_throughput_per_user", "output_sequence_length", "input_sequence_length",
	}
	csvWhole = []string{"output_token_throughput", "request_throughput", "request_goodput", "request_count"}
)

func (m *Merged) csv() []byte {
	var b bytes.Buffer
	row := func(cells ...string) { b.WriteString(strings.Join(cells, ",") + "\r\n") }
	row(append([]string{"Metric"}, csvColumns...)...)
	for _, tag := range csvMetrics {
		x := m.find(tag)
		if x == nil {
			continue
		}
		names, values := x.statistics()
		cells := []string{x.Header}
		for _, column := range csvColumns {
			cells = append(cells, fmt.Sprintf("%.2f", values[slices.Index(names, column)]))
		}
		row(cells...)
	}
	row()
	row("Metric", "Value")
	for _, tag := range csvWhole {
		if x := m.find(tag); x != nil {
			row(x.Header, fmt.Sprintf("%.2f", x.Value))
		}
	}
	return b.Bytes()
}

func (m *Merged) find(tag string) *Metric {
	for i := range m.Metrics {
		if m.Metrics[i].Tag == tag {
			return &m.Metrics[i]
		}
	}
	return nil
}
