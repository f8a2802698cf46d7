package repo

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/loadgen/dataset/format"
	"aiperf.dev/aiperf/loadgen/dataset/public"
	"aiperf.dev/aiperf/loadgen/endpoint"
	"aiperf.dev/aiperf/loadgen/mode"
	"aiperf.dev/aiperf/runner/verdict"
	"aiperf.dev/aiperf/schema/fields"
	"aiperf.dev/aiperf/schema/flags"
	"aiperf.dev/aiperf/sinks"
	"aiperf.dev/aiperf/sinks/report/chart"
	"aiperf.dev/aiperf/sweep"
)

// A name that stands in a catalogue stands everywhere that lists such names, and
// nothing else stands there.
func TestNamesOfCataloguesStandEverywhere(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what  string
		names []string
		lists map[string][]string // by the place that lists them
	}{
		{"endpoint types", endpointTypes(), map[string][]string{
			"the CUE schema":        cueWords(t, "#EndpointType"),
			"the schema":            built("benchmark.endpoint.type"),
			"--endpoint-type":       choices(t, "endpoint-type"),
			"docs/cli.md":           wordsOf(t, "docs/cli.md", "--endpoint-type"),
			"docs/endpoints.md":     firstWords(region(t, "docs/endpoints.md", "types")),
			"the built-in server":   served(),
			"docs/configuration.md": configured(t, "type", "chat"),
		}},
		{"dataset types", datasetTypes(), map[string][]string{
			"the CUE schema":        cueWords(t, "#DatasetType"),
			"the schema":            built("benchmark.datasets.*.type"),
			"docs/configuration.md": configured(t, "type", "synthetic"),
		}},
		{"dataset formats", format.Formats(), map[string][]string{
			"the CUE schema":        cueWords(t, "#DatasetFormat"),
			"the schema":            built("benchmark.datasets.*.format"),
			"--custom-dataset-type": choices(t, "custom-dataset-type"),
			"docs/cli.md":           wordsOf(t, "docs/cli.md", "--custom-dataset-type"),
			"docs/configuration.md": configured(t, "format", "single_turn"),
		}},
		{"published data sets", publishedSets(), map[string][]string{
			"the CUE schema":        cueWords(t, "#PublicDataset"),
			"the schema":            built("benchmark.datasets.*.dataset"),
			"--public-dataset":      choices(t, "public-dataset"),
			"docs/cli.md":           wordsOf(t, "docs/cli.md", "--public-dataset"),
			"docs/configuration.md": configured(t, "dataset", "sharegpt"),
		}},
		{"load modes", loadModes(), map[string][]string{
			"the CUE schema":        cueWords(t, "#PhaseType"),
			"the schema":            built("benchmark.phases.*.type"),
			"docs/configuration.md": configured(t, "type", "user_centric"),
		}},
		{"kinds of sweep", sweepKinds(), map[string][]string{
			"the CUE schema":        cueWords(t, "#SweepType"),
			"the schema":            built("sweep.type"),
			"docs/configuration.md": configured(t, "type", "zip"),
		}},
		{"metrics", metrics.Tags(), map[string][]string{
			"docs/metrics.md": firstWords(read(t, "docs/metrics.md")),
		}},
		{"checks", verdict.CheckIDs(), map[string][]string{
			"docs/verdict.md": firstWords(region(t, "docs/verdict.md", "checks")),
		}},
		{"charts", charts(), map[string][]string{
			"docs/report.md": firstWords(tableOf(t, "docs/report.md", "| chart | question |")),
		}},
		{"axes in every table", everyAxis(), map[string][]string{
			"docs/tables.md": slices.DeleteFunc(firstWords(read(t, "docs/tables.md")), func(w string) bool { return !strings.HasPrefix(w, "axis_") }),
		}},
		{"columns", columns(t), map[string][]string{
			"docs/tables.md": firstWords(read(t, "docs/tables.md")),
		}},
	} {
		if len(c.names) < 3 {
			t.Errorf("%s: %v cannot be all", c.what, c.names)
		}
		for place, list := range c.lists {
			for _, n := range c.names {
				if !slices.Contains(list, n) {
					t.Errorf("%s: %s does not know %q", c.what, place, n)
				}
			}
			for _, n := range list {
				if !slices.Contains(c.names, n) {
					t.Errorf("%s: %s knows %q, which no catalogue has", c.what, place, n)
				}
			}
		}
	}
}

// An axis that tables know by name is a setting that can be swept: another name would
// never be met. Those that name systems are formed from several settings.
func TestAxesAreSettings(t *testing.T) {
	t.Parallel()
	last := map[string]bool{}
	for _, l := range fields.Leaves() {
		last[l.Path[strings.LastIndexByte(l.Path, '.')+1:]] = true
	}
	for _, a := range sweep.KnownAxes() {
		if name := cmp.Or(a.Setting, a.Name); !a.System && !last[name] {
			t.Errorf("axis %s: no setting is called %s", a.Name, name)
		}
	}
}

func endpointTypes() (out []string) {
	for _, s := range endpoint.Catalogue() {
		out = append(out, s.Type)
	}
	return out
}

