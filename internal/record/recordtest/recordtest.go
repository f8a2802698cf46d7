// Package recordtest has the records that tests of writers and readers share:
// nothing goes in, made-up records come out.
package recordtest

import "aiperf.dev/aiperf/internal/record"

// Fixed is the record set every format must carry: each field set, each field
// unset, every status, text that needs quoting, interval chunks, and stamps on
// both sides of zero.
func Fixed() []record.Record {
	full := record.Record{
		RequestID: 0, Worker: 3, Phase: "profiling", SessionID: "s-0", SessionNum: 3, ConversationID: "session_000003", Turn: 2,
		Model: "m/µ", URL: "http://127.0.0.1:8000/v1/chat/completions", PromptSHA: "0011223344556677",
		XRequestID: "7442526b-6bc5-4224-8573-9d9a1e3e517c", XCorrelationID: "0f11a70f-cb5e-408b-b612-695f6f529135",
		Intended: 1_000_000, Admitted: 1_100_000, Sent: 1_250_000, WriteEnd: 1_300_000, FirstByte: 20_000_000,
		FirstToken: 41_250_000, FirstOutput: 51_250_000, LastToken: 91_250_000, End: 91_900_000,
		CancelAsked: 95_000_000,
		Status:      record.OK, HTTPStatus: 200, FinishReason: "stop", ServedModel: "served", Measured: true,
		InWindow: true,
		Streamed: true,
		ISL:      512, OSL: 11, OSLRequested: 12, OutputTokens: 8, ReasoningTokens: 3,
		UsagePrompt: 520, UsageCompletion: 11, UsageReasoning: 3, UsageTotal: 531, Cached: 0, UsageAccepted: 4,
		UsageRejected: 0,
		Chunks: []record.Chunk{
			{At: 41_250_000, Low: 41_250_000, Bytes: 180, Tokens: 3, Kind: record.Reasoning},
			{At: 51_250_000, Low: 50_000_000, Bytes: 181, Kind: record.Content},
			{At: 51_250_000, Low: 51_250_000, Bytes: 10, Kind: record.Tool, SameRead: true},
			{At: 91_250_000, Low: 91_250_000, Bytes: 182, Tokens: 4, Kind: record.Content},
			{At: 91_800_000, Low: 91_800_000, Bytes: 90, Kind: record.Usage},
			{At: 91_900_000, Low: 91_900_000, Bytes: 6, Kind: record.Done, SameRead: true},
		},
		Items: 2, ItemKind: record.Vectors, Dimensions: 768, Images: 1, MediaBytes: 4096, MediaSHA: "8899aabbccddeeff",
		AudioSeconds: 1.5, Download: 7.5, VideoInference: 44.5, VideoMemory: 2048, ServerQueue: 1, ServerPrefill: 30,
		ServerDecode: 45,
		ReceiveLag:   12.5, Open: true, SLOFailedSent: "request_latency", SLOFailed: "time_to_first_token",
		SLOSet: true,
		Reused: true, Resent: true, ResentRead: true, BytesSent: 0, BytesReceived: 2310,
		DNS: 1, Dial: 2, TLS: 3, Connecting: 4,
	}
	empty := record.New()
	empty.RequestID, empty.Phase, empty.Warmup, empty.Status = 1, "warmup", true, record.Client
	failed := record.New()
	failed.RequestID, failed.Phase, failed.Status, failed.InWindow = 2, "profiling", record.HTTPError, true
	failed.Intended, failed.Admitted, failed.Sent, failed.FirstByte, failed.End = 5e6, 5e6, 5e6, 6e6, 7e6
	failed.HTTPStatus, failed.ErrorKind, failed.ErrorMessage = 503, "overloaded", "say \"no\", twice\nand <again> λ"
	failed.SLOSet, failed.ISL = true, 40
	out := []record.Record{full, empty, failed}
	for i, s := range []record.Status{
		record.Timeout, record.Cancelled, record.Truncated, record.ParseError,
		record.Connection,
	} {
		r := failed
		r.RequestID, r.Status, r.HTTPStatus, r.ErrorMessage = int64(3+i), s, record.None, ""
		r.ErrorKind = string(s) + "_kind"
		out = append(out, r)
	}
	return out
}
