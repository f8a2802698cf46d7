package diagnose

import (
	"fmt"
	"math"
	"slices"

	"aiperf.dev/aiperf/internal/words"
)

// Bound is a condition on a fact.
type Bound struct {
	Fact  string
	Least bool // the fact is at least Limit; else it is below it
	Limit float64
}

func atLeast(fact string, limit float64) Bound { return Bound{fact, true, limit} }
func below(fact string, limit float64) Bound   { return Bound{fact, false, limit} }

// told is the bound as the documentation has it, of a fact in a unit.
func (b Bound) told(unit string) string {
	limit := short(b.Limit)
	switch unit {
	case "share":
		limit = percent(b.Limit)
	case "":
		if b.Least {
			return b.Fact
		}
		return "not " + b.Fact
	case "factor", "exponent":
	default:
		limit += " " + unit
	}
	if b.Least {
		return b.Fact + " ≥ " + limit
	}
	return b.Fact + " < " + limit
}

// meets reports whether the fact is known and within the bound.
func (b Bound) meets(f *facts) bool {
	v := f.get(b.Fact)
	return !math.IsNaN(v) && (v >= b.Limit) == b.Least
}

// Rule is a finding: a row of the catalogue. It holds where all of one of its Cases hold
// and nothing of Unless does; a fact that is not known meets no bound.
type Rule struct {
	Name, Title string
	Certainty   Certainty
	Cases       [][]Bound
	Unless      []Bound
	// Firm makes a likely finding a shown one.
	Firm []Bound
	// Yields makes a limit of the server that holds as well the finding, and this one a word beside it.
	Yields []Bound
	// Next is what to do, or to measure, next.
	Next string

	says    func(f *facts) string // the finding as a sentence without its full stop
	brief   string                // the same as a part of a sentence about several cells
	figure  func(f *facts) string // how much of it there is at one of them; nil for what is or is not
	ask     func(f *facts) string // Next, where it depends on the cell
	beside  bool                  // it is worth a word where a rule before it holds
	covers  []string              // rules whose finding follows from this one
	limited bool                  // it is a limit
	spoils  bool                  // figures of the server are of more than this run
	checked bool                  // a check of the verdict says it too
}

// Limits of facts. Below queueLimit of a request's time nobody looks for the cause of a
// queue; an engine that joins requests at its next step keeps them for about half a step.
const (
	queueLimit = 0.1
	queueSteps = 3
	fullCache  = 0.95
	flat       = 0.95
	hitLimit   = 0.1
	grows      = 0.8 // a gain of so much is about proportional
	grown      = 0.5 // with less, more load brings little
	heavy      = 0.6 // the part of an engine's time from which on prompts may be the limit
)

