package mockserver

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/suggest"
	"aiperf.dev/aiperf/loadgen/tokenizer"
)

// key is one word of a mock: URL.
type key struct {
	name string
	doc  string
	set  func(*Config, string) error
}

// keys are the words a mock: URL and the mock-server command take.
var keys = []key{
	{
		"ttft", "time to the first token; plain timing unless step is given",
		duration(func(c *Config) *time.Duration { return &c.TTFT }),
	},
	{"itl", "time between tokens, plain timing", duration(func(c *Config) *time.Duration { return &c.ITL })},
	{"step", "time of one engine step, batched timing", duration(func(c *Config) *time.Duration { return &c.Step })},
	{"seq", "added to a step for each running sequence", duration(func(c *Config) *time.Duration { return &c.Seq })},
	{"batch", "most sequences in a step; others wait", integer(1, func(c *Config) *int { return &c.Batch })},
	{"prefill", "time per input token", duration(func(c *Config) *time.Duration { return &c.Prefill })},
	{
		"front", "time of each request in a front end that handles one at a time, which the engine's own metrics do not see",
		duration(func(c *Config) *time.Duration { return &c.Front }),
	},
	{"jitter", "relative spread of all times", number(0, 10, func(c *Config) *float64 { return &c.Jitter })},
	{
		"shape", "of all random times: lognormal, uniform or exponential (which has cv 1)",
		word(func(c *Config) *Shape { return &c.Shape }, LogNormal, Uniform, Exponential),
	},
	{
		"cv", "coefficient of variation of a factor on all times of one request",
		number(0, 10, func(c *Config) *float64 { return &c.Spread }),
	},
	{
		"ar", "correlation of that factor with the one of the request before",
		number(-0.99, 0.99, func(c *Config) *float64 { return &c.Memory }),
	},
	{
		"ttft_cv", "coefficient of variation of the time to the first token, on top",
		number(0, 10, func(c *Config) *float64 { return &c.TTFTSpread }),
	},
	{"itl_cv", "the same of each time between tokens", number(0, 10, func(c *Config) *float64 { return &c.ITLSpread })},
	{"slowdown", "factor on all times, or FACTOR@AT: from so long after the first request on", slowdown},
	{
		"drift", "growth of all times per second since the first request, 0.01 for 1 %",
		number(-1, 10, func(c *Config) *float64 { return &c.Drift }),
	},
	{
		"workers", "requests answered at once, plain timing; others wait in line",
		integer(1, func(c *Config) *int { return &c.Workers }),
	},
	{"queue", "most requests in that line; more get 503", integer(1, func(c *Config) *int { return &c.Queue })},
	{
		"rate_limit", "requests let in per second; more get 429 with Retry-After",
		number(0.001, 1e6, func(c *Config) *float64 { return &c.RateLimit }),
	},
	{
		"concurrency_limit", "requests let in at a time; more get 429 with Retry-After",
		integer(1, func(c *Config) *int { return &c.ConcurrencyLimit }),
	},
	{"crash", "the server ends as soon as so many requests are in flight", integer(1, func(c *Config) *int { return &c.Crash })},
	{
		"overload", "FACTOR@N: factor on all times from the moment on at which N requests are in flight",
		crowd(func(c *Config) *Crowd { return &c.Overload }),
	},
	{
		"hump", "FACTOR@LOW-HIGH: factor on a step in which LOW to HIGH sequences run, batched timing",
		crowd(func(c *Config) *Crowd { return &c.Hump }),
	},
	{
		"ready", "until so long after the first request every request gets 503",
		duration(func(c *Config) *time.Duration { return &c.Ready }),
	},
	{
		"models_ready", "until so long after the first request /v1/models gives 503",
		duration(func(c *Config) *time.Duration { return &c.ModelsReady }),
	},
	{"osl", "output tokens when none are asked for", integer(1, func(c *Config) *int { return &c.OSL })},
	{
		"osl_cv", "coefficient of variation of these lengths",
		number(0, 10, func(c *Config) *float64 { return &c.OSLSpread }),
	},
	{"max_osl", "cap on the output tokens", integer(0, func(c *Config) *int { return &c.MaxOSL })},
	{"chunk", "tokens per event of a stream", integer(1, func(c *Config) *int { return &c.Chunk })},
	{"reasoning", "leading tokens that are reasoning", integer(0, func(c *Config) *int { return &c.Reasoning })},
	{
		"tool_calls", "calls of functions that an answer of chat, messages or responses is made of, after its reasoning",
		integer(0, func(c *Config) *int { return &c.ToolCalls }),
	},
	{
		"role", "when the role event is sent: early, first or none",
		word(func(c *Config) *Role { return &c.Role }, RoleEarly, RoleFirst, RoleNone),
	},
	{"usage", "asked, on, off or each (on every chunk)", word(func(c *Config) *Usage { return &c.Usage }, UsageAsked,
		UsageOn, UsageOff, UsageEach)},
	{"lie", "factor on the token counts in usage", number(0, 1e6, func(c *Config) *float64 { return &c.Lie })},
	{"cached", "share of the prompt reported as cached", number(0, 1, func(c *Config) *float64 { return &c.Cached })},
	{
		"accepted", "tokens reported as accepted from a predicted answer, at most the answer's",
		integer(0, func(c *Config) *int { return &c.Accepted }),
	},
	{
		"rejected", "tokens reported as rejected from a predicted answer",
		integer(0, func(c *Config) *int { return &c.Rejected }),
	},
	{
		"cache", "blocks in a prefix cache; what it holds of a prompt takes no time, and usage reports it",
		integer(1, func(c *Config) *int { return &c.Cache }),
	},
	{
		"kv_blocks", "blocks for the tokens of all running sequences, batched timing; without room the youngest is preempted",
		integer(1, func(c *Config) *int { return &c.KVBlocks }),
	},
	{"block", "tokens per block of cache and kv_blocks", integer(1, func(c *Config) *int { return &c.Block })},
	{"dims", "length of an embedding", integer(1, func(c *Config) *int { return &c.Dims })},
	{
		"media", "KiB of each picture or video that is made, in place of a pixel and a short video",
		integer(1, func(c *Config) *int { return &c.Media }),
	},
	{
		"redirects", "how often the download of a video is redirected before it begins",
		integer(0, func(c *Config) *int { return &c.Redirects }),
	},
	{
		"model", "names served, separated by commas; others get 404",
		func(c *Config, v string) error { c.Models = append(c.Models, strings.Split(v, ",")...); return nil },
	},
	{
		"tokenizer", "what prompts are counted with: a built-in encoding, a folder with tokenizer.json, or a cached model",
		func(c *Config, v string) error {
			if v == tokenizer.Server {
				return errors.New("the server is the one that counts")
			}
			c.Tokenizer = v
			return tokenizer.Ref{Name: v}.Check()
		},
	},
	{
		"error_rate", "share of requests answered with an error",
		number(0, 1, func(c *Config) *float64 { return &c.ErrorRate }),
	},
	{"error_status", "statuses of those errors, separated by commas", statuses},
	{"cut", "share of answers broken off half way", number(0, 1, func(c *Config) *float64 { return &c.Cut })},
	{"html", "share of requests answered with a page", number(0, 1, func(c *Config) *float64 { return &c.HTML })},
	{"empty", "share of streams without content", number(0, 1, func(c *Config) *float64 { return &c.Empty })},
	{
		"stream_error", "share of streams that end in an error event",
		number(0, 1, func(c *Config) *float64 { return &c.StreamError }),
	},
	{
		"knows", "questions whose answers it knows: a JSON Lines file of {id, prompt, answer, grader}, or NAME:PATH of a benchmark",
		func(c *Config, v string) error { c.Knows.Of = v; return nil },
	},
	{
		"right", "share of those questions that it answers correctly; some are harder than others",
		number(0, 1, func(c *Config) *float64 { return &c.Knows.Right }),
	},
	{"corrupt", "SHARE@N: once N requests are in flight, this share of its right answers is replaced by another answer", spoil(
		func(c *Config) *Spoil { return &c.Knows.Corrupt })},
	{"swap", "SHARE@N: the same, replaced by the answer to the previous question", spoil(
		func(c *Config) *Spoil { return &c.Knows.Swap })},
	{"shorten", "SHARE@N: the same, cut off half-way", spoil(
		func(c *Config) *Spoil { return &c.Knows.Shorten })},
	{"garble", "SHARE@N: the same, replaced by a row of exclamation marks, as NaN logits produce", spoil(
		func(c *Config) *Spoil { return &c.Knows.Garble })},
	{"pause", "FOR@AT: stop sending for a while, after the first request", pause},
	{
		"metrics", "which server's metric names /metrics uses: vllm, sglang, trtllm, llamacpp; off: no page",
		word(func(c *Config) *Speech { return &c.Metrics }, SpeaksVLLM, SpeaksSGLang, SpeaksTRTLLM, SpeaksLlamaCpp,
			SpeaksNothing),
	},
	{
		"gpus", "GPUs on a page in the words of NVIDIA's DCGM exporter, at /dcgm/metrics; their power follows the load",
		integer(1, func(c *Config) *int { return &c.GPUs }),
	},
	{
		"power_cap", "most watts that a GPU may take, of 700 with all slots in use: above it clocks fall and times grow",
		number(idleWatts+1, fullWatts, func(c *Config) *float64 { return &c.PowerCap }),
	},
	{
		"log", "true keeps the true times of every answer in the result directory",
		func(c *Config, v string) (err error) { c.Keep, err = strconv.ParseBool(v); return err },
	},
	{"seed", "of all random choices", func(c *Config, v string) (err error) {
		c.Seed,
			err = strconv.ParseUint(v, 10, 64)
		return err
	}},
}

