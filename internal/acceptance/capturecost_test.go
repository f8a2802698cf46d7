package acceptance

import (
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// BenchmarkCapture sends streams at random times, 500 a second through aiperf capture and as
// many to the server behind it, in turns. It reports the CPU time and the memory of the
// capture, and the quantiles of what it adds to TTFT: the difference of those of the two,
// which met the same machine at the same time. Noise is that of two halves that went to the
// server itself: what is smaller is not shown.
func BenchmarkCapture(b *testing.B) {
	const rate = 500
	server := listening(b, "mock-server", "--port", "0", "ttft=5ms", "itl=1ms", "osl=16", "model=demo")
	trace := filepath.Join(b.TempDir(), "trace.jsonl")
	c := listening(b, "capture", "--listen", "127.0.0.1:0", "--to", server.url, "-o", trace)
	body := `{"model":"demo","stream":true,"messages":[{"role":"user","content":"` +
		strings.Repeat("The quiet river carried boats past the mill. ", 50) + `"}]}`
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1000}}
	var mu sync.Mutex
	var wait sync.WaitGroup
	var first, half [2][]time.Duration // by way; every other one of those to the server itself
	send := func(way int, url string) {
		defer wait.Done()
		began := time.Now()
		r, err := client.Post(url+"/v1/chat/completions", "application/json", strings.NewReader(body))
		if err != nil {
			b.Error(err)
			return
		}
		defer r.Body.Close()
		buf := make([]byte, 1)
		_, err = io.ReadFull(r.Body, buf)
		took := time.Since(began)
		if _, rest := io.Copy(io.Discard, r.Body); err != nil || rest != nil {
			b.Error(err, rest)
		}
		mu.Lock()
		if first[way] = append(first[way], took); way == 0 {
			n := len(first[way]) % 2
			half[n] = append(half[n], took)
		}
		mu.Unlock()
	}
	rng := rand.New(rand.NewPCG(1, 2))
	at := time.Now()
	for i := 0; b.Loop(); i++ {
		at = at.Add(time.Duration(rng.ExpFloat64() / rate * float64(time.Second) / 2))
		time.Sleep(time.Until(at))
		wait.Add(1)
		go send(i%2, []string{server.url, c.url}[i%2])
	}
	wait.Wait()
	if err := c.cmd.Process.Signal(os.Interrupt); err != nil {
		b.Fatal(err)
	}
	c.rest(b)
	quantile := func(of []time.Duration, q float64) float64 {
		slices.Sort(of)
		return of[int(q*float64(len(of)-1))].Seconds() * 1e3
	}
	if len(half[0])*len(half[1])*len(first[1]) == 0 {
		return
	}
	for name, q := range map[string]float64{"p50": 0.5, "p99": 0.99} {
		b.ReportMetric(quantile(first[1], q)-quantile(first[0], q), "added-ms-"+name)
		b.ReportMetric(quantile(half[1], q)-quantile(half[0], q), "noise-ms-"+name)
		b.ReportMetric(quantile(first[0], q), "direct-ms-"+name)
	}
	used := c.cmd.ProcessState.UserTime() + c.cmd.ProcessState.SystemTime()
	b.ReportMetric(used.Seconds()*1e6/float64(len(first[1])), "capture-cpu-µs/req")
	b.ReportMetric(peakResident(c.cmd.ProcessState), "capture-MB")
}
