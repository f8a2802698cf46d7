package mockserver

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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
		{"http://mock:?ttft=40ms", plain(func(c *Config) { c.TTFT = 40 * msec })},
		{"mock:?ttft=40ms&prefill=0.02ms", plain(func(c *Config) { c.TTFT, c.Prefill = 40*msec, 20*time.Microsecond })},
		{"mock:?step=5ms&batch=4&seq=100us&ttft=1ms", batched(func(c *Config) { c.Batch, c.Seq, c.TTFT = 4, 100*time.Microsecond, msec })},
		{"mock:?osl=7&max_osl=9&chunk=2&reasoning=3&role=none&usage=each&lie=1.5&cached=0.25&dims=4", batched(func(c *Config) {
			c.OSL, c.MaxOSL, c.Chunk, c.Reasoning, c.Role, c.Usage, c.Lie, c.Cached, c.Dims = 7, 9, 2, 3, RoleNone, UsageEach, 1.5, 0.25, 4
		})},
		{"mock:?model=a,b&model=c%26d", batched(func(c *Config) { c.Models = []string{"a", "b", "c&d"} })},
		{"mock:?error_rate=0.01&error_status=500,429&cut=.1&html=.2&empty=.1&stream_error=.1&seed=7", batched(func(c *Config) {
			c.ErrorRate, c.ErrorStatus, c.Cut, c.HTML, c.Empty, c.StreamError, c.Seed = 0.01, []int{500, 429}, .1, .2, .1, .1, 7
		})},
		{"mock:?pause=500ms@2s&jitter=0.1&shape=uniform", batched(func(c *Config) {
			c.PauseFor, c.PauseAt, c.Jitter, c.Shape = 500*msec, 2*time.Second, 0.1, Uniform
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
		"mock:?tftt=1ms":             `unknown key "tftt"; did you mean "ttft"?`,
		"mock:?colour=red":           "the keys are ttft, itl",
		"mock:?ttft":                 "want key=value",
		"mock:?ttft=40":              "want a time such as 40ms",
		"mock:?ttft=-1ms":            "want a time",
		"mock:?ttft=1ms&ttft=2ms":    "given twice",
		"mock:?itl=5ms&step=5ms":     "contradict",
		"mock:?batch=0":              "from 1",
		"mock:?osl=1e9":              "whole number",
		"mock:?jitter=NaN":           "number from 0",
		"mock:?error_rate=2":         "from 0 to 1",
		"mock:?error_rate=.6&cut=.6": "more than 1",
		"mock:?error_status=200":     "400 to 599",
		"mock:?usage=maybe":          "want one of [asked on off each]",
		"mock:?pause=1s":             "FOR@AT",
		"mock:?seed=x":               "invalid syntax",
		"mock:?ttft=%zz":             "invalid URL escape",
		"http://localhost:8000":      "not a mock: URL",
	} {
		_, err := ParseURL(url)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("ParseURL(%s) = %v, want one line with %q", url, err, want)
		}
	}
}

func FuzzParseURL(f *testing.F) {
	for _, s := range []string{"mock:", "mock:?ttft=1ms&itl=2ms", "http://mock:?pause=1s@2s", "mock:?model=a%2Cb", "mock:?&&=&"} {
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

func FuzzParseCall(f *testing.F) {
	for _, s := range []string{
		`{"model":"m","messages":[{"role":"user","content":"a b"}],"max_tokens":3}`,
		`{"input":["a",[1,2,3]],"encoding_format":"base64"}`, `{"messages":[{"content":[{"type":"text","text":"x"}]}]}`, `[]`, `{"prompt":{"content":{"content":"x"}}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		c, err := parseCall(raw)
		if err == nil && (c.asked < 0 || c.asked > maxTokens || c.items < 0) {
			t.Errorf("parseCall(%q) = %+v", raw, c)
		}
	})
}

func TestParseCall(t *testing.T) {
	t.Parallel()
	cases := []struct {
		body string
		want call
	}{
		{
			`{"model":"m","messages":[{"role":"system","content":"a"},{"role":"user","content":[{"type":"text","text":"b c"},{"type":"image_url","image_url":{"url":"x"}}]}],"max_completion_tokens":5,"max_tokens":9,"min_tokens":2,"stream":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true}}`,
			call{model: "m", text: "a b c", asked: 5, least: 2, stream: true, includeUsage: true, usageEach: true},
		},
		{`{"prompt":"x"}`, call{text: "x"}},
		{`{"prompt":[1,2,3]}`, call{ids: 3}},
		{`{"input":["x","y"],"encoding_format":"base64"}`, call{text: "x y", items: 2, base64: true}},
		{`{"input":[[1,2],[3]]}`, call{ids: 3, items: 2}},
		{`{"input":[4,5]}`, call{ids: 2, items: 1}},
		{`{"instructions":"be","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"z"}]}],"max_output_tokens":4}`, call{text: "be z", asked: 4, items: 1}},
		{`{"query":{"text":"q"},"passages":[{"text":"p1"},{"text":"p2"}]}`, call{text: "q p1 p2", items: 2}},
		{`{"query":"q","documents":["d1","d2","d3"]}`, call{text: "q d1 d2 d3", items: 3}},
	}
	for _, c := range cases {
		got, err := parseCall([]byte(c.body))
		if err != nil || got != c.want {
			t.Errorf("parseCall(%s) = %+v, %v; want %+v", c.body, got, err, c.want)
		}
	}
	for _, bad := range []string{`{`, `[]`, `{"max_tokens":-1}`, `{"max_tokens":1e12}`, `{"model":7}`} {
		if _, err := parseCall([]byte(bad)); err == nil {
			t.Errorf("parseCall(%s) is accepted", bad)
		}
	}
}
