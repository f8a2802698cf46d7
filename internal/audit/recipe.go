package audit

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"aiperf.dev/aiperf/internal/diag"
)

// Recipe is how a client is started, so that it writes its report into {out}. A file of
// recipes/ each.
type Recipe struct {
	Name    string   `yaml:"name"`
	Version []string `yaml:"version"` // command that prints the client's version, for reports that do not tell it
	Closed  []string `yaml:"closed"`  // command of a closed loop; none where it has no such load
	Open    []string `yaml:"open"`    // of a rate
	Laws    []string `yaml:"laws"`    // that Open knows; none is all of them
	// Files are written beside {out} before the client starts, by name; {dir} is their folder.
	Files  map[string]string `yaml:"files"`
	Ends   []int             `yaml:"ends"`   // exit codes besides 0 with which it has measured
	Before int               `yaml:"before"` // requests that it sends ahead of all others, and does not count

	known bool // of recipes/, not a command line, whose words may name files from where it was typed
}

//go:embed recipes
var files embed.FS

// Recipes are those that are built in, by name.
func Recipes() ([]Recipe, error) {
	list, err := files.ReadDir("recipes")
	if err != nil {
		return nil, err
	}
	out := make([]Recipe, 0, len(list))
	for _, f := range list {
		b, err := files.ReadFile(path.Join("recipes", f.Name()))
		if err != nil {
			return nil, err
		}
		var r Recipe
		d := yaml.NewDecoder(bytes.NewReader(b))
		d.KnownFields(true)
		if err := d.Decode(&r); err != nil {
			return nil, fmt.Errorf("recipes/%s: %w", f.Name(), err)
		}
		r.known = true
		out = append(out, r)
	}
	return out, nil
}

// Own is the recipe of a command line. It carries out the scenarios whose load it has a place for.
func Own(words []string) (*Recipe, error) {
	r := &Recipe{Name: path.Base(words[0])}
	has := func(name string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(w, "{"+name+"}") })
	}
	for _, name := range []string{"url", "out", "requests"} {
		if !has(name) {
			return nil, diag.New("audit: the command has no {"+name+"}", "{url} is the server's address, {out} the directory "+
				"that it writes into, {requests} how many it sends")
		}
	}
	switch {
	case has("concurrency") && has("rate"):
		return nil, diag.New("audit: the command has both {concurrency} and {rate}", "audit the two in commands of their own")
	case has("concurrency"):
		r.Closed = words
	case has("rate"):
		r.Open = words
	default:
		return nil, diag.New("audit: the command has neither {concurrency} nor {rate}",
			"{concurrency} stands for the requests in flight, {rate} for requests a second, {law} for constant or poisson")
	}
	return r, nil
}

// words are the recipe's for a scenario with their places unfilled, nil where it has none.
func (r *Recipe) words(s *Scenario) []string {
	switch {
	case !s.open():
		return r.Closed
	case len(r.Laws) > 0 && !slices.Contains(r.Laws, s.Law):
		return nil
	}
	return r.Open
}

// uses says whether a command or a file has a place.
func (r *Recipe) uses(s *Scenario, place string) bool {
	has := func(text string) bool { return strings.Contains(text, "{"+place+"}") }
	for _, text := range r.Files {
		if has(text) {
			return true
		}
	}
	return slices.ContainsFunc(r.words(s), has)
}

// places are what stands for them in one scenario.
func places(s *Scenario, exe, server, dir string) *strings.Replacer {
	return strings.NewReplacer("{self}", exe, "{url}", server, "{address}", strings.TrimPrefix(server, "http://"),
		"{dir}", dir, "{out}", filepath.Join(dir, outName), "{prompts}", filepath.Join(dir, promptsName), "{model}", "demo",
		"{tokenizer}", cmp.Or(s.Tokenizer, "builtin"), "{folder}", s.Tokenizer, "{concurrency}", strconv.Itoa(s.Closed),
		"{rate}", strconv.FormatFloat(s.Rate, 'f', -1, 64), "{law}", s.Law, "{seconds}", strconv.Itoa(s.seconds()),
		"{requests}", strconv.Itoa(s.Requests), "{warmup}", strconv.Itoa(s.Warmup),
		"{isl}", strconv.Itoa(s.ISL), "{osl}", strconv.Itoa(s.OSL))
}

// command is the recipe's for a scenario, nil where it has none.
func (r *Recipe) command(s *Scenario, fill *strings.Replacer) []string {
	var filled []string
	for _, w := range r.words(s) {
		filled = append(filled, fill.Replace(w))
	}
	return filled
}

// warmup is how many of the first requests that the server saw are not to be measured.
func (r *Recipe) warmup(s *Scenario) int {
	if !r.uses(s, "warmup") {
		return r.Before // it was not asked for any
	}
	return r.Before + s.Warmup
}

// ended says whether a client that ended with a code has measured.
func (r *Recipe) ended(state *os.ProcessState) bool {
	return state != nil && (state.Success() || slices.Contains(r.Ends, state.ExitCode()))
}
