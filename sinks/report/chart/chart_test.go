package chart

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/sinks"
	"aiperf.dev/aiperf/sinks/report/chart/draw"
)

// demo has two systems at three loads, three trials each, and forty requests a
// run. The candidate's TTFT is a tenth shorter in every trial.
func demo() *Data {
	d := &Data{
		Name: "demo", Version: "1.0", Plan: "abc", Verdict: validity.Valid,
		Axes: []string{"endpoint", "concurrency"}, naming: []string{"endpoint", "concurrency"},
		Limits: map[string]float64{"time_to_first_token": 100}, Requests: &Requests{},
	}
	for e, name := range []string{"baseline", "candidate"} {
		for _, conc := range []float64{1, 4, 16} {
			c := &Cell{
				ID: name + setting(conc), Index: len(d.Cells), Trials: 3, Verdict: validity.Valid,
				Front: conc == 16, Window: full,
				Values: map[string]Value{"endpoint": {math.NaN(), name}, "concurrency": {Number: conc}},
				stats:  map[key]Stat{}, trials: map[key]map[int]Stat{},
			}
			d.Cells = append(d.Cells, c)
			ttft := 20 + conc
			if e == 1 {
				ttft *= 0.9
			}
			for m, v := range map[[2]string]float64{
				{"output_token_throughput", "avg"}: 100 * conc, {"output_token_throughput_per_user", "p50"}: 100 - conc, {"time_to_first_token", "p50"}: ttft,
				{"time_to_first_token", "p99"}: 3 * ttft, {"request_latency", "p50"}: 10 * ttft, {"good_request_fraction", "avg"}: 1 - conc/100,
			} {
				k := key{"full", m[0], m[1]}
				c.stats[k] = Stat{Value: v, Low: v * 0.9, High: v * 1.1, Unit: "ms", Unsupported: m[1] == "p99" &&
					conc == 1}
				c.trials[k] = map[int]Stat{}
				for t := range 3 {
					c.trials[k][t] = Stat{Value: v * (1 + 0.01*float64(t)), Low: math.NaN(), High: math.NaN()}
				}
			}
			d.Requests.fake(c, ttft)
		}
	}
	return d
}

// fake adds forty requests, two at a time, half a second each.
func (r *Requests) fake(c *Cell, ttft float64) {
	r.Total += 40
	for i := range 40 {
		at := float64(i/2) * 0.5
		r.Cell, r.Trial = append(r.Cell, c), append(r.Trial, 0)
		for _, x := range []struct {
			to *[]float64
			v  float64
		}{
			{&r.Intended, at},
			{&r.Sent, at + 0.001},
			{&r.First, at + 0.1},
			{&r.Last, at + 0.49},
			{&r.End, at + 0.5},
			{&r.TTFT, ttft + float64(i)},
			{&r.ITL, 5},
			{&r.Latency, 500 + float64(i)},
			{&r.Lateness, 1},
			{&r.Wait, 0},
			{&r.ISL, 100},
			{&r.OSL, 10},
			{&r.Asked, 10},
			{&r.UsagePrompt, 101},
			{&r.ID, float64(i)},
			{&r.ServerQueue, math.NaN()},
			{&r.ServerPrefill, math.NaN()},
		} {
			*x.to = append(*x.to, x.v)
		}
		ok, missed, status := i%10 != 9, "", "ok"
		if !ok {
			status = "http_error"
		} else if i%10 == 8 {
			missed = "time_to_first_token"
		}
		r.OK, r.InWindow, r.Steady = append(r.OK, ok), append(r.InWindow, true), append(r.Steady, true)
		r.Missed, r.Status = append(r.Missed, missed), append(r.Status, status)
	}
}

// Every chart is drawn, or says what it lacks; what it shows is in the data.
func TestCatalogue(t *testing.T) {
	t.Parallel()
	d := demo()
	missing := map[string]string{
		"cost": "no price", "telemetry": "no telemetry", "heatmap": "36 good requests",
		"search": "no search", "answers": "no questions", "strips": "40 requests in a run: 160 are",
	}
	ids := map[string]bool{}
	for _, r := range Catalogue() {
		var c *Cell
		if r.Cellwise {
			c = d.Cells[0]
		}
		got := r.Build(d, c)
		if ids[got.ID] || r.Question == "" {
			t.Errorf("%s: a second one, or without a question", got.ID)
		}
		ids[got.ID] = true
		if want := missing[r.ID]; (got.Missing == "") != (want == "") || !strings.Contains(got.Missing, want) {
			t.Errorf("%s: missing %q, want %q", r.ID, got.Missing, want)
		}
		if (len(got.Panels) == 0) != (got.Missing != "") || !strings.Contains(got.Footer, "3 trials") && r.ID != "x" {
			t.Errorf("%s: %d panels, missing %q, footer %q", r.ID, len(got.Panels), got.Missing, got.Footer)
		}
		if doc := string(draw.SVG(got, draw.Usual, draw.Light)); strings.Contains(doc, "NaN") {
			t.Errorf("%s: NaN in the picture", r.ID)
		}
		if dir := os.Getenv("CHART_DIR"); dir != "" { // to look at
			b, _ := draw.PNG(got, draw.Usual, draw.Light)
			_ = os.WriteFile(filepath.Join(dir, r.ID+".png"), b, 0o644)
		}
	}
	if len(ids) != 16 {
		t.Errorf("%d charts, want 16", len(ids))
	}
}

