package page_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"image/color"
	"image/png"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/browser"
	"aiperf.dev/aiperf/internal/sim"
	"aiperf.dev/aiperf/sinks/report"
	"aiperf.dev/aiperf/sinks/report/chart"
	"aiperf.dev/aiperf/sinks/report/page"
)

// body is what the experiments below share.
const body = `
  model: demo
  tokenizer: {name: builtin}
  dataset: {type: synthetic, entries: 16, isl: 64, osl: 16}
`

// compared is an experiment that asks for a comparison.
const compared = `
name: ab
benchmark:` + body + `
  endpoint: {url: "mock:", streaming: true}
  phases: {type: concurrency, concurrency: 4, requests: 100}
sweep:
  type: grid
  parameters:
    concurrency: [1, 8]
    endpoint: [{label: baseline, url: "mock:?ttft=20ms&itl=2ms&cv=0.2"}, {label: candidate, url: "mock:?ttft=26ms&itl=2ms&cv=0.2"}]
multi_run: {num_runs: 4}
compare: {axis: endpoint}`

// reports are the kinds of reports there are: experiments that are carried out
// in virtual time, each a result directory, or directories that AIPerf wrote.
var reports = []struct {
	name        string
	experiments []string
	theirs      []string
	filter      string // text that one row of the table has; "": none is known
	loads       bool   // there are charts with a line along the load
	bare        bool   // there is nothing to draw
	cells       int    // the first cell stands for as many, 0 for itself
}{
	{"run", []string{`
name: one
benchmark:` + body + `
  endpoint: {url: "mock:?ttft=20ms&itl=2ms&cv=0.3", streaming: true}
  phases: {type: concurrency, concurrency: 4, requests: 200}`}, nil, "", false, false, 0},
	// Eight at a time is what the server can do: at 160 requests a second they wait.
	{"sweep", []string{`
name: overload
benchmark:` + body + `
  endpoint: {url: "mock:?ttft=15ms&itl=2ms&cv=0.3&workers=8&error_rate=0.01", streaming: true}
  phases: {type: poisson, rate: 20, requests: 200}
  slos: {time_to_first_token: 100, inter_token_latency: 10}
sweep: {type: grid, parameters: {rate: [20, 80, 120, 240]}}
multi_run: {num_runs: 3}`}, nil, "240", true, false, 0},
	{"comparison", []string{compared}, nil, "candidate8", true, false, 0},
	{"several", []string{`
name: left
benchmark:` + body + `
  endpoint: {url: "mock:?ttft=20ms&itl=2ms&cv=0.2", streaming: true}
  phases: {type: concurrency, concurrency: 4, requests: 60}
sweep: {type: grid, parameters: {concurrency: [1, 4]}}`, `
name: right
benchmark:` + body + `
  endpoint: {url: "mock:?ttft=18ms&itl=2ms&cv=0.2", streaming: true}
  phases: {type: concurrency, concurrency: 4, requests: 60}
sweep: {type: grid, parameters: {concurrency: [1, 4]}}`}, nil, "result-14", true, false, 0},
	{"aiperf", nil, []string{"chat_stream", "rate_poisson", "warmup"}, "rate_poisson", false, false, 0},
	{"failed", []string{`
name: down
benchmark:` + body + `
  endpoint: {url: "mock:?error_rate=1", streaming: true}
  phases: {type: concurrency, concurrency: 4, requests: 40}
sweep: {type: grid, parameters: {concurrency: [1, 4]}}`}, nil, "4", false, true, 0},
	{"single", []string{`
name: single
benchmark:` + body + `
  endpoint: {url: "mock:?ttft=20ms&itl=2ms", streaming: true}
  phases: {type: concurrency, concurrency: 1, requests: 1}`}, nil, "", false, false, 0},
	{"unstreamed", []string{`
name: unstreamed
benchmark:` + body + `
  endpoint: {url: "mock:?ttft=20ms&itl=2ms&cv=0.2"}
  phases: {type: concurrency, concurrency: 4, requests: 100}
sweep: {type: grid, parameters: {concurrency: [1, 4, 16]}}
multi_run: {num_runs: 3}`}, nil, "16", true, false, 0},
	{"workload", []string{pairOf("before", 20), pairOf("after", 23)}, nil, "result-2", false, false, 0},
	{"tiers", []string{`
name: tiers
benchmark:` + body + `
  endpoint: {url: "mock:?step=5ms&batch=16&prefill=0.05ms&cv=0.2", streaming: true}
  phases: {type: concurrency, requests: 150}
search:
  path: concurrency
  range: [1, 64]
  tiers: {chat: {where: ["time_to_first_token < 60"]}, batch: {where: ["time_to_first_token < 250"]}, bulk: {where: ["request_latency < 2000"]}}
  share: 0.95`}, nil, "", true, false, 0},
	{"accuracy", []string{`
name: accuracy
benchmark:` + body + `
  endpoint: {url: "mock:?ttft=15ms&itl=2ms&cv=0.2&knows=QUESTIONS&right=0.8&swap=0.4@12", streaming: true}
  phases: {type: concurrency, concurrency: 1, requests: 200}
  accuracy: {benchmark: own, path: "QUESTIONS", mode: mixed, share: 0.3}
sweep: {type: grid, parameters: {concurrency: [2, 8, 16]}}
multi_run: {num_runs: 3}`}, nil, "16", true, false, 0},
	{"matrix", []string{`
name: matrix
benchmark:` + body + `
  endpoint: {url: "mock:", streaming: true}
  phases: {type: concurrency, concurrency: 4, requests: 60}
  slos: {time_to_first_token: 60, inter_token_latency: 15}
sweep:
  type: grid
  parameters:
    concurrency: [1, 4, 16]
    dataset.isl: [64, 512, 1024]
    endpoint: [{label: baseline, url: "mock:?step=4ms&batch=8&prefill=0.02ms&jitter=0.05"}, {label: candidate, url: "mock:?step=3ms&batch=8&prefill=0.02ms&jitter=0.05"}]
multi_run: {num_runs: 3}
gates: ["time_to_first_token.p99 < 120", "error_rate == 0"]`}, nil, "", true, false, 0},
	{"missed", []string{`
name: missed
benchmark:` + body + `
  endpoint: {url: "mock:?ttft=20ms&itl=2ms&cv=0.3&workers=4", streaming: true}
  phases: {type: concurrency, concurrency: 8, requests: 300}
  slos: {time_to_first_token: 50, inter_token_latency: 10}`}, nil, "", false, false, 0},
	{"searched", []string{`
name: searched
benchmark:` + body + `
  endpoint: {url: "mock:?step=5ms&batch=16&prefill=0.05ms&cv=0.2", streaming: true}
  phases: {type: concurrency, requests: 60}
search:
  path: concurrency
  range: [1, 64]
  where: ["time_to_first_token < 250"]
  share: 0.95
  budget: {probes: 14}`}, nil, "", true, false, 0},
	{"invalid", []string{`
name: invalid
benchmark:` + body + `
  endpoint: {url: "mock:?ttft=20ms&itl=2ms&cv=0.3", streaming: true}
  phases: {type: concurrency, concurrency: 4, requests: 200}
verdict: {turnaround: {warn: -1, fail: -1}, littles_law: {warn: -1, fail: -1}}`}, nil, "", false, false, 0},
	{"many", []string{`
name: many
benchmark:` + body + `
  endpoint: {url: "mock:?ttft=20ms&itl=2ms&cv=0.3", streaming: true}
  phases: {type: concurrency, concurrency: 4, requests: 100}
multi_run: {num_runs: 2}`}, nil, "81984", true, false, 250},
}

