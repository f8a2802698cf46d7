package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/diagnose"
	"aiperf.dev/aiperf/internal/glossary"
	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/telemetry"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/runner/verdict"
	"aiperf.dev/aiperf/sinks/report"
	"aiperf.dev/aiperf/sweep"
)

// aiperf help explains every mark, verdict and word of its own that a screen prints.
func TestHelpKnowsTheScreens(t *testing.T) {
	t.Parallel()
	said := append(report.Marks(),
		validity.Valid.String(), validity.Degraded.String(), validity.Invalid.String(), validity.Failed.String(),
		"WORSE", "BETTER", "EQUIVALENT", "NOT WORSE", "UNDECIDED", "PARTIAL",
		"not decided yet", "cannot be decided", "cannot be judged", "too few trials", "equal within", "error-adjusted",
		"failures as ∞", "from schedule", "in flight", "per user", "points", "uncertain", "independent", "consecutive",
		"paired", "not paired", "80 % power", "primary metric", "limits", "gates", "knee", "best", "tie",
		"paired trials", "Usable runs", "judged", "bracket", "holds", "fails", "truncated", "rate_limited", "Retry-After",
		"as observed", "contention", "coherency", "without limits",
		"cut off", "goodput %", "steady", "sentinel", "doubt", "in doubt", "scheduling delay", "all else holds",
		"stood still", "paused", "misses limits", "too few", "not certain yet", "so far", "likely", "not known", "shown", "not usable", "left out", "http_500", "http_418", "latencies from the schedule", "no average",
		"both ends confirmed by a second run", "TTFT from schedule", "drain", "slots", "wide", "smallest change", "flow balance",
	)
	for _, word := range said {
		if err := helps(word); err != nil {
			t.Errorf("aiperf help %q: %v", word, err)
		}
	}
}

// Help knows every name of a catalogue: a screen, a finding or a table may print any of them.
func TestHelpKnowsTheCatalogues(t *testing.T) {
	t.Parallel()
	names := slices.Concat(verdict.CheckIDs(), metrics.Tags(), telemetry.MeasureTags())
	for _, f := range diagnose.Facts() {
		names = append(names, f.Name)
	}
	for _, r := range diagnose.Rules() {
		names = append(names, r.Name)
	}
	for _, name := range names {
		if err := helps(name); err != nil {
			t.Errorf("aiperf help %s: %v", name, err)
		}
	}
}

// Help knows each word that tells outcomes apart, in files as on screens: those of gates, comparisons,
// searches, cells, findings and diagnoses, the remarks on rows of cells, and what legends explain.
func TestHelpKnowsTheWordsOfOutcomes(t *testing.T) {
	t.Parallel()
	spoken := regexp.MustCompile(`^[A-Za-z_± ]*[A-Za-z]$`)
	where := map[string]string{}
	keep := func(name string, e ast.Expr) {
		lit, ok := e.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return
		}
		text, err := strconv.Unquote(lit.Value)
		if text, _, _ = strings.Cut(strings.TrimSpace(text), ":"); err == nil && spoken.MatchString(text) {
			where[text] = name
		}
	}
	rooms := []string{"sweep/decide", "sweep/search", "internal/validity", "internal/diagnose", "runner/verdict", "sinks/report"}
	for _, room := range rooms {
		eachFile(t, room, func(name string, n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ValueSpec: // a constant of a type of its own
				if kind, named := n.Type.(*ast.Ident); named && kind.Name != "string" && kind.Name != "Of" {
					for _, v := range n.Values {
						keep(name, v)
					}
				}
			case *ast.CallExpr: // the remarks on rows, and what the legend says of them
				called, isIdent := n.Fun.(*ast.Ident)
				if isIdent && called.Name == "append" && name == "legend.go" {
					for _, v := range n.Args[1:] {
						if sum, ok := v.(*ast.BinaryExpr); ok {
							v = sum.X
						}
						keep(name, v)
					}
				}
			}
			return true
		})
	}
	for _, want := range []string{"UNDECIDED", "NOT WORSE", "budget_spent", "likely", "misses", "knee", "choose", "not_run"} {
		if where[want] == "" {
			t.Errorf("no place says %q any more: mend this test", want)
		}
	}
	for w, at := range where {
		if err := helps(w); err != nil {
			t.Errorf("aiperf help %q: %v, in %s", w, err, at)
		}
	}
}