// The chart of a search has a point for every probe, the curves through them, and lines
// at the ends of the bracket, or at the knee.
func TestSearchChart(t *testing.T) {
	t.Parallel()
	row, err := Find("search")
	if err != nil {
		t.Fatal(err)
	}
	searched := func(knee bool) *Data {
		d := demo()
		d.Cells = d.Cells[:3] // 1, 4 and 16
		for i, c := range d.Cells {
			c.Decision, c.Good, c.Rate = []string{"holds", "holds", "fails"}[i], 1-float64(i)/10, math.NaN()
			if knee {
				c.Decision, c.Knee, c.Good = "measured", i == 1, math.NaN()
			}
		}
		return d
	}
	c := row.Build(searched(false), nil)
	if c.Missing != "" || len(c.Panels) != 1 {
		t.Fatalf("%q, %d panels", c.Missing, len(c.Panels))
	}
	p := c.Panels[0]
	if len(p.Series) != 2 || len(p.Series[0].Points) != 9 || len(p.Series[1].Points) != 3 ||
		p.Series[1].Points[2].Y != 80 {
		t.Errorf("%+v", p.Series)
	}
	marks := func(d *Data) (said []string) {
		for _, m := range row.Build(d, nil).Panels[0].Marks {
			said = append(said, fmt.Sprintf("%s %v to %v %s", m.Label, m.At, m.To, m.Ink))
		}
		return said
	}
	between, all := searched(false), searched(false)
	between.Cells[1].Decision, all.Cells[2].Decision = "undecided", "holds"
	for _, c := range []struct {
		d    *Data
		want []string
	}{
		{searched(false), []string{"4 holds 4 to 4 good", "16 fails 16 to 16 bad"}},
		{between, []string{"undecided 1 to 16 ", "1 holds 1 to 1 good", "16 fails 16 to 16 bad"}},
		{all, []string{"16 holds 16 to 16 good"}},
	} {
		if got := marks(c.d); !slices.Equal(got, c.want) {
			t.Errorf("marks %q, want %q", got, c.want)
		}
	}
	c = row.Build(searched(true), nil)
	if p := c.Panels[0]; len(p.Series) != 1 || len(p.Marks) != 1 || p.Marks[0].Label != "knee" || p.Marks[0].At != 4 {
		t.Errorf("%+v", p)
	}
}

// A distribution shows the limit of its latency and how many requests meet it; one far beyond
// every request does not stretch the axis.
func TestLimitInTheDistribution(t *testing.T) {
	t.Parallel()
	row, err := Find("ecdf")
	if err != nil {
		t.Fatal(err)
	}
	d := demo()
	d.Cells, d.Axes, d.naming = d.Cells[:1], nil, nil
	values := d.Requests.values(d.Cells[0], d.Requests.TTFT)
	n := len(values)
	for limit, want := range map[float64]string{
		values[n/4-1]:    fmt.Sprintf("limit %v ms, met by 25.0 %%", values[n/4-1]),
		values[0] / 2:    fmt.Sprintf("limit %v ms, met by 0 %%", values[0]/2),
		2 * values[n-1]:  fmt.Sprintf("limit %v ms, met by 100 %%", 2*values[n-1]),
		10 * values[n-1]: "",
	} {
		d.Limits = map[string]float64{"time_to_first_token": limit}
		p := row.Build(d, nil).Panels[0]
		got := ""
		for _, m := range p.Marks {
			got += m.Label
		}
		if got != want || (want == "") != (len(p.X.Notes) == 1) {
			t.Errorf("limit %v: %q, want %q; %q", limit, got, want, p.X.Notes)
		}
	}
}

