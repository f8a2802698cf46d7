package importer_test

import (
	"math"
	"slices"
	"testing"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/sinks/importer"
)

// moments of one request, in ms of one clock: when its connection was asked for and when it
// was sent, the first event (which names the role), the events with text, the last event,
// the end mark, and when the answer had ended. ok is false for one that failed.
type moments struct {
	asked, sent, role float64
	texts             []float64
	last, mark, ended float64
	isl               float64
	ok                bool
}

func (m *moments) osl() float64   { return float64(len(m.texts)) }
func (m *moments) first() float64 { return m.texts[0] }
func (m *moments) text() float64  { return m.texts[len(m.texts)-1] }

// three are the requests that the definitions are worked out for, by hand: of the second a
// connection was opened, and its last text is its last event.
func three() []moments {
	return []moments{
		{0, 0, 10, []float64{30, 40, 50, 60}, 62, 63, 64, 10, true},
		{5, 8, 20, []float64{28, 38, 48}, 48, 51, 52, 12, true},
		{20, 20, 31, []float64{45, 65}, 66, 67, 67, 8, true},
	}
}

// ours are the means of our metrics, of records of these moments.
func ours(all []moments) *metrics.Summary {
	c := metrics.NewCollector(metrics.Options{Streaming: true, Tokens: true})
	ns := func(ms float64) int64 { return int64(ms * 1e6) }
	for i := range all {
		m, r := &all[i], record.New()
		r.RequestID, r.Streamed, r.InWindow, r.Measured = int64(i), true, true, true
		r.Intended, r.Sent, r.End, r.ISL = ns(m.sent), ns(m.sent), ns(m.ended), int64(m.isl)
		if r.Status = record.HTTPError; m.ok {
			r.Status, r.FirstToken, r.FirstOutput, r.LastToken = record.OK, ns(m.first()), ns(m.first()), ns(m.text())
			r.OSL, r.OutputTokens, r.ReasoningTokens = int64(m.osl()), int64(m.osl()), 0
			for _, at := range m.texts {
				r.Chunks = append(r.Chunks, record.Chunk{At: ns(at)})
			}
		}
		c.Add(&r)
	}
	return &c.Summaries()[0]
}

// perRequest are definitions of a request's value, as the column theirs has them.
var perRequest = map[string]func(m *moments) float64{
	"vllm ttft": func(m *moments) float64 { return m.role - m.asked },
	"vllm tpot": func(m *moments) float64 { return (m.last - m.role) / (m.osl() - 1) },
	"vllm e2el": func(m *moments) float64 { return m.last - m.asked },

	"sglang ttft":        func(m *moments) float64 { return m.first() - m.asked },
	"sglang tpot":        func(m *moments) float64 { return (m.mark - m.first()) / (m.osl() - 1) },
	"sglang e2e_latency": func(m *moments) float64 { return m.mark - m.asked },

	"guidellm time_to_first_token_ms":   func(m *moments) float64 { return m.first() - m.asked },
	"guidellm inter_token_latency_ms":   func(m *moments) float64 { return (m.text() - m.first()) / (m.osl() - 1) },
	"guidellm time_per_output_token_ms": func(m *moments) float64 { return (m.text() - m.asked) / m.osl() },
	"guidellm request_latency":          func(m *moments) float64 { return (m.ended - m.asked) / 1000 },

	"genai-perf time_to_first_token":  func(m *moments) float64 { return m.first() - m.sent },
	"genai-perf time_to_second_token": func(m *moments) float64 { return m.texts[1] - m.first() },
	"genai-perf request_latency":      func(m *moments) float64 { return m.text() - m.sent },
	"genai-perf inter_token_latency":  func(m *moments) float64 { return (m.text() - m.first()) / (m.osl() - 1) },
	"genai-perf output_token_throughput_per_user": func(m *moments) float64 {
		return 1000 * (m.osl() - 1) / (m.text() - m.first())
	},

	"inference-perf time_to_first_token":              func(m *moments) float64 { return m.first() - m.asked },
	"inference-perf time_per_output_token":            func(m *moments) float64 { return (m.text() - m.first()) / (m.osl() - 1) },
	"inference-perf request_latency":                  func(m *moments) float64 { return m.ended - m.asked },
	"inference-perf normalized_time_per_output_token": func(m *moments) float64 { return (m.ended - m.asked) / m.osl() },

	"genai-bench ttft":           func(m *moments) float64 { return m.first() - m.asked },
	"genai-bench tpot":           func(m *moments) float64 { return (m.ended - m.first()) / (m.osl() - 1) },
	"genai-bench e2e_latency":    func(m *moments) float64 { return m.ended - m.asked },
	"genai-bench output_latency": func(m *moments) float64 { return m.ended - m.first() },
}

