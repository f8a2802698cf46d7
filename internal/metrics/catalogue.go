package metrics

import (
	"math"
	"slices"

	"aiperf.dev/aiperf/internal/record"
)

// Group says in which table a metric is shown.
type Group string

// The groups, in the order the console shows them.
const (
	Main      Group = "main"      // the headline table
	Hidden    Group = "hidden"    // in files only
	Usage     Group = "usage"     // what the server claimed
	HTTP      Group = "http"      // where a request's time went on the wire
	Effective Group = "effective" // time-weighted over the window
	Active    Group = "active"    // the same, over the time with such requests
	Adjusted  Group = "adjusted"  // failures counted as infinitely slow
	Trust     Group = "trust"     // as the schedule saw it
)

// words head the groups in docs and on the screen.
var words = map[Group]string{
	Main: "in the headline table", Hidden: "in files only", Usage: "what the server claims",
	HTTP:      "where the time went on the wire",
	Effective: "weighted by time", Active: "over the time in which something was active",
	Adjusted: "failures counted as infinitely slow",
	Trust:    "as the schedule saw it",
}

// Words say what the metrics of the group have in common.
func (g Group) Words() string { return words[g] }

// Needs is a set of properties a run must have for a metric to be computed.
type Needs uint8

// The properties.
const (
	Streaming   Needs = 1 << iota // answers are event streams
	Tokens                        // the endpoint type produces tokens
	ClientCount                   // headline counts are the client's own
	FailedOnly                    // reads failed records instead of successful ones
	Limits                        // SLOs are set
	Answers                       // some requests are questions with known answers
)

// Words are the properties, one by one.
func (n Needs) Words() (out []string) {
	for i, word := range []string{
		"streaming", "an endpoint with tokens", "client-side counts", "failed requests",
		"SLOs", "questions with known answers",
	} {
		if n&(1<<i) != 0 {
			out = append(out, word)
		}
	}
	return out
}

// Basis is a set of things that metrics rest on. A check of the verdict says which
// of them it touches.
type Basis uint8

// What metrics rest on.
const (
	FirstToken    Basis = 1 << iota // when the first content came
	WholeAnswer                     // when the last content came
	Gaps                            // the time between contents
	SinceIntended                   // when a request was due
	PerSecond                       // how much was done in the window
	InFlight                        // how many requests were under way
	TokenCounts                     // how many tokens were produced
	Outcomes                        // which part of the requests ended how
)

// Resting are the tags of the metrics that rest on one of these.
func Resting(on Basis) (tags []string) {
	for i := range catalogue {
		if catalogue[i].Rests&on != 0 {
			tags = append(tags, catalogue[i].Tag)
		}
	}
	return slices.Clip(tags)
}

// Heading is a column that tables of cells have for a metric.
type Heading struct {
	Place  int    // among the columns
	Stat   string // "p99"
	Wide   bool   // only where there is room for it: not on a terminal
	Beside string // left out where this metric is told, which says more,
	Narrow bool   // in tables without room only
}

// Place says where AIPerf's own files have a metric.
type Place struct {
	// its rank among those that stand before the run's own members in the JSON; 0: it stands after them
	Head    int
	RunOnly bool     // told for a whole run only: not of one request, nor of a slice of time
	Unknown bool     // AIPerf has no such metric: it is in the summaries, not in the lines of requests
	NoZero  bool     // a counter that is left out where it counted nothing
	Failing bool     // left out where nothing failed
	Ours    bool     // not in its files at all
	Counts  Counting // of requests, where it counts others than we do
}

// Metric is one row of the catalogue. Exactly one of Record, List, Derived,
// Spans and Of says how it is computed, save that a Derived metric may also
// have a Record that says what one request contributes.
type Metric struct {
	Tag    string
	Header string // without unit
	Unit   string // display unit
	// Formula says how it is computed, from stamps and other tags.
	Formula string
	// Elsewhere says what other tools call it, or mean by the same word.
	Elsewhere string
	// Short is what a heading and a line call it: "TTFT"; "": the header.
	Short string
	// Spoken are the short forms that people type.
	Spoken []string
	// Headings are its columns in tables of cells.
	Headings []Heading
	// Rests is what the metric rests on: what makes that doubtful makes it so.
	Rests Basis
	Group Group
	Order int // within the group's table
	Needs Needs
	// LargerIsBetter turns the comparison of an SLO around.
	LargerIsBetter bool
	Int            bool     // per-request values are whole numbers
	Over           Over     // how trials are brought together
	Counts         Counting // of requests: of which parts of them
	Per            string   // of a share of something else: the tag that counts the whole; "": the values themselves
	AIPerf         Place

	Record func(*record.Record) float64 // one value per request, NaN when absent
	// of a Record that runs from sending: from when the request was due
	Due     func(*record.Record) float64
	List    func(*record.Record, []float64) []float64 // appends several values per request
	Derived func(*Totals) float64                     // one value per run
	Spans   span                                      // a level over time
	Active  bool                                      // only the time in which a request brings the level about
	Of      string                                    // error-adjusted form of this tag

	undecided func(*Totals) float64 // of good requests: how much is not known
	theirs    func(*Totals) float64 // Derived by AIPerf's definition, where that is another
}

// Distribution reports whether the metric has percentiles.
func (m *Metric) Distribution() bool { return m.Derived == nil }

// PerRequest reports whether one request has a value, so that an SLO can be set on it.
func (m *Metric) PerRequest() bool { return m.Record != nil && m.Needs&FailedOnly == 0 }

// parted reports whether its mean in the steady window is over parts of requests: of
// lengths, so that rate × mean length is tokens per second.
func (m *Metric) parted() bool { return m.Record != nil && m.Unit == "tokens" }

// residence reports whether its mean in the steady window is the time that requests spent
// there for each that was delivered there, so that rate × mean latency is in flight.
func (m *Metric) residence() bool { return m.Tag == RequestLatency }

// correlated reports whether the effective sample size is worth its price: for
// times and rates, not for counts and shares of them.
func (m *Metric) correlated() bool {
	return m.Record != nil && !m.Int && m.Group != HTTP && m.Group != Usage
}

func since(from, to func(*record.Record) int64) func(*record.Record) float64 {
	return func(r *record.Record) float64 { return spanMS(from(r), to(r)) }
}

// The stamps, for since.
func intended(r *record.Record) int64  { return r.Intended }
func sent(r *record.Record) int64      { return r.Sent }
func writeEnd(r *record.Record) int64  { return r.WriteEnd }
func firstByte(r *record.Record) int64 { return r.FirstByte }
func end(r *record.Record) int64       { return r.End }

func total(tag string) func(*Totals) float64 {
	return func(t *Totals) float64 { return t.Sum(tag) }
}

