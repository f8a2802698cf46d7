package receipt

import (
	"fmt"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/metrics"
)

// Kind is what a field holds.
type Kind int

// The kinds.
const (
	Textual Kind = iota
	Numeric
)

// Class is what a difference in a field means for a comparison.
type Class int

// The classes, the worst last.
const (
	Told     Class = iota // what came of the run; never compared here
	Noted                 // changes no number by itself
	Material              // can move the metrics of Moves
	Fatal                 // another workload: the comparison is refused
)

var classNames = [...]string{"told", "noted", "material", "fatal"}

func (c Class) String() string { return classNames[c] }

// Move is a metric that a larger value of a field moves, and which way: 1 up, −1 down,
// 0 either.
type Move struct {
	Metric string
	Way    int
}

// Field is one thing that a receipt says.
type Field struct {
	Name  string
	Kind  Kind
	Unit  string
	Doc   string
	Class Class
	Moves []Move
	// Asked says that it follows from settings: where both receipts have those, they are
	// compared instead.
	Asked bool

	// material and fatal are how large a difference of numbers has that class; 0 for never,
	// where Class says it of any difference. They are shares of the larger value, or absolute
	// with absolute.
	material, fatal float64
	absolute        bool
	sd, n           string // fields with the standard deviation behind a mean, and how many it is of
	of              string // field with the mean that this is the standard deviation of
	hits            string // field with what a share counts, of n: differences that chance explains are none
}

func text(name string, class Class, doc string, moves ...Move) Field {
	return Field{Name: name, Class: class, Doc: doc, Moves: moves}
}

func number(name, unit string, class Class, doc string, moves ...Move) Field {
	return Field{Name: name, Kind: Numeric, Unit: unit, Class: class, Doc: doc, Moves: moves}
}

// within gives the differences that count: from material on one is Material, from fatal on
// Fatal; what is Noted stays so. A limit of 0 is none.
func (f Field) within(material, fatal float64) Field {
	if f.material, f.fatal = material, fatal; f.Class != Noted {
		f.Class = Material
	}
	return f
}

// share is within of a field that lies between 0 and 1: limits are in points of it, and chance
// in n of them is allowed for.
func (f Field) share(material, fatal float64, n string) Field {
	f = f.within(material, fatal)
	f.absolute, f.n = true, n
	return f
}

// mean allows for chance in a mean of n values with the standard deviation sd.
func (f Field) mean(sd, n string) Field {
	f.sd, f.n = sd, n
	return f
}

// deviation makes f the standard deviation of n values with the mean of. It is Material from a
// quarter on, with room for chance, and Fatal where lengths that are all the same stand
// against drawn ones.
func (f Field) deviation(of, n string) Field {
	f = f.within(0.25, 0)
	f.of, f.n = of, n
	return f
}

func (f Field) asked() Field {
	f.Asked = true
	return f
}

// moves that several fields share.
var (
	ttft       = metrics.TimeToFirstToken
	itl        = metrics.InterTokenLatency
	latency    = metrics.RequestLatency
	tokenRate  = metrics.OutputTokenThroughput
	reqRate    = metrics.RequestThroughput
	moreLoad   = []Move{{ttft, 1}, {itl, 1}, {latency, 1}, {tokenRate, 0}, {reqRate, 0}}
	longerIn   = []Move{{ttft, 1}, {latency, 1}, {reqRate, -1}, {tokenRate, -1}}
	longerOut  = []Move{{latency, 1}, {reqRate, -1}, {tokenRate, 1}}
	warmer     = []Move{{ttft, -1}, {latency, -1}, {reqRate, 1}, {tokenRate, 1}}
	countsElse = []Move{{metrics.InputSequenceLength, 0}, {metrics.OutputSequenceLength, 0}, {itl, 0}, {tokenRate, 0}}
	failsMore  = []Move{{ttft, 0}, {latency, 0}, {reqRate, -1}, {tokenRate, -1}}
)

