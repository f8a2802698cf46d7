package aiperf

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperf.dev/aiperf/loadgen/scale"
	"aiperf.dev/aiperf/schema"
)

// The files of a phase that raises its own load are those that AIPerf wrote of the same
// windows: the same members in the same order, the same values, but for the moments.
func TestScaleHasAIPerfsFiles(t *testing.T) {
	t.Parallel()
	from := filepath.Join("..", "..", "loadgen", "scale", "testdata")
	for _, name := range []string{"sustained", "failed"} {
		recorded, err := os.ReadFile(filepath.Join(from, name+".summary.json"))
		if err != nil {
			t.Fatal(err)
		}
		dir, info := t.TempDir(), RunInfo{T0: time.Unix(0, 0)}
		info.Phases = []PhaseName{{Name: "warm", Warmup: true}, {Name: "profiling", Scale: judgedAgain(t, recorded)}}
		names, err := ProfileNames("")
		if err != nil {
			t.Fatal(err)
		}
		w := &Writer{Profile: Profile{Dir: dir, Info: &info}, names: names}
		if err := w.writeScales(); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(timeless(t, recorded), timeless(t, read(t, dir, "phases/profiling", scaleSummary))); diff != "" {
			t.Errorf("%s: summary (-AIPerf +ours):\n%s", name, diff)
		}
		want := bytes.Split(bytes.TrimSpace(read(t, from, name+".events.jsonl")), []byte("\n"))
		got := bytes.Split(bytes.TrimSpace(read(t, dir, "phases/profiling", scaleEvents)), []byte("\n"))
		if len(want) != len(got) {
			t.Fatalf("%s: %d events, want %d", name, len(got), len(want))
		}
		for i := range want {
			if diff := cmp.Diff(timeless(t, want[i]), timeless(t, got[i])); diff != "" {
				t.Errorf("%s: event %d (-AIPerf +ours):\n%s", name, i, diff)
			}
		}
		var m struct {
			Phases []struct {
				Events string `json:"events_path"`
				Index  int    `json:"phase_index"`
				Nth    int    `json:"profiling_index"`
			} `json:"adaptive_phases"`
		}
		if err := json.Unmarshal(read(t, dir, names.Scales), &m); err != nil || len(m.Phases) != 1 ||
			m.Phases[0].Events != "phases/profiling/"+scaleEvents || m.Phases[0].Index != 1 || m.Phases[0].Nth != 0 {
			t.Errorf("%s: manifest %+v, %v", name, m, err)
		}
		if len(w.files) != 3 {
			t.Errorf("%s: %d files, want 3: %v", name, len(w.files), w.files)
		}
	}
}

func read(t *testing.T, parts ...string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(parts...))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// judgedAgain is the rule's report on the windows of a summary of AIPerf.
func judgedAgain(t *testing.T, summary []byte) *scale.Report {
	t.Helper()
	var sum struct {
		Candidates []map[string]any
		Bound      float64 `json:"sla_bound"`
		Percent    float64 `json:"step_percent"`
	}
	if err := json.Unmarshal(summary, &sum); err != nil {
		t.Fatal(err)
	}
	s := scale.New(&schema.AdaptiveScale{
		Control:         schema.ScaleControl{Variable: schema.ScaleConcurrency, Min: 1, Max: 16},
		SustainDuration: 3,
		Strategy: schema.ScaleStrategy{
			Type: "ramp_until_fail", StepPolicy: schema.FixedPercentStep, StepPercent: sum.Percent, BaseStep: 10,
			MaxStepMultiplier: 4,
		},
		SLA: []schema.SLAFilter{{MetricTag: "time_to_first_token", Stat: "p95", Op: "lt", Threshold: sum.Bound}},
	}, 0)
	short := map[string]string{"time_to_first_token": "ttft", "inter_token_latency": "itl", "request_latency": "latency"}
	at := int64(0)
	for _, c := range sum.Candidates {
		n := int64(c["request_count"].(float64))
		w := scale.Window{
			From: at, To: at + int64(math.Round(c["duration_s"].(float64)*1e9)), Sent: n, Completed: n,
			Figures: func(metric, stat string) float64 {
				if v, ok := c[short[metric]+"_"+stat+"_ms"].(float64); ok {
					return v
				}
				return math.NaN()
			},
		}
		at = w.To
		s.Assess(&w)
	}
	return s.Report()
}

// timeless are the members of an object with their values, in order, without moments; a
// throughput to seven digits, since a window's length is told to a nanosecond.
func timeless(t *testing.T, text []byte) (out []string) {
	t.Helper()
	v, err := parseOrdered(text)
	if err != nil {
		t.Fatal(err)
	}
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case object:
			for _, m := range v {
				walk(path+"."+m.key, m.value)
			}
		case []any:
			for i, x := range v {
				walk(fmt.Sprintf("%s[%d]", path, i), x)
			}
		default:
			text := fmt.Sprint(v)
			if name := path[strings.LastIndex(path, ".")+1:]; slices.Contains(
				[]string{"start_ts", "end_ts", "timestamp", "timestamp_ns", "timestamp_utc", "sustain_started_at"}, name) {
				text = fmt.Sprintf("%T", v)
			} else if n, ok := v.(json.Number); ok && (strings.HasPrefix(name, "throughput") || name == "duration_s") {
				f, _ := n.Float64()
				text = fmt.Sprintf("%.7g", f)
			} else if name == "phase_index" { // a warmup goes before it here
				text = ""
			}
			out = append(out, path+" = "+text)
		}
	}
	walk("", v)
	return out
}
