package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"aiperf.dev/aiperf/internal/atomicfile"
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/sweep"
)

// A plan above noticeable of what this machine can do is tried beforehand.
// Where nothing is known of the machine, a core is taken for a slow one, which
// does so many requests or chunks a second.
const (
	noticeable     = 0.2
	slowRequests   = 20_000
	slowChunks     = 100_000
	preflight      = 200 * time.Millisecond
	longestTrialed = 15 // tokens of a stream in a trial of this length
)

// headrooms is capacity ÷ planned for each cell whose load is noticeable. A
// trial is done once for each shape. A cell beyond what the machine can do
// stops the plan, unless allowed.
func headrooms(ctx context.Context, plan *sweep.Plan, opt Options) (map[string]float64, error) {
	out := map[string]float64{}
	trials := map[TrialShape]Trial{}
	last := LastCalibration(opt.Version)
	for _, c := range plan.Cells {
		l := Planned(&c.Resolved.Benchmark)
		if opt.Exe == "" || !demanding(l, last) {
			continue
		}
		s := l.shape()
		t, ok := trials[s]
		if !ok {
			var err error
			if t, err = Try(ctx, opt.Exe, s); ctx.Err() != nil {
				return out, nil // interrupted: the plan will say so
			} else if err != nil {
				return nil, fmt.Errorf("headroom: %w", err)
			}
			trials[s] = t
		}
		here := t.ratio(l, runtime.GOMAXPROCS(0))
		out[c.ID] = here * float64(max(1, opt.Machines))
		if out[c.ID] < 1 && !opt.AllowInvalid {
			return nil, tooMuch(c, l, here, opt.Machines)
		}
	}
	return out, nil
}

// tooMuch refuses a cell whose load is more than machines like this one can drive, of which
// each drives ratio times the load.
func tooMuch(c *sweep.Cell, l Load, ratio float64, machines int) error {
	who, all := "this machine", ratio
	if machines > 1 {
		who, all = fmt.Sprintf("%d machines like this one", machines), ratio*float64(machines)
	}
	return &diag.Error{
		Message: fmt.Sprintf("cell %s: %s can drive %.2g times the %s planned", c.Short(), who, all, l),
		Hint: fmt.Sprintf("use less load, a machine with more cores, or %d machines like this one (--workers %[1]d --listen ADDR "+
			"--token-file FILE); --allow-invalid runs it anyway", enough(ratio)),
	}
}

// enough is how many machines drive a load, of which one drives ratio times as much, with a
// quarter to spare.
func enough(ratio float64) int { return int(math.Ceil(1.25 / ratio)) }

// demanding reports whether l needs a look before it is sent.
func demanding(l Load, last *Calibration) bool {
	if last != nil {
		return last.Ratio(l) < 1/noticeable
	}
	return l.Requests/slowRequests+l.Chunks/slowChunks > noticeable*float64(runtime.GOMAXPROCS(0))
}

// shape is a trial like l.
func (l Load) shape() TrialShape {
	s := ShortAnswers()
	if l.stream {
		s = Streams()
		s.OSL = min(l.osl, longestTrialed)
	}
	s.ISL, s.Span = l.isl, preflight
	return s
}

// ratio is capacity ÷ planned by a trial of l's shape: CPU available ÷ CPU that
// the planned requests, or chunks, need.
func (t Trial) ratio(l Load, cores int) float64 {
	requests, chunks := t.PerCPU()
	if l.stream && chunks > 0 {
		return float64(cores) * chunks / l.Chunks
	}
	return float64(cores) * requests / l.Requests
}

func (l Load) String() string {
	if l.stream {
		return fmt.Sprintf("%.0f requests/s and %.0f chunks/s", l.Requests, l.Chunks)
	}
	return fmt.Sprintf("%.0f requests/s", l.Requests)
}

// Busiest is the largest load that a cell of plan plans, by c's measure, and
// capacity ÷ planned for it; ok is false where no schedule says how much is
// sent.
func (c *Calibration) Busiest(plan *sweep.Plan) (l Load, ratio float64, ok bool) {
	ratio = math.Inf(1)
	for _, cell := range plan.Cells {
		planned := Planned(&cell.Resolved.Benchmark)
		if r := c.Ratio(planned); r < ratio {
			l, ratio, ok = planned, r, true
		}
	}
	return l, ratio, ok
}

// calibrationFile is where the last calibration of this user is kept.
func calibrationFile() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "aiperf", "calibration.json"), nil
}

// Keep stores c for later runs on this host. A cache that cannot be written is
// no failure of the calibration; the caller says so.
func (c *Calibration) Keep() (path string, err error) {
	if path, err = calibrationFile(); err != nil {
		return "", err
	}
	b, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return path, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return path, err
	}
	return path, atomicfile.Write(path, append(b, '\n'))
}

// oldest is how long a calibration is believed.
const oldest = 30 * 24 * time.Hour

// LastCalibration is the one kept for this version on as many cores; nil if
// there is none.
func LastCalibration(version string) *Calibration {
	path, err := calibrationFile()
	if err != nil {
		return nil
	}
	var c Calibration
	if resultdir.ReadJSON(path, &c) != nil || c.valid() != nil || c.Version != version ||
		c.Cores != runtime.GOMAXPROCS(0) || time.Since(c.When) > oldest {
		return nil
	}
	return &c
}

// valid tells why c cannot be used: a file may hold anything.
func (c *Calibration) valid() error {
	requests, _ := c.Short.PerCPU()
	_, chunks := c.Streams.PerCPU()
	if !(requests > 0) || !(chunks > 0) || math.IsInf(requests+chunks, 1) {
		return errors.New("not a calibration")
	}
	return nil
}
