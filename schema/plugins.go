package schema

import "strconv"

// graderPlugin is the grader that is a program of the user's.
const graderPlugin = "plugin"

// Plugin is a program that an experiment names.
type Plugin struct {
	Path   string // of the setting: benchmark.accuracy.plugin
	Kind   string
	Folder string // as it was written
}

// Plugins are the programs that the benchmark names, in the order of a run.
func (b *Benchmark) Plugins() (out []Plugin) {
	add := func(path, kind, folder string) {
		if folder != "" {
			out = append(out, Plugin{path, kind, folder})
		}
	}
	for i := range b.Datasets {
		add("benchmark.datasets."+b.Datasets[i].Name+".plugin", "dataset", b.Datasets[i].Plugin)
	}
	add("benchmark.endpoint.plugin", "endpoint", b.Endpoint.Plugin)
	if a := b.Accuracy; a != nil {
		add("benchmark.accuracy.plugin", "grader", a.Plugin)
	}
	for i, folder := range b.Artifacts.Metrics {
		add("benchmark.artifacts.metrics."+strconv.Itoa(i), "metric", folder)
	}
	for i, folder := range b.Artifacts.Exporters {
		add("benchmark.artifacts.exporters."+strconv.Itoa(i), "exporter", folder)
	}
	return out
}
