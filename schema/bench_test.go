package schema

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"aiperf.dev/aiperf/schema/flags"
	"aiperf.dev/aiperf/schema/lower"
	"aiperf.dev/aiperf/schema/source"
)

const good = `schemaVersion: "2.0"
benchmark:
  model: demo
  endpoint: {url: "localhost:8000", streaming: true}
  dataset: {isl: 512, osl: {mean: 128, stddev: 8}}
  profiling: {type: concurrency, concurrency: 8, duration: 2m, gracePeriod: 20}
`

// write puts an experiment into a file of its own.
func write(tb testing.TB, name, text string) string {
	tb.Helper()
	file := filepath.Join(tb.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	return file
}

func mustLoad(tb testing.TB, name, text string) *Document {
	tb.Helper()
	d, err := Load(Source{File: write(tb, name, text), Command: "run"})
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

func BenchmarkCompile(b *testing.B) {
	for b.Loop() {
		if _, err := compile(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLoad(b *testing.B) {
	file := write(b, "exp.yaml", good)
	for b.Loop() {
		if _, err := Load(Source{File: file, Command: "run"}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOptions(b *testing.B) {
	for b.Loop() {
		_ = flags.Options()
	}
}

// A plan of 1,000 cells: every point of three axes resolved and checked.
func BenchmarkCells(b *testing.B) {
	d := mustLoad(b, "exp.yaml", good+
		"sweep: {type: grid, parameters: {concurrency: [1,2,3,4,5,6,7,8,9,10], isl: [1,2,3,4,5,6,7,8,9,10], osl: [1,2,3,4,5,6,7,8,9,10]}}\n")
	axes := d.Sweep().Axes
	for b.Loop() {
		d.cells.checker = newChecker(d.cells.index, nil)
		for i := range 1000 {
			var point []lower.Assignment
			for k, n := 0, i; k < 3; k, n = k+1, n/10 {
				point = append(point, axes[k].Assignment(n%10,
					source.Origin{Source: source.ByAxis, Where: fmt.Sprint(i)}))
			}
			if _, err := d.Resolve(point); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/1000, "µs/cell")
}
