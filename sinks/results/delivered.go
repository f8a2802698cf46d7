package results

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/sinks"
	"aiperf.dev/aiperf/sinks/receipt"
)

// deliveredColumns are the columns of the table requests that tell what was delivered.
var deliveredColumns = []string{
	"cell_index", "trial", "phase", "session_id", "turn", "sent_ns", "end_ns", "status", "http_status", "error_kind",
	"served_model", "model", "finish_reason", "open_loop", "isl", "osl", "osl_requested", "usage_prompt_tokens",
	"usage_completion_tokens", "cached_tokens", "connection_reused", "connecting_ns",
}

// deliveredBy goes through the requests of a directory once. Rows of a run stand together.
func deliveredBy(dir string, of map[[2]int]*delivered) error {
	if err := talking(dir, of); err != nil {
		return err
	}
	var last *delivered
	_, err := sinks.EachTable(dir, "requests", among(deliveredColumns...), func(rows *sinks.TableRows) error {
		for i := range rows.N {
			d := of[[2]int{number(rows, "cell_index", i), number(rows, "trial", i)}]
			if d != last && last != nil {
				last.close()
			}
			if last = d; d != nil {
				d.add(rows, i)
			}
		}
		return nil
	})
	if err == nil && last != nil {
		last.close()
	}
	return err
}

// talking finds the runs in which a conversation has a second turn: only of these are
// conversations held in memory.
func talking(dir string, of map[[2]int]*delivered) error {
	_, err := sinks.EachTable(dir, "requests", among("cell_index", "trial", "turn"), func(rows *sinks.TableRows) error {
		for i := range rows.N {
			d := of[[2]int{number(rows, "cell_index", i), number(rows, "trial", i)}]
			if d != nil && d.sessions == nil && number(rows, "turn", i) > 0 {
				d.sessions = map[string]*session{}
			}
		}
		return nil
	})
	return err
}

// delivered adds up the requests of one run.
type delivered struct {
	r       *receipt.Receipt
	warmup  map[string]bool // phases
	closed  bool            // no clock says when requests go
	clocked bool            // one does for all of them

	sent, end []float64 // ns, of what was sent
	warmups   float64
	status    map[record.Status]float64
	failures  map[string]int
	rejected  float64
	models    []string

	begun    float64
	sessions map[string]*session // nil where no conversation has a second turn
	think    mean                // s

	isl, osl, requested, prompt, completion, overhead, reached mean
	cached, cacheable                                          float64
	reasons                                                    map[string]float64
	reused, opened                                             float64
}

type session struct {
	turns float64
	end   float64 // of the last turn, ns
}

func newDelivered(r *receipt.Receipt, warmup map[string]bool, closed bool) *delivered {
	return &delivered{
		r: r, warmup: warmup, closed: closed, clocked: true, status: map[record.Status]float64{},
		failures: map[string]int{}, reasons: map[string]float64{},
	}
}

// mean is that of values, NaN left out.
type mean struct{ n, sum, squares float64 }

func (m *mean) add(v float64) {
	if !math.IsNaN(v) {
		m.n, m.sum, m.squares = m.n+1, m.sum+v, m.squares+v*v
	}
}

func (m *mean) value() float64 { return m.sum / m.n } // NaN of none

func (m *mean) sd() float64 {
	if m.n == 0 {
		return math.NaN()
	}
	return math.Sqrt(max(0, m.squares/m.n-m.value()*m.value()))
}

func (d *delivered) add(rows *sinks.TableRows, i int) {
	get := func(name string) float64 { return float(rows, name, i) }
	status := record.Status(text(rows, "status", i))
	if d.warmup[text(rows, "phase", i)] {
		if status != record.Unsent {
			d.warmups++
		}
		return
	}
	d.status[status]++
	if status == record.Unsent {
		return
	}
	sent, end := get("sent_ns"), get("end_ns")
	if !math.IsNaN(sent) && !math.IsNaN(end) {
		d.sent, d.end = append(d.sent, sent), append(d.end, end)
	}
	d.isl.add(get("isl"))
	d.requested.add(get("osl_requested"))
	d.clocked = d.clocked && get("open_loop") == 1
	if get("connection_reused") == 1 {
		d.reused++
	}
	if get("connecting_ns") > 0 {
		d.opened++
	}
	d.converse(text(rows, "session_id", i), get("turn"), sent, end)
	model := cmp.Or(text(rows, "served_model", i), text(rows, "model", i))
	if n := len(d.models); n == 0 || d.models[n-1] != model {
		d.models = appendNew(d.models, model)
	}
	switch {
	case status == record.OK:
	case status == record.Cancelled || status == record.Cut:
		return
	default:
		d.failures[cmp.Or(text(rows, "error_kind", i), string(status))]++
		if code := get("http_status"); code == 429 || code == 503 {
			d.rejected++
		}
		return
	}
	d.osl.add(get("osl"))
	d.prompt.add(get("usage_prompt_tokens"))
	d.completion.add(get("usage_completion_tokens"))
	d.overhead.add(get("usage_prompt_tokens") - get("isl"))
	d.reached.add(get("osl") / get("osl_requested"))
	if known, of := get("cached_tokens"), get("usage_prompt_tokens"); !math.IsNaN(known + of) {
		d.cached, d.cacheable = d.cached+known, d.cacheable+of
	}
	if reason := text(rows, "finish_reason", i); reason != "" {
		d.reasons[reason]++
	}
}