// What a server can bring about, such as how many requests are in flight, is never Fatal: it
// would hide that the server got worse.
var catalogue = []Field{
	text("arrivals.law", Fatal, "what decides when requests go: concurrency (a closed loop), constant, poisson, gamma, burst, trace, or another mode by name",
		moreLoad...).asked(),
	number("arrivals.rate_asked", "requests/s", Fatal, "request rate that was asked for; unknown in a closed loop",
		moreLoad...).asked(),
	number("arrivals.rate", "requests/s", Material, "requests sent each second, from the first to the last; known where a clock says when, unknown in a closed loop, where the server decides",
		moreLoad...).within(0.03, 0),
	number("arrivals.cv", "", Material, "coefficient of variation of the time between two requests: 0 is constant, 1 Poisson; unknown in a closed loop",
		Move{ttft, 1}, Move{latency, 1}).share(0.25, 0, "requests.attempted"),
	number("concurrency.asked", "requests", Fatal, "requests in flight that were asked for, or the most that were allowed",
		moreLoad...).asked(),
	number("concurrency.held", "requests", Material, "mean of requests in flight from the first that was sent to the last; known in a closed loop, which holds it; unknown where the server decides",
		moreLoad...).within(0.1, 0),
	number("concurrency.mean", "requests", Told, "mean of requests in flight from the first that was sent to the last"),
	number("concurrency.peak", "requests", Told, "most requests in flight"),

	number("requests.asked", "requests", Fatal, "requests that were asked for; unknown where time decides",
		Move{latency, 0}, Move{ttft, 0}).asked(),
	number("requests.attempted", "requests", Told, "requests that were sent, warmup not included"),
	number("requests.ok", "requests", Told, "of them ended well"),
	number("requests.failed", "requests", Told, "of them failed"),
	number("requests.rejected", "requests", Told, "of them were turned away: status 429 or 503"),
	number("requests.cancelled", "requests", Told, "of them were cancelled as asked"),
	number("requests.cut", "requests", Told, "of them were cut off by the end of their phase"),
	number("requests.unsent", "requests", Told, "requests that were due and never sent"),
	number("requests.failed_share", "ratio", Material, "failed requests, as a share of those sent; latencies are of those that ended well",
		failsMore...).counts("requests.failed", "requests.attempted"),
	number("requests.cut_share", "ratio", Material, "requests cut off by the end of their phase, as a share of those sent: the long ones",
		Move{latency, -1}, Move{reqRate, -1}).share(0.02, 0, "requests.attempted"),
	text("requests.failures", Noted, "failed requests by kind"),

	number("tokens.input.asked", "tokens", Fatal, "mean input length that was asked for", longerIn...).asked(),
	number("tokens.input.sent.mean", "tokens", Material, "mean input length that was sent, by the client's tokenizer",
		longerIn...).within(0.03, 0.1).mean("tokens.input.sent.sd", "requests.attempted"),
	number("tokens.input.sent.sd", "tokens", Material, "its standard deviation",
		Move{ttft, 0}, Move{latency, 0}).deviation("tokens.input.sent.mean", "requests.attempted"),
	number("tokens.input.server.mean", "tokens", Material, "mean input length as the server counts it, with its chat template",
		longerIn...).within(0.03, 0).mean("tokens.input.sent.sd", "requests.attempted"),
	number("tokens.template_overhead", "tokens", Noted, "what the server counts beyond what was sent, a request on average: the chat template, or another tokenizer"),
	number("tokens.output.requested.mean", "tokens", Fatal, "mean output length that was asked for, request by request",
		longerOut...).within(0.03, 0.1).mean("tokens.output.requested.sd", "requests.attempted"),
	number("tokens.output.requested.sd", "tokens", Material, "its standard deviation",
		Move{latency, 0}).deviation("tokens.output.requested.mean", "requests.attempted"),
	number("tokens.output.generated.mean", "tokens", Material, "mean output length, by the client's tokenizer, reasoning included",
		longerOut...).within(0.03, 0).mean("tokens.output.generated.sd", "requests.ok"),
	number("tokens.output.generated.sd", "tokens", Noted, "its standard deviation").within(0.25, 0),
	number("tokens.output.server.mean", "tokens", Material, "mean output length as the server counts it",
		longerOut...).within(0.03, 0).mean("tokens.output.generated.sd", "requests.ok"),
	number("tokens.output.reached", "ratio", Material, "tokens generated, as a share of those asked for",
		longerOut...).share(0.03, 0, "requests.ok"),
	text("tokens.ignore_eos", Material, "true where answers were to have their full length, whatever the model says",
		longerOut...).asked(),
	number("finish.length", "ratio", Material, "answers that ended at the length asked for, as a share of those that say why",
		longerOut...).share(0.05, 0, "requests.ok"),
	number("finish.stop", "ratio", Told, "answers that the model ended"),
	number("finish.other", "ratio", Told, "answers that ended in another way"),

	number("prefix.hit_rate_asked", "ratio", Fatal, "share of the input that a prefix cache should know, as it was asked for",
		warmer...).asked(),
	number("prefix.hit_rate_theoretical", "ratio", Material, "share of the input that a cache which forgets nothing would know, each conversation of the data played once",
		warmer...).share(0.01, 0.1, ""),
	number("prefix.hit_rate_delivered", "ratio", Material, "the same over the requests that were sent",
		warmer...).share(0.02, 0, ""),
	number("prefix.hit_rate_server", "ratio", Material, "share of the input that the server's cache knew, by the server",
		warmer...).share(0.03, 0, ""),

	number("conversations.count", "", Told, "conversations that were begun, warmup not included"),
	number("conversations.turns.mean", "", Material, "requests of a conversation, on average",
		longerIn...).within(0.05, 0).mean("conversations.turns.sd", "conversations.count"),
	number("conversations.turns.sd", "", Told, "its standard deviation"),
	number("conversations.think.mean", "s", Material, "from the end of an answer to the next turn, on average; unknown where conversations have one turn",
		Move{reqRate, -1}, Move{tokenRate, -1}).within(0.1, 0),

	text("endpoint.type", Fatal, "API, such as chat or completions", moreLoad...).asked(),
	text("endpoint.streaming", Fatal, "true where answers came event by event", Move{ttft, 0}, Move{itl, 0}).asked(),
	number("connections.opened", "", Told, "connections that requests had to wait for"),
	number("connections.reused", "ratio", Material, "requests on a connection that had served one before, as a share of those sent",
		Move{ttft, -1}, Move{latency, -1}).share(0.1, 0, "requests.attempted"),
	number("warmup.requests", "requests", Noted, "requests before the measured ones", warmer...).within(0.05, 0),
	number("window.seconds", "s", Told, "length of the span that rates divide by"),
	number("window.steady_seconds", "s", Told, "length of the span without ramp and drain"),

	text("tokenizer.name", Material, "what input and output were counted with", countsElse...).asked(),
	text("tokenizer.digest", Material, "SHA-256 of it", countsElse...),
	text("dataset.name", Material, "the data by name, with its revision", longerIn...).asked(),
	text("dataset.digest", Noted, "SHA-256 of the conversations"),
	text("seed", Noted, "root seed of the run"),

	text("client.name", Noted, "the program that measured"),
	text("client.version", Noted, "its version"),
	text("client.verdict", Noted, "its word on its own measurement: VALID, DEGRADED or INVALID"),
	text("client.stamps", Material, "who says when bytes came: kernel, or application, whose own delay is part of each time",
		Move{ttft, 0}, Move{itl, 0}, Move{latency, 0}),
	number("client.error.ttft", "ms", Told, "how much the client adds to a time to first token, by audit: median"),
	number("client.error.itl", "ms", Told, "how much it adds to an inter token latency, by audit: median"),
	number("client.error.latency", "ms", Told, "how much it adds to a request latency, by audit: median"),
	text("server.name", Noted, "the server, as it calls itself"),
	text("server.version", Noted, "its version"),
	text("server.model", Noted, "the model that answers name, or that was asked for"),
	text("server.settings", Noted, "what the server tells of its settings"),

	text("definition.ttft", Material, "what ends a time to first token: first_content, reasoning included; first_output, reasoning not; first_event, whatever it carries",
		Move{ttft, 0}),
	text("definition.itl", Material, "inter token latency: per_request, (latency − TTFT) / (tokens − 1) to the last token; per_request_to_end; gaps, each between two events",
		Move{itl, 0}),
	text("definition.latency", Material, "what ends a request: last_content, or end, when the answer is over", Move{latency, 0}),
	text("definition.throughput", Material, "what rates divide by: first_sent_to_last_end, or wall, the whole of the run",
		Move{reqRate, 0}, Move{tokenRate, 0}),
	text("definition.failures", Material, "what latencies and rates count: ok, only what ended well; all, failed requests too",
		failsMore...),
	text("definition.by", Noted, "program and version whose definitions these are"),
}

