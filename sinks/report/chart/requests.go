package chart

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sinks"
)

// Requests are the requests of all measured phases, column by column. Times are
// seconds since the run's first intended one.
type Requests struct {
	Cell                               []*Cell
	Trial                              []int
	Intended, Sent, First, Last, End   []float64
	TTFT, ITL, Latency, Lateness, Wait []float64 // ms
	ISL, OSL, Asked, UsagePrompt       []float64
	ServerQueue, ServerPrefill         []float64 // ms, where the server says
	OK, InWindow, Steady               []bool
	Missed, Status                     []string
	Answer, AnswerWhy, Finish          []string // to questions with known answers; "" for other requests
	ID                                 []float64
	starts                             map[run]float64
	// Total counts the requests of the measured phases, held here or not; Note
	// says what is held, when it is not all.
	Total                int
	Each                 map[*Cell]int // Total of each cell, where it is known
	Note                 string
	SteadyFrom, SteadyTo map[run]float64
}

type run struct {
	cell  *Cell
	trial int
}

func (r *Requests) run(i int) run { return run{r.Cell[i], r.Trial[i]} }

var requestColumns = map[string]bool{
	"cell": true, "trial": true, "phase": true, "request_id": true, "status": true, "in_window": true, "steady": true,
	"intended_ns": true, "sent_ns": true, "first_token_ns": true, "last_token_ns": true, "end_ns": true,
	"ttft_ms": true, "itl_ms": true, "latency_ms": true, "dispatch_lateness_ms": true, "admission_wait_ms": true,
	"isl": true, "osl": true, "osl_requested": true, "usage_prompt_tokens": true, "slo_failed": true,
	"server_queue_ms": true, "server_prefill_ms": true, "answer": true, "answer_why": true, "finish_reason": true,
}

// keptMost is how many requests the charts hold at once. Of a larger result
// they hold the first requests of each cell's first trial, and say so.
const keptMost = 60_000

func (r *Requests) read(dir string, at map[string]*Cell) error {
	if r.starts == nil {
		r.Each = map[*Cell]int{}
		r.starts, r.SteadyFrom, r.SteadyTo = map[run]float64{}, map[run]float64{}, map[run]float64{}
	}
	rows, err := sinks.CountRows(dir, "requests")
	if err != nil {
		return err
	}
	most := math.MaxInt
	if len(r.Cell)+rows > keptMost {
		most = keptMost / max(len(at), 1)
		r.Note = fmt.Sprintf("single requests: the first %s of each cell's first trial", words.Whole(most))
	}
	keep, last, err := r.choose(dir, at, most)
	if err != nil {
		return err
	}
	from := 0
	var kept []int
	_, err = sinks.EachTable(dir, "requests", func(c string) bool { return requestColumns[c] },
		func(t *sinks.TableRows) error {
			kept = kept[:0]
			for i := range t.N {
				if keep[from+i] {
					kept = append(kept, i)
				}
			}
			r.add(t, kept, at)
			if from += t.N; from > last {
				return errEnough // what follows would be read for nothing
			}
			return nil
		})
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	r.sinceStart()
	return r.windows(dir, at)
}

// errEnough ends the reading of a table.
var errEnough = errors.New("enough")

// choose says which rows of the table are held and which one of them is the
// last; it counts all that belong to a measured phase.
func (r *Requests) choose(dir string, at map[string]*Cell, most int) (keep []bool, last int, err error) {
	last = -1
	held := map[*Cell]int{}
	names := map[string]bool{"cell": true, "phase": true, "trial": true}
	_, err = sinks.EachTable(dir, "requests", func(c string) bool { return names[c] }, func(t *sinks.TableRows) error {
		cells, phases, trials := t.Texts["cell"], t.Texts["phase"], t.Floats["trial"]
		var name string
		var c *Cell
		for i := range t.N {
			if cells != nil && (i == 0 || cells[i] != name) {
				name = cells[i]
				c = at[name]
			}
			yes := false
			if c != nil && (phases == nil || phases[i] != "warmup") {
				r.Total++
				r.Each[c]++
				yes = held[c] < most && (most == math.MaxInt || trials == nil || !(trials[i] > 0))
			}
			if yes {
				held[c]++
				last = len(keep)
			}
			keep = append(keep, yes)
		}
		return nil
	})
	return keep, last, err
}