// Keys are the words with what each means, in order, for help and docs.
func Keys() (names, docs []string) {
	for _, k := range keys {
		names, docs = append(names, k.name), append(docs, k.doc)
	}
	return names, docs
}

// Named tells whether url means the built-in server.
func Named(url string) bool {
	_, ok := cutName(url)
	return ok
}

func cutName(url string) (rest string, ok bool) {
	return strings.CutPrefix(strings.TrimPrefix(strings.TrimPrefix(url, "http://"), "grpc://"), "mock:")
}

// ParseURL reads mock:?key=value&…; an http:// that was put before it does not
// matter. Naming ttft or itl without step asks for plain timing, and tokens keep the gap
// of a step unless itl gives another.
func ParseURL(raw string) (Config, error) {
	rest, ok := cutName(raw)
	if !ok {
		return Config{}, fmt.Errorf("%s: not a mock: URL", raw)
	}
	rest = strings.TrimPrefix(strings.TrimLeft(rest, "/"), "?")
	var words []string
	for _, pair := range strings.Split(rest, "&") {
		if pair == "" {
			continue
		}
		w, err := url.QueryUnescape(pair)
		if err != nil { // 10%, as people write it: its key says what it takes
			w = pair
		}
		words = append(words, w)
	}
	return ParseWords(words)
}

