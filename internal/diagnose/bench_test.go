package diagnose_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/diagnose"
	"aiperf.dev/aiperf/internal/sim"
)

// BenchmarkThousandCells explains a result of 1,000 cells, of ten loads each a hundred times,
// from its files.
func BenchmarkThousandCells(b *testing.B) {
	loads, lengths := []string{}, []string{}
	for i := range 10 {
		loads = append(loads, fmt.Sprint(i+1))
	}
	for i := range 100 {
		lengths = append(lengths, fmt.Sprint(16+i))
	}
	dir := b.TempDir()
	if _, err := sim.RunScraped(fmt.Sprintf(`benchmark:
  models: demo
  endpoint: {url: "mock:?step=5ms&batch=4", streaming: true}
  datasets: [{name: main, type: synthetic, prompts: {isl: 32, osl: 4}}]
  phases: [{name: profiling, type: concurrency, concurrency: 1, requests: 20}]
  tokenizer: {name: builtin}
sweep: {type: grid, parameters: {concurrency: [%s], isl: [%s]}}
random_seed: 1
allow_invalid: true
`, strings.Join(loads, ", "), strings.Join(lengths, ", ")), dir, &sim.Worlds{}); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		r, err := diagnose.Dir(filepath.Join(dir, "results"))
		if err != nil || len(r.Cells) != 1000 {
			b.Fatalf("%v, %+v", err, r)
		}
	}
}