var byName = func() map[string]*Field {
	m := map[string]*Field{}
	for i := range catalogue {
		m[catalogue[i].Name] = &catalogue[i]
	}
	return m
}()

// Fields are all that a receipt can say, in the order of listings.
func Fields() []Field { return slices.Clone(catalogue) }

// fieldNamed is a field of the kind. Another name is a mistake in this program.
func fieldNamed(name string, kind Kind) *Field {
	f := byName[name]
	if f == nil || f.Kind != kind {
		panic(fmt.Sprintf("receipt: no such field: %s", name))
	}
	return f
}

func joined(texts []string) string { return strings.Join(texts, ", ") }

// counts makes it a share of hits among n, which Fisher's exact test compares.
func (f Field) counts(hits, n string) Field {
	f.hits, f.n = hits, n
	return f
}

// Limits are the classes of the field's differences in words: "material from 3 %, fatal from 10 %".
func (f Field) Limits() string {
	switch {
	case f.hits != "":
		return fmt.Sprintf("%s where chance alone differs so much in less than %g %% of pairs (Fisher's exact test)", f.Class,
			100*rare)
	case f.material == 0:
		return f.Class.String()
	}
	unit := " %"
	if f.absolute {
		unit = " points"
	}
	said := fmt.Sprintf("%s from %g%s", f.Class, 100*f.material, unit)
	if f.of != "" {
		said += ", fatal where only one varies"
	}
	if f.fatal > 0 {
		said += fmt.Sprintf(", fatal from %g%s", 100*f.fatal, unit)
	}
	return said
}
