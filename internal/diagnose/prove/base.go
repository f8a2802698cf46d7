package prove

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/internal/secret"
	"aiperf.dev/aiperf/sinks"
	"aiperf.dev/aiperf/sweep/decide"
)

// Base is a load that was measured, and is to be explained.
type Base struct {
	Benchmark json.RawMessage // of its cell, as the plan resolved it
	Type      string          // of the endpoint
	Users     float64         // requests in flight, on average
	ISL, OSL  float64         // tokens of a prompt and of an answer, means
	Latency   float64         // of a request, mean in ms
	Rate      float64         // requests that were answered each second
	Failed    float64         // share of the requests that were not
	Streams   bool            // the endpoint can stream its answers
	Made      bool            // Experiment made prompts of its own, of the same lengths
	Hidden    []string        // settings whose values are secret and not kept
}

// Read is the load of a cell of a result directory: the one with that index, or for −1 the
// one with most requests in flight.
func Read(dir string, cell int) (*Base, error) {
	lock, err := resultdir.ReadLock(dir)
	if err != nil {
		return nil, &diag.Error{Place: dir, Message: err.Error(), Hint: "name the directory of a result, such as results/latest", Cause: err}
	}
	if cell >= len(lock.Cells) || cell < -1 {
		return nil, diag.New(fmt.Sprintf("--cell: %s has the cells 0 to %d", dir, len(lock.Cells)-1), "")
	}
	figures, err := means(dir)
	if err != nil {
		hint := "the directory is damaged: run the experiment again"
		if errors.Is(err, fs.ErrNotExist) {
			hint = "it is made from Parquet tables: aiperf export " + dir + " writes them; a run that has not ended has none yet"
		}
		return nil, &diag.Error{Place: dir, Message: err.Error(), Hint: hint, Cause: err}
	}
	if cell < 0 {
		for i := range lock.Cells {
			most := figures[i][metrics.EffectiveConcurrency]
			if cell < 0 || most > figures[cell][metrics.EffectiveConcurrency] {
				cell = i
			}
		}
	}
	of := figures[cell]
	b := &Base{
		Benchmark: lock.Cells[cell].Benchmark, Users: of[metrics.EffectiveConcurrency],
		ISL:     of[metrics.InputSequenceLength],
		OSL:     of[metrics.OutputSequenceLength],
		Latency: of[metrics.RequestLatency],
		Rate:    of[metrics.RequestThroughput],
	}
	if failed := of[metrics.ErrorRequestCount]; failed > 0 {
		b.Failed = failed / (failed + of[metrics.RequestCount])
	}
	return b, b.check(dir)
}

// check refuses a load that no experiment can be made of.
func (b *Base) check(dir string) error {
	var said struct {
		Endpoint struct {
			Type string `json:"type"`
		} `json:"endpoint"`
		Phases []struct {
			Kind        string  `json:"kind"`
			Type        string  `json:"type"`
			Concurrency float64 `json:"concurrency"`
		} `json:"phases"`
	}
	var tree any
	if err := errors.Join(json.Unmarshal(b.Benchmark, &said), json.Unmarshal(b.Benchmark, &tree)); err != nil {
		return &diag.Error{Place: dir, Message: resultdir.LockName + ": " + err.Error(), Hint: "the directory is damaged: run the experiment again", Cause: err}
	}
	b.Type = said.Endpoint.Type
	for _, p := range said.Phases { // a closed loop holds its number but for its start and its end
		if p.Kind != "warmup" && p.Type == "concurrency" {
			b.Users = p.Concurrency
			break
		}
	}
	if tree, b.Hidden = shown(tree, "benchmark"); len(b.Hidden) > 0 {
		b.Benchmark, _ = json.Marshal(tree) // it was read from JSON
	}
	refuse := func(what, hint string) error { return &diag.Error{Place: dir, Message: what, Hint: hint} }
	switch {
	case !(b.Rate > 0) || !(b.Latency > 0):
		return refuse("no request of this cell was answered: there is nothing to explain", "aiperf report "+dir+" says what failed")
	case !(b.OSL >= 4):
		return refuse(fmt.Sprintf("answers have %.3g tokens: an experiment halves them", zero(b.OSL)), "measure an endpoint that makes tokens, with longer answers")
	case !(b.ISL >= 4):
		return refuse(fmt.Sprintf("prompts have %.3g tokens: an experiment halves them", zero(b.ISL)), "measure with longer prompts")
	case !(b.Users >= 3.5) && b.Failed > failedLimit:
		return refuse(fmt.Sprintf("%s of the requests failed, and fewer than four were in flight: no limit on those that are answered", percent(b.Failed)),
			"aiperf report "+dir+" says what failed: a limit on the rate answers 429, a full queue 503")
	case !(b.Users >= 3.5):
		return refuse("fewer than four requests were in flight: an experiment takes a quarter of them", "measure with more at once, as in --concurrency 8")
	}
	return nil
}

func zero(v float64) float64 {
	if math.IsNaN(v) {
		return 0
	}
	return v
}

// shown is a setting without the values that hold a secret, which a result directory does
// not keep, and the paths of those.
func shown(v any, path string) (rest any, hidden []string) {
	switch x := v.(type) {
	case object:
		for _, name := range slices.Sorted(maps.Keys(x)) {
			below, paths := shown(x[name], path+"."+name)
			if hidden = append(hidden, paths...); below == nil {
				delete(x, name)
			}
		}
		return x, hidden
	case []any:
		for _, item := range x {
			_, paths := shown(item, path)
			hidden = append(hidden, paths...)
		}
		if len(hidden) > 0 {
			return nil, hidden[:1]
		}
	case string:
		if secret.Masked(x) || strings.Contains(x, secret.Gap) {
			return nil, []string{path}
		}
	}
	return v, hidden
}

// means are the figures of each cell, over its trials, of the steady window where there is
// one.
func means(dir string) (map[int]map[string]float64, error) {
	wanted := []string{
		metrics.EffectiveConcurrency, metrics.InputSequenceLength, metrics.OutputSequenceLength, metrics.RequestLatency,
		metrics.RequestThroughput, metrics.RequestCount, metrics.ErrorRequestCount,
	}
	type place struct {
		cell        int
		tag, window string
	}
	sums, counts := map[place]float64{}, map[place]float64{}
	among := func(column string) bool {
		return slices.Contains([]string{"cell_index", "level", "span", "metric", "stat", "value"}, column)
	}
	_, err := sinks.EachTable(dir, "metrics", among, func(t *sinks.TableRows) error {
		for i := range t.N {
			tag, cell, v := t.Texts["metric"][i], t.Floats["cell_index"][i], t.Floats["value"][i]
			if t.Texts["level"][i] != "run" || t.Texts["stat"][i] != "avg" || !slices.Contains(wanted, tag) || math.IsNaN(v) {
				continue
			}
			at := place{int(cell), tag, t.Texts["span"][i]}
			sums[at] += v
			counts[at]++
		}
		return nil
	})
	out := map[int]map[string]float64{}
	for _, window := range []string{decide.Full, decide.Steady} { // the later one counts
		for at, n := range counts {
			if at.window != window {
				continue
			}
			if out[at.cell] == nil {
				out[at.cell] = map[string]float64{}
			}
			out[at.cell][at.tag] = sums[at] / n
		}
	}
	return out, err
}
