package chart

import (
	_ "embed" // the plots that AIPerf draws
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sinks/report/chart/draw"
)

// plotConfig is what AIPerf's plot_config.yaml says, as far as a picture
// depends on it.
type plotConfig struct {
	Visualization struct {
		MultiDefaults  []string               `yaml:"multi_run_defaults"`
		SingleDefaults []string               `yaml:"single_run_defaults"`
		MultiPlots     map[string]plotSetting `yaml:"multi_run_plots"`
		SinglePlots    map[string]plotSetting `yaml:"single_run_plots"`
	} `yaml:"visualization"`
}

// plotSetting is one plot of it.
type plotSetting struct {
	Type   string   `yaml:"type"`
	X      plotAxis `yaml:"x"`
	Y      plotAxis `yaml:"y"`
	Y2     plotAxis `yaml:"y2"`
	Stat   string   `yaml:"stat"`
	Source string   `yaml:"source"`
	Groups []string `yaml:"groups"`
	Title  string   `yaml:"title"`
}

// plotAxis is a metric with its statistic, in a word or as two members.
type plotAxis struct{ Metric, Stat string }

// UnmarshalYAML takes "time_to_first_token_p99" and {metric, stat}.
func (a *plotAxis) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		a.Metric = n.Value
		return nil
	}
	var m struct {
		Metric string `yaml:"metric"`
		Stat   string `yaml:"stat"`
	}
	if err := n.Decode(&m); err != nil {
		return err
	}
	a.Metric, a.Stat = m.Metric, m.Stat
	return nil
}

// name is the column as Custom knows it.
func (a plotAxis) name() string {
	if a.Stat != "" {
		return a.Metric + "." + a.Stat
	}
	return a.Metric
}

// configMost bounds the file: a list of plots is short.
const configMost = 1 << 20

// FromConfig draws the plots that a plot_config.yaml lists: those of several
// runs when there are several cells, else those of one. A plot that cannot be
// drawn says why; an unknown name is an error.
func FromConfig(path string, d *Data) ([]*draw.Chart, error) {
	b, err := readConfig(path)
	if err != nil {
		return nil, err
	}
	return configured(path, b, d)
}

// CheckConfig says what is wrong with a plot_config.yaml before there is a result.
func CheckConfig(path string) error {
	b, err := readConfig(path)
	if err != nil {
		return err
	}
	_, err = parseConfig(path, b)
	return err
}

func readConfig(path string) ([]byte, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, &diag.Error{Place: "--config", Message: err.Error(), Cause: err}
	}
	if st.Size() > configMost {
		return nil, &diag.Error{Place: "--config", Message: fmt.Sprintf("%s: more than %d bytes", path, configMost)}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, &diag.Error{Place: "--config", Message: err.Error(), Cause: err}
	}
	return b, nil
}

func parseConfig(path string, text []byte) (*plotConfig, error) {
	var cfg plotConfig
	if err := yaml.Unmarshal(text, &cfg); err != nil {
		return nil, &diag.Error{
			Place:   path,
			Message: words.Line(strings.TrimPrefix(strings.TrimPrefix(err.Error(), "yaml: "), "unmarshal errors:\n  ")),
		}
	}
	return &cfg, nil
}

// unlisted refuses a default that no plot is named for.
func unlisted(path, name string, plots map[string]plotSetting, single bool) error {
	section := "multi_run_plots"
	if single {
		section = "single_run_plots"
	}
	hint := "visualization." + section + " lists no plot; describe it there"
	if len(plots) > 0 {
		hint = "visualization." + section + " lists " + strings.Join(slices.Sorted(maps.Keys(plots)), ", ")
	}
	return &diag.Error{Place: path, Message: fmt.Sprintf("no plot %q", words.Clip(name, 80)), Hint: hint}
}

//go:embed default_plots.yaml
var defaultPlots []byte

// Defaults are the plots that AIPerf draws of a result unless a file says
// otherwise.
func Defaults(d *Data) ([]*draw.Chart, error) { return configured("default plots", defaultPlots, d) }

// configured draws what the text of a plot_config.yaml lists.
func configured(path string, text []byte, d *Data) ([]*draw.Chart, error) {
	cfg, err := parseConfig(path, text)
	if err != nil {
		return nil, err
	}
	v := &cfg.Visualization
	names, plots := v.MultiDefaults, v.MultiPlots
	if len(d.Cells) == 1 {
		names, plots = v.SingleDefaults, v.SinglePlots
	}
	if len(names) == 0 {
		names = slices.Sorted(maps.Keys(plots))
	}
	var out []*draw.Chart
	for _, name := range names {
		p, ok := plots[name]
		if !ok {
			return nil, unlisted(path, name, plots, len(d.Cells) == 1)
		}
		out = append(out, p.build(name, d))
	}
	if len(out) == 0 {
		return nil, &diag.Error{
			Place: path, Message: "lists no plots for this result",
			Hint: "visualization.multi_run_plots are of sweeps, single_run_plots of one run",
		}
	}
	return out, nil
}