// pairOf is an experiment of one workload, one side of a comparison of two results.
func pairOf(name string, ttft int) string {
	return fmt.Sprintf(`
name: %s
benchmark:%s
  endpoint: {url: "mock:?ttft=%dms&itl=2ms&cv=0.1", streaming: true}
  phases: {type: concurrency, concurrency: 4, requests: 100}
multi_run: {num_runs: 4}`, name, body, ttft)
}

// questions is a file of questions with known answers.
func questions(t testing.TB) string {
	t.Helper()
	var b strings.Builder
	for i := range 60 {
		fmt.Fprintf(&b, `{"id": "q%d", "prompt": "What is %d + %d?", "answer": "%d", "grader": "math"}`+"\n", i, i, i+7, 2*i+7)
	}
	path := filepath.Join(t.TempDir(), "questions.jsonl")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return filepath.ToSlash(path)
}

// directories are the result directories of a kind of report.
func directories(t testing.TB, experiments, theirs []string) (dirs []string) {
	t.Helper()
	for i, text := range experiments {
		work := t.TempDir()
		if strings.Contains(text, "QUESTIONS") {
			text = strings.ReplaceAll(text, "QUESTIONS", questions(t))
		}
		if _, err := sim.Run(text, work); err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(work, fmt.Sprint("result-", i+1))
		if err := os.Rename(filepath.Join(work, "results"), dir); err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, dir)
	}
	for _, name := range theirs {
		dirs = append(dirs, filepath.Join("..", "..", "..", "testdata", "aiperf", "artifacts", name))
	}
	return dirs
}

