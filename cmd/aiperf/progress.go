package main

import (
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen"
	"aiperf.dev/aiperf/runner"
	"aiperf.dev/aiperf/sweep"
)

// progress shows on stderr where a plan is: three lines that are drawn again on
// a terminal, else a plain line every ten seconds.
type progress struct {
	mu     sync.Mutex
	w      io.Writer
	screen *screen // nil without a terminal
	now    func() time.Time
	plan   *sweep.Plan
	at     runner.Step
	began  time.Time
	said   time.Time
	left   int // runs that were not done before

	failed string // what was last said about a failed run

	ttft, itl spark
}

func newProgress(w io.Writer, plan *sweep.Plan) *progress {
	return &progress{w: w, screen: newScreen(w), now: time.Now, plan: plan, began: time.Now(), said: time.Now()}
}

const plainEvery = 10 * time.Second

// step is told before and after each run.
func (p *progress) step(s runner.Step) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.at = s
	p.ttft, p.itl = spark{}, spark{}
	switch {
	case s.Skipped:
	case s.Err != nil:
		if text := s.Err.Error(); p.left > 0 && text != p.failed { // before a first success the end says it
			p.line("%s: failed: %v", p.place(), text)
			p.failed = text
		}
	case s.Report != nil:
		p.left++
	case p.screen == nil && p.now().Sub(p.said) >= plainEvery:
		p.line("%s%s", p.place(), prefixed(" · ", p.eta(0)))
	}
}

// live is told twice a second while a run is going.
func (p *progress) live(s loadgen.Snapshot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ttft.add(s.TTFTP50)
	p.itl.add(s.ITLP50)
	if p.screen != nil {
		p.screen.draw(p.region(s))
		return
	}
	if p.now().Sub(p.said) >= plainEvery {
		parts := []string{p.place(), p.eta(share(s)), counts(s), spans(s, nil, nil), waits(s)}
		p.line("%s", joined(" · ", parts))
	}
}

// draining says what the first interrupt does.
func (p *progress) draining() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.line("interrupted: waiting for the answers under way; once more stops at once")
}

// end leaves a clean screen.
func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.screen != nil {
		p.screen.clear()
	}
}

func (p *progress) line(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if p.screen != nil {
		p.screen.say(text)
	} else {
		fmt.Fprintln(p.w, text)
	}
	p.said = p.now()
}

// The bar takes what its line leaves, between these widths.
const (
	shortestBar = 8
	longestBar  = 30
)

// region is the three lines: where the plan is, what is sent, what comes back.
func (p *progress) region(s loadgen.Snapshot) []string {
	in := share(s)
	done := (float64(p.at.Index) + in) / float64(max(p.at.Total, 1))
	second := "  " + joined("   ", []string{counts(s), waits(s)})
	room := p.screen.width() - 1 - utf8.RuneCountInString(second)
	second = bar(done, min(max(room, shortestBar), longestBar)) + second
	third := spans(s, &p.ttft, &p.itl)
	for n := sparks - 1; n >= 0 && utf8.RuneCountInString(third) >= p.screen.width(); n-- { // numbers before pictures
		ttft, itl := p.ttft.latest(n), p.itl.latest(n)
		third = spans(s, &ttft, &itl)
	}
	return []string{p.spread(p.place(), p.eta(in)), second, third}
}

// spread puts left and right at the ends of a line.
func (p *progress) spread(left, right string) string {
	room := p.screen.width() - 1 - utf8.RuneCountInString(left) - utf8.RuneCountInString(right)
	if right == "" || room < 2 {
		return joined("  ", []string{left, right})
	}
	return left + strings.Repeat(" ", room) + right
}

// place is "cell 7/18 · trial 2/5 · isl=1024 concurrency=16".
func (p *progress) place() string {
	parts := []string{p.plan.Name}
	if p.at.Run.Cell == nil {
		return p.plan.Name
	}
	if n := len(p.plan.Cells); n > 1 {
		parts = append(parts, fmt.Sprintf("cell %d/%d", p.at.Run.Cell.Index+1, n))
	}
	if p.plan.Trials > 1 {
		parts = append(parts, fmt.Sprintf("trial %d/%d", p.at.Run.Trial+1, p.plan.Trials))
	}
	var point []string
	for _, v := range p.at.Run.Cell.Point {
		point = append(point, v.Axis+"="+v.Label)
	}
	if len(point) > 0 {
		parts = append(parts, strings.Join(point, " "))
	}
	return strings.Join(parts, " · ")
}

