package page_test

import (
	"encoding/json"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/sinks/report/chart"
	"aiperf.dev/aiperf/sinks/report/chart/draw"
	"aiperf.dev/aiperf/sinks/report/page"
)

// kind is a kind of report by its name, with its page as text, and what is drawn in it.
func kind(t *testing.T, name string) (text string, d *chart.Data) {
	t.Helper()
	for _, r := range reports {
		if r.name != name {
			continue
		}
		dirs := directories(t, r.experiments, r.theirs)
		d, err := page.Load(dirs)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := page.Of(d, nil)
		if err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(html.UnescapeString(string(doc)), "\u00a0", " "), d
	}
	t.Fatalf("no kind %q", name)
	return "", nil
}

// shape is a tile of the head: what it is of, its value, and the words below.
var shape = regexp.MustCompile(`<div class="tile"><span>([^<]*)</span><b[^>]*>([^<]*)</b>(?:<span>([^<]*)</span>)?`)

// tilesOf are those of a page, each in one line.
func tilesOf(text string) (out []string) {
	for _, m := range shape.FindAllStringSubmatch(text, -1) {
		out = append(out, strings.TrimSpace(m[1]+": "+m[2]+"; "+m[3]))
	}
	return out
}

// head is the title of the chart that shows the answer.
func head(text string) string {
	_, text, _ = strings.Cut(text, `<section class="charts" aria-label="The chart that shows it"><figure id="chart-`)
	id, _, _ := strings.Cut(text, `"`)
	return id
}

// No word of any chart lies on a word, a line, a sign or a bar, or is cut by an edge, at the
// width of a telephone, of one of two charts beside each other, and of the whole page.
func TestWordsOfEveryKindOfPage(t *testing.T) {
	t.Parallel()
	for _, r := range reports {
		if r.cells > 0 || r.bare {
			continue
		}
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			d, err := page.Load(directories(t, r.experiments, r.theirs))
			if err != nil {
				t.Fatal(err)
			}
			drawn := 0
			for _, row := range chart.Catalogue() {
				for _, c := range row.All(d) {
					for _, width := range []float64{page.Narrow, page.Half, page.Broad} {
						for _, found := range draw.Overlaps(c, draw.SizeIn(width, c)) {
							t.Errorf("%s, %.0f pixels wide: %s", c.ID, width, found)
						}
					}
					if c.Missing == "" {
						drawn++
					}
				}
			}
			if drawn == 0 {
				t.Error("nothing is drawn")
			}
		})
	}
}

// Of a search with several limits each has a tile with the load that holds, and the chart of
// the probes shows the answer; its colours mean one thing.
func TestPageOfTiers(t *testing.T) {
	t.Parallel()
	text, d := kind(t, "tiers")
	tiles := strings.Join(tilesOf(text), "\n")
	for _, want := range []string{"batch: concurrency ", "bulk: concurrency 64; holds; no higher load fails", "chat: concurrency ", " fails"} {
		if !strings.Contains(tiles, want) {
			t.Errorf("no %q in %s", want, tiles)
		}
	}
	if id := head(text); id != "search" {
		t.Errorf("%s shows the answer", id)
	}
	row, err := chart.Find("search")
	if err != nil {
		t.Fatal(err)
	}
	of := map[draw.Ink]string{}
	c := row.Build(d, nil)
	for _, p := range c.Panels {
		for _, s := range p.Series {
			if was, taken := of[s.Ink]; taken && was != s.Name {
				t.Errorf("%s is %s and %s", s.Ink, was, s.Name)
			}
			of[s.Ink] = s.Name
		}
	}
	if n := len(c.Panels); n != 2 || len(of) < 5 {
		t.Errorf("%d panels, series %v", n, of)
	}
}

// Whether answers stay right under load is shown first, over all loads.
func TestPageOfAnswers(t *testing.T) {
	t.Parallel()
	text, _ := kind(t, "accuracy")
	if id := head(text); id != "answers" {
		t.Errorf("%s shows the answer", id)
	}
	if tiles := strings.Join(tilesOf(text), "\n"); !regexp.MustCompile(`Right answers: [0-9.]+ to [0-9.]+ %; over 3 cells`).MatchString(tiles) {
		t.Error(tiles)
	}
}

