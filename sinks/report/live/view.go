package live

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/internal/words"
)

// Pane is what the lower part of the screen shows.
type Pane uint8

// The panes, in the order of their keys.
const (
	Cells Pane = iota
	Errors
	Log
	Help
)

// frame is one picture of the screen: width × height at most, no line wraps.
type frame struct {
	*State
	at            time.Time
	width, height int
	pane          Pane
	paused        bool
	keyed         Keys
	ascii         bool
}

// Keys says which keys a picture offers.
type Keys uint8

// A picture that is printed has no keys; one that watches cannot steer the plan.
const (
	NoKeys Keys = iota
	Watching
	Steering
)

// lines are the frame from top to bottom.
func (f *frame) lines() []string {
	out := f.head()
	keys := f.keys()
	room := f.height - len(out) - 1
	if room > 0 {
		body := f.body()
		out = append(out, body[:min(len(body), room)]...)
	}
	for len(out) < f.height-1 {
		out = append(out, "")
	}
	out = append(out[:max(f.height-1, 0)], " "+keys)
	for i := range out {
		out[i] = words.Cut(out[i], f.width)
		if f.ascii {
			out[i] = words.ASCII(out[i])
		}
	}
	return out
}

// keys is the last line: what can be pressed.
func (f *frame) keys() string {
	switch {
	case f.keyed == NoKeys:
		return ""
	case f.keyed == Watching && f.narrow():
		return "q leave  c cells  e errors  l log  ?"
	case f.keyed == Watching:
		return "q leave   c cells   e errors   l log   ? help"
	case f.paused && f.narrow():
		return "PAUSED: p goes on  q stop  ? help"
	case f.paused:
		return "PAUSED after this run: p goes on   q stop   e errors   l log   ? help"
	case f.narrow():
		return "q stop  p pause  e errors  l log  ?"
	}
	return "q drain and stop   p pause between runs   e errors   l log   ? help"
}

// narrow reports whether the columns of the wide screen do not fit: then what
// stands beside each other there stands below each other.
func (f *frame) narrow() bool { return f.width < 80 }

// head is what always stands: where the plan is, and the run's figures.
func (f *frame) head() []string {
	if f.over != "" || !f.silent.IsZero() {
		return f.finished()
	}
	now := f.now
	place, name := fmt.Sprintf("cell %d/%d · %s", f.cell+1, max(len(f.plan.Cells), 1), f.plan.place(f.trial)),
		f.name(f.cell)
	if f.stand != "" {
		place, name = fmt.Sprintf("probe %d · %s", f.index+1, f.stand), name+": "+f.why
	}
	right := f.at.Sub(f.began).Round(time.Second).String()
	if left := f.left(f.at); left != "" {
		right += " · " + left
	}
	phase := " this run  "
	if now.Warmup {
		phase = " warmup    "
	}
	counts := []string{
		fmt.Sprintf("sent %s  in flight %s", of(now.Sent, now.Planned), of(int64(now.InFlight), int64(now.Target))),
		fmt.Sprintf("errors %d  lag p99 %s", now.Failed, millis(now.LagP99)),
	}
	if now.Waiting != "" {
		counts = []string{"waits " + now.Waiting}
	}
	over, runs := f.plan.over(float64(f.index) + f.share())
	if f.narrow() {
		return append(f.stacked(place, name, right, over, runs, phase), f.stackedFigures(counts)...)
	}
	barWidth := max(f.width-44, 10)
	out := []string{
		f.spread(" "+f.plan.Name+"   "+place, right),
		f.spread(" "+words.Bar(over, barWidth)+runs, f.verdictSoFar()),
		" " + name,
		phase + words.Bar(f.share(), max(f.width-72, 6)) + "  " + strings.Join(counts, "  "),
		f.figures(ttft, now.TTFTP50, now.TTFTP99, f.ttft, "req/s", now.RequestsPerSecond, f.rate),
		f.figures(itl, now.ITLP50, now.ITLP99, f.itl, "tok/s", now.OutputTokensPerSecond, f.tokens),
	}
	return append(append(out, f.server()...), "")
}

// verdictSoFar is the verdict on the runs that are done; "" before the first is.
func (f *frame) verdictSoFar() string {
	if len(f.done) == 0 {
		return ""
	}
	return f.verdict.String() + " so far"
}

// server is what servers say of themselves: a line, or none.
func (f *frame) server() []string {
	n := f.now.Server
	if n == nil || !f.alive {
		return nil
	}
	text := " server"
	for _, part := range []struct {
		name string
		v    float64
	}{{"running", n.Running}, {"waiting", n.Waiting}} {
		if !math.IsNaN(part.v) {
			text += "  " + part.name + " " + words.Whole(int64(part.v))
		}
	}
	if !math.IsNaN(n.KVUse) {
		text += "  KV cache " + words.Percent(n.KVUse)
	}
	return []string{text}
}