// Rules are the catalogue, in the order in which they are tried: what spoils the figures
// first, then limits of the server, each before those that it brings about.
func Rules() []Rule {
	queue := []Bound{atLeast("queue_share", queueLimit), atLeast("queue_steps", queueSteps)}
	return []Rule{
		{
			Name: "other_clients", Title: "other clients use the server",
			Certainty: Shown, Cases: [][]Bound{{atLeast("foreign", 0.2)}},
			Next:   "measure while nothing else uses the server: its figures and this run's are of different loads",
			spoils: true,
			says: func(f *facts) string {
				return "other clients use this server: it finished " +
					f.told("foreign") + " more requests than this run has"
			},
			brief: "other clients use the server",
		},
		{
			Name: "client", Title: "the client sent less load than requested", Certainty: Shown,
			Cases:  [][]Bound{{atLeast("client_limits", 1)}},
			Yields: []Bound{atLeast("client_slight", 1), atLeast("queue_share", queueLimit)},
			Next:   "aiperf checks says what to try; until then these figures say little about the server", beside: true,
			limited: true, checked: true,
			says: func(f *facts) string {
				for _, c := range clientChecks {
					if f.checks[c] != "" {
						return "the client sent less load than requested: " + f.checks[c]
					}
				}
				return ""
			},
			brief: "the client sent less load than requested",
		},
		{
			Name: "cache_changed", Title: "the prefix cache differed between trials", Certainty: Shown,
			Cases: [][]Bound{{atLeast("hit_spread", hitLimit)}},
			Next:  "reset the prefix cache before each run, or send prompts that share nothing", beside: true,
			spoils: true,
			says: func(f *facts) string {
				return "the prefix cache helped some trials more than others: the share of prompt tokens that it held differs by " +
					short(100*f.get("hit_spread")) + " points between them"
			},
			brief: "the prefix cache helped some trials more than others",
		},
		{
			Name: "drift", Title: "the server changed while it was measured",
			Certainty: Shown, Cases: [][]Bound{{atLeast("drift", 1)}},
			Next:   "look for other work on the server's machine, for its temperature and for autoscaling, then measure again",
			beside: true, checked: true,
			says: func(f *facts) string {
				return "the server changed while it was measured, with the load unchanged: " + f.checks["drift"]
			},
			brief: "the server changed while it was measured",
		},
		{
			Name: "kv_cache", Title: "the KV cache is full", Certainty: Likely, limited: true,
			Cases: [][]Bound{
				{atLeast("preempted", 0.01), atLeast("kv_most", 0.9)},
				{atLeast("kv_median", fullCache), queue[0], atLeast("waiting_median", 1)},
				{below("kv_room", 1), queue[0], atLeast("waiting_median", 1)},
			},
			Firm: []Bound{atLeast("preempted", 0.01), atLeast("kv_median", 0.9)},
			Next: "give the KV cache more memory (vLLM --gpu-memory-utilization, SGLang --mem-fraction-static) or a smaller type, shorten prompts and answers, or send fewer requests at once",
			says: func(f *facts) string {
				text := "the KV cache is full: " + f.told("kv_median") + " of it was in use for half of the time"
				if f.get("kv_median") < 0.9 {
					text = "the KV cache has no room for another request: up to " + f.told("kv_most") +
						" of it was in use"
				}
				if f.get("preempted") > 0 {
					text += ", and a request was preempted " + short(f.get("preempted")) + " times on average"
				}
				if v := f.get("queue_share"); v >= queueLimit {
					text += "; requests waited for " + f.told("queue_share") + " of their time"
				}
				return text
			},
			brief: "the KV cache is full", covers: []string{"admission", "queue"},
		},
		{
			Name: "admission", Title: "requests wait for a slot", Certainty: Likely, limited: true,
			Cases: [][]Bound{append(slices.Clone(queue), atLeast("waiting_median", 1), atLeast("running_flat", flat),
				atLeast("kv_room", 2))},
			Unless: []Bound{atLeast("preempted", 0.01)},
			Next:   "let the server run more at once (vLLM --max-num-seqs, SGLang --max-running-requests) and see whether throughput grows, or send fewer requests at once",
			says: func(f *facts) string {
				return fmt.Sprintf("requests wait for a slot: at most %s ran at once, %s waited on average, and requests spent %s of their time waiting",
					short(f.get("running_most")), short(f.get("waiting")), f.told("queue_share"))
			},
			brief:  "requests wait for a slot",
			figure: func(f *facts) string { return "at most " + short(f.get("running_most")) + " ran at once" }, covers: []string{"queue"},
		},
		{
			Name: "prefill", Title: "prompts take the server's time", Certainty: Likely, limited: true,
			Cases: [][]Bound{
				{atLeast("prefill_use", heavy), below("gain_next", grows)},
				{atLeast("prefill_use", heavy), below("gain_last", grows)},
			},
			Next: "shorten the prompts, or let them share prefixes; if half the prompt at the same load doubles throughput, this is shown",
			says: func(f *facts) string {
				return fmt.Sprintf("reading prompts takes about %s of one engine's time: %s requests/s × %s each (measured at concurrency 1)",
					f.told("prefill_use"), short(f.get("rate")), f.told("prompt_ms"))
			},
			brief:  "reading prompts takes most of one engine's time",
			figure: func(f *facts) string { return f.told("prefill_use") + " of it" }, covers: []string{"queue"},
		},
		{
			Name: "decode", Title: "making tokens takes the server's time", Certainty: Likely, limited: true,
			Cases: [][]Bound{
				{atLeast("decode_growth", 1.5), below("gain_next", grown), below("prefill_use", 0.3)},
				{atLeast("decode_growth", 1.5), below("gain_last", grown), below("prefill_use", 0.3)},
			},
			Unless: []Bound{atLeast("queue_share", queueLimit), atLeast("preempted", 0.01)},
			Next:   "look at the GPU: memory bandwidth in use (DRAM active) and power say which part of it is the limit",
			says: func(f *facts) string {
				return fmt.Sprintf("making tokens takes the server's time: a token takes %s, against %s at the lowest load; requests wait for %s of their time, and prompts take %s of the server's",
					f.told("itl_ms"), words.Millis(f.lowest.get("itl_ms")),
					f.told("queue_share"), f.told("prefill_use"))
			},
			brief:  "making tokens takes the server's time",
			figure: func(f *facts) string { return f.told("itl_ms") + " each" },
		},
		{
			Name: "power_capped", Title: "a power or heat limit holds clocks down", Certainty: Shown, limited: true,
			Cases: [][]Bound{{atLeast("gpu_capped", 0.1)}}, beside: true,
			Next: "raise the power limit (nvidia-smi -pl) or improve the cooling: gpu_power and the temperature in the table telemetry say which of the two it is",
			says: func(f *facts) string {
				return "a power or heat limit held a GPU's clocks down for " + f.told("gpu_capped") + " of the time"
			},
			brief:  "a power or heat limit holds a GPU's clocks down",
			figure: func(f *facts) string { return f.told("gpu_capped") + " of the time" },
		},
		{
			Name: "queue", Title: "requests wait; the cause is not known", Certainty: Shown, limited: true,
			Cases: [][]Bound{queue, {atLeast("queue_share", queueLimit), atLeast("waiting_median", 1)}},
			says: func(f *facts) string {
				if most := f.get("running_cap"); most > 0 {
					return fmt.Sprintf("requests spend %s of their time waiting to be among the %s that the server runs at once; whether its slots or its KV cache are the limit is not known",
						f.told("queue_share"), short(most))
				}
				return "requests wait in the server's queue for " + f.told("queue_share") +
					" of their time; what they wait for is not known"
			},
			brief:  "requests wait in the server's queue",
			figure: func(f *facts) string { return f.told("queue_share") + " of their time" },
			ask: func(f *facts) string {
				switch {
				case math.IsNaN(f.get("running_flat")):
					return needsLooks
				case math.IsNaN(f.get("kv_most")):
					return needsKV + ": slots and KV cache look alike without it"
				}
				if need := f.lacks("prompt_ms"); math.IsNaN(f.get("prompt_ms")) && need == needsOne {
					return need + ": it shows how much of the time prompts take"
				}
				return "let the server run more requests at once and measure again: if throughput grows, its slots are the limit"
			},
		},
		{
			Name: "not_bound", Title: "no limit: throughput grows with the load, or the server keeps up", Certainty: Likely,
			Cases: [][]Bound{{atLeast("gain", grows), below("queue_share", queueLimit)}, {
				atLeast("gain_next", grows),
				below("queue_share", queueLimit),
			}, {atLeast("kept_up", 1), below("queue_share", queueLimit)}},
			Unless: []Bound{atLeast("preempted", 0.01), atLeast("kv_most", fullCache)},
			says: func(f *facts) string {
				if f.get("kept_up") == 1 {
					return fmt.Sprintf("the server keeps up with %s requests/s, and requests wait for %s of their time",
						short(f.cell.Rate), f.told("queue_share"))
				}
				from, to := f.lower, f
				if !(f.get("gain") >= grows) {
					from, to = f, f.higher
				}
				text := fmt.Sprintf("throughput grows with the load: %s times the load gave %s times the throughput, and requests wait for %s of their time",
					short(to.cell.Load/from.cell.Load), short(to.get("rate")/from.get("rate")), f.told("queue_share"))
				if f.get("gain_next") < grows {
					text += "; the next higher load brings less"
				}
				return text
			},
			brief: "throughput grows with the load",
			ask: func(f *facts) string {
				switch next := f.get("gain_next"); {
				case next < grows:
					return needsBetween
				case next >= grows:
					return "look at the higher loads"
				}
				return needsHigher
			},
		},
		{
			Name: "front_end", Title: "time is spent outside the engine", Certainty: Shown, limited: true, beside: true,
			Cases: [][]Bound{{atLeast("outside_share", 0.2), atLeast("outside_ms", 1)}},
			Next:  "compare with a run on the server's own machine: if the time stays, it is the server's front end (tokenizer, HTTP, router, parsers of answers), else the network",
			says: func(f *facts) string {
				text := fmt.Sprintf("%s of the time to first token is spent outside the engine: the client waits %s, the engine reports %s",
					f.told("outside_share"), f.told("ttft_ms"), words.Millis(f.get("ttft_ms")-f.get("outside_ms")))
				if f.get("outside_growth") >= 2 {
					text += "; that time grows with the load, so it is not the distance alone"
				}
				return text
			},
			brief:  "part of the time to first token is spent outside the engine",
			figure: func(f *facts) string { return f.told("outside_share") + " of it" },
		},
		{
			Name: "overloaded", Title: "the server does not keep up; the cause is not known",
			Certainty: Shown, limited: true, checked: true,
			Cases: [][]Bound{{below("kept_up", 1)}},
			says: func(f *facts) string {
				return fmt.Sprintf("the server does not keep up: it answers %s of %s requests/s", short(f.get("rate")),
					short(f.cell.Rate))
			},
			brief: "the server does not keep up",
			ask:   (*facts).lacking,
		},
		{
			Name: "not_known", Title: "not known", Certainty: NotKnown, Cases: [][]Bound{{}},
			says: func(f *facts) string {
				if share := f.shares(); share != "" {
					return "what limits the server here is not known; " + share
				}
				return "what limits the server here is not known"
			},
			brief: "the limit is not known",
			ask:   (*facts).lacking,
		},
	}
}