// catalogue is every metric there is, in the order of the tables. To add one,
// add its literal here and its case to TestRecompute.
var catalogue = complete([]Metric{
	{
		Tag: TimeToFirstToken, Header: "Time to First Token", Short: "TTFT", Spoken: []string{"ttft"},
		Headings: []Heading{{Place: 3, Stat: "p50"}, {Place: 4, Stat: "p99"}}, Unit: "ms",
		Formula:   "first content − sent; reasoning counts as content",
		Elsewhere: "TTFT; vLLM's benchmark starts the clock before the connection is opened and stops it at the first event, also one without text",
		Rests:     FirstToken, Group: Main, Order: 100, AIPerf: Place{Head: 4}, Needs: Streaming | Tokens,
		Due: (*record.Record).TTFTFromIntended, Record: (*record.Record).TTFT,
	},
	{
		Tag: TimeToSecondToken, Header: "Time to Second Token", Short: "TTST", Spoken: []string{"ttst"}, Unit: "ms",
		Formula: "second content event − first; 0 when one read carried both", Rests: Gaps, Group: Main, Order: 200,
		AIPerf: Place{Head: 5}, Needs: Streaming | Tokens, Record: secondToken,
	},
	{
		Tag: TimeToFirstOutputToken, Header: "Time to First Output Token", Short: "TTFO", Spoken: []string{"ttfo"},
		Unit: "ms", Formula: "first content that is not reasoning − sent", Rests: FirstToken, Group: Main, Order: 210,
		Needs: Streaming | Tokens, Due: (*record.Record).TTFOFromIntended, Record: (*record.Record).TTFO,
	},
	{
		Tag: RequestLatency, Header: "Request Latency", Short: "latency", Spoken: []string{"e2e", "e2el", "latency"},
		Headings: []Heading{
			{Place: 7, Stat: "p50", Beside: TimeToFirstToken, Narrow: true},
			{Place: 8, Stat: "p99", Beside: TimeToFirstToken},
		}, Unit: "ms",
		Formula:   "last content − sent; the usage event and the end mark do not count; avg of the steady window: Σ time inside / Σ part inside",
		Elsewhere: "E2EL in vLLM's benchmark; GenAI-Perf's ends with the last event of the answer, this one with the last content",
		Rests:     WholeAnswer, Group: Main, Order: 300, AIPerf: Place{Head: 2},
		Due: (*record.Record).LatencyFromIntended, Record: (*record.Record).Latency,
	},
	{
		Tag: DecodeDuration, Header: "Decode Duration", Unit: "ms", Formula: "request_latency − time_to_first_token",
		Rests: WholeAnswer, Group: Main, Order: 350, Needs: Streaming | Tokens, Record: (*record.Record).Decode,
	},
	{
		Tag: InterTokenLatency, Header: "Inter Token Latency", Short: "ITL", Spoken: []string{"itl", "tpot"},
		Headings: []Heading{{Place: 5, Stat: "p50", Wide: true}, {Place: 6, Stat: "p99"}}, Unit: "ms",
		Formula:   "(request_latency − time_to_first_token) / (OSL − 1); absent below two tokens",
		Elsewhere: "TPOT in vLLM's and SGLang's benchmarks; LLMPerf divides the whole latency by all tokens, the first wait included",
		Rests:     Gaps | TokenCounts, Group: Main, Order: 400, AIPerf: Place{Head: 6}, Needs: Streaming | Tokens,
		Record: (*record.Record).ITL,
	},
	{
		Tag: InterChunkLatency, Header: "Inter Chunk Latency", Short: "ICL", Spoken: []string{"icl"}, Unit: "ms",
		Formula:   "gaps between consecutive content events, pooled over all requests",
		Elsewhere: "ITL in vLLM's and SGLang's benchmarks: a gap between events, which may carry several tokens",
		Rests:     Gaps, Group: Hidden, Order: 410, AIPerf: Place{Head: 15}, Needs: Streaming | Tokens,
		List: chunkGaps,
	},
	{
		Tag: OutputTokenThroughputPerUser, Header: "Output Token Throughput Per User", Short: "out tok/s/user",
		Spoken: []string{"tok/s per user", "tok/s/user"}, Unit: "tokens/sec/user",
		Formula:   "1000 / inter_token_latency; absent when that is 0",
		Elsewhere: "1/TPOT; the x axis of most published Pareto charts, called interactivity there",
		Rests:     Gaps | TokenCounts, Group: Main, Order: 500, AIPerf: Place{Head: 8}, Needs: Streaming | Tokens,
		LargerIsBetter: true, Record: perUser,
	},
	{
		Tag: "e2e_output_token_throughput", Header: "E2E Output Token Throughput", Unit: "tokens/sec/user",
		Formula: "OSL / request_latency in seconds", Rests: WholeAnswer | TokenCounts, Group: Main, Order: 510,
		Needs: Tokens, LargerIsBetter: true, Due: func(r *record.Record) float64 {
			return per(1000*osl(r),
				r.LatencyFromIntended())
		}, Record: endToEnd,
	},
	{
		Tag: OutputSequenceLength, Header: "Output Sequence Length", Short: "OSL", Spoken: []string{"osl"}, Unit: "tokens",
		Formula:   "output_token_count + reasoning_token_count",
		Elsewhere: "OSL or completion tokens; with reasoning here", Rests: TokenCounts, Group: Main, Order: 600,
		AIPerf: Place{Head: 9}, Needs: Tokens, LargerIsBetter: true, Int: true, Record: osl,
	},
	{
		Tag: InputSequenceLength, Header: "Input Sequence Length", Short: "ISL", Spoken: []string{"isl"}, Unit: "tokens",
		Formula:   "tokens of the prompt: the client's count after the chat template where there is one, else the server's usage",
		Elsewhere: "ISL or prompt tokens; a tool that leaves out the chat template counts fewer", Group: Main,
		Order: 700, AIPerf: Place{Head: 10}, LargerIsBetter: true, Int: true, Record: isl,
	},
	{
		Tag: OutputTokenCount, Header: "Output Token Count", Unit: "tokens",
		Formula: "tokens of the answer that are not reasoning: the client's count, or the server's usage with --use-server-token-count",
		Rests:   TokenCounts, Group: Hidden, Order: 610, AIPerf: Place{Head: 13}, Needs: Tokens,
		LargerIsBetter: true, Int: true, Record: outputTokens,
	},
	{
		Tag: ReasoningTokenCount, Header: "Reasoning Token Count", Unit: "tokens",
		Formula: "tokens of the reasoning part of the answer", Rests: TokenCounts, Group: Hidden, Order: 620,
		AIPerf: Place{Head: 14}, Needs: Tokens, LargerIsBetter: true, Int: true, Record: reasoningTokens,
	},
	{
		Tag: "prefill_throughput_per_user", Header: "Prefill Throughput Per User", Unit: "tokens/sec/user",
		Formula: "ISL / time_to_first_token in seconds", Rests: FirstToken, Group: Hidden, Order: 520,
		Needs: Streaming | Tokens, LargerIsBetter: true, Due: func(r *record.Record) float64 {
			return per(1000*isl(r),
				r.TTFTFromIntended())
		}, Record: prefillPerUser,
	},
	{
		Tag: OSLMismatchDiffPct, Header: "OSL Mismatch Diff %", Unit: "%", Formula: "100 · (OSL − asked) / asked, signed",
		Rests: TokenCounts, Group: Hidden, Order: 630, Over: Signed, Needs: Tokens, Record: oslDiff,
	},

	{
		Tag: "rtfx", Header: "Inverse Real-Time Factor (RTFx)", Unit: "ratio",
		Formula: "1000 · audio_duration / request_latency: seconds of sound for each second of work", Group: Main,
		Order: 850, LargerIsBetter: true, Due: func(r *record.Record) float64 {
			return per(1e3*r.AudioSeconds,
				r.LatencyFromIntended())
		}, Record: func(r *record.Record) float64 { return per(1e3*r.AudioSeconds, r.Latency()) },
	},
	{
		Tag: "image_throughput", Header: "Image Throughput", Unit: "images/sec",
		Formula: "1000 · num_images / request_latency", Group: Main, Order: 860, LargerIsBetter: true,
		Due:    func(r *record.Record) float64 { return per(1e3*images(r), r.LatencyFromIntended()) },
		Record: func(r *record.Record) float64 { return per(1e3*images(r), r.Latency()) },
	},
	{
		Tag: "image_latency", Header: "Image Latency", Unit: "ms/image", Formula: "request_latency / num_images",
		Group: Main, Order: 861, Due: func(r *record.Record) float64 { return per(r.LatencyFromIntended(), images(r)) },
		Record: func(r *record.Record) float64 { return per(r.Latency(), images(r)) },
	},
	{
		Tag: "num_images", Header: "Number of Images", Unit: "images", Formula: "pictures in the request", Group: Hidden,
		Order: 862, LargerIsBetter: true, Int: true, Record: images,
	},
	{
		Tag: "audio_duration", Header: "Audio Duration", Unit: "sec", Formula: "seconds of sound in the request",
		Group: Hidden, Order: 851, LargerIsBetter: true,
		Record: func(r *record.Record) float64 { return r.AudioSeconds },
	},
	{
		Tag: "audio_throughput", Header: "Audio Throughput", Unit: "sec/sec", Formula: "seconds of sound / window",
		Group: Main, Order: 852, AIPerf: Place{Unknown: true},
		LargerIsBetter: true, Derived: itemRate("audio_duration"),
	},
	{
		Tag: "vector_throughput", Header: "Vector Throughput", Unit: "vectors/sec",
		Formula: "vectors of the answers / window", Group: Main, Order: 870, AIPerf: Place{Unknown: true},
		LargerIsBetter: true, Derived: itemRate("num_vectors"),
	},
	{
		Tag: "num_vectors", Header: "Number of Vectors", Unit: "vectors", Formula: "vectors in the answer", Group: Hidden,
		Order: 871, AIPerf: Place{Unknown: true}, LargerIsBetter: true, Int: true, Record: items(record.Vectors),
	},
	{
		Tag: "vector_dimensions", Header: "Vector Dimensions", Unit: "numbers",
		Formula: "numbers in each vector of the answer", Group: Hidden, Order: 872, AIPerf: Place{Unknown: true},
		Int: true, Record: func(r *record.Record) float64 { return some(r.Dimensions) },
	},
	{
		Tag: "passage_throughput", Header: "Passage Throughput", Unit: "passages/sec",
		Formula: "passages that were given a score / window", Group: Main, Order: 875, AIPerf: Place{Unknown: true},
		LargerIsBetter: true, Derived: itemRate("num_passages"),
	},
	{
		Tag: "num_passages", Header: "Number of Passages", Unit: "passages",
		Formula: "passages that the answer gives a score", Group: Hidden, Order: 876, AIPerf: Place{Unknown: true},
		LargerIsBetter: true, Int: true, Record: items(record.Passages),
	},
	{
		Tag: "made_image_throughput", Header: "Made Image Throughput", Unit: "images/sec",
		Formula: "images of the answers / window", Group: Main, Order: 880, AIPerf: Place{Unknown: true},
		LargerIsBetter: true, Derived: itemRate("num_made_images"),
	},
	{
		Tag: "num_made_images", Header: "Number of Made Images", Unit: "images", Formula: "images in the answer",
		Group: Hidden, Order: 881, AIPerf: Place{Unknown: true}, LargerIsBetter: true, Int: true,
		Record: items(record.Pictures),
	},
	{
		Tag: "time_to_first_partial_image", Header: "Time to First Partial Image", Unit: "ms",
		Formula: "first of several events with an image − sent", Group: Main, Order: 882, Needs: Streaming,
		AIPerf: Place{Unknown: true}, Record: firstPartial,
	},
	{
		Tag: "video_inference_time", Header: "Video Inference Time", Unit: "ms",
		Formula:   "inference_time_s of the job, as the server says it",
		Elsewhere: "SGLang's own account of the GPU's work", Group: Main, Order: 310,
		Record: func(r *record.Record) float64 { return r.VideoInference },
	},
	{
		Tag: "video_peak_memory", Header: "Video Peak Memory", Unit: "MB",
		Formula: "peak_memory_mb of the job, as the server says it", Group: Main, Order: 311,
		Record: func(r *record.Record) float64 { return r.VideoMemory },
	},
	{
		Tag: "video_throughput", Header: "Video Throughput", Unit: "videos/sec", Formula: "videos / window", Group: Main,
		Order: 885, AIPerf: Place{Unknown: true}, LargerIsBetter: true, Derived: itemRate("num_videos"),
	},
	{
		Tag: "num_videos", Header: "Number of Videos", Unit: "videos", Formula: "videos that were made", Group: Hidden,
		Order: 886, AIPerf: Place{Unknown: true}, LargerIsBetter: true, Int: true, Record: items(record.Films),
	},
	{
		Tag: "video_queue_time", Header: "Video Queue Time", Unit: "ms", Formula: "job seen to begin − sent", Group: Main,
		Order: 887, AIPerf: Place{Unknown: true},
		Record: ofFilms(func(r *record.Record) float64 { return r.ServerQueue }),
	},
	{
		Tag: "video_generation_time", Header: "Video Generation Time", Unit: "ms",
		Formula: "job seen to be done − job seen to begin", Group: Main, Order: 888, AIPerf: Place{Unknown: true},
		Record: ofFilms(func(r *record.Record) float64 { return r.ServerDecode }),
	},
	{
		Tag: "video_download_time", Header: "Video Download Time", Unit: "ms",
		Formula: "last byte of the video − job seen to be done", Group: Main, Order: 889, AIPerf: Place{Unknown: true},
		Record: ofFilms(func(r *record.Record) float64 { return r.Download }),
	},

	{
		Tag: OutputTokenThroughput, Header: "Output Token Throughput", Short: "out tok/s",
		Spoken: []string{"tps", "tok/s"}, Headings: []Heading{{Place: 1, Stat: "avg"}}, Unit: "tokens/sec",
		Formula:   "total_osl / window; in the steady window Σ OSL × part inside, and what came inside of requests that were cut off, by the stamps of their chunks",
		Elsewhere: "output token throughput in vLLM's benchmark, whose window ends with the last answer",
		Rests:     PerSecond | TokenCounts, Group: Main, Order: 800, AIPerf: Place{Head: 7},
		Needs: Tokens, LargerIsBetter: true, Derived: outputRate,
	},
	{
		Tag: "input_token_throughput", Header: "Input Token Throughput", Unit: "tokens/sec",
		Formula: "total_isl / window; in the steady window Σ ISL × part inside", Rests: PerSecond, Group: Main,
		Order: 805, LargerIsBetter: true, Derived: inputRate,
	},
	{
		Tag: TotalTokenThroughput, Header: "Total Token Throughput", Unit: "tokens/sec",
		Formula: "input_token_throughput + output_token_throughput", Rests: PerSecond | TokenCounts, Group: Hidden,
		Order: 810, Needs: Tokens, LargerIsBetter: true, Derived: totalRate,
	},
	{
		Tag: RequestThroughput, Header: "Request Throughput", Short: "req/s", Spoken: []string{"rps", "throughput"},
		Headings: []Heading{{Place: 2, Stat: "avg", Beside: OutputTokenThroughput}}, Unit: "requests/sec",
		Formula:   "request_count / window; in the steady window Σ part inside",
		Elsewhere: "QPS or RPS; what was completed, never what was offered", Rests: PerSecond, Group: Main, Order: 900,
		AIPerf: Place{Head: 1}, LargerIsBetter: true, Derived: requestRate,
	},
	{
		Tag: Goodput, Header: "Goodput", Unit: "requests/sec",
		Formula:   "good_request_count / window; in the steady window Σ part inside, of those that met every SLO",
		Elsewhere: "good requests a second at this load, as in vLLM's benchmark; in DistServe's sense it is the highest rate at which 90 % meet the SLOs: that is a sweep's answer, not a run's",
		Rests:     PerSecond, Group: Main, Order: 1000, Needs: Limits, AIPerf: Place{Head: 11}, LargerIsBetter: true,
		undecided: func(t *Totals) float64 { return per(float64(t.Cut-t.CutBad), t.Seconds) },
		theirs:    func(t *Totals) float64 { return per(t.ifJudged(float64(t.GoodSent), true), t.Seconds) },
		Derived:   goodRate,
	},
	{
		Tag: GoodputFromSent, Header: "Goodput From Sent", Unit: "requests/sec",
		Formula:   "goodput judged from sending, in an open loop or a replay",
		Elsewhere: "goodput in tools without a clock for arrivals", Rests: PerSecond, Group: Hidden, Order: 1011,
		Needs: Limits, AIPerf: Place{Ours: true}, LargerIsBetter: true, Derived: goodSentRate,
	},
	{
		Tag: "good_request_count", Header: "Good Request Count", Unit: "requests",
		Formula: "requests that met every SLO: from intended in an open loop and in a replay, from sending in a closed loop",
		Rests:   Outcomes, Group: Hidden, Order: 1010, Needs: Limits,
		AIPerf: Place{Counts: Counting{Of: record.InOK, Good: true}, Head: 12}, LargerIsBetter: true, Int: true,
		Record: goodOne, Counts: Counting{Of: record.InOK, Good: true},
		theirs: func(t *Totals) float64 { return t.ifJudged(float64(t.GoodSent), true) }, Derived: (*Totals).good,
	},
	{
		Tag: GoodRequestFraction, Header: "GoodRequestFraction", Short: "goodput %",
		Headings: []Heading{{Place: 9, Stat: "avg"}}, Unit: "ratio",
		Formula:   "good_request_count / attempts; one that was cut off is bad when it was as old as its SLO, and else undecided, so that the share is a range",
		Elsewhere: "SLO attainment; AIPerf divides by successes and failures only", Rests: Outcomes, Group: Hidden,
		Order: 1020, Needs: Limits, Counts: Counting{Of: record.InOK, Good: true, Among: record.Attempted},
		undecided: func(t *Totals) float64 { return t.undecided(t.CutBad) },
		AIPerf:    Place{Counts: Counting{Of: record.InOK, Good: true, Among: theirAttempts}},
		theirs:    (*Totals).theirGoodShare, Over: Share, LargerIsBetter: true, Derived: (*Totals).goodShare,
	},
	{
		Tag: GoodRequestFractionFromSent, Header: "GoodRequestFraction From Sent", Short: "goodput % from sending",
		Unit: "ratio", Formula: "good_request_fraction judged from sending, in an open loop or a replay",
		Rests: Outcomes, Group: Hidden, Order: 1021, Needs: Limits, Counts: Counting{
			Of: record.InOK, Good: true,
			Among: record.Attempted,
		}, undecided: func(t *Totals) float64 { return t.undecided(t.CutBadSent) },
		Over: Share, AIPerf: Place{Ours: true}, LargerIsBetter: true, Derived: (*Totals).goodSentShare,
	},
	{
		Tag: Accuracy, Header: "Accuracy", Short: "right %", Spoken: []string{"correct", "right"},
		Headings: []Heading{{Place: 2, Stat: "avg"}}, Unit: "ratio",
		Formula:   "right answers / judged_answer_count; of one request 1 where its answer is right, 0 where it is wrong",
		Elsewhere: "accuracy in evaluation harnesses, which count what cannot be judged as wrong, and AIPerf failed requests, too",
		Rests:     Outcomes, Group: Hidden, Order: 1030, Needs: Answers, AIPerf: Place{Ours: true},
		LargerIsBetter: true, Over: Share, Per: JudgedAnswerCount, Record: rightOne,
		Derived: func(t *Totals) float64 { return per(float64(t.Right), t.judged()) },
	},
	{
		Tag: RightAnswerThroughput, Header: "Right Answer Throughput", Unit: "requests/sec",
		Formula: "request_throughput × right answers / successes",
		Rests:   PerSecond | Outcomes, Group: Hidden, Order: 1031, Needs: Answers, AIPerf: Place{Ours: true},
		LargerIsBetter: true,
		Derived:        func(t *Totals) float64 { return requestRate(t) * per(float64(t.Right), float64(t.OK)) },
	},
	{
		Tag: NotJudgedShare, Header: "Answers Not Judged", Short: "not judged %", Unit: "ratio",
		Formula: "answers that are neither right nor wrong (empty, cut off at the token limit, without a result, not comparable) / answer_count",
		Rests:   Outcomes, Group: Hidden, Order: 1032, Needs: Answers, AIPerf: Place{Ours: true}, Over: Share,
		Per: AnswerCount, Record: notJudged,
		Derived: func(t *Totals) float64 { return per(float64(t.NotJudged), t.answered()) },
	},
	{
		Tag: JudgedAnswerCount, Header: "Judged Answer Count", Unit: "requests",
		Formula: "answers to questions with known answers that are right or wrong", Group: Hidden, Order: 1033,
		Needs: Answers, AIPerf: Place{Ours: true}, LargerIsBetter: true, Int: true, Record: judgedOne,
		Derived: (*Totals).judged,
	},
	{
		Tag: AnswerCount, Header: "Answer Count", Unit: "requests",
		Formula: "answers to questions with known answers", Group: Hidden, Order: 1034,
		Needs: Answers, AIPerf: Place{Ours: true}, LargerIsBetter: true, Int: true, Record: answeredOne,
		Derived: (*Totals).answered,
	},
	{
		Tag: CompletedRequestCount, Header: "Completed Requests (Success + Error)", Unit: "requests",
		Formula: "successes + failures", Group: Main, Order: 1075, Counts: Counting{Of: record.Answered},
		AIPerf: Place{NoZero: true, Counts: Counting{Of: theirAttempts}}, LargerIsBetter: true, Int: true,
	},
	{
		Tag: CancelledRequestCount, Header: "Cancelled Request Count", Unit: "requests",
		Formula:   "requests that were cancelled as the experiment asked",
		Elsewhere: "AIPerf counts what the end of a phase cut off, too", Group: Hidden, Order: 1076,
		Counts: Counting{Of: record.InCancelled}, AIPerf: Place{
			NoZero: true,
			Counts: Counting{Of: record.InCancelled | record.InCut},
		},
		theirs: func(t *Totals) float64 { return float64(t.stopped) }, Over: Events, Int: true,
	},
	{
		Tag: CutRequestCount, Header: "Cut Request Count", Unit: "requests",
		Formula: "requests that the end of their phase cut off", Group: Hidden, Order: 1077,
		Counts: Counting{Of: record.InCut}, Over: Events, AIPerf: Place{Ours: true}, Int: true,
	},
	{
		Tag: UnsentRequestCount, Header: "Unsent Request Count", Unit: "requests",
		Formula: "requests that were due and never sent", Elsewhere: "dropped iterations in k6", Group: Hidden,
		Order: 1078, Counts: Counting{Of: record.InUnsent}, Over: Events, AIPerf: Place{Ours: true}, Int: true,
	},
	{
		Tag: "request_error_rate", Header: "Request Error Rate", Unit: "%",
		Formula: "100 · failures / (successes + failures)", Rests: Outcomes, Group: Main, Order: 1080, Over: Share,
		Counts: Counting{Of: record.InFailed, Among: record.Answered},
		AIPerf: Place{Counts: Counting{Of: theirErrors, Among: theirAttempts}},
	},
	{
		Tag: ErrorRate, Header: "Error Rate", Short: "errors %", Spoken: []string{"errors"},
		Headings: []Heading{{Place: 10, Stat: "avg", Wide: true}},
		Unit:     "ratio", Formula: "failures / (successes + failures), a share in 0..1", Rests: Outcomes, Group: Hidden,
		Order: 1081, Counts: Counting{Of: record.InFailed, Among: record.Answered}, Over: Share,
		AIPerf: Place{Unknown: true, Counts: Counting{Of: theirErrors, Among: theirAttempts}},
	},
	{
		Tag: RequestCount, Header: "Request Count", Unit: "requests", Formula: "successes", Group: Main, Order: 1100,
		AIPerf: Place{Head: 3, NoZero: true}, LargerIsBetter: true, Int: true, Counts: Counting{Of: record.InOK},
	},
	{
		Tag: "streamed_request_count", Header: "Streamed Request Count", Unit: "requests",
		Formula: "successes whose answer came as a stream of events", Group: Hidden, Order: 1101,
		AIPerf: Place{Unknown: true, NoZero: true}, Needs: Streaming, LargerIsBetter: true, Int: true,
		Derived: func(t *Totals) float64 { return float64(t.Streamed) },
	},
	{
		Tag: ErrorRequestCount, Header: "Error Request Count", Unit: "requests", Formula: "failures", Group: Main,
		Order: 1110, Over: Events, AIPerf: Place{Head: 21, NoZero: true, Counts: Counting{Of: theirErrors}},
		Int: true, Counts: Counting{Of: record.InFailed},
	},
	{
		Tag: "total_isl", Header: "Total Input Sequence Length", Unit: "tokens",
		Formula: "Σ input_sequence_length over successes", Group: Hidden, Order: 1120, AIPerf: Place{Head: 19},
		LargerIsBetter: true, Int: true, Derived: total(InputSequenceLength),
	},
	{
		Tag: "total_osl", Header: "Total Output Sequence Length", Unit: "tokens",
		Formula: "Σ output_sequence_length over successes", Rests: TokenCounts, Group: Hidden, Order: 1121,
		AIPerf: Place{Head: 20}, Needs: Tokens, LargerIsBetter: true, Int: true, Derived: total(OutputSequenceLength),
	},
	{
		Tag: "total_output_tokens", Header: "Total Output Tokens", Unit: "tokens",
		Formula: "Σ output_token_count over successes", Rests: TokenCounts, Group: Hidden, Order: 1122,
		AIPerf: Place{Head: 16}, Needs: Tokens, LargerIsBetter: true, Int: true, Derived: total(OutputTokenCount),
	},
	{
		Tag: "total_reasoning_tokens", Header: "Total Reasoning Tokens", Unit: "tokens",
		Formula: "Σ reasoning_token_count over successes", Rests: TokenCounts, Group: Hidden, Order: 1123,
		AIPerf: Place{Head: 17}, Needs: Tokens, LargerIsBetter: true, Int: true, Derived: total(ReasoningTokenCount),
	},
	{
		Tag: BenchmarkDuration, Header: "Benchmark Duration", Unit: "sec",
		Formula: "last content of the last success − sent of the first", Group: Hidden, Order: 1130,
		AIPerf: Place{Head: 18}, Derived: func(t *Totals) float64 { return t.Duration },
	},
	{
		Tag: OSLMismatchCount, Header: "OSL Mismatch Count", Unit: "requests",
		Formula: "requests with abs(OSL − asked) > min(5 % of asked, 50 tokens)", Rests: TokenCounts, Group: Hidden,
		Order: 1140, Over: Events, Needs: Tokens, Int: true, Derived: total(oslMismatch),
	},
	{
		Tag: "context_overflow_count", Header: "Context Overflow Count", Unit: "requests",
		Formula: "failures because the input was too long for the model", Group: Main, Order: 1145, Over: Events,
		AIPerf: Place{Failing: true}, Int: true, Derived: (*Totals).overflows,
	},
	{
		Tag: "error_isl", Header: "Error Input Sequence Length", Unit: "tokens",
		Formula: "input_sequence_length of failures", Group: Hidden, Order: 1150,
		AIPerf: Place{Head: 22}, Needs: FailedOnly, Int: true, Record: isl,
	},
	{
		Tag: "total_error_isl", Header: "Total Error Input Sequence Length", Unit: "tokens",
		Formula: "Σ input_sequence_length over failures", Group: Hidden, Order: 1151, Over: Events,
		AIPerf: Place{Head: 23, NoZero: true}, Int: true, theirs: total(withCancelled + "error_isl"),
		Derived: total("error_isl"),
	},

	{
		Tag: "credit_to_start_latency", Header: "Credit-to-Start Latency", Unit: "ms", Formula: "sent − intended",
		Elsewhere: "AIPerf's word; schedule delay elsewhere", Group: Hidden, Order: 3010, AIPerf: Place{RunOnly: true},
		Record: since(intended, sent),
	},
	{
		Tag: TimeToFirstTokenFromIntended, Header: "Time to First Token from Intended", Unit: "ms",
		Formula: "first content − intended", Rests: SinceIntended, Group: Trust, Order: 110,
		AIPerf: Place{Unknown: true}, Needs: Streaming | Tokens, Record: (*record.Record).TTFTFromIntended,
	},
	{
		Tag: RequestLatencyFromIntended, Header: "Request Latency from Intended", Unit: "ms",
		Formula:   "last content − intended",
		Elsewhere: "latency corrected for coordinated omission in wrk2 and HdrHistogram", Rests: SinceIntended,
		Group: Trust, Order: 310, AIPerf: Place{Unknown: true}, Record: (*record.Record).LatencyFromIntended,
	},
	{
		Tag: DispatchLateness, Header: "Dispatch Lateness", Unit: "ms",
		Formula: "sent − max(intended, admitted) − connecting: the client's own fault, also where it waited for a slot behind a backlog of the client",
		Group:   Trust, Order: 320, AIPerf: Place{Unknown: true}, Record: (*record.Record).DispatchLateness,
	},
	{
		Tag: AdmissionWait, Header: "Admission Wait", Unit: "ms",
		Formula: "admitted − intended: waiting for a slot, as a client would that never stands still", Group: Trust,
		Order: 330, AIPerf: Place{Unknown: true}, Record: (*record.Record).AdmissionWait,
	},

	// Usage: what the server claimed, and how far it is from the client's own
	// counts: 100 · abs(usage − client) / client.
	{
		Tag: UsagePromptTokens, Header: "Usage Prompt Tokens", Unit: "tokens",
		Formula: "usage.prompt_tokens of the answer, or its synonym", Group: Usage, Order: 1000, Int: true,
		Record: func(r *record.Record) float64 { return count(r.UsagePrompt) },
	},
	{
		Tag: "usage_prompt_cache_read_tokens", Header: "Usage Prompt Cache Read Tokens", Unit: "tokens",
		Formula: "usage.prompt_tokens_details.cached_tokens, or its synonym: the part of the prompt served from the prefix cache",
		Group:   Usage, Order: 1010, LargerIsBetter: true, Int: true,
		Record: func(r *record.Record) float64 { return count(r.Cached) },
	},
	{
		Tag: "usage_completion_tokens", Header: "Usage Completion Tokens", Unit: "tokens",
		Formula: "usage.completion_tokens of the answer, or its synonym", Group: Usage, Order: 1100,
		LargerIsBetter: true, Int: true, Record: func(r *record.Record) float64 { return count(r.UsageCompletion) },
	},
	{
		Tag: "usage_reasoning_tokens", Header: "Usage Reasoning Tokens", Unit: "tokens",
		Formula: "usage.completion_tokens_details.reasoning_tokens, or its synonym", Group: Usage, Order: 1110,
		LargerIsBetter: true, Int: true, Record: func(r *record.Record) float64 { return count(r.UsageReasoning) },
	},
	{
		Tag: "usage_accepted_prediction_tokens", Header: "Usage Accepted Prediction Tokens", Unit: "tokens",
		Formula: "usage.completion_tokens_details.accepted_prediction_tokens: of a predicted answer, those that the answer has",
		Group:   Usage, Order: 1130, LargerIsBetter: true, Int: true, Needs: Tokens,
		Record: func(r *record.Record) float64 { return count(r.UsageAccepted) },
	},
	{
		Tag: "usage_rejected_prediction_tokens", Header: "Usage Rejected Prediction Tokens", Unit: "tokens",
		Formula: "usage.completion_tokens_details.rejected_prediction_tokens: of a predicted answer, those that the answer has not",
		Group:   Usage, Order: 1140, Int: true, Needs: Tokens,
		Record: func(r *record.Record) float64 { return count(r.UsageRejected) },
	},
	{
		Tag: "usage_total_tokens", Header: "Usage Total Tokens", Unit: "tokens",
		Formula: "usage.total_tokens of the answer", Group: Usage, Order: 1200, LargerIsBetter: true, Int: true,
		Record: func(r *record.Record) float64 { return count(r.UsageTotal) },
	},
	{
		Tag: "usage_prompt_tokens_diff_pct", Header: "Usage Prompt Diff %", Unit: "%",
		Formula: "100 · abs(usage − client) / client, of prompt tokens", Group: Hidden, Order: 1300, Over: Signed,
		Needs: ClientCount, Record: func(r *record.Record) float64 { return diffPct(r.UsagePrompt, r.ISL) },
	},
	{
		Tag: "usage_completion_tokens_diff_pct", Header: "Usage Completion Diff %", Unit: "%",
		Formula: "100 · abs(usage − client) / client, of output tokens with reasoning", Group: Hidden, Order: 1310,
		Over: Signed, Needs: ClientCount | Tokens,
		Record: func(r *record.Record) float64 { return diffPct(r.UsageCompletion, r.OSL) },
	},
	{
		Tag: "usage_reasoning_tokens_diff_pct", Header: "Usage Reasoning Diff %", Unit: "%",
		Formula: "100 · abs(usage − client) / client, of reasoning tokens", Group: Hidden, Order: 1320, Over: Signed,
		Needs: ClientCount | Tokens, Record: func(r *record.Record) float64 {
			return diffPct(r.UsageReasoning,
				r.ReasoningTokens)
		},
	},
	{
		Tag: UsageDiscrepancyCount, Header: "Usage Discrepancy Count", Unit: "requests",
		Formula: "requests with any of the three above 10 %", Group: Hidden, Order: 1330, Over: Events,
		Needs: ClientCount, Int: true, Derived: total(usageDiscrepancy),
	},
	{
		Tag: "total_usage_prompt_tokens", Header: "Total Usage Prompt Tokens", Unit: "tokens",
		Formula: "Σ usage_prompt_tokens over successes", Group: Usage, Order: 2000,
		Int: true, Derived: total(UsagePromptTokens),
	},
	{
		Tag: "total_usage_prompt_cache_read_tokens", Header: "Total Usage Prompt Cache Read Tokens", Unit: "tokens",
		Formula: "Σ usage_prompt_cache_read_tokens over successes", Group: Usage, Order: 2010, LargerIsBetter: true,
		Int: true, Derived: total("usage_prompt_cache_read_tokens"),
	},
	{
		Tag: "total_usage_completion_tokens", Header: "Total Usage Completion Tokens", Unit: "tokens",
		Formula: "Σ usage_completion_tokens over successes", Group: Usage, Order: 2100, LargerIsBetter: true,
		Int: true, Derived: total("usage_completion_tokens"),
	},
	{
		Tag: "total_usage_reasoning_tokens", Header: "Total Usage Reasoning Tokens", Unit: "tokens",
		Formula: "Σ usage_reasoning_tokens over successes", Group: Usage, Order: 2110, LargerIsBetter: true,
		Int: true, Derived: total("usage_reasoning_tokens"),
	},
	{
		Tag: "total_usage_accepted_prediction_tokens", Header: "Total Usage Accepted Prediction Tokens", Unit: "tokens",
		Formula: "Σ usage_accepted_prediction_tokens over successes", Group: Usage, Order: 2130, LargerIsBetter: true,
		Int: true, Needs: Tokens, Derived: total("usage_accepted_prediction_tokens"),
	},
	{
		Tag: "total_usage_rejected_prediction_tokens", Header: "Total Usage Rejected Prediction Tokens", Unit: "tokens",
		Formula: "Σ usage_rejected_prediction_tokens over successes", Group: Usage, Order: 2140, Int: true,
		Needs: Tokens, Derived: total("usage_rejected_prediction_tokens"),
	},
	{
		Tag: "total_usage_total_tokens", Header: "Total Usage Total Tokens", Unit: "tokens",
		Formula: "Σ usage_total_tokens over successes", Group: Usage, Order: 2200, LargerIsBetter: true,
		Int: true, Derived: total("usage_total_tokens"),
	},
	{
		Tag: "overall_usage_prompt_cache_read_pct", Header: "Overall Usage Prompt Cache Read %", Unit: "%",
		Formula: "100 · Σ cached / Σ prompt", Group: Usage, Order: 2012, Over: Share, Per: "total_usage_prompt_tokens",
		LargerIsBetter: true, Derived: func(t *Totals) float64 {
			return 100 * per(t.Sum("usage_prompt_cache_read_tokens"), t.Sum(UsagePromptTokens))
		},
	},

	{
		Tag: "http_req_blocked", Header: "HTTP Blocked", Unit: "ms",
		Formula:   "waiting for a free connection: there always is one, what a request waits for before it is admission_wait",
		Elsewhere: "http_req_blocked in k6", Group: HTTP, Order: 2000, Record: neverBlocked,
	},
	{
		Tag: "http_req_dns_lookup", Header: "HTTP DNS Lookup", Unit: "ms",
		Formula: "HTTP: spent on a connection that was opened for the request; 0 on a reused one", Group: HTTP,
		Order: 2010, Record: lookup,
	},
	{
		Tag: "http_req_connecting", Header: "HTTP Connecting", Unit: "ms", Formula: "TCP and TLS handshakes",
		Group: HTTP, Order: 2020, Record: tcpAndTLS,
	},
	{
		Tag: "http_req_connection_overhead", Header: "HTTP Connection Overhead", Unit: "ms",
		Formula: "dns_lookup + connecting; waiting for a free connection is admission_wait here",
		Group:   HTTP, Order: 2110, Record: connectionOverhead,
	},
	{
		Tag: "http_req_sending", Header: "HTTP Sending", Unit: "ms",
		Formula: "write end − sent; unlike AIPerf's it does not include connecting", Group: HTTP, Order: 2030,
		Record: since(sent, writeEnd),
	},
	{
		Tag: "http_req_waiting", Header: "HTTP Waiting (TTFB)", Unit: "ms", Formula: "first header byte − write end",
		Elsewhere: "TTFB; http_req_waiting in k6", Group: HTTP, Order: 2040, Record: since(writeEnd, firstByte),
	},
	{
		Tag: "http_req_receiving", Header: "HTTP Receiving", Unit: "ms", Formula: "end − first header byte",
		Group: HTTP, Order: 2050, Record: since(firstByte, end),
	},
	{
		Tag: "http_req_duration", Header: "HTTP Duration (excl. conn)", Unit: "ms",
		Formula: "sending + waiting + receiving", Elsewhere: "http_req_duration in k6: sending + waiting + receiving",
		Group: HTTP, Order: 2120, Record: since(sent, end),
	},
	{
		Tag: "http_req_total", Header: "HTTP Total Time", Unit: "ms", Formula: "duration + connection overhead",
		Group: HTTP, Order: 2130, Record: func(r *record.Record) float64 {
			return spanMS(r.Sent, r.End) +
				connectionOverhead(r)
		},
	},
	{
		Tag: "http_req_connection_reused", Header: "HTTP Connection Reused", Unit: "ratio",
		Formula: "1 where the request went over a connection that had served one before, else 0", Group: HTTP,
		Order: 2060, Over: Share, LargerIsBetter: true, Int: true, Record: reused,
	},
	{
		Tag: "http_req_data_sent", Header: "HTTP Data Sent", Unit: "KB", Formula: "KB = 1024 bytes, header and body",
		Group: HTTP, Order: 2070, Record: func(r *record.Record) float64 { return count(r.BytesSent) / 1024 },
	},
	{
		Tag: "http_req_data_received", Header: "HTTP Data Received", Unit: "KB",
		Formula: "bytes of the answer / 1024, header and body", Group: HTTP, Order: 2090, LargerIsBetter: true,
		Record: func(r *record.Record) float64 { return count(r.BytesReceived) / 1024 },
	},
	{
		Tag: "http_req_chunks_sent", Header: "HTTP Chunks Sent", Unit: "count",
		Formula: "a request is written as one piece", Group: HTTP, Order: 2080, Int: true, LargerIsBetter: true,
		Record: oneChunk,
	},
	{
		Tag: "http_req_chunks_received", Header: "HTTP Chunks Received", Unit: "count",
		Formula: "reads that delivered at least one event", Group: HTTP, Order: 2100, LargerIsBetter: true, Int: true,
		Record: reads,
	},

	// Levels over time, weighted by how long they were held; spans.go has the
	// formulas. First: requests in [sent, end), failed ones included
	{
		Tag: EffectiveConcurrency, Header: "Effective Concurrency", Unit: "requests",
		Formula:   "requests in [sent, end), failed ones included, weighted by how long each level was held",
		Elsewhere: "achieved concurrency; in flight", Rests: InFlight, Group: Effective,
		Order: 3000, LargerIsBetter: true, Spans: wholeRequest,
	},
	{
		Tag: "effective_decode_throughput", Header: "Effective Decode Throughput", Unit: "tokens/sec",
		Formula: "(OSL − 1) / number of gaps, over each gap between reads that brought content", Group: Effective,
		Order: 3001, Needs: Streaming | Tokens, LargerIsBetter: true, Spans: decodeRate,
	},
	{
		Tag: "effective_prefill_throughput", Header: "Effective Prefill Throughput", Unit: "tokens/sec",
		Formula: "ISL / (first content − sent) in [sent, first content)", Group: Effective, Order: 3002,
		Needs: Streaming | Tokens, LargerIsBetter: true, Spans: prefillRate,
	},
	{
		Tag: "effective_decode_concurrency", Header: "Effective Decode Concurrency", Unit: "requests",
		Formula: "requests in [first content, end)", Rests: InFlight, Group: Effective, Order: 3003,
		Needs: Streaming | Tokens, LargerIsBetter: true, Spans: decodePart,
	},
	{
		Tag: "effective_prefill_concurrency", Header: "Effective Prefill Concurrency", Unit: "requests",
		Formula: "requests in [sent, first content)", Rests: InFlight, Group: Effective, Order: 3004,
		Needs: Streaming | Tokens, LargerIsBetter: true, Spans: prefillPart,
	},
	{
		Tag: "effective_total_throughput", Header: "Effective Total Throughput", Unit: "tokens/sec",
		Formula: "prefill rate + (OSL − 1) / (end − first content) in [first content, end)", Group: Effective,
		Order: 3005, Needs: Streaming | Tokens, LargerIsBetter: true, Spans: tokenRate,
	},
	{
		Tag: "effective_decode_throughput_per_user", Header: "Effective Decode Throughput Per User",
		Unit: "tokens/sec/user", Formula: "decode throughput / decode concurrency", Group: Effective, Order: 3006,
		Needs: Streaming | Tokens, LargerIsBetter: true, Spans: decodePerSlot,
	},
	{
		Tag: "effective_prefill_throughput_per_user", Header: "Effective Prefill Throughput Per User",
		Unit: "tokens/sec/user", Formula: "prefill throughput / prefill concurrency", Group: Effective, Order: 3007,
		Needs: Streaming | Tokens, LargerIsBetter: true, Spans: prefillPerSlot,
	},
	{
		Tag: "tokens_in_flight", Header: "Tokens In Flight", Unit: "tokens",
		Formula: "ISL over the whole request + OSL / chunks from each chunk to the end", Rests: InFlight,
		Group: Effective, Order: 3008, Needs: Streaming | Tokens, LargerIsBetter: true, Spans: heldTokens,
	},
	{
		Tag: "effective_latency", Header: "Effective Latency (CO-aware)", Unit: "ms",
		Formula:   "end − intended, successes only: blind to no delay of ours",
		Elsewhere: "latency corrected for coordinated omission in wrk2 and HdrHistogram", Group: Effective, Order: 3009,
		AIPerf: Place{RunOnly: true}, Record: since(intended, end),
	},

	// The same levels over the time in which their own concurrency is not 0
	{
		Tag: "active_decode_throughput", Header: "Active Decode Throughput", Unit: "tokens/sec",
		Formula: "effective_decode_throughput over the time in which such requests were there", Group: Active,
		Order: 3100, Needs: Streaming | Tokens, LargerIsBetter: true, Spans: decodeRate, Active: true,
	},
	{
		Tag: "active_prefill_throughput", Header: "Active Prefill Throughput", Unit: "tokens/sec",
		Formula: "effective_prefill_throughput over the time in which such requests were there", Group: Active,
		Order: 3101, Needs: Streaming | Tokens, LargerIsBetter: true, Spans: prefillRate, Active: true,
	},
	{
		Tag: "active_decode_throughput_per_user", Header: "Active Decode Throughput Per User", Unit: "tokens/sec/user",
		Formula: "effective_decode_throughput_per_user over the time in which such requests were there", Group: Active,
		Order: 3102, Needs: Streaming | Tokens, LargerIsBetter: true, Spans: decodePerSlot, Active: true,
	},
	{
		Tag: "active_prefill_throughput_per_user", Header: "Active Prefill Throughput Per User", Unit: "tokens/sec/user",
		Formula: "effective_prefill_throughput_per_user over the time in which such requests were there", Group: Active,
		Order: 3103, Needs: Streaming | Tokens, LargerIsBetter: true, Spans: prefillPerSlot, Active: true,
	},
	{
		Tag: "active_total_throughput", Header: "Active Total Throughput", Unit: "tokens/sec",
		Formula: "effective_total_throughput over the time in which such requests were there", Group: Active,
		Order: 3104, Needs: Streaming | Tokens, LargerIsBetter: true, Spans: tokenRate, Active: true,
	},

	// Error-adjusted: the successes and one +Inf for each other attempt; nearest rank.
	{
		Tag: AdjustedRequestLatency, Header: "Request Latency (error-adjusted)", Unit: "ms",
		Formula: "request_latency of the successes and +∞ for each other attempt; nearest rank", Rests: WholeAnswer,
		Group: Adjusted, Order: 10, Of: RequestLatency,
	},
	{
		Tag: AdjustedTimeToFirstToken, Header: "Time to First Token (error-adjusted)", Unit: "ms",
		Formula: "time_to_first_token of the successes and +∞ for each other attempt; nearest rank", Rests: FirstToken,
		Group: Adjusted, Order: 20, Needs: Streaming | Tokens, Of: TimeToFirstToken,
	},
	{
		Tag: "adj_inter_token_latency", Header: "Inter Token Latency (error-adjusted)", Unit: "ms",
		Formula: "inter_token_latency of the successes and +∞ for each other attempt; nearest rank", Rests: Gaps,
		Group: Adjusted, Order: 30, Needs: Streaming | Tokens, Of: InterTokenLatency,
	},
	{
		Tag: "adj_decode_duration", Header: "Decode Duration (error-adjusted)", Unit: "ms",
		Formula: "decode_duration of the successes and +∞ for each other attempt; nearest rank", Rests: WholeAnswer,
		Group: Adjusted, Order: 40, Needs: Streaming | Tokens, Of: DecodeDuration,
	},
	{
		Tag: "adj_effective_latency", Header: "Effective Latency (CO-aware) (error-adjusted)", Unit: "ms",
		Formula: "effective_latency of the successes and +∞ for each other attempt; nearest rank",
		Group:   Adjusted, Order: 50, Of: "effective_latency",
	},
})

