package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/diag"
)

// fence is a block of a page: its language, the file it is, its text.
var fence = regexp.MustCompile("(?ms)^```(\\w+) ?([^\n]*)\n(.*?)^```$")

// docs/cue.md is true as it stands: its files are written down, its commands
// are typed, one after the other.
func TestCUEPage(t *testing.T) {
	t.Parallel()
	page := source(t, "docs/cue.md")
	dir, files, commands := t.TempDir(), 0, 0
	for _, m := range fence.FindAllSubmatch(page, -1) {
		if name := string(m[2]); name != "" {
			files++
			if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
				t.Fatal(err)
			}
			write(t, dir, name, string(m[3]))
			continue
		}
		for line := range strings.Lines(string(m[3])) {
			words := pageWords(strings.TrimSpace(line))
			commands++
			codes := []diag.Code{diag.OK}
			if words[1] == "run" { // what a busy machine measures is marked so
				codes = append(codes, diag.Invalid)
			}
			aiperf(t, dir, words[1:]...).wants(codes...)
		}
	}
	if files < 8 || commands < 12 {
		t.Errorf("%d files and %d commands", files, commands)
	}
}

// The commands of docs/decide.md, typed one after the other beside the examples and
// nothing else. The run is made small.
func TestDecidePage(t *testing.T) {
	t.Parallel()
	dir, typed := t.TempDir(), 0
	if err := os.CopyFS(filepath.Join(dir, "examples"), os.DirFS(filepath.Join("..", "..", "examples"))); err != nil {
		t.Fatal(err)
	}
	for _, m := range fence.FindAllSubmatch(source(t, "docs/decide.md"), -1) {
		if string(m[1]) != "sh" {
			continue
		}
		for line := range strings.Lines(string(m[3])) {
			words, codes := pageWords(strings.TrimSpace(line)), []diag.Code{diag.OK}
			if words[1] == "run" { // the candidate is slower, if this machine lets it show
				words = append(words, "--set", "benchmark.phases.profiling.requests=24", "--ui", "none")
				codes = append(codes, diag.Missed, diag.Invalid)
			}
			aiperf(t, dir, words[1:]...).wants(codes...)
			typed++
		}
	}
	if typed < 2 {
		t.Errorf("%d commands", typed)
	}
}

// The commands of docs/capture.md, typed one after the other: those that go on are ended,
// the capture first, when those of their block are over. Ports are free ones.
func TestCapturePage(t *testing.T) {
	t.Parallel()
	dir, typed := t.TempDir(), 0
	ports := map[string]string{} // of the page, and those of the test
	var last []*process
	for _, m := range fence.FindAllSubmatch(source(t, "docs/capture.md"), -1) {
		for line := range strings.Lines(string(m[3])) {
			words := pageWords(strings.TrimSpace(line))
			for i, w := range words {
				for from, to := range ports {
					w = strings.ReplaceAll(w, "127.0.0.1:"+from, "127.0.0.1:"+to)
				}
				words[i] = w
			}
			typed++
			port := slices.IndexFunc(words, func(w string) bool { return w == "--port" || w == "--listen" }) + 1
			if port == 0 {
				aiperf(t, dir, words[1:]...).wants(diag.OK, diag.Invalid)
				continue
			}
			from := words[port]
			words[port] = "0"
			p := aiperf(t, dir, words[1:]...)
			p.until("its address", func() bool { return strings.HasSuffix(p.out.String(), "\n") })
			at := regexp.MustCompile(`http://127\.0\.0\.1:([0-9]+)`).FindStringSubmatch(p.out.String())
			if at == nil {
				t.Fatalf("%q says no address: %s", words, &p.err)
			}
			ports[from], last = at[1], append(last, p)
		}
		for len(last) > 0 {
			p := last[len(last)-1]
			if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			p.wants(diag.OK)
			last = last[:len(last)-1]
		}
	}
	if typed != 5 {
		t.Errorf("%d commands", typed)
	}
}

