package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/grade"
	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/plugin"
	"aiperf.dev/aiperf/internal/suggest"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/loadgen/dataset/exam"
	"aiperf.dev/aiperf/loadgen/dataset/format"
	"aiperf.dev/aiperf/loadgen/dataset/public"
	"aiperf.dev/aiperf/loadgen/endpoint"
	"aiperf.dev/aiperf/loadgen/mode"
	"aiperf.dev/aiperf/runner"
	"aiperf.dev/aiperf/runner/verdict"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sinks"
	"aiperf.dev/aiperf/sinks/report/chart"
	"aiperf.dev/aiperf/sweep/search/planner"
)

// allowPlugins is the permission of commands that send nothing, but may need what a plug-in
// writes.
var allowPlugins = argv.Switch{Name: "allow-hooks", Doc: "run the plug-in that writes the data set"}

// hosting lets what is done in the context run plug-ins, where that is allowed.
func (a *app) hosting(allowed bool) context.Context {
	return plugin.WithHost(a.issue, plugin.Host{Allow: allowed, Hide: a.hide})
}

// category is a catalogue of the program, under the name that AIPerf has for such plugins.
type category struct {
	name  string
	doc   string
	parts func() []part
}

// part is one row of a catalogue.
type part struct {
	Name string `json:"name"`
	Doc  string `json:"description,omitempty"`
}

func categories() []category {
	return []category{
		{"endpoint", "inference APIs: endpoint.type", func() []part {
			return rowsOf(endpoint.Catalogue(), func(s *endpoint.Spec) part {
				doc := s.Path
				if s.CanStream {
					doc = strings.TrimPrefix(doc+", can stream", ", ") // some have no path of their own
				}
				return part{s.Type, doc}
			})
		}},
		{"dataset-composer", "where conversations come from: dataset.type", func() []part {
			return rowsOf(dataset.Types(), func(t *dataset.Type) part { return part{Name: t.Name} })
		}},
		{"custom-dataset-loader", "formats of dataset files: dataset.format", names(format.Formats)},
		{"public-dataset-loader", "published data sets: --public-dataset", func() []part {
			return rowsOf(public.Catalogue(), func(s public.Set) part { return part{s.Name, s.Repo} })
		}},
		{"dataset-sampler", "the order of conversations: dataset.sampling", ofFlag("dataset-sampling-strategy")},
		{"timing-strategy", "load modes: the type of a phase", func() []part {
			return rowsOf(mode.Catalogue(), func(m *mode.Mode) part { return part{Name: m.Name} })
		}},
		{"arrival-pattern", "how gaps between requests are drawn: --arrival-pattern", ofFlag("arrival-pattern")},
		{"url-selection-strategy", "how requests choose among addresses: endpoint.url_strategy", ofFlag("url-strategy")},
		{"transport", "protocols that carry an API: endpoint.transport", ofFlag("transport")},
		{"accuracy-benchmark", "questions with known answers: accuracy.benchmark", names(exam.Names)},
		{"accuracy-grader", "whether an answer is right: accuracy.grader", names(grade.Names)},
		{"metric", "tags for slos, gates and tables", func() []part {
			return rowsOf(metrics.Catalogue(), func(m metrics.Metric) part {
				return part{m.Tag, strings.TrimSuffix(m.Header+" ("+m.Unit+")", " ()")}
			})
		}},
		{"analyzer", "checks behind the verdict: verdict.ID", func() []part {
			return rowsOf(verdict.Describe(), func(r [2]string) part { return part{r[0], r[1]} })
		}},
		{"search-planner", "how a search chooses its points: sweep.planner", func() []part {
			return rowsOf(planner.Catalogue(), func(r planner.Row) part { return part{r.Name, r.Doc} })
		}},
		{"plot", "charts: aiperf plot CHART", func() []part {
			return rowsOf(chart.Catalogue(), func(r chart.Row) part { return part{r.ID, r.Title} })
		}},
		{"data-exporter", "formats of the tables: tables.formats", names(sinks.Formats)},
		{"plugin", "kinds of programs that extend this one: docs/plugins.md", func() []part {
			return rowsOf(plugin.Kinds(), func(k *plugin.Kind) part { return part{k.Name, k.Doc} })
		}},
	}
}