// Catalogue is every metric, in table order. The slice must not be changed.
func Catalogue() []Metric { return catalogue }

// Tags are the tags of the catalogue, in its order.
func Tags() []string {
	tags := make([]string, len(catalogue))
	for i := range catalogue {
		tags[i] = catalogue[i].Tag
	}
	return tags
}

// Lookup finds a metric by tag.
func Lookup(tag string) (*Metric, bool) {
	if i := position(tag); i >= 0 {
		return &catalogue[i], true
	}
	return nil, false
}

// position is the place of a tag in the catalogue, -1 when it has none.
func position(tag string) int {
	for i := range catalogue {
		if catalogue[i].Tag == tag {
			return i
		}
	}
	return -1
}

// chunkLatency is the metric whose values are gaps between content events.
const chunkLatency = InterChunkLatency

// Stats are the names of the statistics the metric has, as tables and gates
// spell them.
func (m *Metric) Stats() []string {
	switch {
	case m.Derived != nil:
		return []string{"avg"}
	case m.Spans != noSpan:
		return []string{"avg", "min", "max", "std", "p50", "p90", "p95", "p99"}
	case m.Of != "":
		return []string{"count", "min", "p1", "p5", "p10", "p25", "p50", "p75", "p90", "p95", "p99", "p999", "max"}
	}
	return StatNames()
}

// StatNames are the statistics a full distribution has.
func StatNames() []string {
	return []string{
		"avg", "min", "max", "sum", "std", "count", "p1", "p5", "p10", "p25", "p50",
		"p75", "p90", "p95", "p99", "p999", "n_effective",
	}
}

// per is a/b, NaN when b is not positive.
func per(a, b float64) float64 {
	if !(b > 0) {
		return math.NaN()
	}
	return a / b
}