// What docs/accuracy.md lets a reader try, typed as it stands; the server is made fast.
func TestAccuracyPage(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("sh"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("no sh: it belongs to the tests")
		}
		t.Skip("no sh")
	}
	dir := t.TempDir()
	_, try, _ := strings.Cut(string(source(t, "docs/accuracy.md")), "\n## Try it\n")
	try, _, _ = strings.Cut(try, "\n## ")
	var p *process
	for line := range strings.Lines(try) {
		line, shown := strings.CutPrefix(strings.TrimRight(line, "\n"), "    ")
		switch word, _, _ := strings.Cut(line, " "); {
		case shown && word == "for":
			cmd := exec.Command("sh", "-c", line)
			cmd.Dir = dir
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%s: %s: %s", line, err, out)
			}
		case shown && word == "aiperf":
			p = aiperf(t, dir, split(strings.Replace(line, "mock:?", "mock:?ttft=1ms&itl=1ms&", 1))[1:]...)
			p.wants(diag.OK, diag.Invalid) // a busy machine may spoil a run
		}
	}
	if p == nil {
		t.Fatal("nothing was run")
	}
	fall := regexp.MustCompile(`accuracy\s+at\s+concurrency\s+16\s+is\s+[0-9.]+\s+points\s+lower`)
	if p.code() == diag.OK && !fall.MatchString(p.out.String()) {
		t.Errorf("no fall is found:\n%s", &p.out)
	}
}

// The commands of docs/plugins.md, typed one after the other beside the examples that it
// says to copy.
func TestPluginsPage(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"sh", "python3"} {
		if _, err := exec.LookPath(program); err != nil && os.Getenv("CI") == "" {
			t.Skip("no " + program)
		}
	}
	dir, typed := t.TempDir(), 0
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("..", "..", "examples", "plugins"))); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(source(t, "docs/plugins.md"))) {
		line, shown := strings.CutPrefix(strings.TrimRight(line, "\n"), "    ")
		if !shown {
			continue
		}
		switch word, _, _ := strings.Cut(line, " "); word {
		case "echo":
			cmd := exec.Command("sh", "-c", line)
			cmd.Dir = dir
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%s: %s: %s", line, err, out)
			}
		case "aiperf":
			aiperf(t, dir, split(line)[1:]...).wants(diag.OK, diag.Invalid) // a busy machine may spoil a run
		default: // the protocol
			continue
		}
		typed++
	}
	if typed != 8 {
		t.Errorf("%d commands", typed)
	}
	for _, want := range []string{"artifacts/*/metrics.prom", "artifacts/metrics.prom"} {
		if found, _ := filepath.Glob(filepath.Join(dir, want)); len(found) > 0 {
			return
		}
	}
	t.Error("the exporter wrote nothing")
}

// The categories of AIPerf's plugins, as its command line has them: each has an answer here,
// of what there is or of what to use instead.
func TestAIPerfPluginCategories(t *testing.T) {
	t.Parallel()
	for _, name := range strings.Fields(`accumulator accuracy_benchmark accuracy_grader analyzer api_router arrival_pattern
		communication communication_client console_exporter convergence_criterion custom_dataset_loader data_exporter
		dataset_backing_store dataset_client_store dataset_composer dataset_sampler endpoint gpu_telemetry_collector plot
		public_dataset_loader ramp record_observer record_processor search_planner search_recipe
		search_recipe_post_process service service_manager spec_decode_adapter stream_exporter timing_strategy transport ui
		url_selection_strategy zmq_proxy`) {
		for _, words := range [][]string{{name}, {strings.ReplaceAll(name, "_", "-")}, {"--category", name}} {
			p := aiperf(t, t.TempDir(), append([]string{"plugins"}, words...)...)
			p.wants(diag.OK)
			if strings.TrimSpace(p.out.String()) == "" {
				t.Errorf("aiperf plugins %s says nothing", strings.Join(words, " "))
			}
		}
	}
	for _, words := range [][]string{
		nil, {"--all"}, {"-a"}, {"--validate"}, {"-v"}, {"endpoint", "chat"}, {"--category", "endpoint", "--name", "chat"},
	} {
		aiperf(t, t.TempDir(), append([]string{"plugins"}, words...)...).wants(diag.OK)
	}
}

// pageWords are the words of a line, which quotes hold together.
func pageWords(line string) (out []string) {
	for _, w := range regexp.MustCompile(`"(?:\\.|[^"])*"|\S+`).FindAllString(line, -1) {
		if strings.HasPrefix(w, `"`) {
			w = strings.ReplaceAll(w[1:len(w)-1], `\"`, `"`)
		}
		out = append(out, w)
	}
	return out
}
