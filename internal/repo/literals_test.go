package repo

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/loadgen/dataset/format"
)

// homes are the catalogues whose names no other room writes: who needs a fact about
// a thing asks its row.
func homes() map[string]struct {
	names []string
	rooms []string
} {
	type home = struct {
		names []string
		rooms []string
	}
	return map[string]home{
		"endpoint type":  {endpointTypes(), []string{"loadgen/endpoint"}},
		"dataset type":   {datasetTypes(), []string{"loadgen/dataset"}},
		"dataset format": {format.Formats(), []string{"loadgen/dataset/format"}},
		"load mode":      {loadModes(), []string{"loadgen/mode"}},
		"sweep kind":     {sweepKinds(), []string{"sweep"}},
		"metric":         {metrics.Tags(), []string{"internal/metrics"}},
		"result file":    {resultFiles(), []string{"internal/resultdir"}},
	}
}

// resultFiles are the names and forms of the files that make a result directory.
func resultFiles() []string {
	return []string{
		resultdir.LockName, resultdir.LockSchema, resultdir.JournalName, resultdir.ManifestName,
		resultdir.ManifestSchema, resultdir.ResolvedName,
		resultdir.ReportName, resultdir.ReportsName, resultdir.RecordsKept, resultdir.AnswerName, resultdir.StreamName,
		resultdir.MarkdownName, resultdir.ViewName, resultdir.LiveName, resultdir.LogName,
	}
}

// words are names that are also words for something else. Such a word is a name
// where it is compared with a type or given as one.
var words = []string{
	"chat", "completions", "responses", "messages", "embeddings", "rankings", "template", "raw", "grpc", "plugin", // commands, members of requests and answers, schemes
	"file", "public", // what a form uploads, where a value came from; a command
	"table",                              // of a page
	"concurrency", "constant", "poisson", // a setting and its axis; shapes of a ramp
	"grid", "zip", // parts of a picture; an archive
	"goodput", "error_rate", "dispatch_lateness", "admission_wait", "cancelled", // a flag's action, a word of the built-in server, checks
	"accuracy", // a setting, and a topic of help
}

// known are the places that write names of catalogues, each with the reason.
var known = map[string]string{
	"internal/launch/image/image.go":   "a file of container images",
	"internal/compat":                  "other programs' words for what they measure and how",
	"internal/mockserver":              "the server's own words, and the members of requests it reads",
	"internal/bench":                   "benchmarks of a load that they choose",
	"internal/record/recordtest":       "records made for tests",
	"sweep/sweeptest":                  "plans made for tests",
	"loadgen/dataset/datasettest":      "data sets made for tests",
	"internal/diagnose/prove":          "the experiment that it writes",
	"sinks/columns.go":                 "columns of the tables, in their own catalogue",
	"sinks/results/delivered.go":       "columns of our tables",
	"sinks/aiperf/recheck.go":          "recomputes files of AIPerf from what stands in them, without our catalogue",
	"sinks/aiperf/differences.go":      "the table of where AIPerf's files differ, metric by metric",
	"sinks/aiperf/details.go":          "keys of one of AIPerf's files",
	"sinks/aiperf/scale.go":            "keys of one of AIPerf's files",
	"sinks/importer":                   "other programs' words for what they asked and measured",
	"sinks/genaiperf":                  "GenAI-Perf's words for what it measured",
	"sinks/aiperf/phasefiles.go":       "keys of one of AIPerf's files",
	"sinks/aiperf/inputconfig.go":      "keys and words of AIPerf's configuration",
	"loadgen/endpoint/program.go":      "the endpoint type that has the name of a data set's",
	"schema/cmdline/adaptive.go":       "the default objective of AIPerf's adaptive search",
	"schema/flags/actions.go":          "what screens call metrics, for --goodput; a test holds it against the catalogue",
	"schema/adaptive.go":               "the default objective of AIPerf's adaptive search",
	"schema/cmdline/recipe.go":         "figures that AIPerf's recipes are about",
	"schema/cmdline/recipesearch.go":   "figures that AIPerf's recipes are about",
	"sinks/report/chart/custom.go":     "columns of AIPerf's plots",
	"sinks/report/chart/requests.go":   "columns of our tables",
	"cmd/aiperf/dataset.go":            "validate mooncake-trace, a command of AIPerf that names the format",
	"loadgen/dataset/public/public.go": "the format of a published set",
}

// A name of a catalogue stands in its catalogue and in no other room.
func TestNamesStandInTheirCatalogueOnly(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	for _, path := range slices.Concat(slices.Collect(maps.Values(goFiles(t)))...) {
		if strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, "_gen.go") {
			continue
		}
		short := strings.TrimPrefix(filepath.ToSlash(path), "../../")
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		names := namesIn(f)
		for what, h := range homes() {
			for _, name := range h.names {
				asType, there := names[name]
				if !there || slices.Contains(words, name) && !asType ||
					slices.Contains(h.rooms, filepath.ToSlash(filepath.Dir(short))) {
					continue
				}
				if reason := exempt(short); reason != "" {
					used[reason] = true
					continue
				}
				t.Errorf("%s writes %q, one of the %ss: ask %s, or say in known why not", short, name, what, h.rooms[0])
			}
		}
	}
	for place := range known {
		if !used[place] {
			t.Errorf("known: %s writes no name of a catalogue", place)
		}
	}
}

// exempt is the entry of known that is about a file, "" for none.
func exempt(file string) string {
	for place := range known {
		if file == place || strings.HasPrefix(file, place+"/") {
			return place
		}
	}
	return ""
}

// namesIn are the string literals of a file, and of each whether it is compared
// with, or given as, a type somewhere.
func namesIn(f *ast.File) map[string]bool {
	out := map[string]bool{}
	note := func(e ast.Expr, asType bool) {
		if l, ok := e.(*ast.BasicLit); ok && l.Kind == token.STRING {
			if s, err := strconv.Unquote(l.Value); err == nil {
				out[s] = out[s] || asType
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			note(n, false)
		case *ast.BinaryExpr:
			note(n.X, saysType(n.Y))
			note(n.Y, saysType(n.X))
		case *ast.SwitchStmt:
			for _, c := range n.Body.List {
				for _, e := range c.(*ast.CaseClause).List {
					note(e, saysType(n.Tag))
				}
			}
		case *ast.KeyValueExpr:
			note(n.Value, saysType(n.Key))
		case *ast.AssignStmt:
			for i := range min(len(n.Lhs), len(n.Rhs)) {
				note(n.Rhs[i], saysType(n.Lhs[i]))
			}
		case *ast.CallExpr: // Put("type", "grid"), Lookup("chat")
			for i, e := range n.Args {
				note(e, i > 0 && saysType(n.Args[i-1]) || saysType(n.Fun))
			}
		}
		return true
	})
	return out
}

// saysType tells whether an expression is about the type of something: a name that
// ends in Type, TypeWord or Lookup, or the key "type".
func saysType(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name == "Lookup" || strings.HasSuffix(e.Name, "Type") || strings.HasSuffix(e.Name, "TypeWord")
	case *ast.SelectorExpr:
		return saysType(e.Sel)
	case *ast.CallExpr: // endpoint.get("type")
		return saysType(e.Fun) || slices.ContainsFunc(e.Args, saysType)
	case *ast.BasicLit:
		return e.Value == `"type"` || strings.HasSuffix(strings.Trim(e.Value, `"`), ".type")
	}
	return false
}
