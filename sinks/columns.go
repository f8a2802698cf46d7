package sinks

import (
	"fmt"
	"math"

	"aiperf.dev/aiperf/internal/record"
)

// The columns of every table, after the identity and axis columns that all of
// them begin with. A column keeps its meaning within a schema version.

// schemaVersion is the version of every table's schema: requests/4. In 2
// cancelled requests of a run are those that the experiment asked to cancel, steady is
// by the time of sending, and what was never sent has rows. In 3 a request_id is that of
// one request of the experiment, cells have figures, and what was called window is span. In
// 4 opening a connection is no part of dispatch_lateness_ms, and averages of times in the
// steady window are those of the requests whose percentiles stand beside them.
const schemaVersion = 4

// none lets a requestRow be read into: nothing has been measured.
func none() requestRow { return requestRow{Record: record.New()} }

func requestColumns() []column[requestRow] {
	type r = requestRow
	return []column[r]{
		word("phase", "name of the phase that sent it", func(r *r) *string { return &r.Phase }),
		ordinal("request_id", "number of the request in the experiment: by run, and in the order of sending, from 0; −1, −2, … for what was due and never sent",
			Int64, func(r *r) *int64 { return &r.RequestID }).varying(),
		ordinal("worker", "which of the run's workers sent it, from 0; 0 where one process sends all",
			Int16, func(r *r) *int64 { return &r.Worker }),
		word("session_id", "the conversation as it was played: unique in the run; null where nothing of it was tried, since its server was gone",
			func(r *r) *string { return &r.SessionID }).naming(),
		ordinal("session_num", "", Int64, func(r *r) *int64 { return &r.SessionNum }).onlyIn(journalOnly).varying(),
		word("parent_session_id", "the session that started this one: of conversations that start others; null elsewhere",
			func(r *r) *string { return &r.ParentSession }).naming(),
		word("root_session_id", "", func(r *r) *string { return &r.RootSession }).naming().onlyIn(journalOnly),
		ordinal("depth", "", Int32, func(r *r) *int64 { return &r.Depth }).onlyIn(journalOnly),
		word("conversation_id", "the conversation as the data set names it",
			func(r *r) *string { return &r.ConversationID }).naming().varying(),
		ordinal("turn", "number of the turn in its conversation, from 0", Int16, func(r *r) *int64 { return &r.Turn }),
		word("model", "model the server was asked for", func(r *r) *string { return &r.Model }).varying(),
		word("url", "address it was sent to, without query and credentials; #1, #2, … where several targets differ in nothing else; http://mock: is the built-in server",
			func(r *r) *string { return &r.URL }).varying(),
		word("prompt_sha", "first bytes of the SHA-256 of the request body: equal prompts are equal here",
			func(r *r) *string { return &r.PromptSHA }).naming(),
		word("x_request_id", "", func(r *r) *string { return &r.XRequestID }).naming().onlyIn(journalOnly),
		word("x_correlation_id", "", func(r *r) *string { return &r.XCorrelationID }).naming().onlyIn(journalOnly),
		fact("warmup", "", func(r *r) *bool { return &r.Warmup }).onlyIn(journalOnly),
		fact("streamed", "", func(r *r) *bool { return &r.Streamed }).onlyIn(journalOnly),
		fact("open_loop", "a clock said when it was due, and not the answer before it: of an open loop or a replay",
			func(r *r) *bool { return &r.Open }),

		nanos("intended_ns", "when the schedule wanted it sent; in a closed loop, when the slot became free",
			func(r *r) *int64 { return &r.Intended }).varying(),
		nanos("admitted_ns", "when it had its slots; behind a backlog of this client, when it would have had them had the client never stood still: each request as long as it took, begun when it was due and a slot free",
			func(r *r) *int64 { return &r.Admitted }).varying(),
		nanos("sent_ns", "when its first byte was handed to the kernel", func(r *r) *int64 { return &r.Sent }),
		nanos("write_end_ns", "", func(r *r) *int64 { return &r.WriteEnd }).onlyIn(journalOnly),
		nanos("first_byte_ns", "when the first byte of the answer came", func(r *r) *int64 { return &r.FirstByte }),
		nanos("first_token_ns", "when the first content came, reasoning included",
			func(r *r) *int64 { return &r.FirstToken }),
		nanos("first_output_ns", "", func(r *r) *int64 { return &r.FirstOutput }).onlyIn(journalOnly),
		nanos("last_token_ns", "when the last content came", func(r *r) *int64 { return &r.LastToken }),
		nanos("end_ns", "when the answer ended", func(r *r) *int64 { return &r.End }).varying(),
		nanos("cancel_asked_ns", "", func(r *r) *int64 { return &r.CancelAsked }).onlyIn(journalOnly),
		{
			Field: Field{Name: "start_time", Doc: "sent, by the wall clock", Kind: Time, enc: delta, Null: true},
			in:    tableOnly, int: func(r *r) *int64 { return &r.start },
		},

		word("status", "ok; cut: off by the end of its phase; cancelled: on purpose; unsent: due and never sent; http_error, timeout, truncated, parse_error, connection or client: it failed",
			func(r *r) *string { return (*string)(&r.Status) }),
		{Field: Field{
			Name: "http_status", Doc: "status of the answer; null when there was none", Kind: Int16,
			enc: dictionary, Null: true,
		}, int: func(r *r) *int64 { return &r.HTTPStatus }},
		word("error_kind", "class of the failure, such as http_500, reset or no_content; screens call it by this name, behind the status where that is not http_error; of what was never sent, the reason",
			func(r *r) *string { return &r.ErrorKind }),
		word("error_message", "what the server or the connection said",
			func(r *r) *string { return &r.ErrorMessage }).varying(),
		word("error_body", "", func(r *r) *string { return &r.ErrorBody }).onlyIn(journalOnly),
		word("served_model", "the model that the answer names; null where it names none",
			func(r *r) *string { return &r.ServedModel }),
		word("finish_reason", "why the server stopped", func(r *r) *string { return &r.FinishReason }),
		word("item", "the question with a known answer that it asked; null for any other request",
			func(r *r) *string { return &r.Item }).varying(),
		word("answer", "right, wrong or not_judged; null where nothing was asked, or no answer came",
			func(r *r) *string { return (*string)(&r.Answer) }),
		word("answer_why", "what is wrong with the answer, or why it was not judged",
			func(r *r) *string { return &r.AnswerWhy }),
		fact("measured", "its phase counts in the results",
			func(r *r) *bool { return &r.Measured }).onlyIn(journalOnly),
		fact("in_window", "counts in the results: of a measured phase, and ended inside its window, well or failed",
			func(r *r) *bool { return &r.InWindow }),
		fact("steady", "was sent in the steady window: no ramp, no drain",
			func(r *r) *bool { return &r.steady }).onlyIn(tableOnly),

		count("isl", "input tokens, by the client's tokenizer", "tokens", Int32,
			func(r *r) *int64 { return &r.ISL }).varying(),
		count("osl", "output tokens, reasoning included", "tokens", Int32, func(r *r) *int64 { return &r.OSL }),
		count("osl_requested", "output tokens that were asked for", "tokens", Int32,
			func(r *r) *int64 { return &r.OSLRequested }).varying(),
		count("output_tokens", "", "tokens", Int32, func(r *r) *int64 { return &r.OutputTokens }).onlyIn(journalOnly),
		count("reasoning_tokens", "output tokens that were reasoning", "tokens", Int32,
			func(r *r) *int64 { return &r.ReasoningTokens }),
		count("usage_prompt_tokens", "input tokens, by the server", "tokens", Int32,
			func(r *r) *int64 { return &r.UsagePrompt }),
		count("usage_completion_tokens", "output tokens, by the server", "tokens", Int32,
			func(r *r) *int64 { return &r.UsageCompletion }),
		count("usage_reasoning_tokens", "", "tokens", Int32,
			func(r *r) *int64 { return &r.UsageReasoning }).onlyIn(journalOnly),
		count("usage_total_tokens", "", "tokens", Int32,
			func(r *r) *int64 { return &r.UsageTotal }).onlyIn(journalOnly),
		count("usage_accepted_prediction_tokens", "", "tokens", Int32,
			func(r *r) *int64 { return &r.UsageAccepted }).onlyIn(journalOnly),
		count("usage_rejected_prediction_tokens", "", "tokens", Int32,
			func(r *r) *int64 { return &r.UsageRejected }).onlyIn(journalOnly),
		count("cached_tokens", "input tokens the server had cached, by the server", "tokens",
			Int32, func(r *r) *int64 { return &r.Cached }),
		count("chunks", "events with content", "", Int32, func(r *r) *int64 { return &r.chunks }).onlyIn(tableOnly),

		figure("ttft_ms", "first content − sent", "ms", func(r *r) float64 { return r.TTFT() }),
		figure("ttfo_ms", "first content that is not reasoning − sent", "ms", func(r *r) float64 { return r.TTFO() }),
		figure("itl_ms", "(latency − TTFT) / (OSL − 1)", "ms", func(r *r) float64 { return r.ITL() }),
		figure("latency_ms", "last content − sent", "ms", func(r *r) float64 { return r.Latency() }),
		figure("ttft_from_intended_ms", "first content − intended", "ms",
			func(r *r) float64 { return r.TTFTFromIntended() }),
		figure("latency_from_intended_ms",
			"last content − intended: open loop and replay only see what a delay of ours adds", "ms",
			func(r *r) float64 { return r.LatencyFromIntended() }),
		figure("dispatch_lateness_ms", "sent − max(intended, admitted) − connecting: the client's own delay", "ms",
			func(r *r) float64 { return r.DispatchLateness() }).again(),
		figure("admission_wait_ms", "admitted − intended: the wait for a slot", "ms",
			func(r *r) float64 { return r.AdmissionWait() }),
		real("receive_lag_us", "stamp of the program − stamp of the kernel, the largest of its reads; null where the kernel stamps nothing",
			"us", func(r *r) *float64 { return &r.ReceiveLag }).again(),
		figure("tps_user", "1000 / ITL; null when all came at once", "tokens/s",
			func(r *r) float64 { return 1e3 / r.ITL() }),

		{
			Field: Field{Name: "slo_ok", Doc: "true when the request kept all limits: in an open loop and in a replay from intended, in a closed loop from sent; null without limits, for one that was cancelled as asked, and for one that was cut off before it could tell", Kind: Bool, Null: true},
			in:    tableOnly, counted: func(r *r) int64 { return keptLimits(r, r.SLOFailed) },
		},
		{Field: Field{
			Name: "slo_ok_from_sent", Doc: "the same from sent in every mode, as AIPerf judges", Kind: Bool,
			Null: true,
		}, in: tableOnly, counted: func(r *r) int64 { return keptLimits(r, r.SLOFailedSent) }},
		fact("slo_set", "", func(r *r) *bool { return &r.SLOSet }).onlyIn(journalOnly),
		word("slo_failed", "the first limit it missed, by name; null when it kept all, or without limits",
			func(r *r) *string { return &r.SLOFailed }),
		word("slo_failed_sent", "", func(r *r) *string { return &r.SLOFailedSent }).onlyIn(journalOnly),
		fact("connection_reused", "the connection had served a request before", func(r *r) *bool { return &r.Reused }),
		fact("resent", "sent a second time, on a fresh connection, because the server had closed the kept one without an answer; sent_ns is of the first time",
			func(r *r) *bool { return &r.Resent }),
		fact("resent_read", "resent, where the server had the whole request, and closed the connection without resetting it, more than 10 ms after the answer before: it may have worked on the request twice",
			func(r *r) *bool { return &r.ResentRead }),
		nanos("connecting_ns", "time before sent in which a connection was opened for it, a delay of the network and the server; null on a kept connection",
			func(r *r) *int64 { return &r.Connecting }),
		count("bytes_sent", "bytes of the request, head included", "bytes",
			Int64, func(r *r) *int64 { return &r.BytesSent }),
		count("bytes_received", "bytes of the answer, head included", "bytes", Int64,
			func(r *r) *int64 { return &r.BytesReceived }),
		count("items", "vectors, scores, images or other things that the answer holds; null for text", "",
			Int64, func(r *r) *int64 { return &r.Items }),
		word("item_kind", "what the items are: vectors, passages, images or videos; null for text, and where the answer does not show it",
			func(r *r) *string { return &r.ItemKind }),
		count("dimensions", "numbers in each vector of the answer; null without vectors", "",
			Int32, func(r *r) *int64 { return &r.Dimensions }),
		count("images", "pictures in the request; null without any", "", Int32, func(r *r) *int64 { return &r.Images }),
		count("media_bytes", "bytes of the answer's pictures, sounds and videos as they stand in it, in base64 where they do; null without any",
			"bytes", Int64, func(r *r) *int64 { return &r.MediaBytes }),
		word("media_sha", "first bytes of the SHA-256 of all of them: equal ones are equal here",
			func(r *r) *string { return &r.MediaSHA }).naming(),
		real("audio_s", "length of the request's sounds; null without any, and for files other than WAV and FLAC, whose length is not read",
			"s", func(r *r) *float64 { return &r.AudioSeconds }),
		real("server_queue_ms", "how long the request waited at the server, as the server says in its answer or header; of a video: until the job was seen to begin",
			"ms", func(r *r) *float64 { return &r.ServerQueue }),
		real("server_prefill_ms", "how long the server read the prompt, by its own account", "ms",
			func(r *r) *float64 { return &r.ServerPrefill }),
		real("server_decode_ms", "how long the server made the answer, by its own account, the prompt included where it says no other time for it; of a video: from when the job was seen to begin to when it was seen to be done",
			"ms", func(r *r) *float64 { return &r.ServerDecode }),
		real("download_ms", "from when a job was done to when its result had been fetched; null where nothing was",
			"ms", func(r *r) *float64 { return &r.Download }),
		real("video_inference_ms", "how long a video's making took, by the server's own account; null without", "ms",
			func(r *r) *float64 { return &r.VideoInference }),
		real("video_memory_mb", "GPU memory that a video's making took at most, by the server's own account; null without",
			"MB", func(r *r) *float64 { return &r.VideoMemory }),
		nanos("dns_ns", "", func(r *r) *int64 { return &r.DNS }).onlyIn(journalOnly),
		nanos("dial_ns", "", func(r *r) *int64 { return &r.Dial }).onlyIn(journalOnly),
		nanos("tls_ns", "", func(r *r) *int64 { return &r.TLS }).onlyIn(journalOnly),
	}
}

