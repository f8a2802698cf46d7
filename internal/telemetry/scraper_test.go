package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperf.dev/aiperf/internal/telemetry"
)

// answers is a server in virtual time: it is told the path and how often it was asked.
type answers func(path string, n int) (status int, body string, took time.Duration, err error)

type fakeServer struct {
	answer answers
	asked  map[string]int
}

func (f *fakeServer) RoundTrip(req *http.Request) (*http.Response, error) {
	f.asked[req.URL.Path]++
	status, body, took, err := f.answer(req.URL.Path, f.asked[req.URL.Path])
	select {
	case <-time.After(took):
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(body)), Header: http.Header{}}, nil
}

// watched is what comes of watching a server for so long.
func watched(
	t *testing.T, lasts time.Duration, answer answers,
) (lines []string, source telemetry.Source, asked map[string]int) {
	t.Helper()
	began := time.Now()
	server := &fakeServer{answer: answer, asked: map[string]int{}}
	s := &telemetry.Scraper{
		Collector: "server", Client: &http.Client{Transport: server},
		Now: func() int64 { return int64(time.Since(began)) },
		Addresses: []telemetry.Address{{
			Name: "http://s",
			URLs: []string{"http://s/metrics?token=hush", "http://s/prometheus/metrics"},
		}},
		Mask: func(text string) string { return strings.ReplaceAll(text, "hush", "***") },
	}
	s.Start(t.Context(), func(rows []telemetry.Sample) {
		for _, r := range rows {
			if r.Metric == telemetry.Duration {
				continue
			}
			v := fmt.Sprint(r.Value)
			if math.IsNaN(r.Value) {
				v = "gone"
			}
			lines = append(lines, fmt.Sprintf("%d %s%s %s", r.At/1e6, r.Metric, r.Labels, v))
		}
	})
	time.Sleep(lasts)
	source = s.Stop(t.Context())[0]
	return lines, source, server.asked
}

func page(format string, args ...any) (int, string, time.Duration, error) {
	return http.StatusOK, fmt.Sprintf(format, args...), 5 * time.Millisecond, nil
}

// What changes is told when it changes, what leaves the page is said to be gone.
func TestScraperTellsChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lines, source, _ := watched(t, 1100*time.Millisecond,
			func(_ string, n int) (int, string, time.Duration, error) {
				switch n {
				case 1:
					return page("# TYPE c counter\nc 1\n# TYPE g gauge\ng{a=\"hush\"} 7\n")
				case 3:
					return page("# TYPE c counter\nc 2\n")
				}
				return page("# TYPE c counter\nc 2\n# TYPE g gauge\ng{a=\"hush\"} 7\n")
			})
		want := []string{
			"5 c 1", `5 g{"a":"***"} 7`, "5 up 1",
			"343 c 2", "343 up 1",
			`681 g{"a":"***"} gone`, "681 up 1",
			`1019 g{"a":"***"} 7`, "1019 up 1",
			"1110 up 1",
		}
		if d := cmp.Diff(want, lines); d != "" {
			t.Error(d)
		}
		if source.Off != "" || len(source.Families) != 2 {
			t.Errorf("%+v", source)
		}
	})
}

// Where the usual place has something else, the other one is tried, once.
func TestScraperFindsThePage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ usual, other, off string }{
		{`[{"gpuMemUsage": 1}]`, "a 1\n", ""},
		{"<html>", "a 1\n", ""},
		{"", "", "the server answered 404 Not Found"},
		{`{"a":1}`, "<html>", "the answer is JSON, not Prometheus text"},
	} {
		synctest.Test(t, func(t *testing.T) {
			lines, source, asked := watched(t, 10*time.Second,
				func(path string, _ int) (int, string, time.Duration, error) {
					body := c.usual
					if path != "/metrics" {
						body = c.other
					}
					if body == "" {
						return http.StatusNotFound, "", 0, nil
					}
					return http.StatusOK, body, 0, nil
				})
			if source.Off != c.off || asked["/metrics"] != 1 || c.off != "" &&
				(asked["/prometheus/metrics"] != 1 || len(lines) > 0) {
				t.Errorf("%+v: %q, asked %v, said %q", c, source.Off, asked, lines)
			}
			if c.off == "" && (asked["/prometheus/metrics"] < 20 || len(lines) != asked["/prometheus/metrics"]+1) {
				t.Errorf("%+v: asked %v, %d lines", c, asked, len(lines))
			}
		})
	}
}

