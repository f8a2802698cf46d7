package mockserver

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// BenchmarkStreams runs waves of concurrent streams (TTFT 100 ms, 64 tokens 10
// ms apart) and reports how late tokens leave, and the rate. The client shares
// the process, so the figures are worse than a child process's.
func BenchmarkStreams(b *testing.B) {
	for _, streams := range []int{1, 200, 1000} {
		b.Run(fmt.Sprint(streams), func(b *testing.B) {
			s := start(b, "ttft=100ms&itl=10ms&osl=64")
			client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: streams}}
			for b.Loop() {
				var wg sync.WaitGroup
				for range streams {
					wg.Go(func() {
						resp, err := client.Post(s.url+"/v1/chat/completions", "application/json",
							strings.NewReader(`{"messages":[{"content":"a"}],"stream":true}`))
						if err != nil {
							b.Error(err)
							return
						}
						_, _ = io.Copy(io.Discard, resp.Body)
						resp.Body.Close()
					})
				}
				wg.Wait()
			}
			client.CloseIdleConnections()
			var late []float64
			for _, e := range s.stop() {
				for i, at := range content(e) {
					due := e.Recv + int64(100*time.Millisecond) + int64(i)*int64(10*time.Millisecond)
					late = append(late, float64(at-due)/1e3)
				}
			}
			slices.Sort(late)
			b.ReportMetric(late[len(late)/2], "late_p50_us")
			b.ReportMetric(late[len(late)*99/100], "late_p99_us")
			b.ReportMetric(float64(len(late))/b.Elapsed().Seconds(), "tokens/s")
		})
	}
}