// large is a matrix of lengths × 8 loads × 2 systems, the candidate's cells after
// the baseline's of the same length and load.
func large(lengths int) *Data {
	d := demo()
	one := *d.Cells[0]
	d.Cells, d.Axes, d.naming = nil, []string{"endpoint", "isl", "concurrency"},
		[]string{"endpoint", "isl", "concurrency"}
	for isl := range lengths {
		for load := range 8 {
			for _, name := range []string{"baseline", "candidate"} {
				c := one
				c.ID, c.Index = fmt.Sprint(name, isl, load), len(d.Cells)
				c.Values = map[string]Value{
					"endpoint": {math.NaN(), name}, "isl": {Number: float64(isl)},
					"concurrency": {Number: float64(1 + load)},
				}
				d.Cells = append(d.Cells, &c)
			}
		}
	}
	return d
}

// Of a large matrix a picture shows as much as it can tell apart: whole lines,
// whole pairs, and it says how many cells that are.
func TestLargeMatrix(t *testing.T) {
	t.Parallel()
	d := large(100)
	for id, want := range map[string]struct {
		series int
		footer string
	}{
		"throughput-vs-load": {8, "64 of 1,600 cells, evenly spread"},
		"latency-vs-load":    {16, "64 of 1,600 cells, evenly spread"}, // p50 and the tail
		"change":             {0, "200 of 1,600 cells, evenly spread"},
		"trials":             {2, "64 of 1,600 cells, evenly spread"}, // each with a name that has room
	} {
		r, err := Find(id)
		if err != nil {
			t.Fatal(err)
		}
		c := r.Build(d, nil)
		if c.Missing != "" {
			t.Errorf("%s: missing %q", id, c.Missing)
			continue
		}
		if got := len(c.Panels[0].Series); got > want.series || got+len(c.Panels[0].Rows) == 0 ||
			!strings.HasPrefix(c.Footer, want.footer) {
			t.Errorf("%s: %d series, want at most %d; footer %q, want %q", id, got, want.series, c.Footer, want.footer)
		}
		if doc := string(draw.SVG(c, draw.Usual, draw.Light)); strings.Contains(doc, `height="-`) {
			t.Errorf("%s: no room is left for the panels", id)
		}
	}
	if n := len(apart(d).Cells); n != 12 { // four colours, three dashes
		t.Errorf("distributions of %d cells", n)
	}
}

// A chart of two columns calls them as the others do, with units; words on an axis
// stand beside each other; a figure against a figure follows the load.
func TestCustomAxes(t *testing.T) {
	t.Parallel()
	d := demo()
	c, err := Custom{X: "endpoint", Y: "time_to_first_token.p99"}.Build(d)
	if err != nil {
		t.Fatal(err)
	}
	if p := c.Panels[0]; len(p.X.Ticks) != 2 || p.X.Ticks[1].Label != "candidate" || p.Y.Label != "TTFT p99 (ms)" ||
		len(p.Series) != 3 || p.Series[0].Points[1].X != 1 {
		t.Errorf("by endpoint: %+v, %d series", p.X, len(p.Series))
	}
	c, err = Custom{X: "time_to_first_token_p50", Y: "output_token_throughput_avg", Lines: true}.Build(d)
	if err != nil {
		t.Fatal(err)
	}
	if p := c.Panels[0]; p.X.Label != "TTFT p50 (ms)" || len(p.Series) != 2 || p.Series[0].Points[2].Label != "16" {
		t.Errorf("a figure against a figure: %q, %d series", p.X.Label, len(p.Series))
	}
}

// A cell of few requests has no distribution; a plan all of whose requests failed
// lacks nothing but good requests.
func TestTooLittleToDraw(t *testing.T) {
	t.Parallel()
	single, down := demo(), demo()
	single.Cells = single.Cells[:1]
	for i := range single.Requests.OK {
		single.Requests.OK[i] = i == 0
	}
	clear(down.Requests.OK)
	for _, c := range down.Cells {
		clear(c.stats)
		clear(c.trials)
	}
	for _, x := range []struct {
		d        *Data
		id, want string
	}{
		{single, "ecdf", "no cell has 10 requests"},
		{down, "pareto", "every request failed"},
		{down, "ecdf", "every request failed"},
		{down, "trials", "every request failed"},
	} {
		r, err := Find(x.id)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Build(x.d, nil); !strings.HasPrefix(got.Missing, x.want) || len(got.Panels) > 0 {
			t.Errorf("%s: missing %q, want %q", x.id, got.Missing, x.want)
		}
	}
}

