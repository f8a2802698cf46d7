package otlp

import (
	"context"
	"math"
	"net/url"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

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
	provider                        string
	duration, first, gap            metric.Float64Histogram
	tokens, input, output           metric.Int64Histogram
	usedInput, usedOutput, usedRead metric.Int64Counter
	usedReasoning, succeeded        metric.Int64Counter
	asked                           metric.Int64Histogram
	own                             []own
	values                          []float64 // room
	run                             []attribute.KeyValue
	operation                       string
}

// own is a metric of the catalogue that the conventions lack.
type own struct {
	of    *metrics.Metric
	scale float64
	into  metric.Float64Histogram
}

// translated are the metrics that the conventions have a name for.
var translated = []string{
	metrics.RequestLatency, metrics.TimeToFirstToken, metrics.InterTokenLatency, metrics.OutputTokenCount,
}

func newRecorder(m metric.Meter, c Config) (*recorder, error) {
	r := &recorder{provider: c.Provider}
	by := conventions[c.Semconv]
	var err, failed error
	note := func(e error) {
		if failed == nil {
			failed = e
		}
	}
	times := func(name, doc string, bounds []float64) metric.Float64Histogram {
		h, e := m.Float64Histogram(
			name, metric.WithUnit("s"), metric.WithDescription(doc), metric.WithExplicitBucketBoundaries(bounds...),
		)
		note(e)
		return h
	}
	tokens := func(name, doc string) metric.Int64Histogram {
		if name == "" {
			return nil
		}
		h, e := m.Int64Histogram(
			name, metric.WithUnit("{token}"), metric.WithDescription(doc),
			metric.WithExplicitBucketBoundaries(tokenBounds...),
		)
		note(e)
		return h
	}
	count := func(name string) metric.Int64Counter {
		if by.usage == "" {
			return nil
		}
		h, e := m.Int64Counter(by.usage+name, metric.WithUnit("{token}"))
		note(e)
		return h
	}
	r.duration = times(by.duration, "Duration of an operation.", durationBounds)
	r.first = times(by.first, "Time to the first chunk of an answer.", firstBounds)
	r.gap = times(by.gap, "Time per output chunk after the first.", gapBounds)
	r.tokens = tokens(by.tokens, "Tokens of an operation.")
	r.input, r.output = tokens(by.input, "Input tokens of an operation."), tokens(
		by.output, "Output tokens of an operation.",
	)
	r.usedInput, r.usedOutput = count("input_tokens"), count("output_tokens")
	r.usedRead, r.usedReasoning = count("cache_read.input_tokens"), count("reasoning.output_tokens")
	all := metrics.Catalogue()
	for i := range all {
		x := &all[i]
		if x.Record == nil && x.List == nil || has(translated, x.Tag) {
			continue
		}
		o := own{of: x, scale: 1}
		unit, options := x.Unit, []metric.Float64HistogramOption{metric.WithDescription(x.Header)}
		switch {
		case unit == "ms":
			o.scale, unit = 1e-3, "s"
			options = append(options, metric.WithExplicitBucketBoundaries(firstBounds...))
		case strings.HasPrefix(unit, "token") && !strings.Contains(unit, "/"):
			unit = "{token}"
			options = append(options, metric.WithExplicitBucketBoundaries(tokenBounds...))
		}
		h, e := m.Float64Histogram("aiperf."+x.Tag, append(options, metric.WithUnit(unit))...)
		note(e)
		o.into = h
		r.own = append(r.own, o)
	}
	r.asked, err = m.Int64Histogram("aiperf.requested_osl", metric.WithUnit("{token}"), metric.WithDescription("Output tokens asked for"),
		metric.WithExplicitBucketBoundaries(tokenBounds...))
	note(err)
	r.succeeded, err = m.Int64Counter("aiperf."+metrics.RequestCount, metric.WithUnit("{request}"))
	note(err)
	return r, failed
}