// finished is the head when nothing follows.
func (f *frame) finished() []string {
	share, runs := f.plan.over(float64(len(f.done)))
	if len(f.plan.Runs) == 0 {
		share, runs = 1, "  "+words.Count(len(f.done), "run")
	}
	size := fmt.Sprintf("%s × %s", words.Count(len(f.plan.Cells), "cell"), words.Count(f.plan.Trials, "trial"))
	how, verdict := f.over, f.verdict.String()
	if how == "" {
		how, verdict = "stopped, not finished", f.verdictSoFar()
	}
	if f.narrow() {
		return []string{
			" " + f.plan.Name, f.spread(" "+size, verdict), " " + how,
			" " + words.Bar(share, max(f.width-words.Width(runs)-2, 4)) + runs, "",
		}
	}
	return []string{
		f.spread(" "+f.plan.Name+"   "+size, how),
		f.spread(" "+words.Bar(share, max(f.width-44, 10))+runs, verdict), "",
	}
}

// stacked is where the plan and the run are in a narrow window.
func (f *frame) stacked(place, name, right string, over float64, runs, phase string) []string {
	return []string{
		f.spread(" "+f.plan.Name, right),
		f.spread(" "+place, f.verdictSoFar()),
		" " + words.Bar(over, max(f.width-words.Width(runs)-2, 4)) + runs,
		" " + name,
		phase + words.Bar(f.share(), max(f.width-words.Width(phase)-1, 4)),
	}
}

// stackedFigures are the run's figures in a narrow window, without pictures.
func (f *frame) stackedFigures(counts []string) (out []string) {
	for _, c := range counts {
		out = append(out, " "+c)
	}
	now := f.now
	out = append(out,
		fmt.Sprintf(" %-4s p50 %-8s p99 %s", ttft, millis(now.TTFTP50), millis(now.TTFTP99)),
		fmt.Sprintf(" %-4s p50 %-8s p99 %s", itl, millis(now.ITLP50), millis(now.ITLP99)),
		fmt.Sprintf(" req/s %s  tok/s %s", words.Number(now.RequestsPerSecond),
			words.Number(now.OutputTokensPerSecond)))
	return append(append(out, f.server()...), "")
}

// of is "812/1,600", or the number alone when there is no other.
func of(n, all int64) string {
	if all <= 0 {
		return words.Whole(n)
	}
	return words.Whole(n) + "/" + words.Whole(all)
}

func millis(v float64) string {
	if math.IsNaN(v) {
		return "–"
	}
	return words.Millis(v)
}

// What the two latencies of a run are called here and in the tables.
var (
	ttft = metrics.Series(metrics.TimeToFirstToken, "")
	itl  = metrics.Series(metrics.InterTokenLatency, "")
)

// figures is one line: two percentiles and a rate, each with its last minute.
// Numbers go before pictures when the window is narrow.
func (f *frame) figures(
	name string, p50, p99 float64, past percentiles, rate string, per float64, rates series,
) string {
	first := fmt.Sprintf(" %-4s p50 %-8s", name, millis(p50))
	second := fmt.Sprintf("  p99 %-8s", millis(p99))
	third := fmt.Sprintf("  %s %-6s", rate, words.Number(per))
	n := max((f.width-1-words.Width(first+second+third))/3, 0)
	return first + words.Pad(past.p50.spark(n), n) + second + words.Pad(past.p99.spark(n), n) + third + rates.spark(n)
}

// spread puts left and right at the ends of a line.
func (f *frame) spread(left, right string) string {
	room := f.width - words.Width(left) - words.Width(right) - 1
	if room < 1 {
		left = words.Cut(left, max(f.width-words.Width(right)-3, 10))
		room = f.width - words.Width(left) - words.Width(right) - 1
	}
	return left + strings.Repeat(" ", max(room, 1)) + right
}

// gone says that nobody is at work on the plan, and what to do.
func (f *frame) gone() []string {
	if f.silent.IsZero() || f.over != "" {
		return nil
	}
	return append(f.folded([]string{fmt.Sprintf(" nothing was written since %s (%s ago), and no process here holds the directory's lock: the command that began it, with --resume, goes on",
		f.silent.UTC().Format("2006-01-02 15:04:05 UTC"), words.Span(f.at.Sub(f.silent)))}), "")
}

// body is the lower part.
func (f *frame) body() []string { return append(f.gone(), f.shown()...) }

