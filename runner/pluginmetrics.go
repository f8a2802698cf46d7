package runner

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/plugin"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/suggest"
	"aiperf.dev/aiperf/internal/telemetry"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sinks"
	"aiperf.dev/aiperf/sweep"
)

// ToldFigure is what a plug-in made of the requests in a window of a run.
type ToldFigure struct {
	Plugin string  `json:"plugin"`
	Window string  `json:"window"`
	Metric string  `json:"metric"`
	Unit   string  `json:"unit,omitempty"`
	Value  float64 `json:"value"`
}

// pluginMetrics are the rows of a run that plug-ins told.
func pluginMetrics(at sinks.Place, told []ToldFigure) (rows []sinks.MetricRow) {
	nan := math.NaN()
	for _, f := range told {
		rows = append(rows, sinks.MetricRow{
			Place: at, Level: "run", Window: f.Window, Metric: f.Metric, Stat: "avg", Value: f.Value, Unit: f.Unit,
			Low: nan, High: nan, CV: nan, N: record.None, NEff: nan, Certified: record.None, Method: sinks.PluginMethod,
		})
	}
	return rows
}

// DeclareMetrics makes the metrics known that plug-ins of the plan tell, so that gates,
// comparisons and objectives may name them. What is wrong with a plug-in is said where
// inputs are checked.
func DeclareMetrics(plan *sweep.Plan, experiment string) error {
	of := map[string]string{} // by metric: the plug-in's folder
	for _, c := range plan.Cells {
		for _, folder := range c.Resolved.Benchmark.Artifacts.Metrics {
			m, err := plugin.OpenAs(plugin.Metric.Name, Beside(experiment, folder))
			if err != nil {
				return nil //nolint:nilerr // see above
			}
			for _, f := range m.Metrics {
				if had, known := of[f.Name]; known && had != folder {
					return diag.New(fmt.Sprintf("metric %s is told by two plug-ins: %s and %s", f.Name, had, folder),
						"rename it in one of them")
				}
				of[f.Name] = folder
			}
			if err := Declare(m); err != nil {
				return err
			}
		}
	}
	return nil
}

// Declare makes the metrics of a plug-in known, after checking what its manifest says of
// them; of a plug-in of another kind there is nothing to declare.
func Declare(m *plugin.Manifest) error {
	wrong := func(key, why, hint string) error {
		return &diag.Error{Place: m.File, Message: key + ": " + why, Hint: hint}
	}
	if _, err := sinks.PickColumns(m.Columns); err != nil {
		return wrong("columns", err.Error(), cmp.Or(suggest.DidYouMean(unknownOf(m.Columns), requestColumns()),
			"aiperf explain column lists those of all tables"))
	}
	units := knownUnits()
	var all []telemetry.Measure
	for _, f := range m.Metrics {
		if builtIn(f.Name) {
			return wrong("metrics."+f.Name, "is the name of a metric that is built in", "choose another name")
		}
		if f.Unit != "" && !slices.Contains(units, f.Unit) {
			return wrong("metrics."+f.Name+".unit", words.Clip(f.Unit, 40)+" is not known",
				cmp.Or(suggest.Hint(f.Unit, units), "leave it out for a plain number; known: "+strings.Join(units, ", ")))
		}
		all = append(all, telemetry.Measure{Tag: f.Name, Unit: f.Unit, Doc: f.Doc, LargerIsBetter: f.LargerIsBetter})
	}
	if err := telemetry.Declare(all...); err != nil {
		return wrong("metrics", err.Error(), "choose another name")
	}
	return nil
}

// requestColumns are the columns of the table requests.
func requestColumns() (names []string) {
	fields, err := sinks.Columns("requests")
	if err != nil {
		return nil
	}
	for _, f := range fields {
		names = append(names, f.Name)
	}
	return names
}

// unknownOf is the first column that the table requests has not.
func unknownOf(columns []string) string {
	known := requestColumns()
	i := slices.IndexFunc(columns, func(c string) bool { return !slices.Contains(known, c) })
	if i < 0 {
		return ""
	}
	return columns[i]
}

// builtIn reports whether the program itself has a metric of that name.
func builtIn(tag string) bool {
	if m, ok := telemetry.MeasureOf(tag); ok {
		return m.Of != telemetry.OfPlugin
	}
	_, ok := metrics.Lookup(tag)
	return ok || slices.ContainsFunc(metrics.NetworkMetrics(), func(m metrics.Metric) bool { return m.Tag == tag })
}