// apart is what separates the two, theirs − ours in our unit, as the column relates has it.
var apart = map[string]func(m *moments) float64{
	"vllm ttft": func(m *moments) float64 { return opening(m) - (m.first() - m.role) },
	"vllm tpot": func(m *moments) float64 { return (m.last - m.text() + m.first() - m.role) / (m.osl() - 1) },
	"vllm e2el": func(m *moments) float64 { return opening(m) + m.last - m.text() },

	"sglang ttft":        opening,
	"sglang tpot":        func(m *moments) float64 { return (m.mark - m.text()) / (m.osl() - 1) },
	"sglang e2e_latency": func(m *moments) float64 { return opening(m) + m.mark - m.text() },

	"guidellm time_to_first_token_ms":    opening,
	"guidellm request_latency":           func(m *moments) float64 { return opening(m) + m.ended - m.text() },
	"genai-perf inter_token_latency":     func(*moments) float64 { return 0 }, // both count the same tokens here
	"inference-perf time_to_first_token": opening,
	"inference-perf request_latency":     func(m *moments) float64 { return opening(m) + m.ended - m.text() },

	"inference-perf normalized_time_per_output_token": func(m *moments) float64 {
		return (opening(m) + m.ended - m.text()) / m.osl()
	},

	"genai-bench ttft":           opening,
	"genai-bench tpot":           func(m *moments) float64 { return (m.ended - m.text()) / (m.osl() - 1) },
	"genai-bench e2e_latency":    func(m *moments) float64 { return opening(m) + m.ended - m.text() },
	"genai-bench output_latency": func(m *moments) float64 { return m.ended - m.text() },
}

func opening(m *moments) float64 { return m.sent - m.asked }

func mean(all []moments, of func(*moments) float64) float64 {
	sum, n := 0.0, 0.0
	for i := range all {
		if all[i].ok {
			sum += of(&all[i])
			n++
		}
	}
	return sum / n
}

// Every latency's row holds for three requests whose moments are known: what is equal is,
// what is convertible is by the formula, and for what is not comparable there are two
// answers that one of the two metrics tells apart and the other does not, or two that the
// formula needs what no summary has for.
func TestDefinitionsByHand(t *testing.T) {
	t.Parallel()
	all, said := three(), ours(three())
	held := 0
	for _, d := range importer.Matrix() {
		of, ok := perRequest[d.Tool+" "+d.Metric]
		if !ok || d.Relation == importer.NotComparable {
			continue
		}
		held++
		st, there := said.Get(d.Ours)
		if !there {
			t.Errorf("%s %s: no %s here", d.Tool, d.Metric, d.Ours)
			continue
		}
		theirs, by := mean(all, of)*d.Factor, 0.0
		if d.Relation == importer.Convertible {
			correction := apart[d.Tool+" "+d.Metric]
			if correction == nil {
				t.Errorf("%s %s: convertible, and by no formula", d.Tool, d.Metric)
				continue
			}
			by = mean(all, correction)
		}
		if math.Abs(theirs-by-st.Avg) > 1e-9 {
			t.Errorf("%s %s = %v, less %v is not %s = %v", d.Tool, d.Metric, theirs, by, d.Ours, st.Avg)
		}
	}
	if held != 22 {
		t.Errorf("%d rows were held", held)
	}
}

// A server that names the role 15 ms earlier changes vLLM's TTFT and nobody else's; one
// that answers in the same time with other lengths changes the means over all tokens, of
// the same inter-token latency.
func TestNotComparableByHand(t *testing.T) {
	t.Parallel()
	early := three()
	for i := range early {
		early[i].role -= 5
	}
	a, b := ours(three()), ours(early)
	x, _ := a.Get(metrics.TimeToFirstToken)
	y, _ := b.Get(metrics.TimeToFirstToken)
	vllm := perRequest["vllm ttft"]
	if x.Avg != y.Avg || x.Avg != 25 || mean(three(), vllm)-mean(early, vllm) != 5 {
		t.Errorf("TTFT %v and %v, vLLM's %v and %v", x.Avg, y.Avg, mean(three(), vllm), mean(early, vllm))
	}
	itl, _ := b.Get(metrics.InterTokenLatency)
	if v, _ := a.Get(metrics.InterTokenLatency); v.Avg != itl.Avg ||
		mean(early, perRequest["vllm tpot"]) <= mean(three(), perRequest["vllm tpot"]) {
		t.Errorf("ITL %v and %v", v.Avg, itl.Avg)
	}
	for _, metric := range []string{"ttft", "tpot", "itl"} {
		d, _ := importer.Define("vllm", "", metric, []importer.Setting{{Name: "endpoint.type", Value: "chat"}})
		if d.Relation != importer.NotComparable {
			t.Errorf("vLLM's %s of a chat is %s", metric, d.Relation)
		}
	}
	long := []moments{{0, 0, 30, []float64{30, 40, 50, 60, 70, 80}, 80, 80, 80, 10, true}}
	short := []moments{{0, 0, 30, []float64{30, 40}, 40, 40, 40, 10, true}}
	for key, want := range map[string][2]float64{
		"guidellm time_per_output_token_ms":               {80. / 6, 20},
		"inference-perf normalized_time_per_output_token": {80. / 6, 20},
	} {
		of := perRequest[key]
		if got := [2]float64{mean(long, of), mean(short, of)}; got != want {
			t.Errorf("%s = %v, want %v, of one ITL of 10 ms", key, got, want)
		}
	}
}