// shown is the pane that was chosen.
func (f *frame) shown() []string {
	switch f.pane {
	case Errors:
		return f.folded(f.errorLines())
	case Log:
		return f.folded(tail(f.log, f.height, "nothing was said yet"))
	case Help:
		if f.keyed != Steering {
			return f.folded([]string{
				" q, Ctrl-C   leave; the plan goes on",
				" c, e, l     cells that are done, errors, log", "", figuresHelp,
			})
		}
		return f.folded([]string{
			" q, Ctrl-C   the first drains the run in progress and writes partial results, the second stops at once",
			" p           pause: the run in progress ends, the next one waits for p",
			" e, l, c     errors, log, cells that are done", "",
			figuresHelp,
		})
	}
	return f.cellLines()
}

// figuresHelp says what the numbers of the screen are.
const figuresHelp = " TTFT, ITL, req/s and tok/s are of the last seconds; percentiles, intervals and the verdict of the whole" +
	" come when the plan is done. Figures of cells that are done: geometric mean (lowest–highest) over their trials."

// soFar is the heading of the cells.
func (f *frame) soFar() string {
	if f.over != "" || !f.silent.IsZero() {
		return "cell"
	}
	return "done so far"
}

// folded breaks sentences that are longer than a line.
func (f *frame) folded(lines []string) (out []string) {
	const indent = "   "
	for _, l := range lines {
		for words.Width(l) > f.width {
			at := strings.LastIndexByte(words.Cut(l, f.width+1), ' ')
			if strings.TrimSpace(l[:max(at, 0)]) == "" {
				break // one long word
			}
			out, l = append(out, l[:at]), indent+strings.TrimLeft(l[at:], " ")
		}
		out = append(out, l)
	}
	return out
}

func tail(lines []string, n int, empty string) []string {
	if len(lines) == 0 {
		return []string{" " + empty}
	}
	var out []string
	for _, l := range lines[max(0, len(lines)-n):] {
		out = append(out, " "+l)
	}
	return out
}

// figure is a column of the cells that are done.
type figure struct {
	name string // in the tables and in run.json
	head string
	rank int     // a window that has no room for all leaves out the higher ranks
	best string  // how a mark calls it; "" for one that no cell leads in
	sign float64 // of the best: 1 for the highest, -1 for the lowest
}

// figures of a cell, in the order of their columns, with the words of the report.
var cellFigures = []figure{
	{name: outputRate, head: called(metrics.OutputTokenThroughput, "avg"), best: "tok/s", sign: 1},
	{name: "requests_per_s", head: called(metrics.RequestThroughput, "avg"), rank: 4},
	{name: "ttft_p50_ms", head: called(metrics.TimeToFirstToken, "p50"), rank: 5},
	{
		name: ttftP99, head: called(metrics.TimeToFirstToken, "p99"),
		best: metrics.Series(metrics.TimeToFirstToken, "p99"), sign: -1,
	},
	{name: "itl_p50_ms", head: called(metrics.InterTokenLatency, "p50"), rank: 6},
	{name: "itl_p99_ms", head: called(metrics.InterTokenLatency, "p99"), rank: 2},
	{name: goodShare, head: called(metrics.GoodRequestFraction, "avg")},
}

// Figures that more than the table shows.
const (
	outputRate = "output_tps"
	ttftP99    = "ttft_p99_ms"
	goodShare  = "good_share"
)

func called(tag, stat string) string {
	m, _ := metrics.Lookup(tag)
	return m.Called(stat)
}

// column is one of the table of cells that are done, as text.
type column struct {
	head  string
	rank  int
	cells []string // by row
}

func (c *column) width() int {
	n := words.Width(c.head)
	for _, text := range c.cells {
		n = max(n, words.Width(text))
	}
	return n
}

// columns are those of the figures that some cell has, of ranks up to rank; with the
// range of trials, where ranges says so.
func columns(rows []cellRow, rank int, ranges bool) (out []column) {
	add := func(head string, of int, text func(r *cellRow) string) {
		if of > rank {
			return
		}
		c := column{head: head, rank: of}
		for i := range rows {
			c.cells = append(c.cells, text(&rows[i]))
		}
		out = append(out, c)
	}
	add("trials", 1, func(r *cellRow) string { return fmt.Sprint(r.trials) })
	for _, f := range cellFigures {
		if !slices.ContainsFunc(rows, func(r cellRow) bool { return len(r.figures[f.name]) > 0 }) {
			continue
		}
		add(f.head, f.rank, func(r *cellRow) string {
			v := r.figures[f.name]
			switch {
			case f.name == goodShare && len(v) > 0:
				return words.Percent(mean(v))
			default:
				return between(v, !ranges)
			}
		})
	}
	add("errors", 3, func(r *cellRow) string { return words.Whole(r.failed) })
	return out
}

// highestRank is that of the columns that need the most room.
const highestRank = 6

