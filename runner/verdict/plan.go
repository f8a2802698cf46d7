package verdict

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/schema"
)

// PlanEvidence is what the trials of all cells say together.
type PlanEvidence struct {
	Trials   int // runs per cell asked for
	Cells    []CellEvidence
	Stamps   map[string][]Spot // runs by what their arrival stamps are: kernel, application
	Sentinel []Median          // of the latency in ms, in the order of its runs
}

// Spot is a run of a plan: the index of its cell, and its trial, or WholeCell.
type Spot struct{ Cell, Trial int }

// WholeCell stands for all trials of a cell.
const WholeCell = -1

// Median is one with its 95 % interval.
type Median struct{ Value, Low, High float64 }

// CellEvidence is one cell: the estimates of the metrics that its conclusions
// rest on, and what its trials gave.
type CellEvidence struct {
	Index     int // in the plan
	Label     string
	OK        int // trials that succeeded
	Estimates map[string]stats.Estimate
	Shifts    []float64 // HalfShift of each trial that has one
	Backlogs  []float64 // Backlog of each trial that has one
	// BacklogLimit is the largest of their limits.
	BacklogLimit float64
	Medians      []float64 // by trial, of the latency: it moves in open and in closed loops; NaN where a trial has none
}

// planCheck is a check over the whole plan.
type planCheck struct {
	ID      string
	Kind    Kind
	Unit    string
	Doc     string
	Limits  string
	Try     string
	Touches []string
	Of      Of
	Read    func(*PlanEvidence) []Reading
}

var planChecks = []planCheck{
	{
		ID: "runs", Limits: "noted below 3", Try: "multi_run: {num_runs: 6} (--num-profile-runs 6)",
		Kind: Precision, Unit: "runs", Doc: "successful trials per cell; an interval needs 3",
		Read: func(e *PlanEvidence) []Reading {
			if len(e.Cells) == 0 {
				return []Reading{{
					Value: 0, Warn: 3, Fail: 1, Below: true, Detail: "no run was measured",
					Try: "--resume measures what is missing",
				}}
			}
			if e.Trials < 2 && len(e.Cells) < 2 {
				return nil // one run claims no interval
			}
			fewest, at := math.Inf(1), ""
			for _, c := range e.Cells {
				if float64(c.OK) < fewest {
					fewest, at = float64(c.OK), c.Label
				}
			}
			if math.IsInf(fewest, 1) {
				return nil
			}
			return []Reading{{
				Value: fewest, Warn: 3, Fail: never, Below: true,
				Detail: fmt.Sprintf("cell %s has %s", at, words.Count(int(fewest), "good run")),
				So:     ", too few: an interval needs 3",
				Try:    "multi_run: {num_runs: 6} (--num-profile-runs 6)",
			}}
		},
	},
	{
		ID: "interval", Limits: "noted above 0.05",
		Try:  "more trials (multi_run.num_runs), longer runs, or a quieter machine",
		Kind: Precision, Unit: "ratio", Of: trials,
		Doc: "half the width of the interval over trials, as a share of the mean; the widest of the metrics that gates, SLOs or the ranking use",
		Read: func(e *PlanEvidence) []Reading {
			var out []Reading
			for _, c := range e.Cells {
				for key, est := range c.Estimates {
					if est.N < 3 || math.IsNaN(est.High) || est.Mean == 0 {
						continue
					}
					v := math.Abs((est.High - est.Low) / 2 / est.Mean)
					out = append(out, Reading{
						Value: v, Warn: 0.05, Fail: 0.2,
						Detail: fmt.Sprintf("%s at %s is known to ± %s", key, c.Label, words.Percent(v)),
						So:     " only",
						Try:    "more trials (multi_run.num_runs), longer runs, or a quieter machine",
					})
				}
			}
			return out
		},
	},
	{
		ID: "stamps", Limits: "DEGRADED above 0", Try: "measure the runs with the program's stamps again: --redo",
		Kind: Harm, Unit: "runs", Of: severalRuns, Touches: slices.Concat(firstToken, wholeAnswer, gaps),
		Doc:  "runs with this program's own arrival stamps, if other runs of the plan have the kernel's; the delay of such stamps is in their difference",
		Read: mixedStamps,
	},
	{
		ID: "drift", Limits: "DEGRADED above 0.03",
		Try:  "find what changed (clock speeds, other programs on the machine, the server's cache), then run again",
		Kind: Workload, Unit: "ratio", Of: trials, Touches: append(firstToken, wholeAnswer...),
		Doc: "change of the median latency from the first trial to the last, as a mean over cells: the server or the machine changed; 0 if chance explains it",
		Read: func(e *PlanEvidence) []Reading {
			var cells [][]float64
			for _, c := range e.Cells {
				cells = append(cells, c.Medians)
			}
			return drifted(stats.TrialDrift(cells))
		},
	},
	{
		ID: "sentinel", Limits: "DEGRADED above 0.03",
		Try:  "find what changed (clock speeds, other programs on the machine, the server's cache), then run again",
		Kind: Workload, Unit: "ratio", Of: sentinels, Touches: append(firstToken, wholeAnswer...),
		Doc:  "largest change of the median latency between runs of one workload at the start, in the middle and at the end of the plan; 0 if chance explains it",
		Read: sentinelMoved,
	},
	{
		ID: validity.Backlog, Limits: "DEGRADED above 0.095", Try: keepUpTry,
		Kind: Workload, Unit: "ratio", Touches: overloaded, Doc: "the same over the trials of a cell: the mean decides",
		Read: fallenBehind,
	},
	{
		ID: "warmup", Limits: "DEGRADED above 0.05",
		Try:  "a longer warmup phase (warmup: {requests: …}, --warmup-request-count)",
		Kind: Workload, Unit: "ratio", Of: trials, Touches: append(firstToken, wholeAnswer...),
		Doc:  "fall of the median latency from the first half of a run to the second, over the trials of a cell: the server was still warming up; 0 if chance explains it",
		Read: func(e *PlanEvidence) []Reading { return e.moved(-1) },
	},
	{
		ID: "stationary", Limits: "DEGRADED above 0.05",
		Try:  "see backlog; a longer warmup phase does not help where latency rises",
		Kind: Workload, Unit: "ratio", Of: trials, Touches: append(firstToken, wholeAnswer...),
		Doc:  "rise of the median latency from the first half of a run to the second, over the trials of a cell; backlog says whether the load is too high; 0 if chance explains it",
		Read: func(e *PlanEvidence) []Reading { return e.moved(1) },
	},
}

