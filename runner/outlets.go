package runner

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/secret"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/runner/onerun"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sinks/expose"
	"aiperf.dev/aiperf/sinks/mlflow"
	"aiperf.dev/aiperf/sinks/otlp"
	"aiperf.dev/aiperf/sweep"
)

// outlets are where results go besides files. One that cannot be reached is said before
// the load and left out: nothing that is measured depends on it.
type outlets struct {
	page   *expose.Server   // nil: not served
	otlp   *otlp.Exporter   // nil: nothing is sent
	mlflow *mlflow.Client   // nil: nothing is filed
	url    string           // of the collector, as it may be shown
	bench  schema.Benchmark // that names them
	hide   *secret.Masker
}

// openOutlets finds out who takes what. The error is about an address of this machine,
// which is a mistake of whoever named it.
func openOutlets(ctx context.Context, plan *sweep.Plan, opt *Options) (*outlets, error) {
	o := &outlets{hide: plan.Hide()}
	if !opt.network() || len(plan.Cells) == 0 {
		return o, nil
	}
	o.bench = plan.Cells[0].Resolved.Benchmark
	b := &o.bench
	if at := b.Runtime.ServeMetrics; at != "" {
		page := expose.NewPage(len(plan.Runs), [][2]string{
			{"version", opt.Version},
			{"plan", plan.Hash},
			{"name", plan.Name},
			{"model", b.Models.Items[0].Name},
			{"endpoint_type", b.Endpoint.Type},
		})
		var err error
		if o.page, err = expose.Listen(ctx, at, page); err != nil {
			return nil, &diag.Error{
				Code: diag.Usage, Path: "benchmark.runtime.serve_metrics", Message: diag.Line(err),
				Hint: "name a free port: --serve-metrics 9464", Cause: err,
			}
		}
		opt.say("progress is served at http://" + o.page.Address + "/metrics")
	}
	probe, stop := context.WithTimeout(ctx, probing)
	defer stop()
	if c := &b.OTel; c.URL != "" && (c.Metrics || c.Timing) {
		to := o.collector(opt, plan)
		if err := otlp.Probe(probe, to.URL); err != nil {
			opt.say(fmt.Sprintf("OpenTelemetry: %s takes nothing yet: %s; it is tried again while the runs go on", o.url,
				o.hide.Text(diag.Line(err))))
		}
		var err error
		if o.otlp, err = otlp.Open(ctx, to); err != nil {
			opt.say(fmt.Sprintf("OpenTelemetry: nothing is sent to %s: %s", o.url, o.hide.Text(diag.Line(err))))
		}
	}
	if c := &b.MLflow; c.TrackingURI != "" {
		if err := o.openMLflow(probe); err != nil {
			opt.say(fmt.Sprintf("MLflow: %s cannot be filed with: %s; it is tried again when the results are there",
				secret.URL(c.TrackingURI), o.hide.Text(diag.Line(err))))
		}
	}
	return o, nil
}

// probing is how long the load waits for those who take results: one that hangs is tried again
// when the results are there, and then has returning to answer.
const (
	probing   = time.Second
	returning = 5 * time.Second
)

// openMLflow finds the server that results are filed with.
func (o *outlets) openMLflow(ctx context.Context) (err error) {
	c := &o.bench.MLflow
	o.mlflow, err = mlflow.Open(ctx, c.TrackingURI, c.Experiment)
	if err != nil {
		o.mlflow = nil
	}
	return err
}

// collector is what is sent to a collector, and where.
func (o *outlets) collector(opt *Options, plan *sweep.Plan) otlp.Config {
	b := &o.bench
	o.url = secret.URL(b.OTel.URL)
	c := otlp.Config{
		URL: b.OTel.URL, Records: b.OTel.Metrics, Timing: b.OTel.Timing, Provider: b.OTel.Provider,
		Semconv: otlp.Version(cmp.Or(b.OTel.Semconv, string(otlp.V141))), Resource: [][2]string{
			{"service.name", "aiperf"},
			{"service.version", opt.Version},
			{
				"service.instance.id", strconv.Itoa(os.Getpid()),
			},
			{"aiperf.benchmark.id", plan.Hash},
			{"aiperf.endpoint.type", b.Endpoint.Type},
			{"aiperf.model.name", b.Models.Items[0].Name},
		},
	}
	for _, m := range b.OTel.Resource {
		c.Resource = append(c.Resource, [2]string{m.Name, fmt.Sprint(b.OTel.Resource.Get(m.Name))})
	}
	return c
}

// begin says which run comes, and who watches it.
func (o *outlets) begin(run sweep.Run) (watchers []onerun.Exporter) {
	if o.page != nil {
		o.page.Begin([][2]string{{"cell", run.Cell.Short()}, {"trial", strconv.Itoa(run.Trial + 1)}})
		watchers = append(watchers, o.page.Page)
	}
	if o.otlp != nil {
		o.otlp.Begin(otlp.Run{
			Endpoint: run.Cell.Resolved.Benchmark.Endpoint.Type, Cell: run.Cell.Short(), Trial: run.Trial,
		})
		watchers = append(watchers, o.otlp)
	}
	return watchers
}

// end says that the run is over.
func (o *outlets) end() {
	if o.page != nil {
		o.page.End()
	}
}

// close sends what is left, and says what did not arrive. It does nothing the second time.
func (o *outlets) close(opt *Options) {
	if o.otlp != nil {
		ctx, stop := context.WithTimeout(context.Background(), closing)
		defer stop()
		if err := o.otlp.Close(ctx); err != nil {
			opt.say(fmt.Sprintf("OpenTelemetry: %s: %s", o.url, o.hide.Text(words.Clip(diag.Line(err), shownWords))))
		}
		o.otlp = nil
	}
	_ = o.page.Close() // whoever still reads it is late
	o.page = nil
}

// closing is how long a collector has for what is left.
const closing = 10 * time.Second
