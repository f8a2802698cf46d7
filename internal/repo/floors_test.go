package repo

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "aiperf.dev/aiperf/"

// floors says what each room may import of ours. The road runs downwards; a
// room that is not named here fails the test until somebody decides where it
// stands.
var floors = readFloors(`
cmd/aiperf: *
internal/acceptance: *
internal/argv: internal/diag internal/secret schema
internal/atomicfile:
internal/audit: internal/diag internal/metrics internal/mockserver internal/stats internal/words runner/hook sinks/importer sinks/results sweep/decide
internal/bench: *
internal/browser:
internal/capture: internal/atomicfile internal/diag internal/record internal/secret internal/words loadgen/endpoint loadgen/endpoint/claims loadgen/tokenizer loadgen/transport
internal/chat: internal/diag internal/record internal/secret internal/words loadgen/dataset/conversation loadgen/endpoint loadgen/endpoint/claims loadgen/tokenizer loadgen/transport
internal/compat: internal/argv internal/diag loadgen/endpoint schema
internal/alarm:
internal/decimal:
internal/diag:
internal/diagnose: internal/argv internal/diag internal/metrics internal/resultdir internal/telemetry internal/validity internal/words schema sinks sweep
internal/diagnose/prove: internal/diag internal/metrics internal/resultdir internal/secret internal/stats internal/validity internal/words sinks sweep sweep/decide
internal/docgen: *
internal/faults: *
internal/faultserver:
internal/glossary: internal/diag internal/diagnose internal/docgen internal/metrics internal/suggest internal/telemetry runner/verdict schema sinks sweep sweep/decide
internal/launch/image: internal/diag
internal/launch/k8stest:
internal/launch/kube: internal/diag
internal/launch/slurm: internal/diag
internal/leak:
internal/race:
internal/golden:
internal/grade/algebra:
internal/grade/pycode:
internal/grade: internal/diag internal/grade/algebra internal/grade/pycode internal/stats
internal/header:
internal/heap:
internal/hub: internal/atomicfile internal/diag
internal/jinja: internal/diag internal/words
internal/language: *
internal/metrics: internal/heap internal/record internal/stats internal/suggest internal/diag
internal/mockserver/cache:
internal/mockserver/grpcserve: loadgen/endpoint loadgen/transport
internal/mockserver: loadgen/dataset/exam internal/heap internal/mockserver/cache internal/mockserver/grpcserve internal/seed internal/suggest loadgen/endpoint loadgen/tokenizer internal/diag
internal/nearby: internal/words
internal/pcg:
internal/plugin: internal/diag internal/secret internal/suggest internal/words
internal/pictures: *
internal/pyrepr: internal/decimal
internal/qmc: internal/pcg
internal/pyrandom:
internal/queue:
internal/record:
internal/repo:
internal/redact:
internal/rlimit:
internal/sampled:
internal/seal:
internal/secret:
internal/seed:
internal/sim: *
internal/speedbench: internal/words
internal/stats:
internal/suggest:
internal/gclimit:
internal/gojson:
internal/rules: internal/diag internal/metrics internal/resultdir internal/stats internal/suggest internal/validity internal/words loadgen/mode
internal/resultdir: internal/atomicfile internal/diag internal/secret internal/sampled internal/validity
internal/telemetry: internal/alarm internal/stats
internal/validity:
internal/words:
loadgen/dataset/chatlog: loadgen/dataset/files loadgen/dataset/trace loadgen/tokenizer
loadgen/dataset/agents:
loadgen/dataset/conversation: loadgen/dataset/files loadgen/dataset/media loadgen/tokenizer schema
loadgen/dataset/exam: internal/diag internal/grade internal/pyrandom loadgen/dataset/files loadgen/dataset/public
loadgen/dataset/fidelity: loadgen/dataset loadgen/dataset/files loadgen/dataset/trace
loadgen/dataset/files: internal/diag internal/secret
loadgen/dataset/format: internal/diag internal/words loadgen/dataset/agents loadgen/dataset/conversation loadgen/dataset/files loadgen/dataset/media loadgen/dataset/public loadgen/dataset/synth loadgen/dataset/trace loadgen/tokenizer schema
loadgen/dataset/media: internal/diag loadgen/dataset/files loadgen/dataset/synth schema
loadgen/dataset/public: internal/diag internal/hub
loadgen/dataset/synth: internal/seed schema loadgen/tokenizer
loadgen/dataset/trace: internal/seed
loadgen/dataset: loadgen/dataset/exam schema schema/fields loadgen/dataset/conversation loadgen/dataset/files loadgen/dataset/format loadgen/dataset/media loadgen/dataset/public loadgen/dataset/synth loadgen/tokenizer internal/seed internal/sampled internal/diag internal/plugin internal/words
loadgen/endpoint/claims: internal/record loadgen/endpoint/scan
loadgen/endpoint/replay:
loadgen/endpoint/scan: internal/record
loadgen/endpoint: internal/jinja internal/record loadgen/dataset loadgen/endpoint/claims loadgen/endpoint/replay loadgen/endpoint/scan schema internal/diag internal/plugin
loadgen/mode: internal/heap internal/record schema schema/fields internal/seed loadgen/dataset internal/diag internal/words
loadgen/pace: internal/alarm internal/record
loadgen/scale: schema internal/metrics
loadgen/stable: schema internal/words
loadgen/render: internal/record internal/seed loadgen/dataset loadgen/endpoint loadgen/tokenizer loadgen/tokenizer/chat loadgen/transport schema internal/diag internal/header
loadgen/tokenizer/gen: loadgen/tokenizer
loadgen/tokenizer/chat: internal/jinja internal/diag
loadgen/tokenizer/remote:
loadgen: internal/grade internal/heap internal/queue internal/record internal/secret internal/seed internal/stats internal/words loadgen/dataset loadgen/endpoint loadgen/endpoint/claims loadgen/mode loadgen/pace loadgen/render loadgen/tokenizer loadgen/tokenizer/chat loadgen/transport schema internal/diag loadgen/scale loadgen/stable
loadgen/tokenizer: internal/heap internal/hub internal/diag
loadgen/transport: internal/alarm internal/diag internal/header internal/heap internal/record internal/rlimit
runner/cluster: internal/diag internal/metrics internal/plugin internal/record internal/resultdir internal/telemetry internal/words loadgen loadgen/mode loadgen/transport runner/onerun schema
runner/hook: internal/words
runner/onerun: internal/grade internal/words schema loadgen loadgen/dataset loadgen/dataset/fidelity loadgen/dataset/trace loadgen/endpoint loadgen/mode loadgen/render loadgen/tokenizer loadgen/tokenizer/chat loadgen/tokenizer/remote loadgen/transport sinks sinks/aiperf runner/verdict internal/diag internal/gclimit internal/metrics internal/mockserver internal/plugin internal/record internal/resultdir internal/secret internal/telemetry loadgen/scale internal/metrics
runner/verdict: schema internal/metrics internal/record internal/stats internal/telemetry internal/words loadgen loadgen/stable internal/validity
runner: *
schema/cmdline: schema/fields schema/lower schema/source internal/diag internal/suggest
schema/fields: schema/source internal/diag internal/secret internal/suggest
schema/flags: schema/fields schema/lower schema/source internal/diag internal/suggest
schema/lower: schema/fields schema/source internal/diag internal/jinja internal/suggest
schema/source: internal/diag internal/secret internal/suggest
schema/surface:
schema: schema/surface schema/source schema/cmdline schema/fields schema/lower schema/flags internal/diag internal/header internal/secret internal/suggest
sinks/aiperf: schema sinks internal/atomicfile internal/decimal internal/metrics internal/pyrepr internal/record internal/secret internal/stats internal/telemetry internal/words loadgen/scale
sinks/report/chart/draw: internal/atomicfile internal/words
sinks/report: internal/rules sinks/receipt sinks/trend internal/argv internal/atomicfile internal/diag internal/metrics internal/record internal/stats internal/words loadgen runner/verdict schema sweep sweep/decide sweep/quick sweep/search sweep/search/planner sweep/source loadgen/mode internal/validity sinks/report/forecast internal/resultdir
sinks/bundle: internal/rules internal/atomicfile internal/diag internal/redact internal/resultdir internal/seal internal/secret internal/words sinks sinks/aiperf sinks/importer sinks/receipt sinks/results
sinks/importer: internal/diag internal/metrics internal/record internal/resultdir internal/stats internal/words sinks sweep
sinks/expose: loadgen internal/metrics internal/record internal/words
sinks/mlflow: internal/secret internal/words
sinks/otlp: loadgen internal/metrics internal/record internal/secret internal/words
sinks/report/chart: sweep sweep/decide internal/diag internal/metrics internal/record internal/stats internal/telemetry internal/words sinks sinks/report/chart/draw sinks/results internal/validity internal/resultdir sinks/importer
sinks/report/forecast: internal/record internal/words loadgen loadgen/mode schema sweep
sinks/report/live: sinks/report/forecast internal/metrics internal/record internal/stats internal/words loadgen internal/validity internal/resultdir
sinks/report/page: internal/audit internal/rules sinks/receipt sinks/trend internal/diag internal/metrics internal/record internal/secret internal/words sinks sinks/report sweep/decide sinks/report/chart sinks/report/chart/draw internal/validity internal/resultdir sinks/results sinks/importer
sinks/report/preview: internal/diag internal/words loadgen/dataset loadgen/dataset/format loadgen/dataset/trace loadgen/endpoint loadgen/tokenizer schema sinks/results sweep sweep/decide sweep/search sweep/search/planner sweep/source
sinks/genaiperf: internal/atomicfile internal/diag internal/stats loadgen/tokenizer
sinks/trend: internal/atomicfile internal/diag internal/resultdir internal/stats internal/words sinks sinks/importer sinks/receipt sinks/results sweep/decide
sinks/receipt: internal/metrics internal/resultdir internal/stats internal/words schema
sinks/results: internal/rules internal/diag internal/metrics internal/record internal/stats sinks/receipt internal/telemetry internal/words sinks/aiperf schema sinks sweep sweep/decide sweep/search internal/validity internal/resultdir sinks/importer
sinks: schema sweep sweep/decide internal/atomicfile internal/decimal internal/heap internal/metrics internal/record internal/resultdir internal/secret internal/stats internal/words internal/metrics
sweep/decide: schema schema/fields sweep internal/diag internal/grade internal/metrics internal/record internal/stats internal/telemetry internal/validity internal/words
sweep/quick: internal/metrics schema sweep/decide sweep/search
sweep/search/planner: internal/pcg internal/qmc internal/stats internal/words
sweep/search: internal/stats internal/words sweep
sweep/source: schema sweep sweep/decide sweep/search sweep/search/planner internal/stats internal/words
sweep: sweep/search/planner schema schema/fields loadgen/endpoint loadgen/mode internal/seed internal/pcg internal/pyrepr internal/qmc internal/secret internal/words internal/resultdir
`)