// axe is the text of axe-core, which finds what keeps people from reading a
// page; "" where it cannot be had.
func axe(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("../../../internal/repo/axe.sh").Output()
	if err != nil {
		t.Fatalf("internal/repo/axe.sh: %v", err)
	}
	path := strings.TrimSpace(string(out))
	if path == "" {
		t.Log("no axe-core: how accessible the page is was not looked at")
		return ""
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// views are the windows that every report is looked at through.
var views = []browser.View{
	{Width: 1440, Height: 900},
	{Width: 1440, Height: 900, Dark: true},
	{Width: 375, Height: 812},
	{Width: 375, Height: 812, Dark: true},
}

// laptop is a window in which the table of cells has to fit.
var laptop = browser.View{Width: 1280, Height: 800}

// In a browser each kind of report complains of nothing, asks for nothing, can be
// read on a telephone, in the dark and on paper, and used with mouse and keyboard.
// BROWSER_DIR is a folder for pictures to look at.
func TestBrowser(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a browser")
	}
	b, err := browser.Start()
	if errors.Is(err, browser.ErrNone) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	checker := axe(t)
	for _, r := range reports {
		t.Run(r.name, func(t *testing.T) {
			dirs := directories(t, r.experiments, r.theirs)
			doc, err := page.OfDirs(dirs, chart.Expense{})
			if r.cells > 0 {
				doc, err = page.Of(matrix(t, dirs[0], r.cells, 2), nil)
			}
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(t.TempDir(), "report.html")
			if err := os.WriteFile(path, doc, 0o600); err != nil {
				t.Fatal(err)
			}
			address := (&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String()
			p, err := b.Open(address, views[0])
			if err != nil {
				t.Fatal(err)
			}
			u := user{t, p}
			u.reads(r.name, !r.bare)
			u.finds(r.filter)
			if !r.bare {
				u.uses(r.loads)
				for _, v := range views[:2] { // what is downloaded is light, however dark the page is
					u.must(p.Look(v))
					u.downloads(named(r.name, v))
				}
			}
			u.must(p.Eval(`document.querySelectorAll("details").forEach((d) => d.open = d.closest("#cell-0") !== null || d.id === "cell-0")`, nil))
			u.must(p.Look(laptop))
			u.lays()
			for _, v := range views {
				u.must(p.Look(v))
				u.looks(named(r.name, v), v)
			}
			u.prints(r.name)
			u.checks(r.name, checker)
			if said := p.Said(); len(said) > 0 {
				t.Errorf("the console says %q", said)
			}
			// no server is asked for these
			asked := slices.DeleteFunc(p.Requests(), func(u string) bool { return strings.HasPrefix(u, "data:") })
			if !slices.Equal(asked, []string{address}) {
				t.Errorf("asked for %q", asked)
			}
			u.must(p.Close())
		})
	}
}

// The page of a trend is read as the others are.
func TestBrowserOfTrends(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a browser")
	}
	b, err := browser.Start()
	if errors.Is(err, browser.ErrNone) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	checker := axe(t)
	for name, trend := range map[string]report.Trend{"trend": nightly(28, "c"), "trend-short": nightly(3, "c")} {
		doc, err := page.Trend(trend)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "trend.html")
		if err := os.WriteFile(path, doc, 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := b.Open((&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String(), views[0])
		if err != nil {
			t.Fatal(err)
		}
		u := user{t, p}
		for _, v := range views {
			u.must(p.Look(v))
			u.looks(named(name, v), v)
		}
		u.prints(name)
		u.checks(name, checker)
		if said := p.Said(); len(said) > 0 {
			t.Errorf("the console says %q", said)
		}
		u.must(p.Close())
	}
}

// user is somebody who sits before a page.
type user struct {
	t *testing.T
	p *browser.Page
}

func (u user) must(err error) {
	u.t.Helper()
	if err != nil {
		u.t.Fatal(err)
	}
}

// expect evaluates a script that gives true.
func (u user) expect(what, script string) {
	u.t.Helper()
	var ok bool
	u.must(u.p.Eval(script, &ok))
	if !ok {
		u.t.Errorf("%s: not so: %s", what, script)
	}
}

// reads looks for the words beside every picture and table.
func (u user) reads(name string, charts bool) {
	u.expect("the table has a caption and heads of columns and rows", `document.querySelector("#table caption").textContent.length > 10 &&
		[...document.querySelectorAll("#table thead th")].every((h) => h.scope === "col") && [...document.querySelectorAll("#table tbody tr")].every((r) => r.querySelector("th[scope=row]"))`)
	if !charts {
		u.expect("what is missing is told in place of charts",
			`!document.querySelector("#charts svg") && document.querySelectorAll("#charts li").length > 0`)
		return
	}
	least := 3
	if name == "single" { // one request has little to draw
		least = 1
	}
	u.expect("every chart has a name", fmt.Sprintf(`(() => { const all = [...document.querySelectorAll("svg.chart")];
		return all.length >= %d && all.every((s) => s.getAttribute("aria-label").length > 10); })()`, least))
	u.expect("the numbers of every chart stand below it",
		`[...document.querySelectorAll("figure")].every((f) => f.querySelectorAll(".data tbody tr").length > 0)`)
	u.expect("numbers have the names of their axes",
		`[...document.querySelectorAll(".data th")].every((h) => h.textContent !== "x" && h.textContent !== "y" && h.textContent !== "")`)
	u.expect("points of charts have words", fmt.Sprintf(
		`[...document.querySelectorAll("figure")].some((f) => f.querySelectorAll("svg title").length >= %d)`, least))
}

// finds comes to the table and filters it.
func (u user) finds(filter string) {
	u.must(u.p.Press("Tab"))
	u.expect("the first Tab leads past the head", `document.activeElement.className === "skip"`)
	if filter == "" {
		return
	}
	u.must(u.p.Click("#filter"))
	u.must(u.p.Type(filter))
	u.expect("typing filters", `[...document.querySelectorAll("#table tbody tr")].filter((r) => !r.hidden).length === 1`)
	u.must(u.p.Eval(`(() => { const f = document.querySelector("#filter"); f.value = ""; f.dispatchEvent(new Event("input")); })()`, nil))
}

// uses sorts, picks, hides and zooms, with mouse and with keys.
func (u user) uses(loads bool) {
	const head = "#table thead th:nth-child(3) button"
	const sorted = `((sign) => { const v = [...document.querySelectorAll("#table tbody tr")].map((r) => Number(r.cells[2].dataset.v));
		return v.every((x, i) => i === 0 || sign * (x - v[i - 1]) >= 0) && document.querySelector("#table thead th:nth-child(3)").getAttribute("aria-sort") === (sign > 0 ? "ascending" : "descending"); })`
	u.must(u.p.Click(head))
	u.expect("a click sorts", sorted+"(1)")
	u.must(u.p.Press("Enter"))
	u.expect("Enter sorts the other way", sorted+"(-1)")
	choose := func(n int) { // as in a list of headings, each in both orders
		u.must(u.p.Eval(fmt.Sprintf(`(() => { const s = document.getElementById("sorts"); s.value = "%d"; s.dispatchEvent(new Event("change")); })()`, n), nil))
	}
	choose(4)
	u.expect("the list of a telephone sorts", sorted+"(1)")
	choose(5)
	u.expect("the list of a telephone sorts the other way", sorted+"(-1)")

	u.must(u.p.Click("#table tbody tr td:nth-child(3)"))
	u.expect("a click picks a row", `document.querySelector("#table tbody tr").classList.contains("picked")`)
	if loads {
		u.expect("what is not picked fades",
			`document.querySelector("svg a.dim") !== null && document.querySelector("svg a:not(.dim)") !== null`)
	}
	u.must(u.p.Eval(`document.querySelector("#table tbody tr").focus()`, nil))
	u.must(u.p.Press("Enter"))
	u.expect("Enter lets it go", `!document.querySelector("#table tbody tr").classList.contains("picked") && !document.querySelector("svg a.dim")`)

	const key = "svg.chart text[data-s]"
	const hidden = `(() => { const k = document.querySelector("svg.chart text[data-s]");
		return k.getAttribute("aria-pressed") === "false" && k.closest("svg").querySelector("[data-s='" + k.dataset.s + "']:not(text)").classList.contains("off"); })()`
	u.must(u.p.Click(key))
	u.expect("a click on its name hides a series", hidden)
	u.must(u.p.Eval(`document.querySelector("svg.chart text[data-s]").focus()`, nil))
	u.must(u.p.Press("Enter"))
	u.expect("Enter shows it", "!"+hidden)

	const whole = `(() => { const s = document.querySelector("svg.chart").viewBox.baseVal; return s.x === 0 && s.y === 0 && s.width >= 560; })()`
	at, err := u.p.Middle("svg.chart")
	u.must(err)
	u.must(u.p.Drag(browser.Point{X: at.X - 100, Y: at.Y - 60}, browser.Point{X: at.X + 100, Y: at.Y + 60}))
	u.expect("dragging zooms", "!"+whole)
	u.must(u.p.Eval(`document.querySelector("figure .scroll").focus()`, nil))
	u.must(u.p.Press("Escape"))
	u.expect("Escape shows all again", whole)
	u.must(u.p.Press("+"))
	u.expect("+ zooms", "!"+whole)
	u.must(u.p.Press("Escape"))

	at, err = u.p.Middle("svg.chart path:has(title)")
	u.must(err)
	u.must(u.p.Move(at))
	u.expect("the pointer tells a value",
		`!document.getElementById("tip").hidden && document.getElementById("tip").textContent.length > 2`)
	u.must(u.p.Move(browser.Point{}))
}

// downloads makes a PNG of the chart that shows the answer and looks at it.
func (u user) downloads(name string) {
	var offered bool
	u.must(u.p.Eval(`document.getElementById("png") !== null`, &offered))
	u.expect("the chart above the table is offered",
		fmt.Sprintf(`(document.querySelector("main > section.charts") !== null) === %v`, offered))
	if !offered {
		return
	}
	u.must(u.p.Eval(`window.link = new Promise((ok) => { HTMLAnchorElement.prototype.click = function () { ok({Name: this.download, Data: this.href}); }; }); undefined`, nil))
	u.must(u.p.Click("#png"))
	var link struct{ Name, Data string }
	u.must(u.p.Eval("link", &link))
	b, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(link.Data, "data:image/png;base64,"))
	u.must(err)
	img, err := png.Decode(bytes.NewReader(b))
	u.must(err)
	white, dark := 0, 0
	for y := range img.Bounds().Dy() {
		for x := range img.Bounds().Dx() {
			switch c := color.GrayModel.Convert(img.At(x, y)).(color.Gray); {
			case c.Y == 255:
				white++
			case c.Y < 64:
				dark++
			}
		}
	}
	if all := img.Bounds().Dx() * img.Bounds().Dy(); !strings.HasSuffix(link.Name, ".png") ||
		img.Bounds().Dx() != 2*page.Broad || white < all/2 || dark < all/500 {
		u.t.Errorf("%s: %d × %d pixels, %d of them white and %d dark; want a chart with its words, twice as wide as on the page, on white paper",
			link.Name, img.Bounds().Dx(), img.Bounds().Dy(), white, dark)
	}
	u.save(name+"-slide", b)
}

// lays checks where things are on a laptop: the table needs no scrolling.
func (u user) lays() {
	u.expect("the table of cells fits",
		`(() => { const s = document.querySelector("#cells .scroll"); return s.scrollWidth <= s.clientWidth + 1; })()`)
	u.parted("on a laptop")
}

// parted checks that no word of a chart lies on another.
func (u user) parted(name string) {
	var lying []string
	u.must(u.p.Eval(`[...document.querySelectorAll("svg.chart")].flatMap((svg) => {
		const all = [...svg.querySelectorAll("text")].map((t) => [t.textContent, t.getBoundingClientRect()]), out = [];
		for (const [i, [a, r]] of all.entries()) for (const [b, s] of all.slice(i + 1)) {
			const w = Math.min(r.right, s.right) - Math.max(r.left, s.left), h = Math.min(r.bottom, s.bottom) - Math.max(r.top, s.top);
			if (w > 2 && h > 4) out.push(svg.getAttribute("aria-label").slice(0, 40) + ": " + a + " on " + b);
		}
		return out;
	})`, &lying))
	if len(lying) > 0 {
		u.t.Errorf("%s: words lie on words: %q", name, lying)
	}
}

// looks checks one window, and keeps a picture of it.
func (u user) looks(name string, v browser.View) {
	u.expect(name+": nothing runs out of the window", fmt.Sprintf("document.documentElement.scrollWidth <= %d",
		v.Width))
	u.expect(name+": the paper has the theme's colour",
		fmt.Sprintf(`getComputedStyle(document.body).backgroundColor === %q`,
			map[bool]string{true: "rgb(16, 18, 22)", false: "rgb(251, 251, 250)"}[v.Dark]))
	u.expect(name+": charts are as wide as the window",
		`[...document.querySelectorAll("figure > .scroll")].every((s) => s.scrollWidth <= s.clientWidth + 1)`)
	u.parted(name)
	u.keep(name)
}

// prints looks at the page as it comes out on paper: light, without what only a
// screen is for, with every chart whole.
func (u user) prints(name string) {
	u.must(u.p.Look(browser.View{Width: 794, Height: 1123, Dark: true, Print: true}))
	u.expect("paper is white", `getComputedStyle(document.body).color === "rgb(0, 0, 0)" && getComputedStyle(document.documentElement).getPropertyValue("--chart-paper") === "#ffffff"`)
	u.expect("no tools on paper", `[".tools", ".skip", "#tip", ".data"].every((q) => { const el = document.querySelector(q); return !el || getComputedStyle(el).display === "none"; })`)
	const folded = `(shut) => [...document.querySelectorAll(".folded")].every((d) => d.open === !shut)`
	u.must(u.p.Eval(`document.querySelectorAll(".folded").forEach((d) => d.open = false); dispatchEvent(new Event("beforeprint"))`, nil))
	u.expect("folded findings are on paper", "("+folded+")(false)")
	u.must(u.p.Eval(`dispatchEvent(new Event("afterprint"))`, nil))
	u.expect("folded findings are folded again", "("+folded+")(true)")
	u.expect("charts are whole on paper",
		`[...document.querySelectorAll("figure .scroll")].every((s) => s.scrollWidth <= s.clientWidth + 1)`)
	u.keep(name + "-print")
	doc, err := u.p.Paper()
	u.must(err)
	fills := u.sheets()
	if sheets := sheetOf.FindAll(doc, -1); len(sheets) != len(fills) {
		u.t.Errorf("%s: %d sheets are printed, %d were looked at", name, len(sheets), len(fills))
	}
	// What does not fit below is at most a row of charts, which takes less than half a sheet.
	for i, fill := range fills[:max(len(fills)-1, 0)] {
		if fill < 0.55 {
			u.t.Errorf("%s: sheet %d of %d is filled to %.0f %%, want 55 at least", name, i+1, len(fills), 100*fill)
		}
	}
	if dir := pictureDir(); dir != "" {
		u.must(os.WriteFile(filepath.Join(dir, name+".pdf"), doc, 0o644))
	}
}

// sheets are the shares of the sheets of A4, without their margins, down to which something
// stands on them. The sheets are columns, into which the browser breaks as it does into pages.
func (u user) sheets() (fills []float64) {
	u.must(u.p.Eval(`(() => {
		const wide = 8.27 * 96 - 2 * 38.4, high = 11.69 * 96 - 2 * 38.4, apart = 100, body = document.body;
		const sheet = document.createElement("div");
		sheet.id = "sheets";
		sheet.style.cssText = "column-fill: auto; column-width: " + wide + "px; width: " + wide + "px; column-gap: " + apart + "px; height: " + high + "px";
		sheet.append(...body.childNodes);
		body.append(sheet);
		const from = sheet.getBoundingClientRect(), fills = [];
		for (const el of sheet.querySelectorAll("h1, h2, h3, p, li, tr, dt, dd, .tile, summary, svg.chart"))
			for (const r of el.getClientRects()) {
				if (r.width === 0 || r.height === 0) continue;
				const k = Math.floor((r.left - from.left + 1) / (wide + apart));
				fills[k] = Math.max(fills[k] || 0, (r.bottom - from.top) / high);
			}
		body.append(...sheet.childNodes);
		sheet.remove();
		return Array.from(fills, (f) => f || 0);
	})()`, &fills))
	return fills
}

// sheetOf is a page of a PDF.
var sheetOf = regexp.MustCompile(`/Type /Page\b`)

// checks lets axe look at each window. Of things that are all alike, such as the
// thousand bars of a timeline, it sees three, and twenty rows or cells: the time that it takes to tell what
// lies over what grows with their number.
func (u user) checks(name, checker string) {
	if checker == "" {
		return
	}
	u.must(u.p.Eval(`for (const many of document.querySelectorAll("#table tbody, #details")) [...many.children].slice(20).forEach((el) => el.remove());
	for (const many of document.querySelectorAll("svg.chart, .data tbody")) {
		const seen = {};
		for (const el of many.querySelectorAll("path, rect, tr")) { const like = el.tagName + el.getAttribute("class"); if ((seen[like] = (seen[like] || 0) + 1) > 3) (el.closest("a") || el).remove(); }
	}`, nil))
	u.must(u.p.Eval(checker+";undefined", nil))
	for _, v := range views {
		u.must(u.p.Look(v))
		var found []struct {
			ID, Impact, Help string
			Nodes            []struct{ HTML string }
		}
		u.must(u.p.Eval(`axe.run(document, {resultTypes: ["violations"]}).then((r) => r.violations)`, &found))
		for _, f := range found {
			say := u.t.Logf
			if f.Impact == "serious" || f.Impact == "critical" {
				say = u.t.Errorf
			}
			say("%s: axe: %s, %s: %s, at %d places such as %.300s", named(name, v),
				f.Impact, f.ID, f.Help, len(f.Nodes), f.Nodes[0].HTML)
		}
	}
}

// named is what a window on a report is called.
func named(report string, v browser.View) string {
	if v.Dark {
		return fmt.Sprint(report, "-", v.Width, "-dark")
	}
	return fmt.Sprint(report, "-", v.Width, "-light")
}

func (u user) keep(name string) {
	if pictureDir() == "" {
		return
	}
	b, err := u.p.Picture(browser.Clip{})
	u.must(err)
	u.save(name, b)
}

func (u user) save(name string, picture []byte) {
	if dir := pictureDir(); dir != "" {
		u.must(os.WriteFile(filepath.Join(dir, name+".png"), picture, 0o644))
	}
}

func pictureDir() string { return os.Getenv("BROWSER_DIR") }