// ParseWords reads key=value words. It names all that are wrong at once, in one line.
func ParseWords(words []string) (Config, error) {
	c, seen := Defaults(), map[string]bool{}
	var bad []string
	hint := ""
	for _, w := range words {
		name, value, ok := strings.Cut(w, "=")
		i := slices.IndexFunc(keys, func(k key) bool { return k.name == name })
		switch {
		case !ok:
			bad = append(bad, fmt.Sprintf("%q: want key=value", w))
		case i < 0:
			bad = append(bad, fmt.Sprintf("unknown key %q", name))
			hint = cmp.Or(hint, didYouMean(name))
		case seen[name] && name != "model":
			bad = append(bad, name+" is given twice")
		default:
			seen[name] = true
			if err := keys[i].set(&c, value); err != nil {
				bad = append(bad, fmt.Sprintf("%s=%s: %s", name, value, plainError(err)))
			}
		}
	}
	switch {
	case len(bad) > 0 && hint != "":
		return Config{}, diag.Errorf("mock: %s", strings.Join(bad, "; ")).Try(hint)
	case len(bad) > 0:
		return Config{}, fmt.Errorf("mock: %s", strings.Join(bad, "; "))
	}
	return c.resolve(seen)
}

// resolve picks plain or batched timing from what was named, and refuses
// contradictions.
func (c Config) resolve(seen map[string]bool) (Config, error) {
	batched := seen["step"] || seen["batch"] || seen["seq"]
	switch {
	case seen["itl"] && batched:
		return Config{}, diag.Errorf("mock: itl and step contradict: a step is the time between tokens").Try("leave one out")
	case (seen["ttft"] || seen["itl"]) && !batched:
		if !seen["itl"] {
			c.ITL = c.Step
		}
		c.Step = 0
		if !seen["prefill"] {
			c.Prefill = 0
		}
	}
	switch {
	case c.Workers > 0 && c.Step > 0:
		return Config{}, fmt.Errorf("mock: workers needs plain timing: give ttft or itl, and neither step, batch nor seq")
	case c.Queue > 0 && c.Workers == 0:
		return Config{}, fmt.Errorf("mock: queue is the line in front of workers: give workers too")
	case c.Cache > 0 && seen["cached"]:
		return Config{}, fmt.Errorf("mock: cached is a share in place of what a cache finds: leave out cached or cache")
	case c.KVBlocks > 0 && c.Step == 0:
		return Config{}, fmt.Errorf("mock: kv_blocks needs batched timing: give step, and neither itl nor workers")
	case seen["block"] && c.Cache == 0 && c.KVBlocks == 0:
		return Config{}, fmt.Errorf("mock: block is the size of the blocks of cache and kv_blocks: give one of them too")
	case c.Hump.From > 0 && c.Step == 0:
		return Config{}, fmt.Errorf("mock: hump needs batched timing: give step, and neither itl nor workers")
	case c.Overload.From > 0 && c.Overload.To < math.MaxInt:
		return Config{}, fmt.Errorf("mock: overload=FACTOR@N stays: it has no upper end")
	case c.Memory != 0 && c.Spread == 0:
		return Config{}, fmt.Errorf("mock: ar correlates the factors that cv spreads: give cv too")
	}
	if k := &c.Knows; k.Of == "" && (seen["right"] || seen["corrupt"] || seen["swap"] || seen["shorten"] ||
		seen["garble"]) {
		return Config{}, fmt.Errorf("mock: right, corrupt, swap, shorten and garble are about questions it knows: give knows too")
	}
	for _, cv := range []float64{c.Spread, c.TTFTSpread, c.ITLSpread} {
		switch {
		case c.Shape == Exponential && cv != 0 && cv != 1:
			return Config{}, fmt.Errorf("mock: exponential times have a coefficient of variation of 1, not %g", cv)
		case c.Shape == Uniform && cv > 0.577:
			return Config{}, fmt.Errorf("mock: uniform times have a coefficient of variation of at most 0.577, not %g",
				cv)
		}
	}
	if sum := c.ErrorRate + c.Cut + c.HTML + c.Empty + c.StreamError; sum > 1 {
		return Config{}, fmt.Errorf("mock: error_rate, cut, html, empty and stream_error add up to %g, more than 1",
			sum)
	}
	return c, nil
}