// readFloors reads lines of the form "room: rooms it may import".
func readFloors(text string) map[string][]string {
	out := map[string][]string{}
	for line := range strings.Lines(strings.TrimSpace(text)) {
		home, below, _ := strings.Cut(line, ":")
		out[home] = strings.Fields(below)
	}
	return out
}

// room is the folder that decides: tools and inner packages of a room belong
// to it unless they are named themselves.
func room(dir string) string {
	for d := dir; d != "."; d = filepath.ToSlash(filepath.Dir(d)) {
		if _, ok := floors[d]; ok {
			return d
		}
	}
	return ""
}

func TestImportsGoDown(t *testing.T) {
	t.Parallel()
	for dir, files := range goFiles(t) {
		home := room(dir)
		if home == "" {
			t.Errorf("%s: not in floors: say what it may import", dir)
			continue
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue // a test may look down from anywhere
			}
			for _, path := range imports(t, file) {
				ours, ok := strings.CutPrefix(path, module)
				if !ok {
					continue
				}
				to := room(ours)
				if to != home && !slices.Contains(floors[home], to) && !slices.Contains(floors[home], "*") {
					t.Errorf("%s imports %s: %s may import %v only", file, ours, home, floors[home])
				}
			}
		}
	}
}

// Only programs import the runner, and internal/acceptance and internal/sim,
// which are there for tests of whole runs and whole plans.
func TestNothingImportsTheTop(t *testing.T) {
	t.Parallel()
	mayRun := []string{"cmd/aiperf", "runner", "internal/acceptance", "internal/sim"}
	for dir, files := range goFiles(t) {
		for _, file := range files {
			for _, path := range imports(t, file) {
				if path == module+"cmd/aiperf" || path == module+"runner" && !slices.Contains(mayRun, room(dir)) {
					t.Errorf("%s imports %s", file, path)
				}
			}
		}
	}
}