// The candidate's TTFT is 0.9 of the baseline's in each trial: −10 %, without a
// spread; throughput is equal.
func TestChangeByHand(t *testing.T) {
	t.Parallel()
	panels, missing := change(demo(), nil)
	if missing != "" {
		t.Fatal(missing)
	}
	want, rows := map[string]float64{"output tokens/s": 0, "TTFT p50": -10, "latency p50": -10}, 0
	metric := ""
	for _, r := range panels[0].Rows {
		if r.Heading {
			metric = r.Name
			continue
		}
		rows++
		if math.Abs(r.Value-want[metric]) > 1e-9 || math.Abs(r.Low-want[metric]) > 1e-6 ||
			math.Abs(r.High-want[metric]) > 1e-6 {
			t.Errorf("%s: %v [%v, %v], want %v", metric, r.Value, r.Low, r.High, want[metric])
		}
		if ink := map[bool]draw.Ink{true: draw.S8, false: draw.Good}[metric == "output tokens/s"]; r.Ink != ink {
			t.Errorf("%s has the ink %s, want %s", metric, r.Ink, ink)
		}
	}
	if rows != 9 {
		t.Errorf("%d rows, want 3 metrics × 3 loads", rows)
	}
}

// The interval of a change is the t interval of the log ratios: for ratios 1.0,
// 1.1, 1.21 the mean log is ln 1.1 and the half width t(0.975, 2)·ln 1.1/√3.
func TestRatioByHand(t *testing.T) {
	t.Parallel()
	d := demo()
	k := key{"full", "x", "avg"}
	d.Cells[0].trials[k] = map[int]Stat{0: {Value: 10}, 1: {Value: 20}, 2: {Value: 30}, 3: {Value: 5}}
	d.Cells[3].trials[k] = map[int]Stat{0: {Value: 10}, 1: {Value: 22}, 2: {Value: 36.3}, 7: {Value: 1}}
	p, ok := d.ratio(pair{a: d.Cells[0], b: d.Cells[3]}, "x", "avg")
	half := 4.302652729911275 * math.Log(1.1) / math.Sqrt(3)
	want := [3]float64{0.1, 1.1*math.Exp(-half) - 1, 1.1*math.Exp(half) - 1}
	if got := [3]float64{p.Value, p.Low, p.High}; !ok || math.Abs(got[0]-want[0])+
		math.Abs(got[1]-want[1])+math.Abs(got[2]-want[2]) > 1e-6 {
		t.Errorf("%v, want %v", got, want)
	}
}

// A tenth of the requests failed and a tenth missed the limit: 10 % each.
func TestMissesByHand(t *testing.T) {
	t.Parallel()
	d := demo()
	p := d.misses(d.along())
	if len(p.Series) != 2 {
		t.Fatalf("%d series", len(p.Series))
	}
	for _, s := range p.Series {
		if len(s.Rects) != 6 {
			t.Errorf("%s: %d bars, want one a cell", s.Name, len(s.Rects))
		}
		for _, r := range s.Rects {
			if math.Abs(r.Y1-r.Y0-10) > 1e-9 {
				t.Errorf("%s: %v %%, want 10", s.Name, r.Y1-r.Y0)
			}
		}
	}
}

// Two requests at a time need two slots.
func TestTimelineSlots(t *testing.T) {
	t.Parallel()
	panels, _ := timeline(demoData, demoData.Cells[0])
	top, bars := 0.0, 0
	for _, s := range panels[0].Series {
		for _, r := range s.Rects {
			top = max(top, r.Y1)
			bars++
		}
	}
	if math.Ceil(top) != 2 || bars < 80 {
		t.Errorf("%v slots, %d bars", math.Ceil(top), bars)
	}
	if ticks := panels[0].Y.Ticks; len(ticks) != 2 || ticks[0] != (draw.Tick{At: 0.5, Label: "1"}) ||
		ticks[1] != (draw.Tick{At: 1.5, Label: "2"}) {
		t.Errorf("slots are named %v", ticks)
	}
}

var demoData = demo()

// The highest percentile that every cell supports is drawn; p99 hollow when
// none is.
func TestTail(t *testing.T) {
	t.Parallel()
	d := demo()
	if got := d.tail("time_to_first_token"); got != "p95" {
		t.Errorf("%s, want p95: one cell does not support p99", got)
	}
}

// A distribution of many requests keeps both ends and stays small.
func TestStepsKeepTheEnds(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 10, 400, 100_000} {
		v := make([]float64, n)
		for i := range v {
			v[i] = float64(i)
		}
		p := steps(v)
		if p[0].X != 0 || p[len(p)-1].X != float64(n-1) || len(p) > 800 {
			t.Errorf("%d values: %d points from %v to %v", n, len(p), p[0].X, p[len(p)-1].X)
		}
	}
}