func duration(field func(*Config) *time.Duration) func(*Config, string) error {
	return func(c *Config, v string) error {
		d, err := time.ParseDuration(v)
		if err != nil || d < 0 || d > time.Hour {
			return fmt.Errorf("want a time such as 40ms, at most 1h")
		}
		*field(c) = d
		return nil
	}
}

func integer(least int, field func(*Config) *int) func(*Config, string) error {
	return func(c *Config, v string) error {
		n, err := strconv.Atoi(v)
		if err != nil || n < least || n > 1e6 {
			return fmt.Errorf("want a whole number from %d to 1000000", least)
		}
		*field(c) = n
		return nil
	}
}

func number(least, most float64, field func(*Config) *float64) func(*Config, string) error {
	return func(c *Config, v string) error {
		x, err := strconv.ParseFloat(v, 64)
		if p, percent := strings.CutSuffix(v, "%"); percent {
			if x, err := strconv.ParseFloat(p, 64); err == nil && x/100 >= least && x/100 <= most {
				return fmt.Errorf("want a number from %g to %g: %g", least, most, x/100)
			}
		}
		if err != nil || !(x >= least && x <= most) {
			return fmt.Errorf("want a number from %g to %g", least, most)
		}
		*field(c) = x
		return nil
	}
}

func word[T ~string](field func(*Config) *T, choices ...T) func(*Config, string) error {
	return func(c *Config, v string) error {
		if !slices.Contains(choices, T(v)) {
			return fmt.Errorf("want one of %v", choices)
		}
		*field(c) = T(v)
		return nil
	}
}

