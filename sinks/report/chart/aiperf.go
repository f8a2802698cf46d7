package chart

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sinks/results"
)

// isAIPerf tells whether a directory is one of AIPerf's: it has no tables, and
// is none of ours that was interrupted.
func isAIPerf(dir string) bool {
	if results.Ours(dir) {
		return false
	}
	for _, name := range []string{resultdir.Table("cells", "parquet"), resultdir.ManifestName, resultdir.JournalName} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return false
		}
	}
	return true
}

// WroteAIPerf tells whether a directory holds results of AIPerf's.
func WroteAIPerf(dir string) bool {
	if !isAIPerf(dir) {
		return false
	}
	_, err := results.AIPerfRuns(dir)
	return err == nil
}

// readAIPerf makes cells of AIPerf's summaries and requests of its lines. Its
// stamps are the time a request was due (its credit) and was sent; the first
// token and the last lie where its latencies say. There are no checks.
func (d *Data) readAIPerf(dir string, several bool) error {
	runs, err := results.AIPerfRuns(dir)
	if err != nil {
		return err
	}
	name := filepath.Base(filepath.Clean(dir))
	d.Name = joined(d.Name, name)
	at := map[string]*Cell{}
	records := map[run]string{}
	told, before := 0, d.Requests.Total
	for _, r := range runs {
		d.Version = joined(d.Version, r.Version)
		c := at[r.Label]
		if c == nil {
			c = &Cell{ID: r.Label, Dir: dir, Index: len(d.Cells), Values: valuesOf(r.Label), stats: map[key]Stat{}, trials: map[key]map[int]Stat{}}
			if several {
				c.Values["result"] = Value{math.NaN(), name}
			}
			at[r.Label] = c
			d.Cells = append(d.Cells, c)
		}
		if r.Err != "" {
			c.Reason = r.Err
			if r.Records == "" {
				continue
			}
		}
		c.Trials++
		told += int(r.Requests)
		if r.Records != "" {
			records[run{c, r.Trial}] = r.Records
		}
		c.add(r.Stats, r.Trial)
	}
	for _, c := range at {
		c.estimate()
	}
	if d.Requests.starts == nil {
		d.Requests.starts, d.Requests.SteadyFrom, d.Requests.SteadyTo = map[run]float64{}, map[run]float64{}, map[run]float64{}
	}
	for _, c := range d.Cells {
		for trial := range c.Trials {
			if path := records[run{c, trial}]; path != "" {
				if err := d.readLines(path, c, trial); err != nil {
					return err
				}
			}
		}
	}
	if lines := d.Requests.Total - before; lines < told { // its level of export, or a copy without them
		d.Requests.Total = before + told
		d.Requests.Note = cmp.Or(d.Requests.Note, "single requests: those of profile_export.jsonl")
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
	for _, text := range strings.FieldsFunc(strings.ReplaceAll(label, "__", ","), func(r rune) bool { return r == ',' || r == ' ' }) {
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
			k := key{"full", st.Tag, name}
			if c.trials[k] == nil {
				c.trials[k] = map[int]Stat{}
			}
			c.trials[k][trial] = Stat{Value: v, Low: math.NaN(), High: math.NaN(), N: float64(st.Count), Unsupported: tooFew(name, float64(st.Count)), Unit: st.Unit}
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

// line is what is read of one request of AIPerf's.
type line struct {
	Metadata struct {
		Credit    float64 `json:"credit_issued_ns"`
		Start     float64 `json:"request_start_ns"`
		End       float64 `json:"request_end_ns"`
		Phase     string  `json:"benchmark_phase"`
		Cancelled bool    `json:"was_cancelled"`
	} `json:"metadata"`
	Metrics map[string]struct {
		Value json.RawMessage `json:"value"`
	} `json:"metrics"`
	Error *struct {
		Code    json.Number `json:"code"`
		Type    string      `json:"type"`
		Message string      `json:"message"`
	} `json:"error"`
}

// get is a metric of one value, NaN where there is none.
func (l *line) get(tag string) float64 {
	var v float64
	if raw := l.Metrics[tag].Value; raw == nil || json.Unmarshal(raw, &v) != nil {
		return math.NaN()
	}
	return v
}

// longestLine bounds a line: AIPerf writes bodies elsewhere.
const longestLine = 16 << 20

func (d *Data) readLines(path string, c *Cell, trial int) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	r := d.Requests
	in := bufio.NewScanner(f)
	in.Buffer(nil, longestLine)
	for n := 1; in.Scan(); n++ {
		var l line
		if err := json.Unmarshal(in.Bytes(), &l); err != nil {
			return fmt.Errorf("%s:%d: %w", path, n, err)
		}
		if l.Metadata.Phase == "warmup" {
			continue
		}
		if r.Total++; len(r.Cell) >= keptMost {
			r.Note = fmt.Sprintf("single requests: the first %s", words.Whole(keptMost))
			continue
		}
		status := "ok"
		switch {
		case l.Metadata.Cancelled:
			status = "cancelled"
		case l.Error != nil:
			status = "error"
			kind := l.Error.Type
			if l.Error.Code != "" {
				kind = strings.TrimSpace(l.Error.Code.String() + " " + kind)
			}
			d.Failures = append(d.Failures, Failure{c, kind, l.Error.Message})
		}
		r.take(&l, c, trial, status)
	}
	if err := in.Err(); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// take appends one request.
func (r *Requests) take(l *line, c *Cell, trial int, status string) {
	r.Cell, r.Trial = append(r.Cell, c), append(r.Trial, trial)
	sent, none := l.Metadata.Start, math.NaN()
	ms := func(tag string) float64 { return sent + 1e6*l.get(tag) }
	for _, x := range []struct {
		to *[]float64
		v  float64
	}{
		{&r.Intended, l.Metadata.Credit},
		{&r.Sent, sent},
		{&r.First, ms(metrics.TimeToFirstToken)},
		{&r.Last, ms(metrics.RequestLatency)},
		{&r.End, l.Metadata.End},
		{&r.TTFT, l.get(metrics.TimeToFirstToken)},
		{&r.ITL, l.get(metrics.InterTokenLatency)},
		{&r.Latency, l.get(metrics.RequestLatency)},
		{&r.Lateness, none},
		{&r.Wait, none},
		{&r.ISL, l.get(metrics.InputSequenceLength)},
		{&r.OSL, l.get(metrics.OutputSequenceLength)},
		{&r.Asked, none},
		{&r.UsagePrompt, l.get(metrics.UsagePromptTokens)},
		{&r.ID, float64(len(r.Cell) - 1)},
		{&r.ServerQueue, none},
		{&r.ServerPrefill, none},
	} {
		*x.to = append(*x.to, x.v)
	}
	r.OK, r.InWindow, r.Steady = append(r.OK, status == "ok"), append(r.InWindow, true), append(r.Steady, false)
	r.Missed, r.Status = append(r.Missed, ""), append(r.Status, status)
	k := run{c, trial}
	if s, ok := r.starts[k]; !ok || l.Metadata.Credit < s {
		r.starts[k] = l.Metadata.Credit
	}
}