// unserved are the types that the built-in server has no answer for, and why.
var unserved = map[string]string{
	"grpc":   "its methods are the user's own, known by reflection",
	"plugin": "its API is the user's own; the built-in server answers it as it answers raw",
}

// served are the types that the built-in server has an answer for, and those that
// need none.
func served() (out []string) {
	for _, s := range endpoint.Catalogue() {
		if unserved[s.Type] != "" && s.Served.Whole == nil {
			out = append(out, s.Type)
			continue
		}
		if s.Served.Whole != nil && (!s.CanStream || s.Served.Token != nil || s.Served.Steps != nil) {
			out = append(out, s.Type)
		}
	}
	return out
}

func datasetTypes() (out []string) {
	for _, t := range dataset.Types() {
		out = append(out, t.Name)
	}
	return out
}

func publishedSets() (out []string) {
	for _, s := range public.Catalogue() {
		out = append(out, s.Name)
	}
	return out
}

func charts() (out []string) {
	for _, r := range chart.Catalogue() {
		out = append(out, r.ID)
	}
	return out
}

// everyAxis are the columns of axes that tables have whatever is swept.
func everyAxis() (out []string) {
	for _, a := range sweep.KnownAxes() {
		if a.Always {
			out = append(out, "axis_"+a.Name)
		}
	}
	return out
}

func loadModes() (out []string) {
	for _, m := range mode.Catalogue() {
		if !m.BySetting() {
			out = append(out, m.Name)
		}
	}
	return out
}

func sweepKinds() (out []string) {
	for _, k := range sweep.Kinds() {
		out = append(out, k.Name)
	}
	return out
}

func columns(t *testing.T) (out []string) {
	t.Helper()
	for _, table := range sinks.TableNames() {
		cols, err := sinks.Columns(table)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range cols {
			out = append(out, c.Name)
		}
	}
	return out
}

// built are the words of a field that can be used.
func built(path string) []string {
	l := fields.New()[path]
	return slices.DeleteFunc(slices.Clone(l.Enum), func(w string) bool { return slices.Contains(l.Unbuilt, w) })
}

// cueWords are the words of a generated definition of the CUE schema.
func cueWords(t *testing.T, definition string) (out []string) {
	t.Helper()
	for line := range strings.Lines(read(t, "schema/catalogue_gen.cue")) {
		if rest, is := strings.CutPrefix(line, definition+": "); is {
			for _, m := range regexp.MustCompile(`"([^"]+)"`).FindAllStringSubmatch(rest, -1) {
				out = append(out, m[1])
			}
			return out
		}
	}
	t.Fatalf("schema/catalogue_gen.cue has no %s", definition)
	return nil
}

// choices are the words that a flag offers.
func choices(t *testing.T, flag string) []string {
	t.Helper()
	for _, o := range flags.Options() {
		if slices.Contains(o.Names, flag) {
			return o.Built()
		}
	}
	t.Fatalf("no flag is called --%s", flag)
	return nil
}

var codeWord = regexp.MustCompile("`([^`]+)`")

// wordsOf are the words in the second cell of the row that a name begins.
func wordsOf(t *testing.T, page, name string) []string {
	t.Helper()
	for line := range strings.Lines(read(t, page)) {
		if rest, ok := strings.CutPrefix(line, "| `"+name+"` | "); ok {
			cell, _, _ := strings.Cut(rest, " |")
			return codeWords(cell)
		}
	}
	t.Fatalf("%s has no row %s", page, name)
	return nil
}

// configured are the words of the field in docs/configuration.md that takes word.
func configured(t *testing.T, field, word string) []string {
	t.Helper()
	for line := range strings.Lines(read(t, "docs/configuration.md")) {
		if rest, ok := strings.CutPrefix(line, "| `"+field+"` | "); ok {
			cell, _, _ := strings.Cut(rest, " |")
			if words := codeWords(cell); slices.Contains(words, word) {
				return words
			}
		}
	}
	t.Fatalf("docs/configuration.md has no row %s with %s", field, word)
	return nil
}

func codeWords(cell string) (out []string) {
	for _, m := range codeWord.FindAllStringSubmatch(cell, -1) {
		out = append(out, m[1])
	}
	return out
}

// region is the generated part of a page that is called name.
func region(t *testing.T, page, name string) string {
	t.Helper()
	_, rest, begins := strings.Cut(read(t, page), "<!-- begin "+name+" -->")
	part, _, ends := strings.Cut(rest, "<!-- end "+name+" -->")
	if !begins || !ends {
		t.Fatalf("%s has no part %s", page, name)
	}
	return part
}

// tableOf is the table of a page whose first line is head.
func tableOf(t *testing.T, page, head string) string {
	t.Helper()
	_, rest, is := strings.Cut(read(t, page), head+"\n")
	if !is {
		t.Fatalf("%s has no table %s", page, head)
	}
	table, _, _ := strings.Cut(rest, "\n\n")
	return table
}

// firstWords are the names that begin the rows of tables.
func firstWords(text string) (out []string) {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, "| `"); ok {
			name, _, _ := strings.Cut(rest, "`")
			out = append(out, name)
		}
	}
	return out
}