// cellLines are the cells that are done, newest first, with as much about each as the
// window has room for: first what leads so far, then the range of trials, then more
// figures. Names are cut last.
func (f *frame) cellLines() []string {
	rows := f.cells()
	if len(rows) == 0 {
		return []string{" no run is done yet"}
	}
	if f.narrow() {
		return f.stackedCells(rows)
	}
	name, marked := words.Width(f.soFar()), 0
	marks := leaders(rows)
	for i, r := range rows {
		name, marked = max(name, words.Width(r.Name)), max(marked, words.Width(marks[i]))
	}
	const verdictWidth = 9 // DEGRADED, and a space
	room := func(of []column, mark int) int {
		n := f.width - 2 - verdictWidth - mark
		for i := range of {
			n -= of[i].width() + 1
		}
		return n
	}
	shown := columns(rows, 0, false)
	if room(shown, marked) < name {
		marks, marked = make([]string, len(rows)), 0
	}
	ranges := room(columns(rows, 0, true), marked) >= name
	for rank := range highestRank + 1 {
		if more := columns(rows, rank, ranges); rank == 0 || room(more, marked) >= name {
			shown = more
		}
	}
	name = min(name, max(room(shown, marked), leastName))
	line := func(first string, text func(c *column) string, verdict, mark string) string {
		line := " " + words.Pad(fit(first, name), name)
		for i := range shown {
			w := shown[i].width()
			line += " " + strings.Repeat(" ", max(w-words.Width(text(&shown[i])), 0)) + text(&shown[i])
		}
		return strings.TrimRight(line+" "+words.Pad(verdict, verdictWidth)+mark, " ")
	}
	out := []string{line(f.soFar(), func(c *column) string { return c.head }, "verdict", "")}
	for i := range rows {
		out = append(out, line(rows[i].Name, func(c *column) string { return c.cells[i] }, rows[i].verdict.String(),
			marks[i]))
	}
	return out
}

// leastName is how much of a cell's name a window of 80 columns shows at least.
const leastName = 12

// leaders lists for each row the figures in which it leads so far, which shows nothing, among
// cells that do the same work. A single cell has none, and INVALID ones lead nothing.
func leaders(rows []cellRow) []string {
	best := make([][]string, len(rows))
	for _, f := range cellFigures {
		if f.best == "" {
			continue
		}
		first, of := map[string]int{}, map[string]int{}
		for i, r := range rows {
			of[r.Work]++
			if v := r.figures[f.name]; len(v) > 0 && r.verdict != validity.Invalid {
				if k, led := first[r.Work]; !led || f.sign*level(v) > f.sign*level(rows[k].figures[f.name]) {
					first[r.Work] = i
				}
			}
		}
		for work, i := range first {
			if of[work] > 1 {
				best[i] = append(best[i], f.best)
			}
		}
	}
	out := make([]string, len(rows))
	for i, figures := range best {
		if len(figures) == 0 {
			continue
		}
		out[i] = "leads: " + strings.Join(figures, ", ")
		if work := rows[i].Work; work != "" {
			out[i] += " at " + work
		}
	}
	return out
}

// stackedCells are two lines a cell: its name has one for itself.
func (f *frame) stackedCells(rows []cellRow) []string {
	out := []string{" " + f.soFar()}
	for _, r := range rows {
		figures := fmt.Sprintf("   tok/s %s  %s p99 %s", between(r.figures[outputRate], true), ttft,
			between(r.figures[ttftP99], true))
		if len(r.figures[ttftP99]) > 0 {
			figures += " ms"
		}
		out = append(out, f.spread(" "+fit(r.Name, f.width-3-words.Width(r.verdict.String())), r.verdict.String()),
			figures)
	}
	return out
}

// fit makes the name of a cell short: its longest part gives way first, so that
// each setting is still told.
func fit(name string, width int) string {
	const between, least = ", ", 4
	parts := strings.Split(name, between)
	over := func() int { return words.Width(strings.Join(parts, between)) - width }
	for over() > 0 {
		longest := 0
		for i, p := range parts {
			if words.Width(p) > words.Width(parts[longest]) {
				longest = i
			}
		}
		n := words.Width(parts[longest])
		if n <= least {
			break
		}
		parts[longest] = words.Middle(parts[longest], n-1)
	}
	return words.Cut(strings.Join(parts, between), width)
}

func mean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}

// errorLines are the runs with failures and what was said about them.
func (f *frame) errorLines() []string {
	var out []string
	if f.now.Failed > 0 && f.over == "" {
		out = append(out, fmt.Sprintf(" this run: %s failed", words.Count(f.now.Failed, "request")))
	}
	for _, r := range f.cells() {
		if r.failed > 0 {
			out = append(out, fmt.Sprintf(" %s: %s failed", r.Name, words.Count(r.failed, "request")))
		}
	}
	for _, l := range f.log {
		out = append(out, " "+l)
	}
	if len(out) == 0 {
		return []string{" no error so far"}
	}
	return out
}
