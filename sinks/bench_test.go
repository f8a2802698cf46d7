package sinks_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"aiperf.dev/aiperf/internal/race"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/sinks"
)

// allocated counts heap allocations while fn runs. Nothing else may run.
func allocated(fn func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fn()
	runtime.ReadMemStats(&after)
	return after.Mallocs - before.Mallocs
}

// Neither journal, nor fold, nor tables allocate per row. Two lengths are
// compared, so that what a file costs once does not count.
func TestAllocationsPerRow(t *testing.T) { // not parallel: counts the process's allocations
	if race.Enabled {
		t.Skip("the race detector allocates by itself")
	}
	const short, long, chunks = 10_000, 40_000, 10
	dir := t.TempDir()
	p := demoPlan("alpha", 1, 1)
	generated := make([]record.Record, 1000)
	g := newGenerator(1, chunks)
	for i := range generated {
		g.fill(&generated[i], int64(i))
	}
	path := func(rows int64) string { return filepath.Join(dir, fmt.Sprint(rows)) }
	write := func(rows int64) {
		writeJournal(t, path(rows), p, 0, 0, t0, func(yield func(*record.Record) bool) {
			for i := range rows {
				r := &generated[i%1000]
				if r.RequestID = i; !yield(r) {
					return
				}
			}
		})
	}
	fold := func(rows int64) {
		in := sinks.TablesInput{Plan: p, T0: t0, Chunks: true, Journals: []sinks.RunJournal{{Path: path(rows)}}}
		if _, err := sinks.WriteTables(dir, in); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name string
		fn   func(int64)
	}{{"journal", write}, {"fold", fold}} {
		few := allocated(func() { c.fn(short) })
		many := allocated(func() { c.fn(long) })
		n := (float64(many) - float64(few)) / (long - short)
		t.Logf("%s: %.3f allocations a row", c.name, n)
		// All of them are Arrow's for each batch and column, some five: whoever
		// adds many columns makes a batch larger (flushBytes).
		if n >= 1 {
			t.Errorf("%s: %.2f allocations a row, want less than one", c.name, n)
		}
	}
}

// peakMB is the largest resident size of this process so far, 0 if unknown.
func peakMB() float64 {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	var kb float64
	for line := range linesOf(string(b)) {
		if n, _ := fmt.Sscanf(line, "VmHWM: %f kB", &kb); n == 1 {
			return kb / 1024
		}
	}
	return 0
}

func linesOf(s string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		start := 0
		for i := range len(s) {
			if s[i] == '\n' {
				if !yield(s[start:i]) {
					return
				}
				start = i + 1
			}
		}
	}
}

// BenchmarkWriteRequests1M writes a million request rows to Parquet, without
// reading them from a journal. Run with -benchtime=1x.
func BenchmarkWriteRequests1M(b *testing.B) {
	const rows = 1_000_000
	p := demoPlan("alpha", 1, 1)
	block := make([]record.Record, 4096)
	g := newGenerator(1, 0)
	for i := range block {
		g.fill(&block[i], int64(i))
	}
	b.ReportAllocs()
	for b.Loop() {
		size, err := sinks.WriteRequests(b.TempDir(), p, t0, rows, block)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(size)/rows, "B/row")
	}
	b.ReportMetric(rows*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
	b.ReportMetric(peakMB(), "peak-MB")
}

// BenchmarkFold1M folds a million requests from one journal; BenchmarkFoldChunks
// has ten chunks each. Run with -benchtime=1x.
func BenchmarkFold1M(b *testing.B)     { benchmarkFold(b, 1_000_000, 0) }
func BenchmarkFoldChunks(b *testing.B) { benchmarkFold(b, 500_000, 10) }

func benchmarkFold(b *testing.B, rows int64, chunks int) {
	dir := b.TempDir()
	p := demoPlan("alpha", 1, 1)
	path := filepath.Join(dir, "stream.arrow")
	writeJournal(b, path, p, 0, 0, t0, outOfOrder(newGenerator(1, chunks), rows))
	in := sinks.TablesInput{Plan: p, T0: t0, Chunks: chunks > 0, Journals: []sinks.RunJournal{{Path: path}}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := sinks.WriteTables(dir, in); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
	b.ReportMetric(peakMB(), "peak-MB")
}

// BenchmarkJournal is the cost of one record with chunks, while a run goes on.
func BenchmarkJournal(b *testing.B) {
	for _, chunks := range []int{0, 100} {
		b.Run(fmt.Sprintf("chunks=%d", chunks), func(b *testing.B) {
			g := newGenerator(1, chunks)
			block := make([]record.Record, 256)
			for i := range block {
				g.fill(&block[i], int64(i))
			}
			j, err := sinks.NewJournal(filepath.Join(b.TempDir(), "stream.arrow"), sinks.RunMeta{T0: t0})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if err := j.Write(&block[i%len(block)]); err != nil {
					b.Fatal(err)
				}
			}
			if err := j.Close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}