func rowsOf[T any](rows []T, of func(T) part) []part {
	out := make([]part, len(rows))
	for i := range rows {
		out[i] = of(rows[i])
	}
	return out
}

func names(of func() []string) func() []part {
	return func() []part { return rowsOf(of(), func(n string) part { return part{Name: n} }) }
}

// ofFlag are the words a flag takes.
func ofFlag(flag string) func() []part {
	return func() []part {
		for _, o := range schema.Options() {
			if o.Names[0] == flag {
				return rowsOf(o.Enum, func(n string) part { return part{Name: n} })
			}
		}
		return nil
	}
}

// theirs are AIPerf's categories without a catalogue here, and what does their work.
func theirs() []part {
	const oneProcess = "a part of AIPerf's processes; this program is one process"
	return []part{
		{"accumulator", "all statistics are made of the metrics: aiperf plugins metric"},
		{"api-router", oneProcess},
		{"communication", oneProcess},
		{"communication-client", oneProcess},
		{"console-exporter", "--console shows this program's screen, AIPerf's tables, or both"},
		{"convergence-criterion", "multi_run.convergence.mode, see aiperf explain convergence"},
		{"dataset-backing-store", oneProcess},
		{"dataset-client-store", oneProcess},
		{"gpu-telemetry-collector", "gpu_telemetry.collector: dcgm, pynvml or amdsmi"},
		{"ramp", "the ramps of a phase: see docs/configuration.md"},
		{"record-observer", "--otel-url and the tables show every request"},
		{"record-processor", oneProcess},
		{"search-recipe", "sweep.recipe: see docs/search.md"},
		{"search-recipe-post-process", "sweep.post_process: see docs/search.md"},
		{"service", oneProcess},
		{"service-manager", oneProcess},
		{"spec-decode-adapter", "servers' own metrics: see docs/telemetry.md"},
		{"stream-exporter", "--otel-url sends metrics while they are measured"},
		{"ui", "--progress and --console choose the screen"},
		{"zmq-proxy", oneProcess},
	}
}

// notLoadable says what becomes of AIPerf's own plugins.
const notLoadable = "Python packages with an entry point aiperf.plugins cannot be loaded: " +
	"a plug-in here is a program in any language, see docs/plugins.md"

// usualPlugins is the folder that is looked in where none is named.
const usualPlugins = "plugins"

var pluginsCommand = command{
	minor: true, name: "plugins", usage: "list the parts of the program, and plug-ins; check a plug-in",
	help: `aiperf plugins [CATEGORY [NAME]] lists the parts of the program, which are built
in, and the plug-ins of a folder: programs that an experiment may name as data
set, endpoint, grader, metric or exporter. Nothing is run without --allow-hooks.

  aiperf plugins
  aiperf plugins endpoint
  aiperf plugins metric time_to_first_token
  aiperf plugins plugins/shout
  aiperf plugins validate plugins/shout --allow-hooks`,
	flags: []argv.Switch{
		{Name: "category", Arg: "CATEGORY", Doc: "the category, as the first word"},
		{Name: "name", Arg: "NAME", Doc: "one part of it, as the second word"},
		{Name: "all", Short: "a", Doc: "list the parts of every category"},
		{Name: "validate", Short: "v", Doc: "check the plug-ins of the folder"},
		{Name: "no-validate", Doc: "do not"},
		{Name: "folder", Arg: "DIR", Doc: "folder with plug-ins (default " + usualPlugins + ")"},
		{Name: "allow-hooks", Doc: "start the programs that are checked"},
		outputFlag,
	},
	run: func(a *app, p *argv.Line) error {
		asJSON, err := wantJSON(p)
		if err != nil {
			return err
		}
		l := pluginList{app: a, json: asJSON, host: plugin.Host{Allow: p.Has("allow-hooks")}, folder: usualPlugins}
		if p.Has("folder") {
			if l.folder = p.Get("folder"); !isFolder(l.folder) {
				return diag.New("--folder: no such folder: "+l.folder, "it holds a folder for each plug-in")
			}
		}
		said := slices.Clone(p.Words)
		for _, name := range []string{"category", "name"} {
			if p.Has(name) {
				said = append(said, p.Get(name))
			}
		}
		switch {
		case len(said) > 2:
			return diag.New("plugins: unexpected "+said[2], "aiperf plugins [CATEGORY [NAME]]")
		case len(said) == 2 && said[0] == "validate":
			return l.validate(plugin.Find(said[1]), said[1])
		case len(said) == 1 && said[0] == "validate", len(said) == 0 && p.Has("validate"):
			return l.validate(plugin.Find(l.folder), "")
		case len(said) == 0:
			return l.all(p.Has("all"))
		}
		return l.named(said)
	},
}