// In flight, integrated, is the sum of the residences.
func TestInFlightIsConserved(t *testing.T) {
	t.Parallel()
	d := demoData
	ids := d.firstTrial(d.Cells[0])
	s := newSlicer(d.Requests, ids)
	got, want := 0.0, 0.0
	for _, x := range s.inFlight() {
		got += x * s.dt
	}
	for _, i := range ids {
		want += d.Requests.End[i] - d.Requests.Sent[i]
	}
	if math.Abs(got-want) > 1e-6 {
		t.Errorf("%v request seconds, want %v", got, want)
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	if _, err := Find("pareto"); err != nil {
		t.Error(err)
	}
	if _, err := Find("nothing"); err == nil || !strings.Contains(fmt.Sprint(err), "heatmap") {
		t.Errorf("%v does not list what there is", err)
	}
}

// A hundred tokens a second for each of concurrency: at 3.60 an hour and 200 W a million
// tokens of the first cell cost 10, and one takes 2 J; the ends of the throughput's
// interval change places.
func TestCostByHand(t *testing.T) {
	t.Parallel()
	d := demo()
	d.Expense = Expense{Hour: 3.6, Watts: 200}
	r, err := Find("cost")
	if err != nil {
		t.Fatal(err)
	}
	c := r.Build(d, nil)
	if c.Missing != "" || len(c.Panels) != 2 {
		t.Fatalf("%d panels, missing %q", len(c.Panels), c.Missing)
	}
	for i, first := range []float64{10, 2} {
		p := c.Panels[i]
		if len(p.Series) != 2 || len(p.Series[0].Points) != 3 {
			t.Fatalf("panel %d: %+v", i, p.Series)
		}
		for k, conc := range []float64{1, 4, 16} {
			q, want := p.Series[0].Points[k], first/conc
			for name, x := range map[string][2]float64{
				"value": {q.Y, want}, "low": {q.Low, want / 1.1},
				"high": {q.High, want / 0.9}, "speed": {q.X, 100 - conc},
			} {
				if math.Abs(x[0]-x[1]) > 1e-9 {
					t.Errorf("panel %d, concurrency %v: %s %v, want %v", i, conc, name, x[0], x[1])
				}
			}
		}
	}
	d.Expense = Expense{Watts: 200}
	if c := r.Build(d, nil); len(c.Panels) != 1 || c.Panels[0].Y.Label != "joules per token" ||
		!slices.Equal(c.Panels[0].X.Notes, []string{"at 200 W", "numbers: concurrency"}) {
		t.Errorf("power alone: %+v", c.Panels)
	}
}

// Of a server that says the mean of its queue and of its prefill, and not each request's, the
// parts of a TTFT are those means, and what is left.
func TestAnatomyOfServersMeans(t *testing.T) {
	t.Parallel()
	d := demo()
	blank := func(of []float64) {
		for i := range of {
			of[i] = math.NaN()
		}
	}
	blank(d.Requests.ServerQueue)
	blank(d.Requests.ServerPrefill)
	r, err := Find("anatomy")
	if err != nil {
		t.Fatal(err)
	}
	parts := func() map[string]float64 {
		out := map[string]float64{}
		for _, s := range r.Build(d, nil).Panels[0].Series {
			out[s.Name] = s.Rects[0].Y1 - s.Rects[0].Y0
		}
		return out
	}
	const left = "network and server, not told apart"
	whole := d.Requests.mean(d.Cells[0], rest)
	for _, c := range d.Cells {
		c.stats[key{full, serverQueue, "avg"}] = Stat{Value: 0.004}
		c.stats[key{full, serverPrefill, "avg"}] = Stat{Value: 0.006}
	}
	got := parts()
	if math.Abs(got["server: queue"]-4) > 1e-9 || math.Abs(got["server: prefill"]-6) > 1e-9 ||
		math.Abs(got[left]-(whole-10)) > 1e-9 {
		t.Errorf("%v of a TTFT of %v ms", got, whole)
	}
}

// Where GPUs were read, a token's energy is what they measured; what the reader says of the
// servers goes before it, and a price is never made up.
func TestCostOfMeasuredPower(t *testing.T) {
	t.Parallel()
	d := demo()
	for _, c := range d.Cells {
		c.stats[key{full, perJoule, "avg"}] = Stat{Value: 0.5, Low: 0.4, High: 0.625}
	}
	r, err := Find("cost")
	if err != nil {
		t.Fatal(err)
	}
	c := r.Build(d, nil)
	if c.Missing != "" || len(c.Panels) != 1 || c.Panels[0].Y.Label != "joules per token" ||
		c.Panels[0].X.Notes[0] != "power as the GPUs measured it" {
		t.Fatalf("missing %q, %+v", c.Missing, c.Panels)
	}
	if q := c.Panels[0].Series[0].Points[0]; q.Y != 2 || q.Low != 1.6 || q.High != 2.5 {
		t.Errorf("%v [%v, %v] joules per token, want 2 [1.6, 2.5]", q.Y, q.Low, q.High)
	}
	d.Expense = Expense{Hour: 3.6}
	if c := r.Build(d, nil); len(c.Panels) != 2 {
		t.Errorf("%d panels of a price and a measured power", len(c.Panels))
	}
	d.Expense = Expense{Watts: 200}
	if c := r.Build(d, nil); len(c.Panels) != 1 || c.Panels[0].X.Notes[0] != "at 200 W" {
		t.Errorf("a power that is given: %+v", c.Panels)
	}
}

// Where no request has a value there is a line with why, not an empty picture.
func TestNoEmptyCustomChart(t *testing.T) {
	t.Parallel()
	d := demo()
	for i := range d.Requests.TTFT {
		d.Requests.TTFT[i] = math.NaN()
	}
	u := Custom{X: "request_number", Y: "time_to_first_token"}
	if c, err := u.Build(d); err == nil || !strings.Contains(err.Error(),
		"no request has request number and TTFT (ms)") {
		t.Errorf("%+v, %v", c, err)
	}
	u.Y = "request_latency"
	if c, err := u.Build(d); err != nil || len(c.Panels[0].Series) == 0 {
		t.Errorf("latency: %+v, %v", c, err)
	}
}

// The page about reports asks what the charts ask.
func TestQuestionsStandOnThePage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/report.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range Catalogue() {
		if row := "\n| `" + r.ID + "` | " + r.Question; !strings.Contains(string(page), row) {
			t.Errorf("docs/report.md has no row that begins %q", row)
		}
	}
}