func TestEveryPackageHasADocComment(t *testing.T) {
	t.Parallel()
	for dir, files := range goFiles(t) {
		documented := false
		tests := 0
		for _, file := range files {
			f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.PackageClauseOnly|parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			documented = documented || f.Doc != nil && len(f.Doc.Text()) > 60
			if strings.HasSuffix(file, "_test.go") {
				tests++
			}
		}
		if !documented {
			t.Errorf("%s: no doc comment says what the package takes, gives and does", dir)
		}
	}
}

// A package comment that names a file names one that there is, beside it or by its
// path from the root.
func TestPackageCommentsNameFilesThatExist(t *testing.T) {
	t.Parallel()
	named := regexp.MustCompile(`\b[a-z0-9_/]+\.go\b`)
	n := 0
	for dir, files := range goFiles(t) {
		for _, file := range files {
			f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.PackageClauseOnly|parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range named.FindAllString(f.Doc.Text(), -1) {
				n++
				root := filepath.Join("..", "..")
				_, beside := os.Stat(filepath.Join(root, dir, name))
				_, byPath := os.Stat(filepath.Join(root, name))
				if beside != nil && byPath != nil {
					t.Errorf("%s: the package comment names %s, which is not there", file, name)
				}
			}
		}
	}
	if n < 15 {
		t.Errorf("package comments name %d files only", n)
	}
}

// goFiles are the Go files of the repository by folder, relative to its root.
func goFiles(t *testing.T) map[string][]string {
	t.Helper()
	byDir := map[string][]string{}
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := e.Name()
		if e.IsDir() && (name == "build" || name == "testdata" || name == ".git") {
			return filepath.SkipDir
		}
		if strings.HasSuffix(name, ".go") {
			rel, err := filepath.Rel(root, filepath.Dir(path))
			if err != nil {
				return err
			}
			byDir[filepath.ToSlash(rel)] = append(byDir[filepath.ToSlash(rel)], path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(byDir) < 10 {
		t.Fatalf("found Go files in %d folders only", len(byDir))
	}
	return byDir
}

func imports(t *testing.T, file string) []string {
	t.Helper()
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	f, err := parser.ParseFile(token.NewFileSet(), file, src, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, s := range f.Imports {
		p, err := strconv.Unquote(s.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, p)
	}
	return out
}
