package otlp

import (
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	common "go.opentelemetry.io/proto/otlp/common/v1"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/record"
)

// Run is what the metrics of one run are of.
type Run struct {
	Endpoint string // type, as AIPerf calls it
	Cell     string
	Trial    int
}

// Bounds of histograms, as the conventions give them.
var (
	durationBounds = doubling(0.01, 2, 14)
	firstBounds    = []float64{
		0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640,
		2560,
	}
	gapBounds   = []float64{0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5}
	tokenBounds = doubling(1, 4, 14)
)

func doubling(first, factor float64, n int) (out []float64) {
	for v := first; len(out) < n; v *= factor {
		out = append(out, v)
	}
	return out
}

// names are those of one version of the conventions; "" where it has no such metric.
type names struct {
	duration, first, gap string
	tokens               string // histogram of both directions
	input, output        string // histograms of each
	usage                string // prefix of counters
}

var conventions = map[Version]names{
	V141: {
		duration: "gen_ai.client.operation.duration", first: "gen_ai.client.operation.time_to_first_chunk",
		gap: "gen_ai.client.operation.time_per_output_chunk", tokens: "gen_ai.client.token.usage",
	},
	Next: {
		duration: "gen_ai.client.inference.duration", first: "gen_ai.client.inference.time_to_first_chunk",
		gap: "gen_ai.client.inference.time_per_output_chunk", input: "gen_ai.client.inference.operation.input_tokens",
		output: "gen_ai.client.inference.operation.output_tokens", usage: "gen_ai.client.inference.usage.",
	},
}

// recorder makes metrics of requests.
type recorder struct {
	meter                           *meter
	provider                        string
	duration, first, gap            *instrument
	tokens, input, output           *instrument
	usedInput, usedOutput, usedRead *instrument
	usedReasoning, succeeded, asked *instrument
	own                             []own
	firstOf, gapOf                  *metrics.Metric
	values                          []float64 // room
	run                             []*common.KeyValue
	operation                       string
}

// own is a metric of the catalogue that the conventions lack.
type own struct {
	of    *metrics.Metric
	scale float64
	into  *instrument
}

// translated are the metrics that the conventions have a name for.
var translated = []string{
	metrics.RequestLatency, metrics.TimeToFirstToken, metrics.InterTokenLatency, metrics.OutputTokenCount,
}

func newRecorder(m *meter, s *scope, c Config) *recorder {
	r := &recorder{meter: m, provider: c.Provider}
	by := conventions[c.Semconv]
	tokens := func(name, doc string) *instrument {
		if name == "" {
			return nil
		}
		return s.instrument(histogram, name, "{token}", doc, tokenBounds...)
	}
	count := func(name string) *instrument {
		if by.usage == "" {
			return nil
		}
		return s.instrument(sum, by.usage+name, "{token}", "")
	}
	r.duration = s.instrument(histogram, by.duration, "s", "Duration of an operation.", durationBounds...)
	r.first = s.instrument(histogram, by.first, "s", "Time to the first chunk of an answer.", firstBounds...)
	r.gap = s.instrument(histogram, by.gap, "s", "Time per output chunk after the first.", gapBounds...)
	r.tokens = tokens(by.tokens, "Tokens of an operation.")
	r.input = tokens(by.input, "Input tokens of an operation.")
	r.output = tokens(by.output, "Output tokens of an operation.")
	r.usedInput, r.usedOutput = count("input_tokens"), count("output_tokens")
	r.usedRead, r.usedReasoning = count("cache_read.input_tokens"), count("reasoning.output_tokens")
	r.firstOf, _ = metrics.Lookup(metrics.TimeToFirstToken)
	r.gapOf, _ = metrics.Lookup(metrics.InterTokenLatency)
	all := metrics.Catalogue()
	for i := range all {
		x := &all[i]
		if x.Record == nil && x.List == nil || slices.Contains(translated, x.Tag) {
			continue
		}
		o, unit, bounds := own{of: x, scale: 1}, x.Unit, defaultBounds
		switch {
		case unit == "ms":
			o.scale, unit, bounds = 1e-3, "s", firstBounds
		case strings.HasPrefix(unit, "token") && !strings.Contains(unit, "/"):
			unit, bounds = "{token}", tokenBounds
		}
		o.into = s.instrument(histogram, "aiperf."+x.Tag, unit, x.Header, bounds...)
		r.own = append(r.own, o)
	}
	r.asked = s.instrument(histogram, "aiperf.requested_osl", "{token}", "Output tokens asked for", tokenBounds...)
	r.succeeded = s.instrument(sum, "aiperf."+metrics.RequestCount, "{request}", "")
	return r
}