func chunkColumns() []column[chunkRow] {
	type c = chunkRow
	gap := real("gap_ms", "time since the event with output before; 0 when one read carried both; null for the first, and for usage and done",
		"ms", func(c *c) *float64 { return &c.gap })
	gap.Kind = Float32
	return []column[c]{
		word("phase", "name of the phase that sent it", func(c *c) *string { return &c.phase }),
		ordinal("request_id", "the request, as in requests", Int64, func(c *c) *int64 { return &c.request }),
		ordinal("chunk", "number of the event in its answer, from 0", Int32, func(c *c) *int64 { return &c.chunk }),
		word("kind", "content, reasoning or tool; usage and done carry no output",
			func(c *c) *string { return &c.kind }),
		nanos("t_ns", "when it came", func(c *c) *int64 { return &c.at }),
		gap,
		count("bytes", "length of the event", "bytes", Int32, func(c *c) *int64 { return &c.bytes }),
		count("tokens", "output tokens in it: by the server where it counts them event by event, else 1 where the answer has as many as events with output; null otherwise",
			"tokens", Int32, func(c *c) *int64 { return &c.tokens }), // a plain answer is one event of any length
		fact("same_read", "came in the same read as the event before, so that its gap says nothing",
			func(c *c) *bool { return &c.sameRead }),
	}
}