// Rows about one of several targets are no trials of the cell and no estimates
// of it.
func TestMetricsOfTargetsAreNotTheCells(t *testing.T) {
	t.Parallel()
	c := &Cell{stats: map[key]Stat{}, trials: map[key]map[int]Stat{}}
	rows := &sinks.TableRows{
		N: 4, Texts: map[string][]string{
			"cell": {"a", "a", "a", "a"}, "level": {"run", "target", "cell", "target"},
			"span": {"full", "full", "full", "full"}, "metric": {"m", "m", "m", "m"}, "stat": {"p50", "p50", "p50", "p50"},
		},
		Floats: map[string][]float64{"trial": {0, 0, math.NaN(), math.NaN()}, "value": {1, 2, 3, 4}},
	}
	readMetrics(rows, map[string]*Cell{"a": c})
	k := key{"full", "m", "p50"}
	if c.stats[k].Value != 3 || len(c.trials[k]) != 1 || c.trials[k][0].Value != 1 {
		t.Errorf("estimate %v, trials %v; want 3 and that of the run, 1", c.stats[k].Value, c.trials[k])
	}
}

// Right answers stand above what became of the others; why the server stopped is shown where
// it is not always the same.
func TestAnswersChart(t *testing.T) {
	t.Parallel()
	d := demo()
	if _, missing := answers(d, nil); !strings.Contains(missing, "--accuracy-benchmark") {
		t.Errorf("without questions: %q", missing)
	}
	r := d.Requests
	for i := range r.Cell {
		what := [][3]string{
			{"", "", "stop"}, {"right", "", "stop"}, {"wrong", "", "stop"}, {"not_judged", "empty", "length"},
		}[i%4]
		r.Answer, r.AnswerWhy = append(r.Answer, what[0]), append(r.AnswerWhy, what[1])
		r.Finish = append(r.Finish, what[2])
		r.InWindow[i] = true
	}
	for _, c := range d.Cells {
		c.stats[key{"full", "accuracy", "avg"}] = Stat{Value: .5, Low: .4, High: .6}
	}
	panels, missing := answers(d, nil)
	if missing != "" || len(panels) != 3 {
		t.Fatalf("%d panels, missing %q", len(panels), missing)
	}
	for k, want := range map[int]map[string]float64{
		1: {"wrong": 100. / 3, "not judged: empty": 100. / 3}, 2: {"stop": 200. / 3, "length": 100. / 3},
	} {
		got := map[string]float64{}
		for _, s := range panels[k].Series {
			got[s.Name] = s.Rects[0].Y1 - s.Rects[0].Y0
		}
		for name, share := range want {
			if math.Abs(got[name]-share) > 4 || len(got) != len(want) { // of 30 a cell
				t.Errorf("panel %d: %v, want %v", k, got, want)
			}
		}
	}
	for i := range r.Finish {
		r.Finish[i] = "stop"
	}
	if panels, _ = answers(d, nil); len(panels) != 2 {
		t.Errorf("%d panels where the server always stopped alike", len(panels))
	}
}