func has(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

func (e *exporter) Begin(r Run) {
	e.records.operation = operation(r.Endpoint)
	e.records.run = []attribute.KeyValue{
		attribute.String("aiperf.cell", r.Cell), attribute.Int("aiperf.trial", r.Trial+1),
	}
	e.timing.begin(e.records.run)
}

func (e *exporter) Record(r *record.Record) {
	e.timing.record(r)
	if !e.config.Records || r.Part() == record.InUnsent {
		return
	}
	e.records.record(context.Background(), r) // an instrument only counts, it does not send
}

func (c *recorder) record(ctx context.Context, r *record.Record) {
	attrs := append(c.run[:len(c.run):len(c.run)], phase(r),
		attribute.Bool(
			"aiperf.was_cancelled", r.Part()&(record.InCancelled|record.InCut) != 0,
		), attribute.Bool("aiperf.has_error", r.Failed()))
	with := metric.WithAttributeSet(attribute.NewSet(attrs...))
	for _, o := range c.own {
		c.values = o.of.Values(r, c.values[:0])
		for _, v := range c.values {
			o.into.Record(ctx, v*o.scale, with)
		}
	}
	if r.Succeeded() {
		c.succeeded.Add(ctx, 1, with)
		if r.OSLRequested > 0 {
			c.asked.Record(ctx, r.OSLRequested, with)
		}
	}
	attrs = append(c.run[:len(c.run):len(c.run)], phase(r), attribute.String("gen_ai.operation.name", c.operation),
		attribute.String(
			"gen_ai.provider.name", provider(c.provider, r.URL),
		), attribute.String("gen_ai.request.model", r.Model))
	if r.ServedModel != "" {
		attrs = append(attrs, attribute.String("gen_ai.response.model", r.ServedModel))
	}
	attrs = append(attrs, server(r.URL)...)
	if kind := errorType(r); kind != "" {
		attrs = append(attrs, attribute.String("error.type", kind))
	}
	set := attribute.NewSet(attrs...)
	with = metric.WithAttributeSet(set)
	if r.Sent != record.None && r.End != record.None {
		c.duration.Record(ctx, float64(r.End-r.Sent)/1e9, with)
	}
	for tag, h := range map[string]metric.Float64Histogram{
		metrics.TimeToFirstToken: c.first, metrics.InterTokenLatency: c.gap,
	} {
		if m, ok := metrics.Lookup(tag); ok {
			if v := value(m, r); !math.IsNaN(v) {
				h.Record(ctx, v/1e3, with)
			}
		}
	}
	c.used(ctx, r, attrs, with)
}

// used are the tokens: histograms of what succeeded, counters of all that is known.
func (c *recorder) used(
	ctx context.Context, r *record.Record, attrs []attribute.KeyValue, with metric.MeasurementOption,
) {
	for _, x := range []struct {
		n     int64
		kind  string // of the histogram of both directions
		own   metric.Int64Histogram
		count metric.Int64Counter
	}{
		{r.ISL, "input", c.input, c.usedInput},
		{r.OSL, "output", c.output, c.usedOutput},
		{r.Cached, "", nil, c.usedRead},
		{r.ReasoningTokens, "", nil, c.usedReasoning},
	} {
		if x.n < 0 {
			continue
		}
		if x.count != nil {
			x.count.Add(ctx, x.n, with.(metric.AddOption))
		}
		if !r.Succeeded() {
			continue
		}
		if x.own != nil {
			x.own.Record(ctx, x.n, with)
		}
		if c.tokens != nil && x.kind != "" {
			c.tokens.Record(
				ctx, x.n,
				metric.WithAttributes(
					append(attrs[:len(attrs):len(attrs)], attribute.String("gen_ai.token.type", x.kind))...,
				),
			)
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

func phase(r *record.Record) attribute.KeyValue {
	if r.Warmup {
		return attribute.String("aiperf.benchmark_phase", "warmup")
	}
	return attribute.String("aiperf.benchmark_phase", "profiling")
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

func server(address string) (out []attribute.KeyValue) {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		return nil
	}
	out = append(out, attribute.String("server.address", u.Hostname()))
	if port, err := strconv.Atoi(u.Port()); err == nil {
		out = append(out, attribute.Int("server.port", port))
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