func runColumns() []column[RunRow] {
	type r = RunRow
	when := func(name, doc string, f func(*r) *int64) column[r] {
		return column[r]{Field: Field{Name: name, Doc: doc, Kind: Time, enc: delta, Null: true}, int: f}
	}
	return []column[r]{
		when("started", "when the run began", func(r *r) *int64 { return &r.Started }),
		when("ended", "when it was over", func(r *r) *int64 { return &r.Ended }),
		count("planned", "requests that were planned; null when time decides", "requests",
			Int64, func(r *r) *int64 { return &r.Planned }),
		count("sent", "requests that were sent", "requests", Int64, func(r *r) *int64 { return &r.Sent }),
		count("ok", "of them ended well", "requests", Int64, func(r *r) *int64 { return &r.OK }),
		count("failed", "of them failed", "requests", Int64, func(r *r) *int64 { return &r.Failed }),
		count("cancelled", "of them were cancelled as the experiment asked", "requests",
			Int64, func(r *r) *int64 { return &r.Cancelled }),
		count("cut", "of them were cut off by the end of their phase",
			"requests", Int64, func(r *r) *int64 { return &r.Cut }),
		count("unsent", "requests that were due and never sent", "requests",
			Int64, func(r *r) *int64 { return &r.Unsent }),
		nanos("window_start_ns", "begin of the window that rates divide by",
			func(r *r) *int64 { return &r.WindowStart }),
		nanos("window_end_ns", "its end", func(r *r) *int64 { return &r.WindowEnd }),
		nanos("steady_start_ns", "begin of the steady window", func(r *r) *int64 { return &r.SteadyStart }),
		nanos("steady_end_ns", "its end", func(r *r) *int64 { return &r.SteadyEnd }),
		count("seed", "root seed of the run", "", Int64, func(r *r) *int64 { return &r.Seed }),
		real("client_cpu", "CPU the client used over the run, as a share of the cores it may use", "ratio",
			func(r *r) *float64 { return &r.ClientCPU }),
		word("verdict", "VALID, DEGRADED or INVALID", func(r *r) *string { return &r.Verdict }),
		count("attempt", "1 for the first try; more after a resume", "",
			Int32, func(r *r) *int64 { return &r.Attempt }),
		count("sentinel", "1 to 3 for the runs of the sentinel, which do not count as trials: no estimate includes them",
			"", Int32, func(r *r) *int64 { return &r.Sentinel }),
		count("probe", "number of the run among the probes of a search, from 1; null without a search", "",
			Int32, func(r *r) *int64 { return &r.Probe }),
		word("search", "why the search made this probe; null without a search",
			func(r *r) *string { return &r.Search }),
		word("decision", "what all usable runs of its load showed when it was over: holds, fails or undecided; measured where a knee is looked for; unusable for a run that says nothing about the server; null without a search",
			func(r *r) *string { return &r.Decision }),
		word("path", "folder of the run's own files", func(r *r) *string { return &r.Path }),
		real("replay_fidelity", "how close a replay came to its trace: the least of the shares beside it, of rows sent and of rows on time, less the prefix overlap that was missed",
			"ratio", func(r *r) *float64 { return &r.Replay.Fidelity }),
		real("replay_lag_p99_ms", "how much later than recorded requests were sent, 99th percentile", "ms",
			func(r *r) *float64 { return &r.Replay.LagP99 }),
		real("replay_dependencies", "later turns that waited for the answer before them", "ratio",
			func(r *r) *float64 { return &r.Replay.Dependencies }),
		real("replay_input_length", "how close input lengths are to the trace's", "ratio",
			func(r *r) *float64 { return &r.Replay.Input }),
		real("replay_output_length", "how close output lengths are to the trace's", "ratio",
			func(r *r) *float64 { return &r.Replay.Output }),
		real("replay_hit_rate_trace", "input tokens that an infinite prefix cache would know, by the trace", "ratio",
			func(r *r) *float64 { return &r.Replay.HitTrace }),
		real("replay_hit_rate_server", "input tokens that the server's cache knew, by the server", "ratio",
			func(r *r) *float64 { return &r.Replay.HitServer }),
	}
}