// Help knows each word in the head of a table, and each name before a line: of the screens, of a plan before it is
// carried out, and of a search.
func TestHelpKnowsTheHeads(t *testing.T) {
	t.Parallel()
	where := map[string]string{}
	keep := func(name string, list ...ast.Expr) {
		for _, e := range list {
			if lit, ok := e.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if text, err := strconv.Unquote(lit.Value); err == nil && strings.TrimSpace(text) != "" {
					where[text] = name
				}
			}
		}
	}
	literals := func(name string, e ast.Expr) {
		if list, ok := e.(*ast.CompositeLit); ok {
			keep(name, list.Elts...)
		}
	}
	for _, room := range []string{"sinks/report", "sinks/report/preview", "sinks/report/live"} {
		eachFile(t, room, func(name string, n ast.Node) bool {
			switch n := n.(type) {
			case *ast.KeyValueExpr:
				if key, ok := n.Key.(*ast.Ident); ok && key.Name == "head" {
					literals(name, n.Value)
				}
			case *ast.AssignStmt:
				for i, to := range n.Lhs {
					field, ok := to.(*ast.SelectorExpr)
					if !ok || field.Sel.Name != "head" || i >= len(n.Rhs) {
						continue
					}
					literals(name, n.Rhs[i])
					if call, ok := n.Rhs[i].(*ast.CallExpr); ok && len(call.Args) > 0 {
						keep(name, call.Args[1:]...)
					}
				}
			case *ast.CallExpr:
				called, ok := n.Fun.(*ast.SelectorExpr)
				if ok && called.Sel.Name == "TwoColumns" && len(n.Args) > 1 {
					keep(name, n.Args[1])
				}
				if ok && called.Sel.Name == "note" && len(n.Args) > 0 {
					keep(name, n.Args[0])
				}
			}
			return true
		})
	}
	for _, want := range []string{"change", "goodput %", "latency mean ms", "lock", "half", "limits"} {
		if where[want] == "" {
			t.Errorf("no table or line is headed %q any more: mend this test", want)
		}
	}
	for _, h := range metrics.Headlines(true, func(string, string) bool { return true }) {
		where[h.Name] = "the headlines"
	}
	for w, at := range where {
		if err := helps(w); err != nil {
			t.Errorf("aiperf help %q: %v, in %s", w, err, at)
		}
	}
	k, _ := glossary.Find("term")
	for _, word := range []string{"lock", "curve", "tail", "half", "check", "probe", "search", "share"} {
		if _, err := k.Explain(word); err != nil {
			t.Errorf("the glossary has no entry for %s: %v", word, err)
		}
	}
}

// helps is what is wrong with aiperf help WORD.
func helps(word string) error {
	var b strings.Builder
	if err := (helpText{&b, helpWidth}).word(command{settings: true}, word); err != nil {
		return err
	}
	if len(b.String()) < 40 {
		return fmt.Errorf("it only says %q", &b)
	}
	return nil
}

// Words in capitals that the field, or everyone, knows.
var known = []string{"CPU", "DRAM", "GPU", "HTTP", "LLM", "TensorRT"}

// eachFile walks over the code of a room; tests are left out.
func eachFile(t *testing.T, room string, walk func(name string, n ast.Node) bool) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(room), "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool { return walk(filepath.Base(path), n) })
	}
}

// Whatever stands in a text of the rooms that make sentences and looks like a name of the
// program's own, a word in capitals or one with an underscore, is a word that help knows.
func TestHelpKnowsTheWordsOfSentences(t *testing.T) {
	t.Parallel()
	word := regexp.MustCompile(`\b([A-Z][A-Za-z]*[A-Z]+[a-z]?(-[0-9]+)?|[a-z]+(_[a-z]+)+)\b`)
	where := map[string]string{}
	for _, room := range []string{"runner/verdict", "sinks/report", "internal/diagnose", "sweep/decide"} {
		eachFile(t, room, func(name string, n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ImportSpec:
				return false
			case *ast.Field: // its tag is a key of a file
				return n.Tag == nil
			case *ast.BasicLit:
				text, err := strconv.Unquote(n.Value)
				if err == nil && n.Kind == token.STRING && strings.Contains(text, " ") {
					for _, w := range word.FindAllString(text, -1) {
						where[w] = name + ": " + text
					}
				}
			}
			return true
		})
	}
	if len(where) < 40 {
		t.Errorf("only %d words were found", len(where))
	}
	for _, w := range known {
		if where[w] == "" {
			t.Errorf("no sentence has %s", w)
		}
	}
	for w, at := range where {
		if err := helps(w); err != nil && !slices.Contains(known, w) {
			t.Errorf("aiperf help %s: %v\n  in %s", w, err, at)
		}
	}
}

// Every name that stands before a line or above a column of a screen is a word that help
// knows: those of the tables of cells and axes, and each one that the rooms write.
func TestHelpKnowsTheNamesOnScreens(t *testing.T) {
	t.Parallel()
	var names []string
	for _, h := range metrics.Headlines(true, func(string, string) bool { return true }) {
		names = append(names, strings.TrimSuffix(h.Name, " ms"))
	}
	for _, a := range sweep.KnownAxes() {
		names = append(names, a.Name, a.Short)
	}
	written := namesOfLines(t, "sinks/report")
	if len(written) < 20 {
		t.Errorf("only %d names of lines were found: %q", len(written), written)
	}
	for _, name := range append(names, written...) {
		if name = strings.Trim(name, " :…"); name == "" {
			continue
		}
		if err := helps(name); err != nil {
			t.Errorf("aiperf help %q: %v", name, err)
		}
	}
}

// namesOfLines are the texts in a room that are padded to a column of names, begin a note, or
// head a table.
func namesOfLines(t *testing.T, room string) (names []string) {
	t.Helper()
	text := func(e ast.Expr) {
		if lit, ok := e.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if s, err := strconv.Unquote(lit.Value); err == nil && strings.Trim(s, " ") != "" {
				names = append(names, strings.Trim(s, " "))
			}
		}
	}
	eachFile(t, room, func(_ string, n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			called, ok := n.Fun.(*ast.SelectorExpr)
			if ok && (called.Sel.Name == "Pad" || called.Sel.Name == "note") && len(n.Args) == 2 {
				text(n.Args[0])
			}
		case *ast.KeyValueExpr:
			list, ok := n.Value.(*ast.CompositeLit)
			if key, named := n.Key.(*ast.Ident); named && ok && key.Name == "head" {
				for _, e := range list.Elts {
					text(e)
				}
			}
		}
		return true
	})
	return names
}
