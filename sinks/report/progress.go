package report

import (
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"time"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/loadgen"
	"aiperf.dev/aiperf/sinks/report/forecast"
	"aiperf.dev/aiperf/sweep"
)

// Step is where a plan is, before a run (not Done and no Err) or after it.
type Step struct {
	Run     sweep.Run
	Index   int    // of the run in the order of execution
	Total   int    // 0 where nobody can know
	Why     string // a search made the run
	Stand   string // what the search knew before it
	Skipped bool   // measured before, by an earlier process
	Done    bool   // measured just now
	Err     error
}

// Progress shows where a plan is: three lines that are drawn again on a
// terminal, else a plain line every ten seconds.
type Progress struct {
	mu     sync.Mutex
	w      io.Writer
	screen *screen // nil without a terminal
	now    func() time.Time
	plan   *sweep.Plan
	at     Step
	said   time.Time
	done   int // runs that this process measured

	failed string // what was last said about a failed run

	forecast  *forecast.Forecast
	pace      forecast.Pace
	ttft, itl spark
}

// NewProgress shows the progress of plan on w.
func NewProgress(w io.Writer, plan *sweep.Plan) *Progress {
	return &Progress{
		w: w, screen: newScreen(w), now: time.Now, plan: plan,
		said: time.Now(), forecast: forecast.New(forecast.Of(plan)),
	}
}

const plainEvery = 10 * time.Second

// Step is told before and after each run.
func (p *Progress) Step(s Step) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.at = s
	p.ttft, p.itl, p.pace = spark{}, spark{}, forecast.Pace{}
	switch {
	case s.Skipped:
	case s.Err != nil:
		if text := diag.Line(s.Err); p.done > 0 && text != p.failed { // before a first success the end says it
			p.line("%s: failed: %v", p.place(), text)
			p.failed = text
		}
	case s.Done:
		p.done++
		p.forecast.End(s.Index, p.now())
	default:
		p.forecast.Begin(p.now())
		if p.screen == nil && p.now().Sub(p.said) >= plainEvery {
			p.line("%s", joined(" · ", []string{p.place(), p.at.Stand, p.forecast.Text(p.at.Index, nil, p.now())}))
		}
	}
}

// Live is told twice a second while a run is going.
func (p *Progress) Live(s loadgen.Snapshot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ttft.add(s.TTFTP50)
	p.itl.add(s.ITLP50)
	p.pace.Smooth(&s)
	if p.screen != nil {
		p.screen.draw(p.region(s))
		return
	}
	if p.now().Sub(p.said) >= plainEvery {
		parts := []string{
			p.place(), p.at.Stand, p.forecast.Text(p.at.Index, &s, p.now()), counts(s),
			spans(s, nil, nil), waits(s),
		}
		p.line("%s", joined(" · ", parts))
	}
}

// Draining says what the first interrupt does.
func (p *Progress) Draining() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.line("interrupted: waiting for requests in flight; interrupt again to stop at once")
}

// End leaves a clean screen.
func (p *Progress) End() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.screen != nil {
		p.screen.clear()
	}
}

func (p *Progress) line(format string, args ...any) {
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
func (p *Progress) region(s loadgen.Snapshot) []string {
	in := share(s)
	done := in
	if p.at.Total > 0 {
		done = (float64(p.at.Index) + in) / float64(p.at.Total)
	}
	second := "  " + joined("   ", []string{counts(s), waits(s)})
	room := p.screen.width() - 1 - words.Width(second)
	second = words.Bar(done, min(max(room, shortestBar), longestBar)) + second
	third := spans(s, &p.ttft, &p.itl)
	for n := sparks - 1; n >= 0 && words.Width(third) >= p.screen.width(); n-- { // numbers before pictures
		ttft, itl := p.ttft.latest(n), p.itl.latest(n)
		third = spans(s, &ttft, &itl)
	}
	right := p.forecast.Text(p.at.Index, &s, p.now())
	if p.at.Stand != "" {
		right = p.at.Stand
	}
	return []string{p.spread(p.place(), right), second, third}
}

// spread puts left and right at the ends of a line.
func (p *Progress) spread(left, right string) string {
	room := p.screen.width() - 1 - words.Width(left) - words.Width(right)
	if right == "" || room < 2 {
		return joined("  ", []string{left, right})
	}
	return left + strings.Repeat(" ", room) + right
}

// place is "cell 7/18 · trial 2/5 · isl 1024, concurrency 16", of a search "probe 9 ·
// concurrency 32: the middle of 16 and 64".
func (p *Progress) place() string {
	parts := []string{p.plan.Name}
	if p.at.Run.Cell == nil {
		return p.plan.Name
	}
	if p.at.Stand != "" {
		return strings.Join(append(parts, fmt.Sprintf("probe %d", p.at.Index+1), p.at.Run.Cell.Short()+": "+p.at.Why),
			" · ")
	}
	if n := len(p.plan.Cells); n > 1 {
		parts = append(parts, fmt.Sprintf("cell %d/%d", p.at.Run.Cell.Index+1, n))
	}
	if place := p.at.Run.Place(p.plan.Trials); place != "" {
		parts = append(parts, place)
	}
	if len(p.at.Run.Cell.Point) > 0 {
		parts = append(parts, p.at.Run.Cell.Short())
	}
	return strings.Join(parts, " · ")
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
		text += fmt.Sprintf("   lag p99 %s ms", words.Number(s.LagP99))
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
		text := fmt.Sprintf("%s p50 %s p99 %s ms", name, words.Number(p50), words.Number(p99))
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
			parts = append(parts, words.Short(s.RequestsPerSecond)+" req/s")
		}
	}
	if s.OutputTokensPerSecond > 0 {
		parts = append(parts, words.Short(s.OutputTokensPerSecond)+" tok/s")
	}
	return strings.Join(parts, "   ")
}

func waits(s loadgen.Snapshot) string { return prefixed("waits ", s.Waiting) }

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