// lacking is what to do first for a cell that no rule explains: the first fact that is
// not known.
func (f *facts) lacking() string {
	unknown := func(name string) bool { return math.IsNaN(f.get(name)) || math.IsInf(f.get(name), 0) }
	switch {
	case unknown("queue_share"):
		return needsPage
	case unknown("gain") && unknown("gain_next"):
		return needsLoads
	case f.get("gain_next") < grows && !(f.get("gain") < grows):
		return needsBetween
	}
	for _, name := range []string{"waiting_median", "prompt_ms", "outside_ms"} {
		if unknown(name) {
			return f.lacks(name)
		}
	}
	return "the server's GPU figures (power, clocks, memory bandwidth) and those of its host would say more"
}

// lacks says what would tell a fact that is not known: not what was measured already.
func (f *facts) lacks(name string) string {
	need := f.book.fact(name).Lacking
	switch {
	case need != needsOne:
	case !math.IsNaN(f.get("prompt_ms")):
		return needsOneByOne
	case f.lowest != nil && f.lowest != f && f.lowest.cell.flag == "concurrency" && f.lowest.cell.at == 1:
		return needsSameHits
	case f.cell.at == 1:
		return needsLoads
	}
	return need
}

// shares are where a request's time goes at the server, "" where it does not say so.
func (f *facts) shares() string {
	q, p, d := f.get("queue_ms"), f.get("prefill_ms"), f.get("decode_ms")
	all := q + p + d
	if !(all > 0) {
		return ""
	}
	return fmt.Sprintf("of a request's time at the server %s is waiting, %s reading the prompt and %s making tokens",
		percent(q/all), percent(p/all), percent(d/all))
}

