package results

import (
	"encoding/json"
	"math"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/internal/rules"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sinks"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/decide"
	"aiperf.dev/aiperf/sweep/search"
)

// JudgeRules holds a directory of ours against sets of rules, by its plan, its tables and what
// its runs say of themselves: the same whoever asks, and whenever. What another program measured
// is held against them by what its files say.
func JudgeRules(dir string, sets []*rules.Set) (*rules.Document, error) {
	if r, err := Find(dir); err == nil && r.Runs != nil {
		return judgeForeign(dir, sets)
	}
	w := witnesses{of: map[[2]int]*witness{}}
	for _, s := range sets {
		w.counted = append(w.counted, s.Counted()...)
	}
	cells, err := w.begin(dir)
	if err != nil {
		return nil, err
	}
	if err := w.requests(dir); err != nil {
		return nil, err
	}
	if err := w.figures(dir); err != nil {
		return nil, err
	}
	for _, key := range w.order {
		x := w.of[key]
		x.close()
		c := &cells[key[0]]
		c.Runs, c.Trials = append(c.Runs, x.run), c.Trials+1
	}
	judged, err := found(dir)
	if err != nil {
		return nil, err
	}
	for i := range cells {
		if !judged(i) {
			cells[i].Trials = 0
		}
	}
	cells = slices.DeleteFunc(cells, func(c rules.Cell) bool { return c.Trials == 0 })
	var answers []rules.Judged
	for _, s := range sets {
		answers = append(answers, s.Of(cells))
	}
	return rules.NewDocument(answers), nil
}

// found tells which cells are the result: all of a matrix, of a search for a limit the one of
// the largest load that holds. The others are loads that it tried on the way.
func found(dir string) (func(cell int) bool, error) {
	rows, err := sinks.ReadTable(dir, "cells", among("cell_index", "decision"))
	if err != nil {
		return nil, err
	}
	lock, err := resultdir.ReadLock(dir)
	if err != nil {
		return nil, err
	}
	searched, best, most := false, -1, math.Inf(-1)
	for i := range rows.N {
		cell, said := number(rows, "cell_index", i), search.State(text(rows, "decision", i))
		searched = searched || slices.Contains([]search.State{search.Holds, search.Fails, search.Undecided}, said)
		if said != search.Holds || cell < 0 || cell >= len(lock.Cells) {
			continue
		}
		for _, v := range lock.Cells[cell].Point { // of its only axis
			if load, ok := v.(float64); ok && load > most {
				best, most = cell, load
			}
		}
	}
	return func(cell int) bool { return !searched || cell == best }, nil
}

// RulesCell is a cell as rules see it, without its runs.
func RulesCell(label string, body json.RawMessage) rules.Cell {
	var b schema.Benchmark
	_ = json.Unmarshal(body, &b) // older settings say less
	c := rules.Cell{Label: label, Load: loadOf(b.Phases), Limits: b.SLOs, Setting: settingsOf(body)}
	c.Lacks = func(tag string) (what, hint string) { return decide.Lacking(&b, tag) }
	return c
}

// loadOf is what the measured phases have in common.
func loadOf(phases []schema.Phase) string {
	law := ""
	for i := range phases {
		p := &phases[i]
		if p.Kind == "warmup" {
			continue
		}
		one := p.Type
		if p.Requests > 0 && int64(p.Concurrency) >= p.Requests && p.Duration == nil && p.ConcurrencyRamp == nil &&
			sweep.Closed(phases) {
			one = rules.Offline
		}
		if law != "" && law != one {
			return "several"
		}
		law = one
	}
	return law
}

// settingsOf finds settings in a body by their path.
func settingsOf(body json.RawMessage) func(path string) (any, bool) {
	var tree any
	_ = json.Unmarshal(body, &tree) // then nothing is set
	return func(path string) (any, bool) {
		at := tree
		for part := range strings.SplitSeq(path, ".") {
			object, ok := at.(map[string]any)
			if !ok {
				return nil, false
			}
			if at, ok = object[part]; !ok {
				return nil, false
			}
		}
		return at, true
	}
}

