package acceptance

import (
	"context"
	"encoding/csv"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"aiperf.dev/aiperf/internal/mockserver"
	"aiperf.dev/aiperf/internal/stats"
)

var collecting = flag.Duration("collecting", 20*time.Second, "how long each run of BenchmarkCollectors is")

// arm is what one run with or without collectors took.
type arm struct {
	late    float64 // dispatch lateness, 99th percentile in µs
	cpu, mb float64 // seconds, and the largest resident size
}

// BenchmarkCollectors measures what the collectors cost and whether they delay requests: a
// server's page of metrics and one of eight GPUs, both read at the default interval, beside an
// open loop of 200 requests a second. Each iteration is a pair of runs, with and without, against
// the same server, in turns; what is reported are medians over pairs. CPU and memory hold on a
// busy machine, lateness does not. Run with -benchtime=10x.
func BenchmarkCollectors(b *testing.B) {
	exe, err := program()
	if err != nil {
		b.Fatal(err)
	}
	child, err := mockserver.Spawn(context.Background(), exe, "mock:?step=2ms&batch=64&kv_blocks=4000&cache=10000&gpus=8", "")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = child.Stop() }) // nothing to report: it keeps no log
	with := []string{"--gpu-telemetry", child.URL + mockserver.GPUPath}
	without := []string{"--no-gpu-telemetry", "--no-server-metrics"}
	var on, off, more []arm
	for b.Loop() {
		var a, z arm
		if len(on)%2 == 0 {
			z = collected(b, exe, child.URL, without)
			a = collected(b, exe, child.URL, with)
		} else {
			a = collected(b, exe, child.URL, with)
			z = collected(b, exe, child.URL, without)
		}
		on, off = append(on, a), append(off, z)
		more = append(more, arm{a.late - z.late, a.cpu - z.cpu, a.mb - z.mb})
	}
	late, cpu := func(x arm) float64 { return x.late }, func(x arm) float64 { return x.cpu }
	b.ReportMetric(middle(on, late), "late-p99-on-µs")
	b.ReportMetric(middle(off, late), "late-p99-off-µs")
	b.ReportMetric(middle(more, late), "late-p99-more-µs")
	low, high := ordered(more, late)
	b.ReportMetric(low, "late-more-low-µs")
	b.ReportMetric(high, "late-more-high-µs")
	b.ReportMetric(100*middle(more, cpu)/collecting.Seconds(), "%core-more")
	b.ReportMetric(middle(on, cpu)/middle(off, cpu), "cpu-on/off")
	b.ReportMetric(middle(more, func(x arm) float64 { return x.mb }), "peak-MB-more")
}

// middle is the median of a figure of arms.
func middle(of []arm, figure func(arm) float64) float64 {
	var out []float64
	for _, x := range of {
		out = append(out, figure(x))
	}
	slices.Sort(out)
	return stats.Quantile(out, 0.5)
}

// ordered are the second least and the second largest of a figure: from 8 pairs on the median
// lies between them with more than 92 % confidence, whatever the noise is like.
func ordered(of []arm, figure func(arm) float64) (low, high float64) {
	var out []float64
	for _, x := range of {
		out = append(out, figure(x))
	}
	slices.Sort(out)
	return out[min(1, len(out)-1)], out[max(0, len(out)-2)]
}

// collected is one run.
func collected(b *testing.B, exe, url string, more []string) arm {
	b.Helper()
	dir := filepath.Join(b.TempDir(), "out")
	cpu, mb := usage(b, exe, append([]string{
		"profile", "-m", "demo", "-u", url, "--tokenizer", "builtin", "--streaming", "--isl", "64", "--osl", "16",
		"--request-rate", "200", "--request-rate-mode", "constant", "--benchmark-duration", strconv.FormatFloat(collecting.Seconds(), 'f', -1, 64),
		"--artifact-dir", dir, "--ui", "none",
	}, more...)...)
	f, err := os.Open(filepath.Join(dir, "requests.csv"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		b.Fatal(err)
	}
	at := slices.Index(rows[0], "dispatch_lateness_ms")
	var late []float64
	for _, row := range rows[1:] {
		if v, err := strconv.ParseFloat(row[at], 64); err == nil {
			late = append(late, 1e3*v)
		}
	}
	if len(late) == 0 {
		b.Fatalf("%s: no request was sent", dir)
	}
	slices.Sort(late)
	return arm{stats.Quantile(late, 0.99), cpu.Seconds(), mb}
}
