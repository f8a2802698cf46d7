//go:build unix

package trend_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"aiperf.dev/aiperf/sinks"
	"aiperf.dev/aiperf/sinks/trend"
)

// year is a store of a year of daily results, each of six cells and twelve figures.
func year(b *testing.B) *trend.Store {
	b.Helper()
	dir := filepath.Join(b.TempDir(), "history")
	s, err := trend.Create(dir)
	if err != nil {
		b.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 365 {
		var rows []sinks.HistoryRow
		for _, f := range (night{6, 100, "512", fmt.Sprintf("c%03d", i), ""}).rows(b, i) {
			for k := range 6 { // of two
				f := f
				f.Value *= 1 + 0.03*r.NormFloat64()
				f.Low, f.High, f.Trials = f.Value*0.98, f.Value*1.02, 5
				f.Stat = fmt.Sprintf("%s%d", f.Stat, k)
				if k > 0 || len(rows) > 0 && rows[len(rows)-1].Cell == f.Cell {
					f.Receipt = ""
				}
				rows = append(rows, f)
			}
		}
		if _, err := s.Add(rows, "test", began); err != nil {
			b.Fatal(err)
		}
	}
	return s
}

// What opening a year of results takes: CPU seconds, which other programs change little.
func BenchmarkYear(b *testing.B) {
	s := year(b)
	before := used(b)
	for b.Loop() {
		rs, left, err := s.Read()
		if err != nil || len(left) > 0 || len(rs) != 365 {
			b.Fatal(len(rs), left, err)
		}
		if tr := trend.Judge(rs, trend.Terms{}); len(tr.Series) != 72 {
			b.Fatal(len(tr.Series))
		}
	}
	b.ReportMetric((used(b)-before).Seconds()/float64(b.N), "cpu-s/op")
}

// used is the CPU time that this process has taken.
func used(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