// A source that is slow, dead, or dies, costs a few looks and a line.
func TestScraperBearsBadSources(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer      answers
		least, most int // looks in a minute
		ups         int // of these, good ones
		off, doubt  string
	}{
		"hangs": {func(string, int) (int, string, time.Duration, error) { return 200, "a 1\n", time.Hour, nil }, 5, 12, 0, "no answer within 1s", ""},
		"refuses": {func(string, int) (int, string, time.Duration, error) {
			return 0, "", 0, fmt.Errorf("dial http://s?token=hush: %w", errors.New("connection refused by hush"))
		}, 8, 16, 0, "connection refused by ***", ""},
		"loads the model": {func(_ string, n int) (int, string, time.Duration, error) {
			if n < 4 {
				return http.StatusServiceUnavailable, "", 0, nil
			}
			return page("a 1\n")
		}, 100, 200, 160, "", ""},
		"dies": {func(_ string, n int) (int, string, time.Duration, error) {
			if n > 10 {
				return 0, "", 0, io.ErrUnexpectedEOF
			}
			return page("a %d\n", n)
		}, 15, 30, 10, "", "it did not answer at the end: unexpected EOF"},
		"turns into a page for people": {func(_ string, n int) (int, string, time.Duration, error) {
			if n%2 == 0 {
				return page("<html>")
			}
			return page("a %d\n", n)
		}, 80, 200, 40, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lines, source, asked := watched(t, time.Minute, c.answer)
				ups := 0
				for _, l := range lines {
					if strings.HasSuffix(l, " up 1") {
						ups++
					}
				}
				if n := asked["/metrics"]; n < c.least || n > c.most || ups < c.ups || c.ups == 0 && ups > 0 {
					t.Errorf("asked %v, %d good looks", asked, ups)
				}
				if source.Off != c.off || c.doubt != "" && strings.Join(source.Doubts, "|") != c.doubt {
					t.Errorf("%q, %q", source.Off, source.Doubts)
				}
			})
		})
	}
}

// Labels that are new each time do not fill the memory.
func TestScraperBoundsSeries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lines, source, _ := watched(t, 10*time.Second, func(_ string, n int) (int, string, time.Duration, error) {
			var b strings.Builder
			for i := range 2000 {
				fmt.Fprintf(&b, "a{i=\"%d\"} 1\n", n*2000+i)
			}
			return page("%s", b.String())
		})
		series := 0
		for _, l := range lines {
			if strings.HasSuffix(l, " 1") && !strings.Contains(l, " up ") {
				series++
			}
		}
		if series != 20_000 || len(source.Doubts) != 1 || source.Doubts[0] != "only the first 20000 series are taken" {
			t.Errorf("%d series, %q", series, source.Doubts)
		}
	})
}

// A run that is over does not wait for a source that hangs.
func TestScraperStops(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		server := &fakeServer{
			asked: map[string]int{},
			answer: func(_ string, n int) (int, string, time.Duration, error) {
				if n > 1 {
					return 200, "", time.Hour, nil
				}
				return page("a 1\n")
			},
		}
		s := &telemetry.Scraper{
			Client: &http.Client{Transport: server}, Now: func() int64 { return int64(time.Since(began)) },
			Addresses: []telemetry.Address{{URLs: []string{"http://s/metrics"}}},
		}
		s.Start(t.Context(), func([]telemetry.Sample) {})
		time.Sleep(400 * time.Millisecond) // it hangs in a look
		hard, cancel := context.WithCancel(t.Context())
		cancel()
		s.Stop(hard)
		if d := time.Since(began); d != 405*time.Millisecond {
			t.Errorf("ended after %s", d)
		}
	})
}

// A source that hung before is looked at beside the run: neither its start nor its end
// waits, and it is read once it answers.
func TestScraperDoesNotWaitForTheSilent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		took time.Duration
		off  string
	}{{"hangs", time.Hour, "no answer within 1s"}, {"is back", time.Millisecond, ""}} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			server := &fakeServer{
				asked:  map[string]int{},
				answer: func(string, int) (int, string, time.Duration, error) { return 200, "a 1\n", c.took, nil },
			}
			s := &telemetry.Scraper{
				Client: &http.Client{Transport: server}, Now: func() int64 { return int64(time.Since(began)) },
				Addresses: []telemetry.Address{{URLs: []string{"http://s/metrics"}, Silent: true}},
			}
			s.Start(t.Context(), func([]telemetry.Sample) {})
			if d := time.Since(began); d != 0 {
				t.Errorf("%s: the start took %s", c.name, d)
			}
			time.Sleep(5 * time.Second)
			s.Look()
			ended := time.Now()
			source := s.Stop(t.Context())[0]
			if d := time.Since(ended); d > 2*time.Millisecond || source.Off != c.off {
				t.Errorf("%s: the end took %s, %q", c.name, d, source.Off)
			}
		})
	}
}

// Between phases the page is read, and the load does not wait long for it.
func TestScraperLooksAtBorders(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		server := &fakeServer{
			asked: map[string]int{},
			answer: func(_ string, n int) (int, string, time.Duration, error) {
				if n == 3 {
					return 200, "", time.Hour, nil
				}
				return page("a %d\n", n)
			},
		}
		s := &telemetry.Scraper{
			Client: &http.Client{Transport: server}, Now: func() int64 { return int64(time.Since(began)) },
			Addresses: []telemetry.Address{{URLs: []string{"http://s/metrics"}}},
		}
		var at []int64
		s.Start(t.Context(), func(rows []telemetry.Sample) {
			if rows[0].Metric == "a" {
				at = append(at, rows[0].At/1e6)
			}
		})
		time.Sleep(100 * time.Millisecond)
		s.Look()
		if d := time.Since(began); d != 110*time.Millisecond {
			t.Errorf("the look ended after %s", d)
		}
		s.Look() // it hangs
		if d := time.Since(began); d != 360*time.Millisecond {
			t.Errorf("the next one ended after %s", d)
		}
		s.Stop(t.Context())
		if d := cmp.Diff([]int64{5, 110, 365}, at); d != "" {
			t.Error(d)
		}
	})
}