// eta is the time the rest will take at the pace so far; in is the part of the
// current run that is over. Nothing is said before a twentieth of a run.
func (p *progress) eta(in float64) string {
	over := float64(p.left) + in
	if over < 0.05 {
		return ""
	}
	each := float64(p.now().Sub(p.began)) / over
	rest := time.Duration(each * (float64(p.at.Total-p.at.Index) - in))
	return "ETA " + max(rest, 0).Round(time.Second).String()
}

// share is the part of its phase that a run has behind it.
func share(s loadgen.Snapshot) float64 {
	part := 0.0
	if s.Planned > 0 {
		part = float64(s.Done) / float64(s.Planned)
	}
	if s.Ends != record.None && s.Ends > s.Start {
		part = max(part, float64(s.At-s.Start)/float64(s.Ends-s.Start))
	}
	return min(max(part, 0), 1)
}

// counts is "in flight 16/16   sent 812/1600   errors 0   lag p99 0.08 ms".
func counts(s loadgen.Snapshot) string {
	flight, sent := fmt.Sprint(s.InFlight), fmt.Sprint(s.Sent)
	if s.Target > 0 {
		flight += fmt.Sprintf("/%d", s.Target)
	}
	if s.Planned > 0 {
		sent += fmt.Sprintf("/%d", s.Planned)
	}
	text := fmt.Sprintf("in flight %s   sent %s   errors %d", flight, sent, s.Failed)
	if s.Warmup {
		text = s.Phase + ": " + text
	}
	if !math.IsNaN(s.LagP99) {
		text += fmt.Sprintf("   lag p99 %s ms", digits(s.LagP99))
	}
	return text
}

// spans is what comes back: "TTFT p50 41.2 p99 63.0 ms ▁▂▂   ITL …   3.1 k tok/s".
func spans(s loadgen.Snapshot, ttft, itl *spark) string {
	var parts []string
	add := func(name string, p50, p99 float64, small *spark) {
		if math.IsNaN(p50) || math.IsNaN(p99) {
			return
		}
		text := fmt.Sprintf("%s p50 %s p99 %s ms", name, digits(p50), digits(p99))
		if small != nil {
			text += prefixed(" ", small.String())
		}
		parts = append(parts, text)
	}
	add("TTFT", s.TTFTP50, s.TTFTP99, ttft)
	add("ITL", s.ITLP50, s.ITLP99, itl)
	if len(parts) == 0 {
		add("latency", s.LatencyP50, s.LatencyP99, nil)
		if s.RequestsPerSecond > 0 {
			parts = append(parts, thousands(s.RequestsPerSecond)+" req/s")
		}
	}
	if s.OutputTokensPerSecond > 0 {
		parts = append(parts, thousands(s.OutputTokensPerSecond)+" tok/s")
	}
	return strings.Join(parts, "   ")
}

func waits(s loadgen.Snapshot) string { return prefixed("waits ", s.Waiting) }

// digits is three significant digits.
func digits(v float64) string {
	switch {
	case v >= 99.95:
		return fmt.Sprintf("%.0f", v)
	case v >= 9.995:
		return fmt.Sprintf("%.1f", v)
	case v >= 0.9995:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

// thousands is 3.1 k for 3,104.
func thousands(v float64) string {
	switch {
	case v >= 999_500:
		return fmt.Sprintf("%.3g M", v/1e6)
	case v >= 1000:
		return fmt.Sprintf("%.2g k", v/1e3)
	}
	return digits(v)
}

// prefixed is text with a prefix, nothing for nothing.
func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

// joined joins the parts that say something.
func joined(separator string, parts []string) string {
	var said []string
	for _, p := range parts {
		if p != "" {
			said = append(said, p)
		}
	}
	return strings.Join(said, separator)
}

func bar(share float64, width int) string {
	n := int(math.Round(min(max(share, 0), 1) * float64(width)))
	return strings.Repeat("█", n) + strings.Repeat("░", width-n)
}