// Bars below the only line along the load stand below its points.
func TestBarsBelowALine(t *testing.T) {
	t.Parallel()
	d := demo()
	d.Cells = d.Cells[:3]
	panels, missing := goodShare(d, nil)
	if len(panels) != 2 || panels[0].X.Label != "" || panels[1].X.Names {
		t.Fatalf("%d panels, %q: want two along one axis, which the lower one names", len(panels), missing)
	}
	for _, s := range panels[1].Series {
		for i, r := range s.Rects {
			if at := panels[0].Series[0].Points[i].X; math.Abs((r.X0+r.X1)/2-at) > 1e-9 || r.X1 <= r.X0 {
				t.Errorf("%s: a bar from %v to %v for the point at %v", s.Name, r.X0, r.X1, at)
			}
		}
	}
}

// Directories of one name are told apart by the folders that they lie in.
func TestNames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ dirs, want []string }{
		{[]string{"/r/before", "/r/after/"}, []string{"before", "after"}},
		{[]string{"/r/before/results", "/r/after/results"}, []string{"before", "after"}},
		{[]string{"/r/a/x", "/r/a/y", "/r/b/x"}, []string{"a/x", "a/y", "b/x"}},
		{[]string{"/r/x", "/r/x/."}, []string{"x (1)", "x (2)"}},
	} {
		if got := Names(c.dirs); !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, want %v", c.dirs, got, c.want)
		}
	}
}

// Of values of which half are 0 the line begins at half of the requests, so that the axis
// can be logarithmic.
func TestZerosInADistribution(t *testing.T) {
	t.Parallel()
	got := begun(steps([]float64{0, 0, 1, 50}))
	want := []draw.Point{draw.At(1, 50, ""), draw.At(1, 75, ""), draw.At(50, 100, "")}
	for i, q := range got {
		if len(got) != len(want) || q.X != want[i].X || q.Y != want[i].Y {
			t.Fatalf("%v, want %v", got, want)
		}
	}
	if all := begun(steps([]float64{0, 0})); len(all) != 3 {
		t.Errorf("of nothing but zeros %v is left", all)
	}
}

// A few requests that are far faster than all others do not stretch the axis; as many as a
// twentieth are a kind of their own, and are drawn.
func TestFastestFewOfADistribution(t *testing.T) {
	t.Parallel()
	for few, want := range map[int]float64{0: 10, 1: 10, 5: 0.001} {
		var values []float64
		for i := range 100 {
			values = append(values, 10+float64(i)/10)
		}
		for i := range few {
			values[i] = 0.001
		}
		got := begun(steps(values))
		if math.Abs(got[0].X-want) > 0.2 || got[len(got)-1].Y != 100 {
			t.Errorf("%d of 100: the axis begins at %v, want %v", few, got[0].X, want)
		}
	}
}

// Where one user gets the same speed everywhere nothing is drawn against it.
func TestOneSpeedIsNotDrawn(t *testing.T) {
	t.Parallel()
	row, err := Find("pareto")
	if err != nil {
		t.Fatal(err)
	}
	d := demo()
	if c := row.Build(d, nil); c.Missing != "" {
		t.Errorf("speeds from 84 to 99: %s", c.Missing)
	}
	for i, c := range d.Cells {
		c.stats[key{"full", "output_token_throughput_per_user", "p50"}] = Stat{Value: 100 + 0.9*float64(i)}
	}
	if c := row.Build(d, nil); !strings.HasPrefix(c.Missing, "one user gets the same speed in every cell, within 5 %") {
		t.Errorf("speeds from 100 to 104.5: %q", c.Missing)
	}
}

// The bars of the chart of lengths are of requests, and its caption says so; the anatomy of
// one cell is a bar that lies.
func TestBarsOfRequests(t *testing.T) {
	t.Parallel()
	d := demo()
	row, err := Find("lengths")
	if err != nil {
		t.Fatal(err)
	}
	if c := row.Build(d, nil); !strings.Contains(c.Footer, "bars: the middle 90 % of the requests") {
		t.Error(c.Footer)
	}
	if row, err = Find("anatomy"); err != nil {
		t.Fatal(err)
	}
	d.Cells = d.Cells[:1]
	c := row.Build(d, nil)
	if c.Missing != "" || !c.Panels[0].Y.Names || c.Panels[0].X.Label != "mean part of TTFT (ms)" {
		t.Fatalf("%q %+v", c.Missing, c.Panels)
	}
	long := 0.0
	for _, s := range c.Panels[0].Series {
		long += s.Rects[0].X1 - s.Rects[0].X0
	}
	whole := func(r *Requests, i int) float64 { return r.TTFT[i] + r.Lateness[i] }
	if mean := d.Requests.mean(d.Cells[0], whole); math.Abs(long-mean) > 1e-9 {
		t.Errorf("the bar is %v long, want %v", long, mean)
	}
}

