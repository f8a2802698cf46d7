package sim

import (
	"context"
	"errors"
	"time"

	"aiperf.dev/aiperf/internal/mockserver"
	"aiperf.dev/aiperf/internal/telemetry"
	"aiperf.dev/aiperf/runner/onerun"
	"aiperf.dev/aiperf/sinks"
)

// RunScraped is Run in worlds whose servers' pages of metrics are read in virtual time, as
// often as the program reads them.
func RunScraped(text, dir string, worlds *Worlds) (*Outcome, error) {
	worlds.Scrape = true
	return runText(text, dir, worlds)
}

// scraped is a simulated driver that keeps what pages of metrics say beside the records.
type scraped struct {
	onerun.Simulated
	worlds *Worlds
}

// Drive looks at the pages while the run goes on, and once more at its end.
func (d scraped) Drive(issue, hard context.Context, run *onerun.Opened, s *onerun.Session) (*onerun.Result, error) {
	meta := run.Meta
	meta.Share, meta.T0 = run.Share, time.Now().UTC().Round(time.Nanosecond)
	stream, err := sinks.Telemetry().Open(s.Dir, meta)
	if err != nil {
		return nil, err
	}
	var lost error
	d.worlds.tell = func(at telemetry.Sample) { lost = errors.Join(lost, stream.Write(sinks.Sample(at))) }
	out, err := d.Simulated.Drive(issue, hard, run, s)
	if err != nil {
		return nil, errors.Join(err, stream.Discard())
	}
	d.worlds.run.look()
	return out, errors.Join(lost, stream.Close())
}

// scrape looks now and at each interval.
func (w *world) scrape() {
	w.look()
	w.after(int64(telemetry.Interval), w.scrape)
}

// look reads every server's pages, its own and that of its GPUs: all of their values, of which
// no series tells only what has changed.
func (w *world) look() {
	for _, name := range w.plan.names {
		server := w.plan.servers[name]
		text := server.Page("/metrics")
		if w.plan.Garble != nil {
			text = w.plan.Garble(text)
		}
		w.keep(name, "server", text)
		w.keep(name+mockserver.GPUPath, telemetry.DCGM, server.Page(mockserver.GPUPath))
	}
}

// keep tells what a page says, if it is one.
func (w *world) keep(source, collector string, text []byte) {
	page, err := telemetry.Parse(text)
	if err != nil {
		return
	}
	sample := func(metric, labels, kind string, v float64) {
		w.plan.tell(telemetry.Sample{
			At: w.now, Source: source, Collector: collector, Metric: metric, Labels: labels,
			Kind: kind, Value: v,
		})
	}
	for _, f := range page.Families {
		for _, v := range f.Values {
			sample(f.Name, v.Labels, v.Kind, v.V)
		}
	}
	sample(telemetry.Up, "", telemetry.Gauge, 1)
}
