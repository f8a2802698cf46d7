package runner

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/internal/secret"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/loadgen"
	"aiperf.dev/aiperf/runner/verdict"
	"aiperf.dev/aiperf/sweep"
)

// stepLog is the plain log of a plan's steps. It belongs to the runner's
// goroutine; a nil one says nothing. Its first error is told when it closes.
type stepLog struct {
	files []*os.File
	hide  *secret.Masker
	err   error
}

// openLog appends to the log of a result directory.
func openLog(dir string, hide *secret.Masker) (*stepLog, error) {
	l := &stepLog{hide: hide}
	return l, l.also(dir)
}

// also writes to the log of another directory too.
func (l *stepLog) also(dir string) error {
	dir = filepath.Join(dir, resultdir.LogDir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(dir, resultdir.LogName), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	l.files = append(l.files, f)
	return nil
}

// without closes the last log that was added.
func (l *stepLog) without() {
	last := len(l.files) - 1
	l.err = errors.Join(l.err, l.files[last].Close())
	l.files = l.files[:last]
}

// say writes one line: time, level, what happened.
func (l *stepLog) say(level, format string, args ...any) {
	if l == nil {
		return
	}
	text := strings.Join(strings.Fields(l.hide.Text(words.Clean(fmt.Sprintf(format, args...)))), " ")
	line := fmt.Sprintf("%s %-7s %s\n", time.Now().Format("2006-01-02T15:04:05.000"), level, text)
	for _, f := range l.files {
		if _, err := f.WriteString(line); err != nil && l.err == nil {
			l.err = err
		}
	}
}

func (l *stepLog) close() error {
	if l == nil {
		return nil
	}
	for len(l.files) > 0 {
		l.without()
	}
	return l.err
}

// runStarts opens the run's own log, which is one of AIPerf's files, if it has a directory
// of its own.
func (r *runner) runStarts(run sweep.Run, attempt int) (done func(), err error) {
	done = func() {}
	if r.opt.AIPerf && filepath.Clean(run.Dir) != "." {
		if err := r.log.also(filepath.Join(r.dir.Path, run.Dir)); err != nil {
			return nil, err
		}
		done = r.log.without
	}
	r.log.say("INFO", "run %s (%s, trial %d, attempt %d, seed %d) begins", run.ID, run.Cell.Label, run.Trial+1, attempt,
		run.Seed)
	r.log.say("INFO", "AIPerf System is PROFILING") // who waits for it in AIPerf's log finds it in ours
	return done, nil
}

// runLogs are the parts of a plan's log that are about its runs, by their ids: what the
// runs' own logs say.
func runLogs(path string) (map[string][]byte, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	logs, run := map[string][]byte{}, ""
	for line := range bytes.Lines(b) {
		words := strings.Fields(string(line)) // time, level, text
		if len(words) < 4 {
			continue
		}
		if words[2] == "aiperf" { // a process began
			run = ""
		}
		if words[2] == "run" && strings.HasPrefix(words[4], "(") && words[len(words)-1] == "begins" {
			run = words[3]
		}
		if run == "" {
			continue
		}
		logs[run] = append(logs[run], line...)
		if words[2] == "run" && (words[3] == run && words[4] == "is" || words[3] == run+":") {
			run = ""
		}
	}
	return logs, nil
}

// runEnded says what a run did.
func (r *runner) runEnded(rep *RunReport) {
	for _, p := range rep.Phases {
		r.log.say("INFO", "phase %s: %.3f s, %d requests sent, %d ok, %d failed, %d cut, %d cancelled, %d unsent; ended by %s",
			p.Name, float64(p.End-p.Start)/1e9, p.Issued, p.OK, p.Failed, p.Cut, p.Cancelled, p.Unsent, p.Stop)
	}
	for _, e := range rep.Errors {
		r.log.say("ERROR", "%d× %s: %s", e.Count, e.Kind, e.Message)
	}
	for _, w := range rep.Warnings {
		r.log.say("WARNING", "%s", w)
	}
	for _, f := range rep.Findings {
		if f.Verdict != verdict.Valid {
			r.log.say("WARNING", "%s", f.Line())
		}
	}
	switch {
	case strings.HasPrefix(rep.Cancelled, loadgen.ThresholdExceeded): // AIPerf's words, for who looks for them
		r.log.say("ERROR", "Run aborted (failed_request_threshold): %s", rep.Cancelled)
	case rep.Cancelled != "":
		r.log.say("WARNING", "the run ended early: %s", rep.Cancelled)
	}
	r.log.say("INFO", "run %s is %s", rep.Run, rep.Verdict)
}
