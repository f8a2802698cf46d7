package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"aiperf.dev/aiperf/loadgen"
	"aiperf.dev/aiperf/runner"
	"aiperf.dev/aiperf/sweep"
)

// progress shows on stderr where a plan is: one line that is redrawn on a
// terminal, else a plain line when a run ends and every ten seconds.
type progress struct {
	mu    sync.Mutex
	w     io.Writer
	tty   bool
	plan  *sweep.Plan
	at    runner.Step
	began time.Time
	said  time.Time
	left  int // runs that were not done before

	failed string // what was last said about a failed run
}

func newProgress(w io.Writer, plan *sweep.Plan) *progress {
	f, ok := w.(*os.File)
	return &progress{w: w, tty: ok && term.IsTerminal(int(f.Fd())), plan: plan, began: time.Now(), said: time.Now()}
}

const plainEvery = 10 * time.Second

// step is told before and after each run.
func (p *progress) step(s runner.Step) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.at = s
	switch {
	case s.Skipped:
	case s.Err != nil:
		if text := s.Err.Error(); p.left > 0 && text != p.failed { // before a first success the end says it
			p.line("%s: failed: %v", p.place(), text)
			p.failed = text
		}
	case s.Report != nil:
		p.left++
	case !p.tty && time.Since(p.said) >= plainEvery:
		p.line("%s%s", p.place(), p.eta())
	}
}

// live is told twice a second while a run is going.
func (p *progress) live(s loadgen.Snapshot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.tty {
		if time.Since(p.said) >= plainEvery {
			p.line("%s%s · %s", p.place(), p.eta(), counts(s))
		}
		return
	}
	fmt.Fprintf(p.w, "\r\x1b[K%s %s · %s%s", bar(float64(p.at.Index)/float64(p.at.Total), 20), p.place(), counts(s), p.eta())
}

// draining says what the first interrupt does.
func (p *progress) draining() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.line("interrupted: waiting for the answers under way; once more stops at once")
}

// end leaves a clean line.
func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.tty {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}

func (p *progress) line(format string, args ...any) {
	if p.tty {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
	fmt.Fprintf(p.w, format+"\n", args...)
	p.said = time.Now()
}

// place is "cell 7/18 · trial 2/5 · isl=1024 concurrency=16".
func (p *progress) place() string {
	parts := []string{p.plan.Name}
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

// eta is the time the rest will take at the pace so far.
func (p *progress) eta() string {
	if p.left == 0 {
		return ""
	}
	each := time.Since(p.began) / time.Duration(p.left)
	return fmt.Sprintf(" · ETA %s", (each * time.Duration(p.at.Total-p.at.Index)).Round(time.Second))
}

func counts(s loadgen.Snapshot) string {
	sent := fmt.Sprint(s.Sent)
	if s.Planned > 0 {
		sent += fmt.Sprintf("/%d", s.Planned)
	}
	text := fmt.Sprintf("in flight %d  sent %s  errors %d", s.InFlight, sent, s.Failed)
	if !math.IsNaN(s.TTFTP50) {
		text += fmt.Sprintf("  TTFT p50 %.3g ms", s.TTFTP50)
	}
	return text
}

func bar(share float64, width int) string {
	n := int(math.Round(share * float64(width)))
	return strings.Repeat("█", n) + strings.Repeat("░", width-n)
}