func cellColumns() []column[CellRow] {
	type c = CellRow
	cols := []column[c]{
		count("n", "requests that ended well, in all trials", "requests", Int64, func(c *c) *int64 { return &c.N }),
		count("trials", "runs that count", "", Int32, func(c *c) *int64 { return &c.Trials }),
		word("verdict", "VALID, DEGRADED or INVALID", func(c *c) *string { return &c.Verdict }),
		maybe("pareto", "true when the cell is shown to be on the Pareto front, false when another cell is shown to be better in both objectives; null when trials do not tell",
			func(c *c) *int64 { return &c.Pareto }),
		maybe("knee", "true at the load from which on more of it hardly gives more throughput",
			func(c *c) *int64 { return &c.Knee }),
		word("best_for", "objectives this cell is the best for; where there are SLOs or gates, of the cells that keep them; with 'without limits' behind it: of all cells, though this one is not shown to keep them",
			func(c *c) *string { return &c.BestFor }),
		word("reason", "why there is no answer to one of these", func(c *c) *string { return &c.Reason }),
		word("decision", "what a search found at this load: holds, fails or undecided; measured where it looks for a knee; null without a search, and where no run was usable",
			func(c *c) *string { return &c.Decision }),
		real("curve_good_share", "good requests at this load by isotonic regression over all probes of a search; null without a search for a limit",
			"ratio", func(c *c) *float64 { return &c.CurveGood }),
		real("curve_requests_per_s", "requests per second at this load by the Universal Scalability Law, fitted to all probes of a search; null where it does not fit, and at a load with too few answers for a rate",
			"requests/s", func(c *c) *float64 { return &c.CurveRate }),
	}
	for i, f := range CellFigures() {
		of := func(c *c) *Figure {
			if i >= len(c.Figures) {
				return &Figure{math.NaN(), math.NaN(), math.NaN()}
			}
			return &c.Figures[i]
		}
		cols = append(cols,
			real(f.Name, f.Doc+": "+f.Tag+" "+f.Stat+
				" of the table metrics, of the steady span where every trial has one", f.Unit,
				func(c *c) *float64 { return &of(c).Value }),
			real(f.Name+"_low", "lower end of its interval over the trials; null with one trial",
				f.Unit, func(c *c) *float64 { return &of(c).Low }),
			real(f.Name+"_high", "upper end of it", f.Unit, func(c *c) *float64 { return &of(c).High }))
	}
	return cols
}

