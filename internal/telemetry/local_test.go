package telemetry

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// localScraper reads from a library; what it tells is in the slice when it has stopped.
func localScraper(read func() (*Page, time.Duration, error)) (*Scraper, *[]Sample, Sink) {
	began := time.Now()
	at := Address{Name: NVMLSource, URLs: []string{NVMLSource}, Asked: true, Once: true, Local: &Local{Read: read}}
	s := &Scraper{Collector: NVML, Now: func() int64 { return int64(time.Since(began)) }, Addresses: []Address{at}}
	told := &[]Sample{}
	return s, told, func(rows []Sample) { *told = append(*told, rows...) }
}

func ups(told []Sample) (up, down int) {
	for _, s := range told {
		if s.Metric == Up {
			if s.Value == 1 {
				up++
			} else {
				down++
			}
		}
	}
	return up, down
}

// What a library says is told as a page is: a figure when it changes, NaN when it is gone.
func TestLocalSource(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := 0
		s, told, sink := localScraper(func() (*Page, time.Duration, error) {
			n++
			values := map[string][]Value{"nvml_sm_clock_megahertz": {{Labels: `{"gpu":"0"}`, V: 1980}}}
			if n < 4 {
				values["nvml_power_watts"] = []Value{{Labels: `{"gpu":"0"}`, V: float64(100 * n)}}
			}
			return nvmlPage(values, nil), time.Millisecond, nil
		})
		s.Start(t.Context(), sink)
		time.Sleep(2 * time.Second)
		sources := s.Stop(t.Context())
		counts := map[string]int{}
		for _, x := range *told {
			counts[x.Metric]++
		}
		up, down := ups(*told)
		if counts["nvml_power_watts"] != 4 || counts["nvml_sm_clock_megahertz"] != 1 || up != 8 || down != 0 {
			t.Errorf("told %v, up %d, down %d; want power four times, the clock once, 8 looks", counts, up, down)
		}
		if len(sources) != 1 || sources[0].Off != "" || len(sources[0].Families) != 2 {
			t.Errorf("the source is %+v", sources)
		}
	})
}

// A call into a driver that hangs is waited for as long as a page is, and is not made a
// second time; when it comes back the source goes on.
func TestLocalSourceHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var n, down atomic.Int64
		s, told, sink := localScraper(func() (*Page, time.Duration, error) {
			if n.Add(1) == 2 {
				time.Sleep(30 * time.Second)
			}
			return nvmlPage(map[string][]Value{"nvml_power_watts": {{V: float64(n.Load())}}}, nil), 0, nil
		})
		s.Start(t.Context(), func(rows []Sample) {
			sink(rows)
			_, failed := ups(rows)
			down.Add(int64(failed))
		})
		time.Sleep(20 * time.Second)
		if n.Load() != 2 || down.Load() < 2 {
			t.Errorf("after 20 s: %d calls, %d failed looks; want the call that hangs, and what looks say of it",
				n.Load(), down.Load())
		}
		began := time.Now()
		s.Look()
		if waited := time.Since(began); waited > borderWait {
			t.Errorf("the border of phases waited %s", waited)
		}
		time.Sleep(30 * time.Second)
		s.Stop(t.Context())
		up, _ := ups(*told)
		if up < 3 {
			t.Errorf("%d good looks; want more when the call has come back", up)
		}
	})
}

// A library that is not there is asked once.
func TestLocalSourceAbsent(t *testing.T) {
	t.Parallel()
	for _, why := range []error{&NotPrometheusError{"no driver"}, errors.New("broken")} {
		synctest.Test(t, func(t *testing.T) {
			n := 0
			s, told, sink := localScraper(func() (*Page, time.Duration, error) { n++; return nil, 0, why })
			s.Start(t.Context(), sink)
			time.Sleep(5 * time.Second)
			sources := s.Stop(t.Context())
			if n != 1 || len(*told) != 0 || sources[0].Off != why.Error() {
				t.Errorf("%v: asked %d times, told %v, source %+v", why, n, *told, sources[0])
			}
		})
	}
}

// Metrics of the library are not looked for on a page, nor a page's in the library.
func TestGPUFieldsByCollector(t *testing.T) {
	t.Parallel()
	for _, f := range GPUFields() {
		library := f.Collector == NVML
		if f.Of(NVML) != library || f.Of(DCGM) == library || f.Of(ROCM) == library {
			t.Errorf("%s of %q is found at the wrong collector", f.Key, f.Collector)
		}
		if (f.Platform() == "amd") != strings.HasPrefix(f.Key, "amd_") {
			t.Errorf("%s is of platform %s", f.Key, f.Platform())
		}
	}
}
