package chart

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sinks/importer"
)

// readForeign makes cells of the runs that another program's directory holds, and
// requests of its lines. The first token and the last lie where the latencies say.
// There are no checks. Beside results of other programs figures that do not mean the same
// are left out.
func (d *Data) readForeign(dir, name string, several, mixed bool, read func(dir string) ([]importer.Run, error)) error {
	runs, err := read(dir)
	if err != nil {
		return err
	}
	d.Name = joined(d.Name, name)
	at := map[string]*Cell{}
	single := map[run]importer.Run{}
	told, before := 0, d.Requests.Total
	for _, r := range runs {
		if r.Version != "" {
			d.Version = joined(d.Version, r.Version)
		}
		if mixed {
			r.LeaveOutUnlike()
		}
		c := at[r.Label]
		if c == nil {
			c = &Cell{
				ID: r.Label, Dir: dir, Index: len(d.Cells), Values: valuesOf(r.Label),
				stats: map[key]Stat{}, trials: map[key]map[int]Stat{},
			}
			if several {
				c.Values["result"] = Value{math.NaN(), name}
			}
			at[r.Label] = c
			d.Cells = append(d.Cells, c)
		}
		if r.Err != "" {
			c.Reason = r.Err
			if r.Each == nil {
				continue
			}
		}
		c.Trials++
		told += int(r.Sent())
		if r.Each != nil {
			single[run{c, r.Trial}] = r
		}
		c.add(r.Stats, r.Trial)
	}
	for _, c := range at {
		c.estimate()
	}
	if d.Requests.starts == nil {
		d.Requests.starts, d.Requests.SteadyFrom, d.Requests.SteadyTo = map[run]float64{}, map[run]float64{},
			map[run]float64{}
	}
	for _, c := range d.Cells {
		for trial := range c.Trials {
			if r, ok := single[run{c, trial}]; ok {
				if err := r.Each(func(x *importer.Request) error { d.add(x, c, trial); return nil }); err != nil {
					return err
				}
			}
		}
	}
	if lines := d.Requests.Total - before; lines < told { // its level of export, or a copy without them
		d.Requests.Total = before + told
		d.Requests.Note = cmp.Or(d.Requests.Note, "single requests: those of "+resultdir.RecordsName)
	}
	d.Requests.sinceStart()
	clear(d.Requests.starts)
	return nil
}

// setAt is one name and number in the name of a sweep's directory.
var setAt = regexp.MustCompile(`^([a-z][a-z_]*)_([0-9]+(?:\.[0-9]+)?)$`)

// valuesOf reads a cell's settings out of its label: concurrency_4__isl_128. What
// cannot be read is the cell's name.
func valuesOf(label string) map[string]Value {
	out := map[string]Value{}
	for _, text := range strings.FieldsFunc(strings.ReplaceAll(label, "__", ","),
		func(r rune) bool { return r == ',' || r == ' ' }) {
		m := setAt.FindStringSubmatch(text)
		if m == nil {
			return map[string]Value{"cell": {math.NaN(), label}}
		}
		n, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			return map[string]Value{"cell": {math.NaN(), label}}
		}
		out[m[1]] = Value{Number: n}
	}
	return out
}

// add takes the statistics of one trial in.
func (c *Cell) add(all []metrics.Stat, trial int) {
	for _, st := range all {
		for _, name := range metrics.StatNames() {
			v := st.Value(name)
			if math.IsNaN(v) || st.Scalar && name != "avg" {
				continue
			}
			k := key{full, st.Tag, name}
			if c.trials[k] == nil {
				c.trials[k] = map[int]Stat{}
			}
			c.trials[k][trial] = Stat{
				Value: v, Low: math.NaN(), High: math.NaN(), N: float64(st.Count),
				Unsupported: tooFew(name, float64(st.Count)), Unit: st.Unit,
			}
		}
	}
}

// beyondFloor is how many samples must lie beyond a percentile for it to be more
// than the luck of the largest.
const beyondFloor = 10

func tooFew(stat string, n float64) bool {
	q, err := strconv.ParseFloat(strings.TrimPrefix(stat, "p"), 64)
	if !strings.HasPrefix(stat, "p") || err != nil || n <= 0 {
		return false
	}
	if q > 100 { // p999
		q /= 10
	}
	return n*min(q, 100-q)/100 < beyondFloor && q != 50
}

// estimate brings the trials of each figure together: their mean, and its
// interval where there are enough.
func (c *Cell) estimate() {
	for k, trials := range c.trials {
		if len(trials) < 2 {
			continue
		}
		var values []float64
		out := Stat{}
		for _, s := range trials {
			values = append(values, s.Value)
			out.Unit, out.Unsupported = s.Unit, out.Unsupported || s.Unsupported
		}
		e := stats.Signed(values, 0.95)
		out.Value, out.Low, out.High, out.N = e.Mean, e.Low, e.High, float64(len(values))
		c.stats[k] = out
	}
}

// add takes one request in, as long as there is room.
func (d *Data) add(x *importer.Request, c *Cell, trial int) {
	r := d.Requests
	if r.Total++; len(r.Cell) >= keptMost {
		r.Note = fmt.Sprintf("single requests: the first %s", words.Whole(keptMost))
		return
	}
	if x.Status == "error" {
		d.Failures = append(d.Failures, Failure{c, x.ErrorKind, x.ErrorMessage})
	}
	if math.IsNaN(x.Intended) { // a client that does not say when it was due
		x.Intended = x.Sent
	}
	r.addOne(x, c, trial)
}

// addOne appends one request.
func (r *Requests) addOne(x *importer.Request, c *Cell, trial int) {
	r.Cell, r.Trial = append(r.Cell, c), append(r.Trial, trial)
	none := math.NaN()
	for _, v := range []struct {
		to *[]float64
		v  float64
	}{
		{&r.Intended, x.Intended},
		{&r.Sent, x.Sent},
		{&r.First, x.Sent + 1e6*x.TTFT},
		{&r.Last, x.Sent + 1e6*x.Latency},
		{&r.End, x.End},
		{&r.TTFT, x.TTFT},
		{&r.ITL, x.ITL},
		{&r.Latency, x.Latency},
		{&r.Lateness, none},
		{&r.Wait, none},
		{&r.ISL, x.ISL},
		{&r.OSL, x.OSL},
		{&r.Asked, none},
		{&r.UsagePrompt, x.UsagePrompt},
		{&r.ID, float64(len(r.Cell) - 1)},
		{&r.ServerQueue, none},
		{&r.ServerPrefill, none},
	} {
		*v.to = append(*v.to, v.v)
	}
	r.OK, r.InWindow, r.Steady = append(r.OK, x.Status == "ok"), append(r.InWindow, true), append(r.Steady, false)
	r.Missed, r.Status = append(r.Missed, ""), append(r.Status, x.Status)
	r.Answer, r.AnswerWhy, r.Finish = append(r.Answer, ""), append(r.AnswerWhy, ""), append(r.Finish, "")
	k := run{c, trial}
	if s, ok := r.starts[k]; !ok || x.Intended < s {
		r.starts[k] = x.Intended
	}
}
