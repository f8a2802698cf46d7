package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/compat"
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/diagnose"
	"aiperf.dev/aiperf/internal/diagnose/prove"
	"aiperf.dev/aiperf/internal/docgen"
	"aiperf.dev/aiperf/internal/docgen/examples"
	"aiperf.dev/aiperf/internal/glossary"
	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/mockserver"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/loadgen/endpoint"
	"aiperf.dev/aiperf/loadgen/render"
	"aiperf.dev/aiperf/runner/verdict"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/schema/fields"
	"aiperf.dev/aiperf/sinks"
	aiperfiles "aiperf.dev/aiperf/sinks/aiperf"
	"aiperf.dev/aiperf/sweep"
)

var writeDocs = flag.Bool("docs", false, "rewrite the generated pages of docs/")

// The pages of docs/ say what the catalogues say.
func TestGeneratedDocs(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func(*testing.T, []byte) string{
		"cli.md":           func(*testing.T, []byte) string { return docgen.CLI(cliCommands(catalogue()), schema.Options()) },
		"configuration.md": configurationPage,
		"metrics.md":       metricsPage,
		"tables.md":        tablesPage,
		"verdict.md":       verdictPage,
		"diagnose.md":      diagnosePage,
		"exit-codes.md":    exitCodesPage,
		"../README.md":     exitCodesPage,
		"mock-server.md":   mockServerPage,
		"glossary.md":      func(*testing.T, []byte) string { return docgen.Glossary(glossaryRows()) },
		"endpoints.md":     endpointsPage,
		"differences.md":   differencesPage,
		"cue.md":           cuePage,
		"experiment.schema.json": func(t *testing.T, _ []byte) string {
			b, err := schema.JSONSchema()
			return check(t, string(b)+"\n", err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join("..", "..", "docs", name)
			have, err := os.ReadFile(path)
			if err != nil && !*writeDocs {
				t.Fatal(err)
			}
			want := make(t, have)
			if *writeDocs {
				if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if string(have) != want {
				t.Errorf("docs/%s is not what the sources say: run %s; first difference: %s", name,
					docgen.Command, firstDifference(string(have), want))
			}
		})
	}
}

// How many requests a percentile takes has one answer, wherever it is given.
func TestOneAnswerForAPercentile(t *testing.T) {
	t.Parallel()
	for page, wants := range map[string]string{
		"docs/decide.md": sweep.Takes(), "docs/verdict.md": sweep.Takes(), "docs/glossary.md": sweep.Takes(),
		"docs/compare.md": fmt.Sprintf("p90 from %d, p99 from %s", sweep.Percentiles[1].Requests, words.Whole(sweep.Percentiles[0].Requests)),
	} {
		if !strings.Contains(strings.Join(strings.Fields(string(source(t, page))), " "), wants) {
			t.Errorf("%s does not say %q", page, wants)
		}
	}
	pages, err := filepath.Glob(filepath.Join("..", "..", "docs", "*.md"))
	if err != nil || len(pages) < 20 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	floor := regexp.MustCompile(`\b662\b`) // stats.Floor(0.99), of independent values, which nobody plans
	for _, page := range append(pages, filepath.Join("..", "..", "README.md")) {
		b, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(string(b), "\n") {
			if (strings.Contains(line, "p99") || strings.Contains(line, "percentile")) && floor.MatchString(line) {
				t.Errorf("%s: %s", page, line)
			}
		}
	}
}

// docs/examples.md and its pictures are what the examples give.
func TestExamplesPage(t *testing.T) {
	t.Parallel()
	page, pictures, err := examples.Page(filepath.Join("..", "..", "examples", "experiments"), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"examples.md": page}
	for name, b := range pictures {
		files["examples/"+name] = string(b)
	}
	for name, want := range files {
		path := filepath.Join("..", "..", "docs", filepath.FromSlash(name))
		if len(want) > 200<<10 {
			t.Errorf("docs/%s has %d bytes", name, len(want))
		}
		if *writeDocs {
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		have, err := os.ReadFile(path)
		if err != nil || string(have) != want {
			t.Errorf("docs/%s is not what the examples give: run %s; %v, first difference: %s", name,
				docgen.Command, err, firstDifference(string(have), want))
		}
	}
}

func firstDifference(have, want string) string {
	a, b := strings.Split(have, "\n"), strings.Split(want, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return "have " + a[i] + ", want " + b[i]
		}
	}
	return "one is longer"
}

// source is a file of the repository.
func source(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", path))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func check(t *testing.T, page string, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return page
}

func configurationPage(t *testing.T, _ []byte) string {
	js, err := schema.ReferenceJSON()
	if err != nil {
		t.Fatal(err)
	}
	page, err := docgen.Configuration(js, schema.Options(), schema.Needs())
	return check(t, page, err)
}

func metricsPage(t *testing.T, _ []byte) string {
	return docgen.Metrics(metrics.Catalogue())
}

func tablesPage(t *testing.T, _ []byte) string {
	var tables []docgen.Table
	for _, have := range sinks.Tables() {
		fields, err := sinks.Columns(have.Name)
		if err != nil {
			t.Fatal(err)
		}
		table := docgen.Table{Name: have.Name, Row: have.Row}
		for _, f := range fields {
			table.Columns = append(table.Columns, docgen.Column{
				Name: f.Name, Type: f.Kind.String(), Unit: f.Unit,
				Null: f.Null, Doc: f.Doc,
			})
		}
		tables = append(tables, table)
	}
	page, err := docgen.Tables(tables)
	return check(t, page, err)
}

func verdictPage(t *testing.T, have []byte) string {
	page, err := docgen.Fill(have, "checks", docgen.Checks(verdict.Describe()))
	return check(t, string(page), err)
}

func diagnosePage(t *testing.T, have []byte) string {
	rules, facts := diagnose.Catalogues()
	page, err := docgen.Fill(have, "rules", docgen.Rules(rules))
	page = []byte(check(t, string(page), err))
	page, err = docgen.Fill(page, "facts", docgen.Facts(facts))
	page = []byte(check(t, string(page), err))
	page, err = docgen.Fill(page, "causes", docgen.Causes(prove.Catalogue()))
	return check(t, string(page), err)
}

func endpointsPage(t *testing.T, have []byte) string {
	page, err := docgen.Fill(have, "types", docgen.Endpoints(endpoint.Catalogue()))
	have = []byte(check(t, string(page), err))
	var names, docs []string
	for _, p := range render.Placeholders() {
		names, docs = append(names, "{"+p.Name+"}"), append(docs, p.Doc)
	}
	page, err = docgen.Fill(have, "placeholders", docgen.Names(names, docs))
	return check(t, string(page), err)
}

func cuePage(t *testing.T, have []byte) string {
	page, err := docgen.Fill(have, "versions", docgen.Versions(fields.Versions()))
	return check(t, string(page), err)
}

func mockServerPage(t *testing.T, have []byte) string {
	page, err := docgen.Fill(have, "words", docgen.Words(mockserver.Keys()))
	return check(t, string(page), err)
}

// glossaryRows are the words of the glossary as rows of a table.
func glossaryRows() (rows [][]string) {
	for _, t := range glossary.Terms() {
		rows = append(rows, []string{t.Word, t.Also, t.Text})
	}
	return rows
}

func exitCodesPage(t *testing.T, have []byte) string {
	page, err := docgen.Fill(have, "codes", docgen.ExitCodes(diag.Meanings()))
	return check(t, string(page), err)
}

func differencesPage(t *testing.T, page []byte) string {
	for _, m := range []struct{ file, variable, head string }{
		{"schema/differences_test.go", "fileDifferences", "recorded file"},
		{"schema/differences_test.go", "flagDifferences", "flag"},
		{"schema/differences_test.go", "lineDifferences", "recorded command line"},
		{"schema/differences_test.go", "mistakeDifferences", "recorded mistake"},
		{"schema/pathdifferences_test.go", "pathDifferences", "field"},
	} {
		rows, err := docgen.Differences(source(t, m.file), m.variable, m.head)
		if err != nil {
			t.Fatal(err)
		}
		if page, err = docgen.Fill(page, m.variable, rows); err != nil {
			t.Fatal(err)
		}
	}
	page, err := docgen.Fill(page, "artifacts", docgen.Artifacts(aiperfiles.Differences()))
	if err != nil {
		t.Fatal(err)
	}
	page, err = docgen.Fill(page, "commands", docgen.Absent(cliCommands(absentCommands())))
	if err != nil {
		t.Fatal(err)
	}
	if page, err = docgen.Fill(page, "absentFlags", docgen.AbsentFlags(schema.Options())); err != nil {
		t.Fatal(err)
	}
	var env []docgen.Variable
	for _, v := range compat.Variables() {
		d := docgen.Variable{Name: v.Name, Read: v.Read, Why: v.Why, Told: v.Told}
		if v.Path != "" {
			d.Sets = v.Path
		}
		env = append(env, d)
	}
	var rows [][2]string
	for _, r := range contract(t) {
		if r.Why != "" {
			rows = append(rows, [2]string{r.Name, r.Why})
		}
	}
	if page, err = docgen.Fill(page, "contract", docgen.Contract(rows)); err != nil {
		t.Fatal(err)
	}
	page, err = docgen.Fill(page, "variables", docgen.Variables(env))
	return check(t, string(page), err)
}