// movedLevel is the share of false findings that is allowed over the cells of a
// plan, and movedLeast what is worth a word, on the scale of logarithms.
const (
	movedLevel = 0.01
	movedLeast = 0.05
)

// moved tests h = ln(median of the second half / of the first) over the trials
// of each cell: Student's t, Benjamini and Hochberg over the cells. sign is the
// direction that counts.
func (e *PlanEvidence) moved(sign float64) []Reading {
	var shifts []stats.Difference
	var p []float64
	var cells []CellEvidence
	for _, c := range e.Cells {
		if len(c.Shifts) < 2 {
			continue
		}
		d := stats.OneSample(c.Shifts)
		t := math.Abs(d.Mean) / d.SE
		if !(d.SE > 0) {
			t = math.Inf(1)
		}
		shifts, cells, p = append(shifts, d), append(cells, c), append(p, 2*(1-stats.TCDF(t, d.DF)))
	}
	if len(p) == 0 {
		return nil
	}
	var out []Reading
	for i, q := range stats.BenjaminiHochberg(p) {
		h := sign * shifts[i].Mean
		if q > movedLevel || h <= movedLeast {
			continue
		}
		verb, try := "falls", "a longer warmup phase (warmup: {requests: …}, --warmup-request-count)"
		if sign > 0 {
			verb, try = "rises", "see backlog: in an open loop it says whether the queue grows; else something on the server fills up"
		}
		out = append(out, Reading{
			Value: h, Warn: movedLeast, Fail: never, Try: try, At: []Spot{{cells[i].Index, WholeCell}},
			Detail: fmt.Sprintf("the median latency of cell %s %s by %s from the first half of a run to the second (%d trials, p = %.2g)",
				cells[i].Label, verb, words.Percent(math.Abs(math.Expm1(shifts[i].Mean))), shifts[i].N, p[i]),
		})
	}
	if len(out) == 0 {
		out = []Reading{{
			Warn: movedLeast, Fail: never,
			Detail: "no cell's latency moves from the first half of its runs to the second by more than chance",
		}}
	}
	return out
}

