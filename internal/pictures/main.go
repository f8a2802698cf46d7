// Command pictures makes the pictures of the README: the quick start while it goes
// on, and the end and the report of an example that overloads its server, in
// virtual time, where they are the same on every machine.
//
//	go run ./internal/pictures        (or: make pictures)
//
// It needs a Chromium.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"aiperf.dev/aiperf/internal/browser"
	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/internal/sim"
	"aiperf.dev/aiperf/sinks/report/chart"
	report "aiperf.dev/aiperf/sinks/report/page"
)

const (
	width    = 1440 // of the browser's window
	folder   = "docs/pictures"
	capacity = "examples/experiments/slo-capacity.cue"
	example  = "examples/experiments/quickstart.cue"
	most     = 200 << 10 // bytes of a picture: everybody who opens the page loads them
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "pictures:", err)
		os.Exit(1)
	}
}

func run() error {
	work, err := os.MkdirTemp("", "pictures")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	said, dir, err := answered(work)
	if err != nil {
		return err
	}
	live, err := watched(work)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	head, charts, err := page(filepath.Join(dir, resultdir.ViewName))
	if err != nil {
		return err
	}
	for name, b := range map[string][]byte{
		"report.png": head, "charts.png": charts, "run.png": terminal(said),
		"live.png": terminal(live),
	} {
		if len(b) > most {
			return fmt.Errorf("%s has %d bytes, more than %d", name, len(b), most)
		}
		if err := os.WriteFile(filepath.Join(folder, name), b, 0o644); err != nil {
			return err
		}
		fmt.Println(filepath.Join(folder, name), len(b))
	}
	return nil
}

// answered carries the example out in virtual time, where no other work of
// this machine disturbs it: its words at the end, and its results.
func answered(work string) (said []byte, dir string, err error) {
	got, err := sim.RunFile(capacity, work)
	if err != nil {
		return nil, "", err
	}
	doc, err := report.OfDirs([]string{got.Dir}, chart.Expense{})
	if err != nil {
		return nil, "", err
	}
	if err := os.WriteFile(filepath.Join(got.Dir, resultdir.ViewName), doc, 0o644); err != nil {
		return nil, "", err
	}
	r := got.Report()
	r.Dir, r.View = "results/slo-capacity", resultdir.ViewName
	var b bytes.Buffer
	err = r.WriteConsole(&b)
	return b.Bytes(), got.Dir, err
}

// watched is what somebody sees who watches the quick start on this machine.
func watched(work string) (live []byte, err error) {
	exe, dir := filepath.Join(work, "aiperf"), filepath.Join(work, "quickstart")
	if out, err := exec.Command("go", "build", "-o", exe, "./cmd/aiperf").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, out)
	}
	cmd := exec.Command(exe, "run", example, "--artifact-dir", dir, "--ui", "none")
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for look := time.NewTicker(50 * time.Millisecond); ; {
		select {
		case err := <-ended:
			if live != nil { // a busy machine decides less, which the exit code tells
				return live, nil
			}
			return nil, errors.Join(errors.New("the plan was over before anybody could look"), err)
		case <-look.C:
			journal, _ := os.ReadFile(filepath.Join(dir, resultdir.JournalName))
			if bytes.Count(journal, []byte(`"event":"done"`)) > 25 && live == nil {
				live, _ = exec.Command(exe, "watch", dir, "--once").Output() // nil: it is asked again
				if bytes.Contains(live, []byte("p50 –")) || bytes.Contains(live, []byte("waits for")) {
					live = nil // between two runs, or at the end of one
				}
			}
		}
	}
}

// page is the head of a report in a browser, down to its table, and its first charts.
func page(file string) (head, charts []byte, err error) {
	b, err := browser.Start()
	if err != nil {
		return nil, nil, err
	}
	defer b.Close()
	path, err := filepath.Abs(file)
	if err != nil {
		return nil, nil, err
	}
	p, err := b.Open((&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String(),
		browser.View{Width: width, Height: 900})
	if err != nil {
		return nil, nil, err
	}
	var top float64
	if err := p.Eval(`document.getElementById("cells").getBoundingClientRect().top`, &top); err != nil {
		return nil, nil, err
	}
	if head, err = p.Picture(browser.Clip{Width: width, Height: top}); err != nil {
		return nil, nil, err
	}
	if err := p.Eval(`document.getElementById("charts").getBoundingClientRect().top`, &top); err != nil {
		return nil, nil, err
	}
	var bottom float64 // of the second row of charts
	if err := p.Eval(`[...document.querySelectorAll("#charts figure")].slice(0, 4).at(-1).getBoundingClientRect().bottom`, &bottom); err != nil {
		return nil, nil, err
	}
	charts, err = p.Picture(browser.Clip{Y: top, Width: width, Height: bottom + 16 - top})
	return head, charts, err
}