// add takes rows of a batch, column by column.
func (r *Requests) add(t *sinks.TableRows, rows []int, at map[string]*Cell) {
	numbers := func(into []float64, column string) []float64 {
		c := t.Floats[column]
		into = slices.Grow(into, len(rows))
		for _, i := range rows {
			if c == nil {
				into = append(into, math.NaN())
			} else {
				into = append(into, c[i])
			}
		}
		return into
	}
	for _, x := range []struct {
		to     *[]float64
		column string
	}{
		{&r.Intended, "intended_ns"},
		{&r.Sent, "sent_ns"},
		{&r.First, "first_token_ns"},
		{&r.Last, "last_token_ns"},
		{&r.End, "end_ns"},
		{&r.TTFT, "ttft_ms"},
		{&r.ITL, "itl_ms"},
		{&r.Latency, "latency_ms"},
		{&r.Lateness, "dispatch_lateness_ms"},
		{&r.Wait, "admission_wait_ms"},
		{&r.ISL, "isl"},
		{&r.OSL, "osl"},
		{&r.Asked, "osl_requested"},
		{&r.UsagePrompt, "usage_prompt_tokens"},
		{&r.ID, "request_id"},
		{&r.ServerQueue, "server_queue_ms"},
		{&r.ServerPrefill, "server_prefill_ms"},
	} {
		*x.to = numbers(*x.to, x.column)
	}
	flags := func(into []bool, column string) []bool {
		c := t.Floats[column]
		for _, i := range rows {
			into = append(into, c != nil && c[i] == 1)
		}
		return into
	}
	r.InWindow, r.Steady = flags(r.InWindow, "in_window"), flags(r.Steady, "steady")
	texts := func(into []string, column string) []string {
		c := t.Texts[column]
		for _, i := range rows {
			if c == nil {
				into = append(into, "")
			} else {
				into = append(into, c[i])
			}
		}
		return into
	}
	r.Missed, r.Status = texts(r.Missed, "slo_failed"), texts(r.Status, "status")
	r.Answer, r.AnswerWhy = texts(r.Answer, "answer"), texts(r.AnswerWhy, "answer_why")
	r.Finish = texts(r.Finish, "finish_reason")
	for _, s := range r.Status[len(r.OK):] {
		r.OK = append(r.OK, s == "ok")
	}
	var k run
	for _, i := range rows {
		if name := text(t, "cell", i); k.cell == nil || name != k.cell.ID {
			k.cell = at[name]
		}
		k.trial = int(number(t, "trial", i))
		r.Cell, r.Trial = append(r.Cell, k.cell), append(r.Trial, k.trial)
	}
	r.begin(len(r.Cell) - len(rows))
}

// begin notes when the runs of the requests from i on began.
func (r *Requests) begin(i int) {
	for ; i < len(r.Cell); i++ {
		k, at := r.run(i), r.Intended[i]
		if s, ok := r.starts[k]; !math.IsNaN(at) && (!ok || at < s) {
			r.starts[k] = at
		}
	}
}

// sinceStart turns stamps into seconds since the run began. Those of a
// directory read earlier are small already and lie before no start.
func (r *Requests) sinceStart() {
	const nano = 1e9
	for i := range r.Cell {
		start, ok := r.starts[r.run(i)]
		if !ok {
			continue
		}
		for _, col := range [][]float64{r.Intended, r.Sent, r.First, r.Last, r.End} {
			col[i] = (col[i] - start) / nano
		}
	}
}

// part is the part of the partition that request i is in.
func (r *Requests) part(i int) record.Parts { return record.Status(r.Status[i]).Part() }

// AllFailed reports whether there were requests and none ended well.
func (d *Data) AllFailed() bool {
	return len(d.Requests.OK) > 0 && !slices.Contains(d.Requests.OK, true) && !d.Has(metrics.RequestLatency, "p50")
}

// windows are the steady windows of the runs.
func (r *Requests) windows(dir string, at map[string]*Cell) error {
	t, err := sinks.ReadTable(dir, "runs", nil)
	if err != nil {
		return err
	}
	for i := range t.N {
		c := at[text(t, "cell", i)]
		k := run{c, int(number(t, "trial", i))}
		from, to := number(t, "steady_start_ns", i), number(t, "steady_end_ns", i)
		if start, ok := r.starts[k]; ok && c != nil && !math.IsNaN(from) && !math.IsNaN(to) {
			r.SteadyFrom[k], r.SteadyTo[k] = (from-start)/1e9, (to-start)/1e9
		}
	}
	clear(r.starts)
	return nil
}

// readLimits takes the SLOs from the plan that was carried out; a result
// without one has none.
func readLimits(dir string, into map[string]float64) {
	lock, err := resultdir.ReadLock(dir)
	if err != nil {
		return
	}
	for _, c := range lock.Cells {
		var bench struct {
			SLOs map[string]float64 `json:"slos"`
		}
		_ = json.Unmarshal(c.Benchmark, &bench) // one that cannot be read has none
		for tag, limit := range bench.SLOs {
			into[tag] = limit
		}
	}
}