// sentinelMoved compares the runs of the sentinel in pairs:
//
//	z = ln(b/a) / √(s_a² + s_b²),  s = ln(high/low) / (2·1.96) of each median
//
// Three pairs share the level of driftShown.
func sentinelMoved(e *PlanEvidence) []Reading {
	if len(e.Sentinel) < 2 {
		return nil
	}
	worst := Reading{
		Warn: 0.03, Fail: never,
		Try: "find what changed (clock speeds, other programs on the machine, the server's cache), then run again",
	}
	said := make([]string, 0, len(e.Sentinel))
	for _, m := range e.Sentinel {
		said = append(said, words.Millis(m.Value))
	}
	worst.Detail = "the sentinel's median latency moved by no more than chance: " + strings.Join(said, ", ")
	pairs := float64(len(e.Sentinel)*(len(e.Sentinel)-1)) / 2
	limit := stats.NormalQuantile(1 - driftShown/pairs/2)
	for i, a := range e.Sentinel {
		for _, b := range e.Sentinel[i+1:] {
			moved := math.Log(b.Value / a.Value)
			if z := math.Abs(moved) / math.Hypot(a.spread(), b.spread()); z > limit &&
				math.Abs(math.Expm1(moved)) > worst.Value {
				worst.Value = math.Abs(math.Expm1(moved))
				worst.Detail = fmt.Sprintf("the same work took a different time: the sentinel's median latency was %s (start, middle, end)",
					strings.Join(said, ", "))
			}
		}
	}
	return []Reading{worst}
}

// spread is the standard error of the logarithm.
func (m Median) spread() float64 { return math.Log(m.High/m.Low) / (2 * stats.NormalQuantile(0.975)) }

// driftShown: what chance does in one of a hundred plans is no drift.
const driftShown = 0.01

// drifted judges a change only where it is more than chance.
func drifted(d stats.Drift) []Reading {
	if math.IsNaN(d.Change) {
		return nil
	}
	v := math.Abs(d.Change)
	r := Reading{
		Value: v, Warn: 0.03, Fail: never,
		Detail: fmt.Sprintf("the median latency changed by %s from the first trials to the last (p = %.2g)",
			words.Percent(v), d.P),
		Try: "find what changed (clock speeds, other programs on the machine, the server's cache), then run again",
	}
	if d.P >= driftShown {
		r.Value, r.Detail = 0, fmt.Sprintf("no drift shown from the first trials to the last: %s, p = %.2g",
			words.Percent(v), d.P)
	}
	return []Reading{r}
}

// JudgePlan runs the catalogue of plan checks.
func JudgePlan(e *PlanEvidence, limits map[string]schema.Threshold) []Finding {
	var found []Finding
	for _, c := range planChecks {
		readings := c.Read(e)
		if len(readings) == 0 {
			continue
		}
		for i := range readings {
			override(&readings[i], limits[c.ID])
		}
		found = append(found, finding(Check{ID: c.ID, Kind: c.Kind, Unit: c.Unit, Touches: c.Touches}, readings))
	}
	return found
}

// TaintsAt are the numbers that findings over a plan touch in one of its runs.
func TaintsAt(found []Finding, run Spot) validity.Taints {
	var here []Finding
	for _, f := range found {
		for _, at := range f.places {
			if at.spots == nil || slices.Contains(at.spots, run) ||
				slices.Contains(at.spots, Spot{run.Cell, WholeCell}) {
				here = append(here, Finding{Check: f.Check, Taints: at.taints})
			}
		}
	}
	return Taints(here)
}

// mixedStamps compares how the runs of the plan were stamped. One kind is no doubt.
func mixedStamps(e *PlanEvidence) []Reading {
	own, kernel := e.Stamps["application"], e.Stamps["kernel"]
	if len(own) == 0 || len(kernel) == 0 {
		return nil
	}
	return []Reading{{
		Value: float64(len(own)), Warn: 0, Fail: never, At: own,
		Detail: fmt.Sprintf("arrival stamps are this program's in %s and the kernel's in %d",
			words.Count(len(own), "run"), len(kernel)),
		So:  ": latencies of these runs cannot be compared with the others",
		Try: "measure the runs with the program's stamps again: --redo",
	}}
}