// A comparison of one workload has a row for each metric, without the name of the candidate
// at each, and the head names the server of each side.
func TestPageOfOneWorkload(t *testing.T) {
	t.Parallel()
	text, d := kind(t, "workload")
	row, err := chart.Find("change")
	if err != nil {
		t.Fatal(err)
	}
	rows := row.Build(d, nil).Panels[0].Rows
	for _, r := range rows {
		if r.Heading || !strings.HasSuffix(r.Name, " is better") {
			t.Errorf("%+v", r)
		}
	}
	if len(rows) < 4 {
		t.Errorf("%d rows", len(rows))
	}
	for _, want := range []string{"result-1 mock:?ttft=20ms", "result-2 mock:?ttft=23ms"} {
		if !strings.Contains(text, want) {
			t.Errorf("the head does not say %q", want)
		}
	}
}

// Where every request failed the page says so once, with the error, and shows no figures.
func TestPageOfFailures(t *testing.T) {
	t.Parallel()
	text, _ := kind(t, "failed")
	head, _, _ := strings.Cut(text, `<section id="cells"`)
	for _, want := range []string{"Nothing was measured: all 80 requests failed</h1>", "The error: http_500, “scripted failure"} {
		if !strings.Contains(head, want) {
			t.Errorf("no %q in %s", want, head[strings.Index(head, "<header>"):])
		}
	}
	if n := strings.Count(head, "scripted failure"); n != 1 || len(tilesOf(text)) > 0 || strings.Contains(text, "All checks passed") {
		t.Errorf("the error is told %d times, tiles %q", n, tilesOf(text))
	}
}

// A measurement that is INVALID has no figure for its answer and none in a large tile that cannot be used,
// and the table does not say that the trials failed.
func TestPageOfAnInvalidMeasurement(t *testing.T) {
	t.Parallel()
	const spoiled = `
name: spoiled
benchmark:` + body + `
  endpoint: {url: "mock:?ttft=20ms&itl=2ms&cv=0.2", streaming: true}
  phases: {type: concurrency, concurrency: 4, requests: 60}
gates: ["request_throughput > 1"]
verdict: {concurrency_held: {warn: 1.5, fail: 1.2}}`
	for _, sweep := range []string{"", "\nsweep: {type: grid, parameters: {concurrency: [2, 4]}}"} {
		d, err := page.Load(directories(t, []string{spoiled + sweep}, nil))
		if err != nil {
			t.Fatal(err)
		}
		doc, err := page.Of(d, nil)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.ReplaceAll(html.UnescapeString(string(doc)), "\u00a0", " ")
		for _, want := range []string{
			"<h1>None of the numbers asked for can be used: the measurement is INVALID</h1>",
			"No trial counts: the measurement is INVALID.",
			`<span>Output</span><b class="bad">–</b><span>invalid (check concurrency_held)</span>`,
		} {
			if !strings.Contains(text, want) {
				t.Errorf("no %q in %s; tiles %q", want, text[strings.Index(text, "<h1"):strings.Index(text, "<main>")], tilesOf(text))
			}
		}
	}
}

// A search is as valid as the load that it answers with: what is in doubt at a load above it is said of that
// load.
func TestPageOfALoadAboveTheAnswer(t *testing.T) {
	t.Parallel()
	d, err := page.Load(directories(t, []string{`
name: above
benchmark:
  model: demo
  endpoint: {url: "mock:?step=5ms&batch=16&prefill=0.05ms&cv=0.2", streaming: true}
  tokenizer: {name: builtin}
  dataset: {type: synthetic, entries: 256, isl: 256, osl: 8}
  phases: {type: concurrency, concurrency: 4, duration: 1, grace_period: 0.987}
search:
  path: concurrency
  range: [1, 512]
  start: 4
  where: ["time_to_first_token < 500"]
  share: 0.95
  resolution: 0.5`}, nil))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := page.Of(d, nil)
	if err != nil {
		t.Fatal(err)
	}
	text, _, _ := strings.Cut(string(doc), "<main>")
	held := d.Held()
	if held == nil || held.Verdict != validity.Valid || !strings.Contains(text, `<b class="badge VALID">`) {
		t.Errorf("the answer is at %+v, and the badge is another: %s", held, text[strings.Index(text, "<header>"):])
	}
	if !regexp.MustCompile(`DEGRADED</b> <code>censored</code>, at concurrency [0-9]+, above the answer: `).MatchString(text) {
		t.Error(text[strings.Index(text, "<h1"):])
	}
}