func statuses(c *Config, v string) error {
	c.ErrorStatus = nil
	for _, s := range strings.Split(v, ",") {
		n, err := strconv.Atoi(s)
		if err != nil || n < 400 || n > 599 {
			return fmt.Errorf("want statuses from 400 to 599")
		}
		c.ErrorStatus = append(c.ErrorStatus, n)
	}
	return nil
}

// slowdown reads 1.1 or 1.1@5s.
func slowdown(c *Config, v string) error {
	factor, at, later := strings.Cut(v, "@")
	if err := number(0.001, 1000, func(c *Config) *float64 { return &c.Slowdown })(c, factor); err != nil {
		return err
	}
	if !later {
		return nil
	}
	return duration(func(c *Config) *time.Duration { return &c.SlowFrom })(c, at)
}

// crowd reads 100@8 or 100@8-12.
func crowd(field func(*Config) *Crowd) func(*Config, string) error {
	return func(c *Config, v string) error {
		factor, span, ok := strings.Cut(v, "@")
		low, high, bounded := strings.Cut(span, "-")
		if !ok {
			return fmt.Errorf("want FACTOR@N or FACTOR@LOW-HIGH, such as 100@8-12")
		}
		x := field(c)
		x.To = math.MaxInt
		err := number(0.001, 1e6, func(*Config) *float64 { return &x.Factor })(c, factor)
		if err == nil {
			err = integer(1, func(*Config) *int { return &x.From })(c, low)
		}
		if err == nil && bounded {
			err = integer(x.From, func(*Config) *int { return &x.To })(c, high)
		}
		return err
	}
}

// pause reads 500ms@2s.
func pause(c *Config, v string) error {
	length, at, ok := strings.Cut(v, "@")
	if !ok {
		return fmt.Errorf("want FOR@AT, such as 500ms@2s")
	}
	if err := duration(func(c *Config) *time.Duration { return &c.PauseFor })(c, length); err != nil {
		return err
	}
	return duration(func(c *Config) *time.Duration { return &c.PauseAt })(c, at)
}

// plainError drops strconv's repetition of the input.
func plainError(err error) string {
	if n, ok := err.(*strconv.NumError); ok {
		return n.Err.Error()
	}
	return err.Error()
}

func didYouMean(name string) string {
	names, _ := Keys()
	best := suggest.Nearest(name, names)
	if name == "slots" { // of other servers
		best = "workers"
	}
	if best == "" {
		return "aiperf mock-server --words lists the keys"
	}
	return "did you mean " + best + "?"
}