// witnesses are the runs of a directory.
type witnesses struct {
	of      map[[2]int]*witness
	order   [][2]int // by cell and trial, as they stand in the tables
	counted []rules.Over
}

// witness is one run.
type witness struct {
	run     rules.Run
	warmup  map[string]bool    // phases
	ended   map[string]float64 // s, of phases that their duration ended
	begun   map[string]float64 // ns, of phases
	last    map[string]float64 // ns, when the last request of a phase was due
	first   float64            // ns, when the first request was sent
	answer  float64            // ns, when the last answer had come
	shas    map[string]bool
	closed  bool
	figures map[[2]string]float64
}

// begin makes the cells, and a witness for each run.
func (w *witnesses) begin(dir string) ([]rules.Cell, error) {
	lock, err := resultdir.ReadLock(dir)
	if err != nil {
		return nil, err
	}
	rows, err := sinks.ReadTable(dir, "runs", among("cell_index", "trial", "run_id", "ok", "verdict", "sentinel"))
	if err != nil {
		return nil, err
	}
	labels, reports := labelsOf(lock.Cells), resultdir.ReportsOf(dir)
	folders := map[string]string{}
	begun, _ := resultdir.Begun(dir) // of a damaged journal, runs in the directory itself are found
	for _, e := range begun {
		folders[e.Run] = e.Dir
	}
	var cells []rules.Cell
	for i, c := range lock.Cells {
		cells = append(cells, RulesCell(labels[i], c.Benchmark))
	}
	for i := range rows.N {
		cell, trial := number(rows, "cell_index", i), number(rows, "trial", i)
		if cell < 0 || cell >= len(cells) || float(rows, "sentinel", i) > 0 { // the sentinel's are no trials
			continue
		}
		x := newWitness(phasesOf(lock.Cells[cell].Benchmark))
		x.run.OK, x.run.Verdict = int64(number(rows, "ok", i)), text(rows, "verdict", i)
		id := text(rows, "run_id", i)
		var said reportOfRun
		if reports.Read(id, folders[id], &said) == nil {
			x.tell(&said, phasesOf(lock.Cells[cell].Benchmark))
		}
		key := [2]int{cell, trial}
		w.of[key], w.order = x, append(w.order, key)
	}
	return cells, nil
}

func newWitness(phases []schema.Phase) *witness {
	x := &witness{
		warmup: map[string]bool{}, ended: map[string]float64{}, begun: map[string]float64{}, last: map[string]float64{},
		first: math.Inf(1), answer: math.Inf(-1), shas: map[string]bool{}, figures: map[[2]string]float64{},
		closed: sweep.Closed(phases),
	}
	x.run.Counts = map[rules.Over]rules.Tally{}
	return x
}

// tell takes what the run says of its phases.
func (x *witness) tell(said *reportOfRun, phases []schema.Phase) {
	x.warmup = said.warmups()
	for _, p := range said.Phases {
		x.begun[p.Name] = p.Start
		for i := range phases {
			if phases[i].Name == p.Name && phases[i].Duration != nil && p.Stop == "duration" {
				x.ended[p.Name] = float64(*phases[i].Duration)
			}
		}
	}
}

// requests goes through the requests once.
func (w *witnesses) requests(dir string) error {
	want := []string{
		"cell_index", "trial", "phase", "status", "intended_ns", "sent_ns", "end_ns", "open_loop", "prompt_sha", "slo_ok",
	}
	for _, c := range timedColumns {
		want = append(want, c.sent, c.due)
	}
	_, err := sinks.EachTable(dir, "requests", among(want...), func(rows *sinks.TableRows) error {
		for i := range rows.N {
			x := w.of[[2]int{number(rows, "cell_index", i), number(rows, "trial", i)}]
			if x != nil && !x.warmup[text(rows, "phase", i)] {
				x.add(rows, i, w.counted)
			}
		}
		return nil
	})
	return err
}