func (c *recorder) record(r *record.Record) {
	of := c.meter.set(append(c.run[:len(c.run):len(c.run)], phase(r.Warmup),
		yesno("aiperf.was_cancelled", r.Part()&(record.InCancelled|record.InCut) != 0),
		yesno("aiperf.has_error", r.Failed()))...)
	for _, o := range c.own {
		c.values = o.of.Values(r, c.values[:0])
		for _, v := range c.values {
			o.into.add(of, v*o.scale)
		}
	}
	if r.Succeeded() {
		c.succeeded.add(of, 1)
		if r.OSLRequested > 0 {
			c.asked.add(of, float64(r.OSLRequested))
		}
	}
	attributes := append(c.run[:len(c.run):len(c.run)], phase(r.Warmup), text("gen_ai.operation.name", c.operation),
		text("gen_ai.provider.name", provider(c.provider, r.URL)), text("gen_ai.request.model", r.Model))
	if r.ServedModel != "" {
		attributes = append(attributes, text("gen_ai.response.model", r.ServedModel))
	}
	attributes = append(attributes, server(r.URL)...)
	if kind := errorType(r); kind != "" {
		attributes = append(attributes, text("error.type", kind))
	}
	of = c.meter.set(attributes...)
	if r.Sent != record.None && r.End != record.None {
		c.duration.add(of, float64(r.End-r.Sent)/1e9)
	}
	c.first.add(of, value(c.firstOf, r)/1e3)
	c.gap.add(of, value(c.gapOf, r)/1e3)
	c.used(r, attributes, of)
}

// used are the tokens: histograms of what succeeded, counters of all that is known.
func (c *recorder) used(r *record.Record, attributes []*common.KeyValue, of *set) {
	for _, x := range []struct {
		n     int64
		kind  string // of the histogram of both directions
		own   *instrument
		count *instrument
	}{
		{r.ISL, "input", c.input, c.usedInput},
		{r.OSL, "output", c.output, c.usedOutput},
		{r.Cached, "", nil, c.usedRead},
		{r.ReasoningTokens, "", nil, c.usedReasoning},
	} {
		if x.n < 0 {
			continue
		}
		x.count.add(of, float64(x.n))
		if !r.Succeeded() {
			continue
		}
		x.own.add(of, float64(x.n))
		if c.tokens != nil && x.kind != "" {
			both := append(attributes[:len(attributes):len(attributes)], text("gen_ai.token.type", x.kind))
			c.tokens.add(c.meter.set(both...), float64(x.n))
		}
	}
}

// value is what a request has of a metric, NaN for nothing.
func value(m *metrics.Metric, r *record.Record) float64 {
	var room [1]float64
	if v := m.Values(r, room[:0]); len(v) == 1 {
		return v[0]
	}
	return math.NaN()
}

func phase(warmup bool) *common.KeyValue {
	if warmup {
		return text("aiperf.benchmark_phase", "warmup")
	}
	return text("aiperf.benchmark_phase", "profiling")
}

// operation is gen_ai.operation.name of a type of endpoint.
func operation(endpoint string) string {
	switch {
	case strings.HasSuffix(endpoint, "embeddings"):
		return "embeddings"
	case strings.HasSuffix(endpoint, "completions"):
		return "text_completion"
	}
	return "chat"
}

// provider is gen_ai.provider.name, by the host where it is not given.
func provider(given, address string) string {
	if given != "" {
		return given
	}
	host := ""
	if u, err := url.Parse(address); err == nil {
		host = u.Hostname()
	}
	for _, p := range [][2]string{
		{"openai.azure.com", "azure.ai.openai"},
		{
			"inference.ai.azure.com", "azure.ai.inference",
		},
		{"openai.com", "openai"},
		{"anthropic.com", "anthropic"},
		{"amazonaws.com", "aws.bedrock"},
		{
			"googleapis.com", "gcp.vertex_ai",
		},
		{"mistral.ai", "mistral_ai"},
		{"groq.com", "groq"},
		{"deepseek.com", "deepseek"},
		{"perplexity.ai", "perplexity"},
		{"x.ai", "x_ai"},
		{"cohere.com", "cohere"},
	} {
		if host == p[0] || strings.HasSuffix(host, "."+p[0]) {
			return p[1]
		}
	}
	return other
}

// other is the conventions' word for what has no word.
const other = "_OTHER"

func server(address string) (out []*common.KeyValue) {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		return nil
	}
	out = append(out, text("server.address", u.Hostname()))
	if port, err := strconv.Atoi(u.Port()); err == nil {
		out = append(out, whole("server.port", port))
	}
	return out
}

// errorType is error.type of what did not succeed, in AIPerf's few words.
func errorType(r *record.Record) string {
	switch {
	case r.Succeeded():
		return ""
	case r.Part()&(record.InCancelled|record.InCut) != 0:
		return "cancelled"
	case r.Status == record.Timeout:
		return "timeout"
	case r.Status == record.ParseError || r.Status == record.Truncated:
		return "parse_error"
	case r.HTTPStatus >= 500:
		return "http_5xx"
	case r.HTTPStatus >= 400:
		return "http_4xx"
	}
	return other
}
