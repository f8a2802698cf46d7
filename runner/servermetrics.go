package runner

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/secret"
	"aiperf.dev/aiperf/internal/telemetry"
	"aiperf.dev/aiperf/runner/onerun"
	"aiperf.dev/aiperf/sinks"
	"aiperf.dev/aiperf/sinks/aiperf"
	"aiperf.dev/aiperf/sweep"
)

// serverFigures are what servers' pages of metrics said over a window of a run.
type serverFigures struct {
	window  string
	figures []telemetry.Figure
}

// readServers goes through what was sampled of servers in a run.
func (r *runner) readServers(run sweep.Run, rep *RunReport) error {
	var all telemetry.Readings
	var gpus telemetry.Energies
	trips := &telemetry.RoundTrips{}
	err := sinks.Telemetry().Each(filepath.Join(r.dir.Path, run.Dir), func(rows []sinks.Sample) error {
		for i := range rows {
			all.Add(telemetry.Sample(rows[i]))
			trips.Add(telemetry.Sample(rows[i]))
			gpus.Add(telemetry.Sample(rows[i]))
		}
		return nil
	})
	if err != nil {
		return err
	}
	rep.servers, rep.network = nil, nil
	switch n := &run.Cell.Resolved.Benchmark.Network; {
	case n.Enabled && n.Mean != nil:
		st := metrics.RoundTrip(nil, *n.Mean)
		rep.network = &st
	case n.Enabled && len(trips.Samples) > 0:
		st := metrics.RoundTrip(trips.Samples, trips.Mean())
		rep.network = &st
	}
	rep.energy = energies(rep, &gpus)
	for _, w := range windowsOf(rep) {
		rep.servers = append(rep.servers, serverFigures{w.name, all.Window(w.start, w.end)})
	}
	return nil
}

// serverMetrics are the rows of a run about its servers. Of a percentile of a histogram
// the ends of the interval are the edges of its bucket.
func serverMetrics(at sinks.Place, servers []serverFigures) (rows []sinks.MetricRow) {
	for _, s := range servers {
		for _, f := range s.figures {
			for _, k := range f.Stats {
				row := sinks.MetricRow{
					Place: at, Level: "run", Part: f.Source, Window: s.window, Metric: telemetry.Tag(f.Word.Name),
					Stat: k.Name, Value: k.Value, Unit: unitOf(k.Name, f.Word.Unit),
					Low: k.Low, High: k.High, CV: math.NaN(), N: int64(f.Looks),
					NEff: math.NaN(), Certified: record.None, Method: f.Method,
				}
				rows = append(rows, row)
			}
		}
	}
	return rows
}

// networkMetrics are the rows of a run about the round trip, beside those of a summary.
func networkMetrics(at sinks.Place, sum *metrics.Summary, rtt *metrics.Stat) []sinks.MetricRow {
	if rtt == nil {
		return nil
	}
	return runMetrics(at, &metrics.Summary{Window: sum.Window, Stats: sum.WithoutRoundTrip(*rtt)}, nil, 0)
}

// news are the families of sources that no run has told of so far. From now on they are
// told.
func (r *runner) news(sources []telemetry.Source) map[string][]telemetry.Family {
	out := map[string][]telemetry.Family{}
	for _, s := range sources {
		for _, f := range s.Families {
			if _, known := r.pages[s.Name][f.Name]; !known {
				out[s.Name] = append(out[s.Name], f)
			}
		}
	}
	r.know(out)
	return out
}

// know keeps families that a run told of.
func (r *runner) know(told map[string][]telemetry.Family) {
	for source, families := range told {
		if r.pages[source] == nil {
			r.pages[source] = map[string]telemetry.Family{}
		}
		for _, f := range families {
			r.pages[source][f.Name] = f
		}
	}
}

// gpus is what AIPerf's files need to know of GPUs beside samples.
func (r *runner) gpus(run sweep.Run) *aiperf.GPUs {
	conf := &run.Cell.Resolved.Benchmark.GPUTelemetry
	out := &aiperf.GPUs{Fields: telemetry.GPUFields()}
	if conf.Collector == "pynvml" {
		out.Asked = append(out.Asked, telemetry.NVMLSource)
	}
	for _, u := range conf.URLs {
		out.Asked = append(out.Asked, secret.URL(r.hide.Text(onerun.PageURL(u))))
	}
	var said struct {
		GPUs *json.RawMessage `json:"gpu_telemetry"`
	}
	for _, p := range run.Cell.Resolved.Benchmark.Phases {
		if p.Kind != "warmup" {
			out.Users = float64(p.Concurrency)
		}
	}
	out.Shown = json.Unmarshal(run.Cell.Resolved.Given, &said) == nil && said.GPUs != nil
	if conf.MetricsFile == "" {
		return out
	}
	f, err := os.Open(r.moved.now(Beside(r.opt.SourceName, conf.MetricsFile)))
	if err != nil {
		return out // a run that could not read it has said so
	}
	defer f.Close()
	more, _, _ := telemetry.ReadGPUFields(f) // as far as it can be read
	out.Fields = append(out.Fields, more...)
	return out
}