func isFolder(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}

// pluginList answers one command line.
type pluginList struct {
	*app
	json   bool
	host   plugin.Host
	folder string
}

// shownPlugin is a plug-in for people and programs to read.
type shownPlugin struct {
	*plugin.Manifest
	Kind  string  `json:"kind,omitempty"`
	Path  string  `json:"folder"`
	Limit float64 `json:"timeout_seconds,omitempty"`
	Error string  `json:"error,omitempty"`
}

func shownAs(f plugin.Found) shownPlugin {
	out := shownPlugin{Manifest: f.Manifest, Path: f.Path}
	if f.Err != nil {
		out.Manifest, out.Error = nil, diag.Line(f.Err)
		return out
	}
	out.Kind, out.Limit = f.Manifest.Kind.Name, f.Manifest.Timeout.Seconds()
	return out
}

func (l pluginList) encode(v any) error {
	enc := json.NewEncoder(l.Out)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// all lists the catalogues, and the plug-ins of the folder.
func (l pluginList) all(parts bool) error {
	found := plugin.Find(l.folder)
	if l.json {
		type shown struct {
			Name  string `json:"name"`
			Doc   string `json:"description"`
			Parts []part `json:"parts"`
		}
		out := struct {
			Categories  []shown       `json:"categories"`
			Plugins     []shownPlugin `json:"plugins"`
			NotLoadable string        `json:"not_loadable"`
		}{Plugins: []shownPlugin{}, NotLoadable: notLoadable}
		for _, c := range categories() {
			out.Categories = append(out.Categories, shown{c.name, c.doc, c.parts()})
		}
		for _, f := range found {
			out.Plugins = append(out.Plugins, shownAs(f))
		}
		return l.encode(out)
	}
	for _, c := range categories() {
		printTwo(l.Out, c.name, c.doc)
		if parts {
			l.parts(c.parts())
		}
	}
	fmt.Fprintln(l.Out)
	if len(found) == 0 {
		fmt.Fprintf(l.Out, "No plug-ins in the folder %s (--folder names another one).\n", l.folder)
	}
	for _, f := range found {
		s := shownAs(f)
		if f.Err != nil {
			printTwo(l.Out, f.Path, s.Error)
			continue
		}
		printTwo(l.Out, s.Name, strings.TrimSuffix(fmt.Sprintf("%s %s in %s: %s", s.Kind, s.Version, f.Path, s.Description), ": "))
	}
	for _, line := range words.Fold("AIPerf's plugins: "+notLoadable+".", 80, "") {
		fmt.Fprintln(l.Out, line)
	}
	return nil
}

func (l pluginList) parts(rows []part) {
	for _, r := range rows {
		words.TwoColumns(l.Out, "    "+r.Name, r.Doc, 44)
	}
}

// named answers about a category, a part of one, or a plug-in.
func (l pluginList) named(said []string) error {
	var known []string
	for _, c := range categories() {
		known = append(known, c.name)
		if strings.ReplaceAll(said[0], "_", "-") == c.name {
			if len(said) == 2 {
				return l.part(c, said[1])
			}
			if l.json {
				return l.encode(c.parts())
			}
			l.parts(c.parts())
			return nil
		}
	}
	for _, t := range theirs() {
		known = append(known, t.Name)
		if strings.ReplaceAll(said[0], "_", "-") == t.Name {
			return l.line(t)
		}
	}
	found := plugin.Find(l.folder)
	if at := plugin.Find(said[0]); len(at) > 0 {
		found, said[0] = at, at[0].Path
	}
	for _, f := range found {
		if known = append(known, f.Path); f.Err == nil {
			known = append(known, f.Manifest.Name)
		}
		if f.Path == said[0] || f.Err == nil && f.Manifest.Name == said[0] {
			return l.details(f)
		}
	}
	hint := suggest.Hint(said[0], known)
	if hint == "" {
		hint = "categories: " + strings.Join(known, ", ")
	}
	return diag.New("plugins: no category "+said[0], hint)
}

func (l pluginList) line(p part) error {
	if l.json {
		return l.encode(p)
	}
	fmt.Fprintln(l.Out, strings.TrimSuffix(p.Name+": "+p.Doc, ": "))
	return nil
}

func (l pluginList) part(c category, name string) error {
	var known []string
	for _, r := range c.parts() {
		if r.Name == name {
			return l.line(r)
		}
		known = append(known, r.Name)
	}
	hint := "aiperf plugins " + c.name + " lists them"
	if s := schema.Suggest(name, known); s != "" {
		hint = "did you mean " + s + "?"
	}
	return diag.New("plugins: no "+c.name+" is called "+name, hint)
}

// details is all that is known of a plug-in.
func (l pluginList) details(f plugin.Found) error {
	if f.Err != nil {
		return f.Err
	}
	s := shownAs(f)
	if l.json {
		return l.encode(s)
	}
	for _, row := range [][2]string{
		{"name", s.Name},
		{"kind", s.Kind + ": " + f.Manifest.Kind.Doc},
		{"version", s.Version},
		{"description", s.Description},
		{"folder", f.Path},
		{"command", strings.Join(s.Command, " ")},
		{"digest", s.Digest},
		{"columns", strings.Join(s.Columns, ", ")},
		{"metrics", strings.Join(figureNames(f.Manifest), ", ")},
		{"answers within", words.Span(f.Manifest.Timeout)},
	} {
		if row[1] != "" {
			printTwo(l.Out, row[0], row[1])
		}
	}
	return nil
}

func figureNames(m *plugin.Manifest) (out []string) {
	for _, f := range m.Metrics {
		out = append(out, f.Name)
	}
	return out
}

// validate checks plug-ins, and with permission talks to each.
func (l pluginList) validate(found []plugin.Found, path string) error {
	if len(found) == 0 {
		if path != "" {
			_, err := plugin.Open(path)
			if err != nil {
				return err
			}
		}
		if !l.json {
			fmt.Fprintf(l.Out, "No plug-ins in the folder %s; what is built in needs no check. All checks passed\n", l.folder)
			return nil
		}
	}
	var bad []error
	for i := range found {
		f := &found[i]
		word, said := "OK", ""
		if f.Err == nil {
			said, f.Err = l.try(f.Manifest)
		}
		if f.Err != nil {
			word, said = "FAIL", diag.Line(f.Err)
			bad = append(bad, f.Err)
		}
		if !l.json && (len(found) > 1 || f.Err == nil) {
			fmt.Fprintf(l.Out, "(%s) %s %s\n", word, f.Path, said)
		}
	}
	if l.json {
		out := []shownPlugin{}
		for _, f := range found {
			out = append(out, shownAs(f))
		}
		if err := l.encode(out); err != nil {
			return err
		}
	}
	switch {
	case len(bad) == 1 && len(found) == 1:
		return bad[0]
	case len(bad) > 0:
		return diag.New(fmt.Sprintf("plugins: %d of %s cannot be used", len(bad), words.Count(len(found), "plug-in")),
			"aiperf plugins validate PATH says more about one")
	}
	if !l.json && len(found) > 1 {
		fmt.Fprintln(l.Out, "All checks passed")
	}
	return nil
}

// try says what is known of a plug-in that is in order.
func (l pluginList) try(m *plugin.Manifest) (string, error) {
	if err := runner.Declare(m); err != nil {
		return "", err
	}
	said := fmt.Sprintf("%s, %s %s, %s", m.Name, m.Kind.Name, m.Version, m.Digest)
	if !l.host.Allow {
		return said + "; its program was not started (--allow-hooks)", nil
	}
	answered, stderr, err := l.host.Try(l.issue, m)
	if err != nil {
		var refused *plugin.Refusal
		if errors.As(err, &refused) {
			return "", diag.Errorf("%s", err).Try("every plug-in of kind " + m.Kind.Name + " answers this")
		}
		return "", err
	}
	said += "; it shakes hands"
	if answered {
		said += " and answers"
	}
	if stderr = words.Clip(stderr, 200); stderr != "" {
		said += "; on stderr: " + stderr
	}
	return said, nil
}