// knownUnits are those that some metric has.
func knownUnits() []string {
	has := map[string]bool{}
	for _, m := range metrics.Catalogue() {
		has[m.Unit] = true
	}
	for _, m := range telemetry.Measures() {
		if m.Of != telemetry.OfPlugin {
			has[m.Unit] = true
		}
	}
	delete(has, "")
	return slices.Sorted(maps.Keys(has))
}

// askedRows is how many requests a plug-in is given at once.
const askedRows = 1000

// askPlugins lets plug-ins make metrics of a run's requests. One that fails tells nothing,
// and the report says why.
func (r *runner) askPlugins(ctx context.Context, run sweep.Run, rep *RunReport) {
	for _, folder := range run.Cell.Resolved.Benchmark.Artifacts.Metrics {
		told, notes, err := r.askPlugin(ctx, folder, r.runJournal(run, rep), rep)
		if err != nil {
			told, notes = nil, []string{r.hide.Text(err.Error()) + "; its metrics are missing"}
		}
		rep.Told, rep.Warnings = append(rep.Told, told...), append(rep.Warnings, notes...)
	}
}

// askPlugin asks one plug-in of a run, which it is started for.
func (r *runner) askPlugin(ctx context.Context, folder string, of sinks.RunJournal, rep *RunReport) (
	told []ToldFigure, notes []string, err error,
) {
	m, err := plugin.OpenAs(plugin.Metric.Name, Beside(r.opt.SourceName, folder))
	if err != nil {
		return nil, nil, err
	}
	pick, err := sinks.PickColumns(m.Columns)
	if err != nil {
		return nil, nil, err
	}
	p, err := plugin.Host{Allow: r.opt.AllowHooks, Hide: r.hide}.Start(ctx, m)
	if err != nil {
		return nil, nil, err
	}
	for _, w := range windowsOf(rep) {
		send := func(n int, cols map[string][]any) error {
			return p.Call(map[string]any{"requests": n, "columns": cols}, new(struct{}))
		}
		if err = pick.Each(of, w.name, askedRows, send); err != nil {
			break
		}
		var said struct {
			Figures map[string]*float64 `json:"figures"`
		}
		question := map[string]any{"window": w.name, "seconds": float64(w.end-w.start) / 1e9}
		if err = p.Call(map[string]any{"figures": question}, &said); err != nil {
			break
		}
		found, odd := figuresOf(m, w.name, said.Figures)
		told, notes = append(told, found...), append(notes, odd...)
	}
	if ended := p.Close(); err == nil {
		err = ended
	}
	return told, notes, err
}

// window is a stretch of a run that figures are of, in ns.
type window struct {
	name       string
	start, end int64
}

// windowsOf are those of a run: the whole of it, and the steady one where there is one.
func windowsOf(rep *RunReport) (out []window) {
	if start, end, ok := rep.window(); ok {
		out = append(out, window{"full", start, end})
	}
	if start, end, ok := rep.steady(); ok {
		out = append(out, window{"steady", start, end})
	}
	return out
}

// figuresOf are the figures that a plug-in may tell, and what is wrong with the others.
func figuresOf(m *plugin.Manifest, window string, said map[string]*float64) (told []ToldFigure, odd []string) {
	for _, f := range m.Metrics {
		v, known := said[f.Name]
		delete(said, f.Name)
		switch {
		case !known:
			odd = append(odd, fmt.Sprintf("plug-in %s does not tell %s", m.Name, f.Name))
		case v == nil: // it says that there is none
		case f.Unit == "ratio" && (*v < 0 || *v > 1):
			odd = append(odd, fmt.Sprintf("plug-in %s: %s is %g, which is not a ratio from 0 to 1", m.Name, f.Name, *v))
		default:
			told = append(told, ToldFigure{m.Name, window, f.Name, f.Unit, *v})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(said)) {
		odd = append(odd, fmt.Sprintf("plug-in %s tells %s, which %s does not declare",
			m.Name, words.Clip(fmt.Sprintf("%q", name), 40), plugin.ManifestName))
		break // one line is enough of a program that tells a thousand
	}
	return told, odd
}
