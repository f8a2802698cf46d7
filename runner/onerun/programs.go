package onerun

import (
	"context"
	"errors"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/plugin"
)

// programs are the plug-ins of a run by their kind: one each.
type programs map[string]*plugin.Process

// asker asks the plug-in of a kind, which is started before the first question.
func (ps programs) asker(k *plugin.Kind) func(question map[string]any, answer any) error {
	return func(question map[string]any, answer any) error {
		p := ps[k.Name]
		if p == nil {
			return diag.Errorf("no plug-in of kind %s runs", k.Name)
		}
		if err := p.Call(question, answer); err != nil {
			return errors.New(err.Error()) // many requests say so: a hint beside each is too much
		}
		return nil
	}
}

// Start starts the plug-ins of the run. They end with Close or with ctx.
func (run *Opened) Start(ctx context.Context, host plugin.Host) error {
	for _, p := range run.Benchmark.Plugins() {
		switch p.Kind {
		case plugin.Dataset.Name, plugin.Metric.Name, plugin.Exporter.Name:
			continue // asked before the run, or after it
		}
		m, err := plugin.OpenAs(p.Kind, p.Folder)
		if err == nil {
			run.programs[p.Kind], err = host.Start(ctx, m)
		}
		if err != nil {
			run.Close()
			return err
		}
	}
	return nil
}

// Close ends what Start started. What a program broke, its answers have said.
func (run *Opened) Close() {
	for kind, p := range run.programs {
		_ = p.Close()
		delete(run.programs, kind)
	}
}
