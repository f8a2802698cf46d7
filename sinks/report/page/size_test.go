package page_test

import (
	"bytes"
	"fmt"
	"runtime"
	"testing"

	"aiperf.dev/aiperf/sinks/report/chart"
	"aiperf.dev/aiperf/sinks/report/chart/draw"
	"aiperf.dev/aiperf/sinks/report/page"
)

// matrix is a small result, made as large as cells: each cell once more, with
// another concurrency and the requests of the first one.
func matrix(tb testing.TB, dir string, cells, requests int) *chart.Data {
	tb.Helper()
	d, err := chart.Load(dir)
	if err != nil {
		tb.Fatal(err)
	}
	first, r := d.Cells[0], d.Requests
	var ids []int
	for i := range r.Cell {
		if r.Cell[i] == first {
			ids = append(ids, i)
		}
	}
	one := pick(r, ids)
	d.Cells, d.Axes = nil, []string{"concurrency", "isl"}
	for k := range cells {
		c := *first
		c.ID, c.Index = fmt.Sprint("cell", k), k
		c.Values = map[string]chart.Value{
			"concurrency": {Number: float64(1 + k%8)},
			"isl":         {Number: float64(64 * (1 + k/8))},
		}
		d.Cells = append(d.Cells, &c)
	}
	every := make([]int, 0, cells*requests)
	for range cells {
		for k := range requests {
			every = append(every, k%len(one.Cell))
		}
	}
	*r = pick(&one, every)
	for i := range r.Cell {
		r.Cell[i] = d.Cells[i/max(requests, 1)]
	}
	r.Total = cells * 5000 // five trials of a thousand, most of them not held
	return d
}

// pick are some requests of r.
func pick(r *chart.Requests, ids []int) (out chart.Requests) {
	of := func(v []float64) []float64 {
		got := make([]float64, len(ids))
		for i, k := range ids {
			got[i] = v[k]
		}
		return got
	}
	out = chart.Requests{
		Intended: of(r.Intended), Sent: of(r.Sent), First: of(r.First), Last: of(r.Last), End: of(r.End),
		TTFT: of(r.TTFT), ITL: of(r.ITL), Latency: of(r.Latency),
		Lateness: of(r.Lateness), Wait: of(r.Wait), ISL: of(r.ISL), OSL: of(r.OSL),
		Asked: of(r.Asked), UsagePrompt: of(r.UsagePrompt),
		ServerQueue: of(r.ServerQueue), ServerPrefill: of(r.ServerPrefill), ID: of(r.ID),
	}
	for _, k := range ids {
		out.Cell, out.Trial = append(out.Cell, r.Cell[k]), append(out.Trial, r.Trial[k])
		out.OK, out.InWindow, out.Steady = append(out.OK, r.OK[k]), append(out.InWindow, r.InWindow[k]),
			append(out.Steady, r.Steady[k])
		out.Missed, out.Status = append(out.Missed, r.Missed[k]), append(out.Status, r.Status[k])
	}
	return out
}

// thousand is one cell of a thousand requests and two trials.
const thousand = `
name: thousand
benchmark:` + body + `
  endpoint: {url: "mock:?ttft=20ms&itl=2ms&cv=0.3", streaming: true}
  phases: {type: concurrency, concurrency: 4, requests: 1000}
  slos: {time_to_first_token: 30}
multi_run: {num_runs: 2}`

// A report of 64 cells is less than 2 MB and takes less than 300 MB to make; one
// of 10,000 cells has all of them in its table, pictures of some, and says so.
func TestSizeOfTheReport(t *testing.T) {
	dir := directories(t, []string{thousand}, nil)[0]
	for _, c := range []struct {
		cells, requests, most int
		says                  string
	}{
		{64, 900, 2 << 20, " of 64 cells have charts of their own here"},
		{10_000, 2, 5 << 20, "300 of 10,000 cells are described here"},
	} {
		d := matrix(t, dir, c.cells, c.requests)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		doc, err := page.Of(d, nil)
		if err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		allocated := (after.TotalAlloc - before.TotalAlloc) >> 20
		t.Logf("%d cells: %d KB, %d MB allocated", c.cells, len(doc)>>10, allocated)
		if len(doc) > c.most || allocated > 300 {
			t.Errorf("%d cells: %d bytes, %d MB allocated", c.cells, len(doc), allocated)
		}
		if rows := bytes.Count(doc, []byte("<tr data-cell=")); !bytes.Contains(doc, []byte(c.says)) ||
			rows != min(c.cells, 2000) {
			t.Errorf("%d cells: %d rows, or it does not say %q", c.cells, rows, c.says)
		}
	}
}

func BenchmarkReport(b *testing.B) {
	d := matrix(b, directories(b, []string{thousand}, nil)[0], 64, 900)
	b.ReportAllocs()
	for b.Loop() {
		doc, err := page.Of(d, nil)
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(len(doc)))
	}
}

// whole is a matrix of 64 cells, five trials and 320,000 requests.
const whole = `
name: whole
benchmark:` + body + `
  endpoint: {url: "mock:?ttft=20ms&itl=2ms&cv=0.3", streaming: true}
  phases: {type: concurrency, concurrency: 16, requests: 1000}
  slos: {time_to_first_token: 30}
sweep: {type: grid, parameters: {concurrency: [1, 2, 4, 8, 16, 32, 64, 128], isl: [8, 16, 24, 32, 40, 48, 56, 64]}}
multi_run: {num_runs: 5}`

// A report from the files of a large result, as aiperf report makes it. Making
// the result takes about a minute.
func BenchmarkReportOfFiles(b *testing.B) {
	dir := directories(b, []string{whole}, nil)[0]
	b.ReportAllocs()
	for b.Loop() {
		doc, err := page.OfDirs([]string{dir}, chart.Expense{})
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(len(doc)))
	}
}

// BenchmarkCharts builds and paints each chart of a large result: a twentieth of a
// second at most.
func BenchmarkCharts(b *testing.B) {
	d := matrix(b, directories(b, []string{thousand}, nil)[0], 64, 900)
	for _, r := range chart.Catalogue() {
		c := r.Build(d, d.Cells[0])
		if c.Missing != "" {
			continue
		}
		for name, paint := range map[string]func(*draw.Chart){
			"svg": func(c *draw.Chart) { _ = draw.Inline(c, draw.SizeOf(c)) },
			"png": func(c *draw.Chart) {
				if _, err := draw.PNG(c, draw.SizeOf(c), draw.Light); err != nil {
					b.Fatal(err)
				}
			},
		} {
			b.Run(r.ID+"/"+name, func(b *testing.B) {
				for b.Loop() {
					paint(r.Build(d, d.Cells[0]))
				}
			})
		}
	}
}