func (d *delivered) converse(id string, turn, sent, end float64) {
	if d.sessions == nil || id == "" {
		if turn == 0 {
			d.begun++
		}
		return
	}
	s := d.sessions[id]
	if s == nil {
		s = &session{end: math.NaN()}
		d.sessions[id] = s
		d.begun++
	}
	if s.turns > 0 {
		d.think.add(max(0, sent-s.end) / 1e9)
	}
	s.turns, s.end = s.turns+1, end
}

// close fills in the receipt, and lets go of what it held.
func (d *delivered) close() {
	r := d.r
	n := float64(0)
	for status, of := range d.status {
		if status != record.Unsent {
			n += of
		}
	}
	ok, cut, cancelled := d.status[record.OK], d.status[record.Cut], d.status[record.Cancelled]
	failed := n - ok - cut - cancelled
	for name, v := range map[string]float64{
		"requests.attempted": n, "requests.ok": ok, "requests.failed": failed, "requests.rejected": d.rejected,
		"requests.cancelled": cancelled, "requests.cut": cut, "requests.unsent": d.status[record.Unsent],
		"requests.failed_share": failed / n, "requests.cut_share": cut / n, "warmup.requests": d.warmups,

		"tokens.input.sent.mean": d.isl.value(), "tokens.input.sent.sd": d.isl.sd(),
		"tokens.input.server.mean": d.prompt.value(), "tokens.template_overhead": d.overhead.value(),
		"tokens.output.requested.mean": d.requested.value(), "tokens.output.requested.sd": d.requested.sd(),
		"tokens.output.generated.mean": d.osl.value(), "tokens.output.generated.sd": d.osl.sd(),
		"tokens.output.server.mean": d.completion.value(), "tokens.output.reached": d.reached.value(),
		"prefix.hit_rate_server": d.cached / d.cacheable,

		"conversations.count": d.begun, "conversations.think.mean": d.think.value(),
		"connections.reused": d.reused / n, "connections.opened": d.opened,
	} {
		r.Number(name, v)
	}
	if r.Text("requests.failures", d.kinds()); failed == 0 {
		r.Text("requests.failures", "none")
	}
	turns := mean{}
	for _, s := range d.sessions {
		turns.add(s.turns)
	}
	if d.sessions == nil {
		turns = mean{1, 1, 1}
	}
	r.Number("conversations.turns.mean", turns.value())
	r.Number("conversations.turns.sd", turns.sd())
	answers := float64(0)
	for _, of := range d.reasons {
		answers += of
	}
	length, stop := d.reasons["length"]+d.reasons["max_tokens"], d.reasons["stop"]+d.reasons["end_turn"]
	r.Number("finish.length", length/answers)
	r.Number("finish.stop", stop/answers)
	r.Number("finish.other", (answers-length-stop)/answers)
	slices.Sort(d.models)
	r.Text("server.model", strings.Join(d.models, ", "))
	d.load()
	*d = delivered{r: r}
}

// kinds are the failures by kind, the most frequent first: "http_500 3, timeout 1".
func (d *delivered) kinds() string {
	kinds := slices.SortedFunc(maps.Keys(d.failures), func(a, b string) int {
		return cmp.Or(d.failures[b]-d.failures[a], strings.Compare(a, b))
	})
	for i, k := range kinds {
		kinds[i] = fmt.Sprintf("%s %d", k, d.failures[k])
	}
	return strings.Join(kinds, ", ")
}

// load fills in how requests arrived, and how many were under way.
func (d *delivered) load() {
	if len(d.sent) == 0 {
		return
	}
	slices.Sort(d.sent)
	first, last := d.sent[0], d.sent[len(d.sent)-1]
	if d.clocked && last > first {
		var gaps []float64
		for i := 1; i < len(d.sent); i++ {
			gaps = append(gaps, d.sent[i]-d.sent[i-1])
		}
		d.r.Number("arrivals.rate", float64(len(gaps))/(last-first)*1e9)
		d.r.Number("arrivals.cv", stats.StdSample(gaps)/((last-first)/float64(len(gaps))))
	}
	// in flight from the first that was sent to the last: then the load only runs out
	slices.Sort(d.end)
	flight, peak, busy, at := 0, 0, 0.0, first
	for i, j := 0, 0; i < len(d.sent); {
		now := d.sent[i]
		begins := true
		if j < len(d.end) && d.end[j] <= now { // an end makes room for what begins with it
			now, begins = d.end[j], false
		}
		busy, at = busy+float64(flight)*max(0, now-at), max(at, now)
		if begins {
			flight, i = flight+1, i+1
		} else {
			flight, j = flight-1, j+1
		}
		peak = max(peak, flight)
	}
	d.r.Number("concurrency.peak", float64(peak))
	d.r.Number("concurrency.mean", busy/(last-first))
	if d.closed && len(d.sent) >= 2*peak {
		d.r.Number("concurrency.held", busy/(last-first))
	}
}
