package report

import (
	"fmt"
	"time"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/loadgen"
	"aiperf.dev/aiperf/loadgen/mode"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
)

// forecast says how long a plan will still take, and only what is known within
// about a factor of two: what phases are bounded by, what runs of the same cell
// took before, and the pace of the run in progress once it has one.
type forecast struct {
	plan  *sweep.Plan
	took  map[*sweep.Cell][]time.Duration
	began time.Time // of the run in progress
}

// ended notes what a run took.
func (f *forecast) ended(run sweep.Run, now time.Time) {
	if f.took == nil {
		f.took = map[*sweep.Cell][]time.Duration{}
	}
	f.took[run.Cell] = append(f.took[run.Cell], now.Sub(f.began))
}

// text is "ETA 6m30s", "at least 5m00s left" where some of the rest is not
// known, "" where nothing is.
func (f *forecast) text(at Step, s *loadgen.Snapshot, now time.Time) string {
	rest, all := f.current(at.Run, s, now)
	for i := at.Index + 1; i < at.Total; i++ {
		if i >= len(f.plan.Runs) {
			all = false
			break
		}
		run := f.plan.Runs[i]
		took, known := f.expected(run)
		rest += took + f.plan.Cooldown(f.plan.Runs[i-1], run)
		all = all && known
	}
	switch {
	case all:
		return "ETA " + wholeSeconds(max(rest, 0))
	case rest >= time.Second:
		return "at least " + wholeSeconds(rest) + " left"
	}
	return ""
}

// wholeSeconds: nobody reads tenths of a guess.
func wholeSeconds(d time.Duration) string {
	if d = d.Round(time.Second); d < time.Minute {
		return fmt.Sprintf("%d s", d/time.Second)
	}
	return words.Span(d)
}

// current is the rest of the run in progress.
func (f *forecast) current(run sweep.Run, s *loadgen.Snapshot, now time.Time) (time.Duration, bool) {
	if took, ok := f.expected(run); ok && (s == nil || s.Warmup || len(f.took[run.Cell]) > 0) {
		return max(took-now.Sub(f.began), 0), true
	}
	if s == nil {
		return 0, false
	}
	left, ok := phaseLeft(*s)
	return left, ok && !s.Warmup && lastPhase(run, s.Phase)
}

// expected is what a run takes: as long as earlier runs of its cell, else the
// time its phases are bounded by.
func (f *forecast) expected(run sweep.Run) (total time.Duration, known bool) {
	if run.Cell == nil {
		return 0, false
	}
	if before := f.took[run.Cell]; len(before) > 0 {
		for _, d := range before {
			total += d
		}
		return total / time.Duration(len(before)), true
	}
	if run.Cell.Resolved == nil {
		return 0, false
	}
	known = true
	for i := range run.Cell.Resolved.Benchmark.Phases {
		p := &run.Cell.Resolved.Benchmark.Phases[i]
		if p.Kind == "warmup" && !run.Warmup {
			continue
		}
		took, ok := scheduled(p)
		total, known = total+took, known && ok
	}
	return total, known
}

// scheduled is the time a phase takes by its own settings; ok is false where the
// server's answers decide, and then it is the least.
func scheduled(p *schema.Phase) (took time.Duration, ok bool) {
	m, err := mode.Of(p)
	if err != nil {
		return 0, false
	}
	byTime := p.Duration != nil && p.Requests == 0 && p.Sessions == 0
	return m.Plan(p).AtLeast, byTime || !m.Closed && p.Sessions == 0 && m.Plan(p).AtLeast > 0
}

func lastPhase(run sweep.Run, name string) bool {
	if run.Cell == nil || run.Cell.Resolved == nil {
		return true
	}
	phases := run.Cell.Resolved.Benchmark.Phases
	return len(phases) == 0 || phases[len(phases)-1].Name == name
}

// fewAnswers are needed before a pace is told: the number of answers in a time
// varies by its square root, so from eight on the pace is within a factor of two
// in 19 of 20 cases.
const fewAnswers = 8

// phaseLeft is the rest of a phase: to its end by the clock, or by the pace of
// its answers, whichever comes first. A pace counts from the third round of
// answers on: the first is slow to come and the second still in step.
func phaseLeft(s loadgen.Snapshot) (left time.Duration, known bool) {
	if s.Ends != record.None {
		left, known = time.Duration(max(s.Ends-s.At, 0)), true
	}
	need := max(fewAnswers, 2*int64(s.Target))
	if s.Planned > 0 && s.Done >= min(need, max(s.Planned-1, 1)) && s.At > s.Start {
		each := float64(s.At-s.Start) / float64(s.Done)
		if pace := time.Duration(each * float64(max(s.Planned-s.Done, 0))); !known || pace < left {
			left, known = pace, true
		}
	}
	return left, known
}

// draining tells that a phase sends nothing more and only waits for answers.
func draining(s loadgen.Snapshot) bool {
	return s.Planned > 0 && s.Sent >= s.Planned || s.Ends != record.None && s.At >= s.Ends
}

// pace is what came back a second over the last seconds. Answers come in
// bursts; half a second of them says little.
type pace struct {
	at               []int64 // ns
	tokens, requests []float64
}

// paceWindow is how many snapshots the mean goes over: five seconds.
const paceWindow = 10

// add takes in a snapshot and gives the mean of the last ones, each weighted by
// the time it is about. While a phase drains, the pace says nothing about the
// load, and there is none.
func (p *pace) add(s *loadgen.Snapshot) {
	if draining(*s) {
		*p = pace{}
		s.OutputTokensPerSecond, s.RequestsPerSecond = 0, 0
		return
	}
	if len(p.at) == 0 {
		p.at = []int64{s.Start}
	}
	p.at, p.tokens, p.requests = append(p.at, s.At), append(p.tokens, s.OutputTokensPerSecond), append(p.requests, s.RequestsPerSecond)
	if n := len(p.tokens); n > paceWindow {
		p.at, p.tokens, p.requests = p.at[n-paceWindow:], p.tokens[n-paceWindow:], p.requests[n-paceWindow:]
	}
	s.OutputTokensPerSecond, s.RequestsPerSecond = p.mean(p.tokens), p.mean(p.requests)
}

func (p *pace) mean(rates []float64) float64 {
	sum, span := 0.0, 0.0
	for i, v := range rates {
		w := float64(p.at[i+1] - p.at[i])
		sum, span = sum+w*v, span+w
	}
	if span <= 0 {
		return rates[len(rates)-1]
	}
	return sum / span
}