func metricColumns() []column[MetricRow] {
	type m = MetricRow
	return []column[m]{
		word("level", "what the row is about: run or cell; target, model or request: the requests to one of several targets, of one of several models, or those that ask questions among other requests and those that do not, in a run or, where trial is null, over the trials of a cell",
			func(m *m) *string { return &m.Level }),
		word("part", "of a row about a target, a model or a kind of request: its address as in requests, its name, or question or other; of a server's figure (server_running and so on): its page of metrics",
			func(m *m) *string { return &m.Part }),
		word("span", "full or steady: the requests and the time that it is about",
			func(m *m) *string { return &m.Window }),
		word("metric", "tag of the metric", func(m *m) *string { return &m.Metric }),
		word("stat", "statistic: avg, p50, p99, …", func(m *m) *string { return &m.Stat }),
		real("value", "the number; over the trials of a cell, their mean: geometric for latencies, throughputs and rates, pooled for shares, see method",
			"", func(m *m) *float64 { return &m.Value }).again(),
		word("unit", "unit of the number; none where it is a number of values", func(m *m) *string { return &m.Unit }),
		real("ci_low", "lower end of the interval: of order statistics (95 %) beside a run's percentile, over the trials of a cell by Student's t; null where there is none",
			"", func(m *m) *float64 { return &m.Low }).again(),
		real("ci_high", "upper end of the interval", "", func(m *m) *float64 { return &m.High }).again(),
		real("cv", "coefficient of variation over the trials", "ratio", func(m *m) *float64 { return &m.CV }).again(),
		count("n", "how many values it rests on; null for a figure of a whole run, such as a throughput",
			"", Int64, func(m *m) *int64 { return &m.N }),
		real("n_effective", "how many independent values that is worth", "",
			func(m *m) *float64 { return &m.NEff }).again(),
		maybe("certified", "true when the plan has, and the run gave, requests enough for the percentile, as screens call it certain; of a mean, when no value is more than a tenth of the sum",
			func(m *m) *int64 { return &m.Certified }),
		word("method", "linear: a percentile as numpy computes it; over trials log_t: the geometric mean with Student's interval of the logarithms; t: the mean with Student's interval; korn_graubard: a pooled share; garwood: a mean count; bounds: trials of the same value, which shared reads leave open; of a server's figure time_weighted: a gauge; increase: what a counter grew by from the last look before the span to the first after it; bucket_edges: a histogram, whose percentiles are AIPerf's estimates and lie from ci_low to ci_high for certain; of the energy of GPUs counter, or trapezoid where a GPU has none; of a plug-in's metric plugin",
			func(m *m) *string { return &m.Method }),
		word("taint", "the check that touches the number and how badly: \"coalesced: doubtful\", \"turnaround: invalid\" (such a number is in no estimate), of a cell \"turnaround: invalid in 2 of 5 trials\"; empty where none does",
			func(m *m) *string { return &m.Taint }),
		word("better", "which way the metric is better: higher or lower; null where neither is", func(m *m) *string { return &m.Better }),
	}
}

