package language

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cuelang.org/go/mod/modcache"
	"cuelang.org/go/mod/modregistrytest"

	"aiperf.dev/aiperf/schema"
)

// What cue mod tidy fetches for a module, the published schema among it, is
// where this program looks; both take the module from then on without a network,
// and name the same line after a mistake.
func TestModulesOfTheCueCommand(t *testing.T) {
	dir := t.TempDir()
	published := filepath.Join(dir, "registry", "aiperf.dev_schema_v2.1.0")
	version, err := schema.Publish(published)
	if err != nil || version != "v2.1.0" {
		t.Fatal(version, err)
	}
	team := filepath.Join(dir, "registry", "example.com_team_v0.3.0")
	write(t, filepath.Join(team, "cue.mod", "module.cue"),
		"module: \"example.com/team@v0\"\nlanguage: version: \"v0.17.0\"\n"+
			"deps: \"aiperf.dev/schema@v2\": {v: \"v2.1.0\", default: true}\n")
	write(t, filepath.Join(team, "team.cue"), "package team\n\nimport \"aiperf.dev/schema\"\n\n"+
		"#Team: schema.#Experiment & {benchmark: {model: \"demo\", endpoint: url: \"mock:\", dataset: {isl: 8, entries: 2}}}\n")
	mine := filepath.Join(dir, "mine")
	file := filepath.Join(mine, "e.cue")
	write(t, filepath.Join(mine, "cue.mod", "module.cue"),
		"module: \"example.com/mine@v0\"\nlanguage: version: \"v0.17.0\"\n")
	write(t, file, "package mine\n\nimport \"example.com/team@v0\"\n\nteam.#Team & {\n\tbenchmark: profiling: requests: 2\n}\n")

	reg, err := modregistrytest.New(os.DirFS(filepath.Join(dir, "registry")), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(reg.Close)
	cache := filepath.Join(dir, "cache")
	t.Cleanup(func() { _ = modcache.RemoveAll(cache) }) // its folders are read-only
	t.Setenv("CUE_CACHE_DIR", cache)
	if _, said, err := cueCommandWith(t, mine, []string{
		"CUE_CACHE_DIR=" + cache,
		"CUE_REGISTRY=" + reg.Host() + "+insecure",
	}, "mod", "tidy"); err != nil {
		t.Fatalf("cue mod tidy: %v\n%s", err, said)
	}
	reg.Close()

	offline := []string{"CUE_CACHE_DIR=" + cache, "CUE_REGISTRY=none"}
	if _, said, err := cueCommandWith(t, mine, offline, "vet", "-c", "."); err != nil {
		t.Errorf("cue vet: %v\n%s", err, said)
	}
	if err := validate(mine); err != nil {
		t.Errorf("validate: %v", err)
	}
	write(t, file, "package mine\n\nimport \"example.com/team@v0\"\n\nteam.#Team & {\n\tbenchmark: profiling: requests: -2\n}\n")
	if _, said, err := cueCommandWith(t, mine, offline, "vet", "-c", "."); err == nil ||
		!strings.Contains(said, "e.cue:6:") {
		t.Errorf("cue vet of a mistake: %v\n%s", err, said)
	}
	if err := validate(mine); err == nil || !strings.Contains(err.Error(), "e.cue:6:") {
		t.Errorf("validate of a mistake: %v", err)
	}
}