// guidellm counts a request's inter token latency as often as there are times between its tokens:
// of three(), 10, 10 and 20 ms over 3, 2 and 1 of them, its mean is 70 / 6 ms, ours 40 / 3.
func TestWeighedByHand(t *testing.T) {
	t.Parallel()
	of, sum, n := perRequest["guidellm inter_token_latency_ms"], 0.0, 0.0
	all := three()
	for i := range all {
		sum, n = sum+of(&all[i])*(all[i].osl()-1), n+all[i].osl()-1
	}
	if theirs := sum / n; math.Abs(theirs-70./6) > 1e-9 || math.Abs(mean(all, of)-40./3) > 1e-9 {
		t.Errorf("mean %v, of requests %v", theirs, mean(all, of))
	}
	for _, c := range []struct {
		settings []importer.Setting
		want     importer.Relation
	}{{nil, importer.NotComparable}, {[]importer.Setting{{Name: "output_length", Value: "constant"}}, importer.Equal}} {
		if d, _ := importer.Define("guidellm", "", "inter_token_latency_ms", c.settings); d.Relation != c.want {
			t.Errorf("of %v it is %s, want %s", c.settings, d.Relation, c.want)
		}
	}
}

// Counts and rates: four requests, one of which failed, in a window of 67 ms.
func TestCountsByHand(t *testing.T) {
	t.Parallel()
	all := append(three(), moments{asked: 21, sent: 21, ended: 24, isl: 5})
	said := ours(all)
	const window = .067
	want := map[string]float64{
		metrics.RequestCount: 3, metrics.ErrorRequestCount: 1, metrics.RequestThroughput: 3 / window,
		metrics.OutputTokenThroughput: 9 / window, metrics.TotalTokenThroughput: (9 + 30) / window,
		"total_isl": 30, "total_osl": 9, metrics.InputSequenceLength: 10, metrics.OutputSequenceLength: 3,
		metrics.InterChunkLatency: (10 + 10 + 10 + 10 + 10 + 20) / 6., metrics.BenchmarkDuration: .065,
	}
	for tag, v := range want {
		st, ok := said.Get(tag)
		if !ok || math.Abs(st.Avg-v) > 1e-9*v {
			t.Errorf("%s = %v, want %v", tag, st.Avg, v)
		}
	}
	// each row about one of them has a formula that gives just this, or a bound
	for _, d := range importer.Matrix() {
		_, latency := perRequest[d.Tool+" "+d.Metric]
		_, counted := want[d.Ours]
		switch {
		case latency || counted || d.Ours == "-" || d.Ours == "*" || d.Ours == metrics.Goodput:
		case d.Relation == importer.NotComparable: // of reports that do not say whose figures they hold
		case d.Tool == "genai-bench" && d.Metric == "output_inference_speed":
		default:
			t.Errorf("%s %s: held by no case", d.Tool, d.Metric)
		}
	}
}

// The rows name metrics, relations and cases that exist, each once.
func TestMatrix(t *testing.T) {
	t.Parallel()
	seen := map[[4]string]bool{}
	for _, d := range importer.Matrix() {
		key := [4]string{d.Tool, d.Since, d.When, d.Metric}
		if seen[key] {
			t.Errorf("%v twice", key)
		}
		seen[key] = true
		if _, ok := metrics.Lookup(d.Ours); !ok && d.Ours != "-" && d.Ours != "*" {
			t.Errorf("%v: no metric %s here", key, d.Ours)
		}
		known := []importer.Relation{importer.Equal, importer.Convertible, importer.NotComparable}
		if !slices.Contains(known, d.Relation) || !slices.Contains(importer.Tools(), d.Tool) ||
			!(d.Factor > 0) || d.Theirs == "" || d.Relates == "" || d.Case == "" {
			t.Errorf("row %+v", d)
		}
	}
}
