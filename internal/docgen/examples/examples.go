// Package examples makes docs/examples.md. In goes the folder of experiments that
// people copy, out come a page that says what each one asks and answers, and its
// pictures.
package examples

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/docgen"
	"aiperf.dev/aiperf/internal/sim"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/sinks/report/chart"
	"aiperf.dev/aiperf/sinks/report/chart/draw"
	"aiperf.dev/aiperf/sinks/report/page"
)

// head is what stands above the examples.
const head = `# Examples

Every file of [examples/experiments/](../examples/experiments/): what it asks, and the answer and the picture that it gives in virtual
time, where the built-in server takes exactly the time that it is told to take. There the answer is the same on every machine. In real time
the machine adds to it, and the verdict says how much that is.

Several set ` + "`" + `allow_invalid: true` + "`" + `: a busy machine makes a small example INVALID soon, and the program still ends with
exit code 0. Leave it out of your own, so that such a result ends with 4.

`

// Page carries out every experiment of dir in virtual time, in folders below
// work. It gives the page about them and the pictures on it, by the name of their
// file.
func Page(dir, work string) (text string, pictures map[string][]byte, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", nil, err
	}
	var b strings.Builder
	b.WriteString(docgen.Mark("examples/experiments") + head)
	pictures = map[string][]byte{}
	for _, e := range entries {
		name, ext := strings.TrimSuffix(e.Name(), filepath.Ext(e.Name())), filepath.Ext(e.Name())
		if ext != ".cue" && ext != ".yaml" {
			continue
		}
		x, err := example(filepath.Join(dir, e.Name()), filepath.Join(work, name))
		if err != nil {
			return "", nil, fmt.Errorf("%s: %w", e.Name(), err)
		}
		fmt.Fprintf(&b, "## %s\n\n%s\n\n    aiperf run examples/experiments/%s\n\n", name, x.asks, e.Name())
		if x.picture == nil {
			b.WriteString("It calls or starts something between its runs, which is not possible in virtual time: run it to see its answer.\n\n")
			continue
		}
		picture := name + ".svg"
		pictures[picture] = x.picture
		fmt.Fprintf(&b, "%s: %s.\n\n", x.verdict, x.scope)
		fmt.Fprintf(&b, "> %s\n\n", strings.Join(x.says, "\n>\n> "))
		fmt.Fprintf(&b, "![%s](examples/%s)\n\n", x.title, picture)
	}
	return strings.TrimSpace(b.String()) + "\n", pictures, nil
}

// answered is one example with what came of it.
type answered struct {
	asks, scope, title string
	verdict            validity.Verdict
	says               []string
	picture            []byte
}

func example(file, work string) (*answered, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if flips.Match(text) {
		return &answered{asks: about(string(text))}, nil
	}
	if err := os.MkdirAll(work, 0o755); err != nil {
		return nil, err
	}
	got, err := sim.RunFile(file, work)
	if err != nil {
		return nil, err
	}
	d, err := chart.Load(got.Dir)
	if err != nil {
		return nil, err
	}
	d.Began = time.Time{} // in virtual time no day means anything
	if err := legible(d); err != nil {
		return nil, err
	}
	says, scope := page.Answers(d, got.Report().Sentences())
	for i := range says { // the directory is whoever's who makes the page
		says[i] = strings.ReplaceAll(says[i], got.Dir, "results/"+filepath.Base(work))
	}
	c, _ := chart.Telling(d)
	if c == nil {
		return nil, errors.New("no chart of it can be drawn")
	}
	return &answered{
		asks: about(string(text)), verdict: d.Verdict, scope: scope, says: says, title: c.Title + ". " + c.Question,
		picture: draw.SVG(c, draw.SizeOf(c), draw.Light),
	}, nil
}

// legible holds every chart of d, as wide as each window shows it, against the rule that
// no word lies on a word or a line.
func legible(d *chart.Data) error {
	for _, r := range chart.Catalogue() {
		for _, c := range r.All(d) {
			for _, size := range []draw.Size{
				draw.SizeOf(c), draw.SizeIn(page.Narrow, c), draw.SizeIn(page.Half, c),
				draw.SizeIn(page.Broad, c),
			} {
				if found := draw.Overlaps(c, size); len(found) > 0 {
					return fmt.Errorf("chart %s, %.0f pixels wide: %s", c.ID, size.W, strings.Join(found, "; "))
				}
			}
		}
	}
	return nil
}

// flips finds an experiment that changes its server between runs.
var flips = regexp.MustCompile(`(?m)^[^/#\n]*\bflip:`)

// about is the comment at the head of an experiment, up to its first empty line,
// without what only editors read.
func about(text string) string {
	var out []string
	for line := range strings.Lines(text) {
		words, ok := strings.CutPrefix(strings.TrimSpace(line), "//")
		if !ok {
			words, ok = strings.CutPrefix(strings.TrimSpace(line), "#")
		}
		if words = strings.TrimSpace(words); !ok || words == "" {
			break
		}
		if !strings.HasPrefix(words, "yaml-language-server:") {
			out = append(out, words)
		}
	}
	said := strings.Join(out, " ")
	if rest, ok := strings.CutSuffix(said, ":"); ok { // a command followed
		said = rest + "."
	}
	return said
}