// The law of throughput is drawn as far as the rates that it was fitted to: from 32 users on each has too few
// answers for a rate.
func TestTheLawEndsWithItsRates(t *testing.T) {
	t.Parallel()
	_, d := kind(t, "searched")
	row, err := chart.Find("search")
	if err != nil {
		t.Fatal(err)
	}
	panels := row.Build(d, nil).Panels
	for _, s := range panels[len(panels)-1].Series {
		if !s.Line {
			continue
		}
		if last := s.Points[len(s.Points)-1]; len(s.Points) < 3 || last.X > 16 {
			t.Errorf("%d points of the law, the last at %v", len(s.Points), last)
		}
		return
	}
	t.Error("the chart does not show the law")
}

// Of a large matrix of two systems the first chart has room on a slide, and the list of all
// changes stands below.
func TestPageOfAMatrix(t *testing.T) {
	t.Parallel()
	text, _ := kind(t, "matrix")
	systems := regexp.MustCompile(`<tr data-cell="[0-9]+"[^>]*><th[^>]*><a[^>]*>([^<]*)`).FindAllStringSubmatch(text, -1)
	for i, m := range systems {
		if want := []string{"baseline", "candidate"}[i%2]; m[1] != want {
			t.Errorf("row %d is of %s, want %s: the two stand beside each other", i, m[1], want)
		}
	}
	if len(systems) != 18 {
		t.Errorf("%d rows", len(systems))
	}
	if id := head(text); id != "change-first" || !strings.Contains(text, `<figure id="chart-change"`) {
		t.Errorf("%s shows the answer, or there is no list of all changes", id)
	}
}

// Results that were cut short say so above their figures, and those of several by name.
func TestInterruptedResults(t *testing.T) {
	t.Parallel()
	dirs := directories(t, []string{pairOf("one", 20), pairOf("other", 20)}, nil)
	m, err := resultdir.ReadManifest(dirs[1])
	if err != nil {
		t.Fatal(err)
	}
	m.Interrupted = true
	b, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dirs[1], resultdir.ManifestName), b, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		dirs []string
		want string
	}{
		{dirs[:1], ""},
		{dirs[1:], `<p class="more">Partial: it was interrupted; `},
		{dirs, `<p class="more">Partial: <span class="typed">result-2</span> was interrupted</p>`},
	} {
		doc, err := page.OfDirs(c.dirs, chart.Expense{})
		if err != nil {
			t.Fatal(err)
		}
		if text := string(doc); !strings.Contains(text, c.want) || c.want == "" && strings.Contains(text, "Partial") {
			t.Errorf("%d results: no %q", len(c.dirs), c.want)
		}
	}
}

// What needs a script is not there without one, and a name without end is cut.
func TestPageWithoutAScript(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 300)
	experiment := strings.Replace(pairOf("one", 20), "model: demo", "model: "+long, 1)
	doc, err := page.OfDirs(directories(t, []string{experiment}, nil), chart.Expense{})
	if err != nil {
		t.Fatal(err)
	}
	text, _, _ := strings.Cut(string(doc), "<section id=\"how\"")
	for _, want := range []string{`<p class="tools" hidden>`, `<span class="scripted" hidden><button type="button" id="png">`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s", want)
		}
	}
	if strings.Contains(text, long[:150]) {
		t.Error("the head has the whole of a long name")
	}
}