func telemetryColumns() []column[Sample] {
	type t = Sample
	return []column[t]{
		nanos("t_ns", "when it was taken", func(t *t) *int64 { return &t.At }),
		word("source", "where the sample comes from: an address, or host, which is the client's machine",
			func(t *t) *string { return &t.Source }),
		word("collector", "what took it: host, server or dcgm", func(t *t) *string { return &t.Collector }),
		word("metric", "name of the figure, as its source calls it; up (1: the source was read) and scrape_duration_seconds are about the reading",
			func(t *t) *string { return &t.Metric }),
		word("labels", "labels of the figure, as a JSON object with its keys in order; of a bucket with le, its upper edge",
			func(t *t) *string { return &t.Labels }),
		word("unit", "unit of the number, where it is known", func(t *t) *string { return &t.Unit }),
		word("kind", "gauge, counter or unknown; of a histogram bucket, count and sum; of a summary quantile, count and sum",
			func(t *t) *string { return &t.Kind }),
		real("value", "the sample; null where the source does not say it any more", "",
			func(t *t) *float64 { return &t.Value }).again(),
	}
}

func checkColumns() []column[CheckRow] {
	type c = CheckRow
	return []column[c]{
		word("level", "what was judged: run or plan", func(c *c) *string { return &c.Level }),
		word("check", "name of the check", func(c *c) *string { return &c.Check }),
		word("kind", "harm: a number is wrong through the client; workload: something else happened than was asked; cause: what would explain harm; precision: is there enough of it",
			func(c *c) *string { return &c.Kind }),
		word("severity", "what this finding does to the verdict: none, degraded or invalid",
			func(c *c) *string { return &c.Severity }),
		word("verdict", "pass, note (past its limit, by a check that does not move the verdict), warn, fail or unknown",
			func(c *c) *string { return &c.Verdict }),
		real("value", "what was found", "", func(c *c) *float64 { return &c.Value }),
		real("limit", "the limit it is held against", "", func(c *c) *float64 { return &c.Limit }),
		word("unit", "unit of the number", func(c *c) *string { return &c.Unit }),
		word("detail", "the finding in words", func(c *c) *string { return &c.Detail }),
	}
}

