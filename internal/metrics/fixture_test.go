package metrics_test

import (
	"math"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/record"
)

const msec = int64(1e6)

// first is a successful request on a new connection: one reasoning token, then
// four of content, and a usage report that differs from the client's counts.
func first() *record.Record {
	r := record.New()
	r.Status, r.Streamed, r.InWindow, r.SLOSet = record.OK, true, true, true
	r.Intended, r.Admitted, r.Sent, r.WriteEnd, r.FirstByte = 0, 1*msec, 2*msec, 3*msec, 10*msec
	r.FirstToken, r.FirstOutput, r.LastToken, r.End = 42*msec, 52*msec, 82*msec, 90*msec
	r.ISL, r.OSL, r.OSLRequested, r.OutputTokens, r.ReasoningTokens = 40, 5, 5, 4, 1
	r.UsagePrompt, r.UsageCompletion, r.UsageReasoning, r.UsageTotal, r.Cached = 50, 5, 1, 55, 10
	r.UsageAccepted, r.UsageRejected = 3, 0
	r.DNS, r.Dial, r.TLS = 1*msec, 2*msec, 3*msec
	r.BytesSent, r.BytesReceived = 2048, 4096
	r.Chunks = []record.Chunk{
		{At: 42 * msec, Kind: record.Reasoning},
		{At: 52 * msec},
		{At: 62 * msec},
		{At: 82 * msec},
		{At: 84 * msec, Kind: record.Usage},
		{At: 84 * msec, Kind: record.Done, SameRead: true},
	}
	return &r
}

// second is a successful request on a reused connection that got three tokens
// where four were asked for, and missed an SLO.
func second() *record.Record {
	r := record.New()
	r.Status, r.Streamed, r.InWindow, r.SLOSet, r.SLOFailed, r.SLOFailedSent = record.OK, true, true,
		true, "inter_token_latency", "inter_token_latency"
	r.Intended, r.Admitted, r.Sent, r.WriteEnd, r.FirstByte = 10*msec, 10*msec, 10*msec, 10*msec, 20*msec
	r.FirstToken, r.FirstOutput, r.LastToken, r.End = 30*msec, 30*msec, 70*msec, 75*msec
	r.ISL, r.OSL, r.OSLRequested, r.OutputTokens, r.UsageCompletion = 10, 3, 4, 3, 3
	r.Reused, r.BytesSent, r.BytesReceived = true, 1024, 2048
	r.Chunks = []record.Chunk{{At: 30 * msec}, {At: 50 * msec}, {At: 70 * msec}}
	return &r
}

func failure() *record.Record {
	r := record.New()
	r.Status, r.HTTPStatus, r.InWindow, r.SLOSet, r.SLOFailed, r.SLOFailedSent = record.HTTPError, 500, true,
		true, "inter_token_latency", "inter_token_latency"
	r.Intended, r.Admitted, r.Sent, r.WriteEnd, r.FirstByte, r.End = 20*msec, 20*msec, 20*msec, 20*msec, 24*msec,
		25*msec
	r.ISL = 30
	return &r
}

// late is a request that was cancelled on purpose.
func late() *record.Record {
	r := record.New()
	r.Status, r.Measured, r.InWindow = record.Cancelled, true, true
	r.Intended, r.Admitted, r.Sent, r.End, r.CancelAsked = 90*msec, 90*msec, 90*msec, 95*msec, 95*msec
	return &r
}

func warmup() *record.Record {
	r := first()
	r.Warmup, r.InWindow = true, false
	return r
}

func small() *metrics.Collector { return smallIn(metrics.Window{}) }

// smallIn is small with a steady window.
func smallIn(steady metrics.Window) *metrics.Collector {
	c := metrics.NewCollector(metrics.Options{
		Streaming: true, Tokens: true, Window: metrics.Window{End: 100 * msec},
		Steady: steady,
	})
	for _, r := range []*record.Record{warmup(), second(), first(), failure(), late()} {
		c.Add(r)
	}
	return c
}

func near(a, b float64) bool {
	if math.IsNaN(a) || math.IsNaN(b) {
		return math.IsNaN(a) && math.IsNaN(b)
	}
	if math.IsInf(a, 0) || math.IsInf(b, 0) {
		return a == b
	}
	return math.Abs(a-b) <= 1e-9*max(1, math.Abs(a), math.Abs(b))
}

// made is a run of answers that hold other things than text: each 20 ms long,
// in a window of 100 ms.
func made() *metrics.Collector {
	c := metrics.NewCollector(metrics.Options{
		Streaming: true, Answers: true, Window: metrics.Window{End: 100 * msec},
	})
	answers := []record.Answer{record.Right, record.Right, record.Wrong, record.NotJudged, ""}
	for i, kind := range []string{record.Vectors, record.Passages, record.Pictures, record.Pictures, record.Films} {
		r := record.New()
		r.RequestID, r.Phase, r.Status, r.Measured, r.InWindow = int64(i), "profiling", record.OK, true, true
		r.Sent = int64(i) * 10 * msec
		r.FirstToken, r.LastToken, r.End = r.Sent+20*msec, r.Sent+20*msec, r.Sent+20*msec
		r.ItemKind, r.Items, r.Answer = kind, 1, answers[i]
		switch i {
		case 0:
			r.Items, r.Dimensions, r.Images = 4, 768, 3
		case 1:
			r.Items, r.AudioSeconds = 10, 0.5
			r.ServerQueue, r.ServerDecode = 1, 2 // a time of no video
		case 2: // the only event: no partial image
			r.Streamed, r.Chunks = true, []record.Chunk{{At: r.End, Low: r.End}}
		case 3:
			r.FirstToken = r.Sent + 5*msec
			r.Streamed, r.Chunks = true, []record.Chunk{{At: r.FirstToken, Low: r.FirstToken}, {At: r.End, Low: r.End}}
		case 4:
			r.ServerQueue, r.ServerDecode, r.Download, r.VideoInference, r.VideoMemory = 4, 12, 3, 11.5, 2048
		}
		c.Add(&r)
	}
	return c
}
