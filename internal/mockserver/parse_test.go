package mockserver

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperf.dev/aiperf/internal/diag"
)

func TestParseURL(t *testing.T) {
	t.Parallel()
	plain := func(change func(*Config)) Config {
		c := Defaults()
		c.Step, c.Prefill = 0, 0
		change(&c)
		return c
	}
	batched := func(change func(*Config)) Config {
		c := Defaults()
		change(&c)
		return c
	}
	const msec = time.Millisecond
	cases := []struct {
		url  string
		want Config
	}{
		{"mock:", Defaults()},
		{"http://mock:", Defaults()},
		{"mock://?", Defaults()},
		{"mock:?ttft=40ms&itl=5ms", plain(func(c *Config) { c.TTFT, c.ITL = 40*msec, 5*msec })},
		{"http://mock:?ttft=40ms", plain(func(c *Config) { c.TTFT, c.ITL = 40*msec, 5*msec })},
		{"mock:?ttft=40ms&prefill=0.02ms", plain(func(c *Config) { c.TTFT, c.ITL, c.Prefill = 40*msec, 5*msec, 20*time.Microsecond })},
		{"mock:?step=5ms&batch=4&seq=100us&ttft=1ms", batched(func(c *Config) { c.Batch, c.Seq, c.TTFT = 4, 100*time.Microsecond, msec })},
		{"mock:?osl=7&max_osl=9&chunk=2&reasoning=3&role=none&usage=each&lie=1.5&cached=0.25&dims=4", batched(func(c *Config) {
			c.OSL, c.MaxOSL, c.Chunk, c.Reasoning, c.Role, c.Usage, c.Lie, c.Cached, c.Dims = 7, 9, 2, 3, RoleNone,
				UsageEach, 1.5, 0.25, 4
		})},
		{"mock:?model=a,b&model=c%26d", batched(func(c *Config) { c.Models = []string{"a", "b", "c&d"} })},
		{"mock:?error_rate=0.01&error_status=500,429&cut=.1&html=.2&empty=.1&stream_error=.1&seed=7", batched(func(c *Config) {
			c.ErrorRate, c.ErrorStatus, c.Cut, c.HTML, c.Empty, c.StreamError, c.Seed = 0.01, []int{500, 429}, .1, .2,
				.1, .1, 7
		})},
		{"mock:?pause=500ms@2s&jitter=0.1&shape=uniform", batched(func(c *Config) {
			c.PauseFor, c.PauseAt, c.Jitter, c.Shape = 500*msec, 2*time.Second, 0.1, Uniform
		})},
		{"mock:?ttft=40ms&ttft_cv=0.5&itl=5ms&itl_cv=0.2&osl=64&osl_cv=0.3&seed=7&slowdown=1.1&drift=0.01&workers=4&queue=9&cv=.1&ar=.5", plain(func(c *Config) {
			c.TTFT, c.TTFTSpread, c.ITL, c.ITLSpread, c.OSL, c.OSLSpread, c.Seed = 40*msec, .5, 5*msec, .2, 64, .3, 7
			c.Slowdown, c.Drift, c.Workers, c.Queue, c.Spread, c.Memory = 1.1, .01, 4, 9, .1, .5
		})},
		{"mock:?slowdown=2@5s&rate_limit=10&ready=1s&models_ready=500ms", batched(func(c *Config) {
			c.Slowdown, c.SlowFrom, c.RateLimit, c.Ready, c.ModelsReady = 2, 5*time.Second, 10, time.Second, 500*msec
		})},
		{"mock:?concurrency_limit=8&crash=9&overload=100@8&hump=20@8-12", batched(func(c *Config) {
			c.ConcurrencyLimit, c.Crash = 8, 9
			c.Overload, c.Hump = Crowd{100, 8, math.MaxInt}, Crowd{20, 8, 12}
		})},
	}
	for _, c := range cases {
		got, err := ParseURL(c.url)
		if err != nil {
			t.Errorf("ParseURL(%s): %v", c.url, err)
		} else if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("ParseURL(%s): %s", c.url, d)
		}
	}
}

func TestParseURLRefuses(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"mock:?tftt=1ms":                              `unknown key "tftt"; hint: did you mean ttft?`,
		"mock:?colour=red":                            "aiperf mock-server --words lists the keys",
		"mock:?ttft":                                  "want key=value",
		"mock:?error_rate=10%":                        "error_rate=10%: want a number from 0 to 1: 0.1",
		"mock:?error=10%":                             "did you mean error_rate?",
		"mock:?ttft=40":                               "want a time such as 40ms",
		"mock:?ttft=q&batch=0&color=red&itl=x":        `ttft=q: want a time such as 40ms, at most 1h; batch=0: want a whole number from 1 to 1000000; unknown key "color"; itl=x: want a time`,
		"mock:?ttft=-1ms":                             "want a time",
		"mock:?ttft=1ms&ttft=2ms":                     "given twice",
		"mock:?itl=5ms&step=5ms":                      "contradict",
		"mock:?batch=0":                               "from 1",
		"mock:?osl=1e9":                               "whole number",
		"mock:?jitter=NaN":                            "number from 0",
		"mock:?error_rate=2":                          "from 0 to 1",
		"mock:?error_rate=.6&cut=.6":                  "more than 1",
		"mock:?error_status=200":                      "400 to 599",
		"mock:?usage=maybe":                           "want one of [asked on off each]",
		"mock:?pause=1s":                              "FOR@AT",
		"mock:?seed=x":                                "invalid syntax",
		"mock:?ttft=%zz":                              "want a time such as 40ms",
		"mock:?workers=2":                             "needs plain timing",
		"mock:?ttft=1ms&queue=2":                      "give workers too",
		"mock:?ttft=1ms&ar=.2":                        "give cv too",
		"mock:?slowdown=0":                            "number from 0.001",
		"mock:?slowdown=2@x":                          "want a time",
		"mock:?rate_limit=0":                          "number from 0.001",
		"mock:?hump=20":                               "want FACTOR@N or FACTOR@LOW-HIGH, such as 100@8-12",
		"mock:?hump=20@12-8":                          "hump=20@12-8: want a whole number from 12",
		"mock:?ttft=1ms&hump=20@8-12":                 "hump needs batched timing",
		"mock:?overload=20@8-12":                      "it has no upper end",
		"mock:?ttft=1ms&ttft_cv=.5&shape=exponential": "have a coefficient of variation of 1, not 0.5",
		"mock:?ttft=1ms&itl_cv=.7&shape=uniform":      "at most 0.577",
		"http://localhost:8000":                       "not a mock: URL",
	} {
		_, err := ParseURL(url)
		if err == nil || !strings.Contains(diag.Line(err), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("ParseURL(%s) = %v, want one line with %q", url, err, want)
		}
	}
}

func FuzzParseURL(f *testing.F) {
	for _, s := range []string{
		"mock:", "mock:?ttft=1ms&itl=2ms", "http://mock:?pause=1s@2s", "mock:?model=a%2Cb",
		"mock:?&&=&",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c, err := ParseURL(s)
		if err != nil {
			return
		}
		if c.Batch < 1 || c.Chunk < 1 || c.OSL < 1 || len(c.ErrorStatus) == 0 || c.TTFT < 0 {
			t.Errorf("ParseURL(%q) = %+v, which no server can run", s, c)
		}
	})
}