// timedColumns have the times of requests: from sending, and from when they were due.
var timedColumns = map[string]struct{ sent, due string }{
	metrics.TimeToFirstToken:  {"ttft_ms", "ttft_from_intended_ms"},
	metrics.InterTokenLatency: {"itl_ms", "itl_ms"},
	metrics.RequestLatency:    {"latency_ms", "latency_from_intended_ms"},
}

func (x *witness) add(rows *sinks.TableRows, i int, counted []rules.Over) {
	status := record.Status(text(rows, "status", i))
	if status == record.Cancelled { // on purpose
		return
	}
	open := float(rows, "open_loop", i) == 1
	due, sent, end := float(rows, "intended_ns", i), float(rows, "sent_ns", i), float(rows, "end_ns", i)
	if !open {
		due = sent
	}
	phase := text(rows, "phase", i)
	if _, ok := x.begun[phase]; !ok || due < x.begun[phase] {
		x.begun[phase] = due
	}
	if status != record.Unsent {
		x.last[phase] = max(x.last[phase], due)
		x.first, x.answer = min(x.first, due), max(x.answer, end)
		if len(x.shas) < 2 {
			x.shas[text(rows, "prompt_sha", i)] = true
		}
	}
	for _, o := range counted {
		over, judged := x.over(rows, i, o, status, open)
		if !judged {
			continue
		}
		t := x.run.Counts[o]
		if t.N++; over {
			t.Over++
		}
		x.run.Counts[o] = t
	}
}

// over tells whether a request is beyond a limit. One that failed or was never sent is, and so
// is one that was cut off: nobody saw it end in time. An answer of one token has no time
// between tokens, and says nothing of it.
func (x *witness) over(
	rows *sinks.TableRows, i int, o rules.Over, status record.Status, open bool,
) (over, judged bool) {
	if status != record.OK {
		return true, true
	}
	if o.Metric == rules.Limits {
		return float(rows, "slo_ok", i) != 1, true
	}
	c := timedColumns[o.Metric]
	v := float(rows, c.sent, i)
	if open {
		v = float(rows, c.due, i)
	}
	return v > o.Most, !math.IsNaN(v)
}

// figures reads the statistics of the runs, over their whole span.
func (w *witnesses) figures(dir string) error {
	rows, err := sinks.ReadTable(dir, "metrics",
		among("cell_index", "trial", "level", "span", "metric", "stat", "value"))
	if err != nil {
		return err
	}
	for i := range rows.N {
		x := w.of[[2]int{number(rows, "cell_index", i), number(rows, "trial", i)}]
		if x != nil && text(rows, "level", i) == "run" && text(rows, "span", i) == decide.Full {
			x.figures[[2]string{text(rows, "metric", i), text(rows, "stat", i)}] = float(rows, "value", i)
		}
	}
	return nil
}

// close works out what the whole of the requests says.
func (x *witness) close() {
	sending := 0.0
	for phase, last := range x.last {
		if s, ok := x.ended[phase]; ok {
			sending += s
			continue
		}
		sending += (last - x.begun[phase]) / 1e9
	}
	if len(x.last) == 0 {
		sending = math.NaN()
	}
	x.run.Sent, x.run.Answered = sending, (x.answer-x.first)/1e9
	if math.IsInf(x.run.Answered, 0) {
		x.run.Answered = math.NaN()
	}
	x.run.Prompts = rules.Prompts{
		Different: len(x.shas), Closed: x.closed, Rate: float64(x.run.OK) / x.run.Answered,
	}
	x.run.Figure = func(tag, stat string) float64 {
		if v, ok := x.figures[[2]string{tag, stat}]; ok {
			return v
		}
		return math.NaN()
	}
}