// Table is a table of a result directory.
type Table struct {
	Name string
	Row  string // what one row is
	own  func() []Field
}

// Tables are all of them, in the order of their listing.
func Tables() []Table {
	tables := []Table{
		{
			"requests", "One row per request, warmup included.",
			func() []Field { return fields(inTable(requestColumns())) },
		},
		{
			"chunks", "One row per event of an answer, in the order they came. Written unless `tables.chunks` is false.",
			func() []Field { return fields(chunkColumns()) },
		},
		{"runs", "One row per run: one trial of one cell.", func() []Field { return fields(runColumns()) }},
		{"cells", "One row per cell of the sweep.", func() []Field { return fields(cellColumns()) }},
		{
			"metrics", "One row per number: a statistic of a metric, of one run or of a cell over its trials.",
			func() []Field { return fields(metricColumns()) },
		},
	}
	for _, s := range series() {
		tables = append(tables, s.table())
	}
	return append(tables, Table{
		"checks", "One row per finding of the verdict.",
		func() []Field { return fields(checkColumns()) },
	})
}

// TableNames are the names of the tables.
func TableNames() []string {
	var out []string
	for _, t := range Tables() {
		out = append(out, t.Name)
	}
	return out
}

// Columns are the columns of a table with the axes that are always there.
func Columns(table string) ([]Field, error) {
	for _, t := range Tables() {
		if t.Name == table {
			return append(identityFields(table, wellKnownAxes()), t.own()...), nil
		}
	}
	return nil, fmt.Errorf("no table %q; there are %v", table, TableNames())
}
