package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/plugin"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/loadgen/endpoint"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
)

// allowedPlugins refuses a plan with plug-ins, unless programs may be run.
func allowedPlugins(plan *sweep.Plan, opt *Options) error {
	for _, c := range plan.Cells {
		for _, p := range c.Resolved.Benchmark.Plugins() {
			if opt.AllowHooks {
				continue
			}
			m, err := plugin.OpenAs(p.Kind, Beside(opt.SourceName, p.Folder))
			if err != nil {
				return err
			}
			refused := plugin.NotAllowed(m)
			refused.Path = p.Path
			return refused
		}
	}
	return nil
}

// plugins refuses plug-ins that are not to be had, and of another kind than they are
// named as.
func (c *inputCheck) plugins(b *schema.Benchmark) {
	for _, p := range b.Plugins() {
		key, err := json.Marshal([]any{"plugin", p})
		if err != nil || !c.once(string(key)) {
			continue
		}
		if _, err := plugin.OpenAs(p.Kind, Beside(c.file, p.Folder)); err != nil {
			at := placeOf(c.said, "plugin", p.Folder)
			c.bad = append(c.bad, &schema.Error{
				Place: at.Where, Path: p.Path, Message: err.Error(), Hint: diag.Of(err).Hint,
			})
		}
	}
}

// pluginSource is what a plug-in is called among the sources of a plan.
func pluginSource(p schema.Plugin) string { return "plug-in " + p.Folder }

// sealOf tells a plug-in apart from another one; "" for one that is not there.
func sealOf(folder string) string {
	m, err := plugin.Open(folder)
	if err != nil {
		return ""
	}
	return m.Seal()
}

// exportByPlugins lets programs make of the finished results what they like. What goes
// wrong is told, and changes no result.
func (r *runner) exportByPlugins(hard context.Context) {
	for _, folder := range r.plan.Cells[0].Resolved.Benchmark.Artifacts.Exporters {
		files, err := r.exportBy(hard, Beside(r.opt.SourceName, folder))
		switch {
		case err != nil:
			r.opt.say("nothing was exported: " + r.hide.Text(diag.Line(err)))
		case len(files) > 0:
			r.opt.say(fmt.Sprintf("plug-in %s: wrote %s", folder, words.Clip(strings.Join(files, ", "), shownWords)))
		}
	}
}

// exportBy asks one program; it says which files it wrote.
func (r *runner) exportBy(ctx context.Context, folder string) ([]string, error) {
	m, err := plugin.OpenAs(plugin.Exporter.Name, folder)
	if err != nil {
		return nil, err
	}
	p, err := plugin.Host{Allow: r.opt.AllowHooks, Hide: r.hide}.Start(ctx, m)
	if err != nil {
		return nil, err
	}
	var out struct {
		Files []string `json:"files"`
	}
	err = p.Call(map[string]any{"export": map[string]string{"directory": absolute(r.dir.Path)}}, &out)
	if ended := p.Close(); err == nil {
		err = ended
	}
	return out.Files, err
}

// openEndpoint is the API of b, as the experiment's file sees it.
func openEndpoint(b *schema.Benchmark, experiment string) (*endpoint.Spec, error) {
	seen := withEndpoint(*b, experiment)
	return endpoint.Open(&seen.Endpoint)
}

// withEndpoint is b with the plug-in of its endpoint where it is.
func withEndpoint(b schema.Benchmark, experiment string) schema.Benchmark {
	if b.Endpoint.Plugin != "" {
		b.Endpoint.Plugin = Beside(experiment, b.Endpoint.Plugin)
	}
	return b
}