// Each change has its own margin in grey, and changes of shares are in points.
func TestMarginsOfTheForest(t *testing.T) {
	t.Parallel()
	p := forest([]Change{
		{Metric: "TTFT p50", Value: .1, Low: .05, High: .15, Margin: .05},
		{Metric: "TTFT p99", Value: .1, Low: .05, High: .15, Margin: .15},
		{Metric: "errors %", Value: .02, Low: .01, High: .03, Margin: .01, Points: true},
	}, "a")
	for i, want := range []float64{5, 15, 1} {
		if got := p.Rows[i].Margin; math.Abs(got-want) > 1e-9 {
			t.Errorf("row %d: the margin is %v, want %v", i, got, want)
		}
	}
	if want := "change from a (% or points)"; p.X.Label != want ||
		!slices.Equal(p.X.Notes, []string{"grey: within 5 % or 15 % or 1 point"}) {
		t.Errorf("%q %q, want %q", p.X.Label, p.X.Notes, want)
	}
}

// A slide has room for the first metrics of a long list of changes, and the page draws the
// whole list below.
func TestSlideOfManyChanges(t *testing.T) {
	t.Parallel()
	c, all := Telling(demo())
	if c == nil || c.ID != changeID || !all || len(c.Panels[0].Rows) != 12 {
		t.Fatalf("%+v, all %v", c, all)
	}
	c, all = Telling(large(1)) // eight pairs, three metrics
	if all || len(c.Panels[0].Rows) != 18 || c.Panels[0].Rows[9].Name != "TTFT p50" {
		t.Errorf("%d rows, all %v", len(c.Panels[0].Rows), all)
	}
}

// Each cell has the window that it has on the screen, whatever the others have, and a load of a search
// without a rate has no throughput.
func TestWindowOfACell(t *testing.T) {
	t.Parallel()
	value := func(v float64) map[int]Stat { return map[int]Stat{0: {Value: v}, 1: {Value: v}} }
	cell := func(steadyToo bool, decision string, rate float64) *Cell {
		c := &Cell{Decision: decision, Rate: rate, stats: map[key]Stat{}, trials: map[key]map[int]Stat{}}
		for _, m := range []string{"request_latency", "output_token_throughput"} {
			c.trials[key{full, m, "avg"}] = value(1)
			if c.trials[key{steady, m, "avg"}] = value(2); !steadyToo {
				delete(c.trials[key{steady, m, "avg"}], 1) // one of two trials has none
			}
		}
		return c
	}
	d := &Data{Cells: []*Cell{cell(true, "", 0), cell(false, "", 0), cell(true, "holds", 3), cell(false, "fails", 0)}}
	d.chooseWindows()
	for i, want := range [][2]float64{{2, 2}, {1, 1}, {2, 2}, {1, math.NaN()}} {
		c := d.Cells[i]
		latency, rate := d.Get(c, "request_latency", "avg").Value, d.Get(c, "output_token_throughput", "avg").Value
		if latency != want[0] || rate != want[1] && !(math.IsNaN(rate) && math.IsNaN(want[1])) {
			t.Errorf("cell %d: latency %v, throughput %v, want %v", i, latency, rate, want)
		}
	}
	if got := d.WindowOf(d.Cells...); got != "steady window (2 cells: whole run)" {
		t.Error(got)
	}
}

// Cells that were asked different things are never ranked against each other, so that each workload has a front.
func TestAFrontOfEachWorkload(t *testing.T) {
	t.Parallel()
	d := demo()
	for i, c := range d.Cells {
		c.Front = true
		c.Values["isl"] = Value{Number: float64(64 * (1 + i%2))}
	}
	d.Axes = []string{"endpoint", "isl", "concurrency"}
	panels, _ := pareto(d, nil)
	fronts := 0
	for _, s := range panels[0].Series {
		if s.Name == "on the Pareto front" {
			if fronts++; len(s.Points) != 3 {
				t.Errorf("a front of %d points, want the 3 of one workload", len(s.Points))
			}
		}
	}
	if fronts != 2 {
		t.Errorf("%d fronts, want 2", fronts)
	}
}