// holds reports whether the rule holds of a cell.
func (r *Rule) holds(f *facts) bool {
	return r.met(f) != nil && !slices.ContainsFunc(r.Unless, func(b Bound) bool { return b.meets(f) })
}

// yields reports whether a limit of the server explains more than the rule does.
func (r *Rule) yields(f *facts) bool {
	return len(r.Yields) > 0 && !slices.ContainsFunc(r.Yields, func(b Bound) bool { return !b.meets(f) })
}

// met is the first case that is met, nil where none is.
func (r *Rule) met(f *facts) []Bound {
	for _, c := range r.Cases {
		if !slices.ContainsFunc(c, func(b Bound) bool { return !b.meets(f) }) {
			return c
		}
	}
	return nil
}

func (r *Rule) say(f *facts) string { return sentence(r.says(f)) }

func (r *Rule) certainty(f *facts) Certainty {
	if len(r.Firm) > 0 && !slices.ContainsFunc(r.Firm, func(b Bound) bool { return !b.meets(f) }) {
		return Shown
	}
	return r.Certainty
}

func (r *Rule) next(f *facts) string {
	if r.ask != nil {
		return r.ask(f)
	}
	return r.Next
}

// clues are the facts of the case that is met; of the rules for other limits those that
// hold as well, the facts that rule them out, and what would have to be known to do so.
func (r *Rule) clues(f *facts) (pro, contra, out, open []Clue) {
	pro, contra, out, open = []Clue{}, []Clue{}, []Clue{}, []Clue{}
	seen := map[string]bool{}
	add := func(to *[]Clue, name string) {
		if !seen[name] {
			seen[name] = true
			*to = append(*to, Clue{name, known(f.get(name)), f.book.fact(name).Unit, labels[name] + ": " + f.told(name)})
		}
	}
	for _, b := range slices.Concat(r.met(f), r.Firm) {
		if b.meets(f) {
			add(&pro, b.Fact)
		}
	}
	for i := range f.book.rules {
		o := &f.book.rules[i]
		if o.Name == r.Name || !o.limited || slices.Contains(r.covers, o.Name) || slices.Contains(o.covers, r.Name) &&
			o.holds(f) {
			continue
		}
		switch fails, missing := o.stand(f); {
		case o.holds(f):
			add(&contra, o.met(f)[0].Fact)
		case fails != "":
			add(&out, fails)
		case missing != "" && f.book.fact(missing).Lacking != "":
			add(&open, missing)
		}
	}
	return pro, contra, out, open
}

// stand is the fact that keeps a rule from holding, and the first that is not known: of
// its first case.
func (r *Rule) stand(f *facts) (fails, missing string) {
	for _, b := range r.Cases[0] {
		switch v := f.get(b.Fact); {
		case math.IsNaN(v):
			if missing == "" {
				missing = b.Fact
			}
		case !b.meets(f):
			return b.Fact, missing
		}
	}
	return "", missing
}
