package sinks

import (
	"fmt"

	"aiperf.dev/aiperf/internal/record"
)

// The columns of every table, after the identity and axis columns that all of
// them begin with. A column keeps its meaning within a schema version.

// schemaVersion is the version of every table's schema: requests/1.
const schemaVersion = 1

// none lets a requestRow be read into: nothing has been measured.
func none() requestRow { return requestRow{Record: record.New()} }

func requestColumns() []column[requestRow] {
	type r = requestRow
	return []column[r]{
		word("phase", func(r *r) *string { return &r.Phase }),
		ordinal("request_id", Int64, func(r *r) *int64 { return &r.RequestID }),
		word("session_id", func(r *r) *string { return &r.SessionID }).naming(),
		ordinal("session_num", Int64, func(r *r) *int64 { return &r.SessionNum }).onlyIn(journalOnly),
		word("conversation_id", func(r *r) *string { return &r.ConversationID }).naming(),
		ordinal("turn", Int16, func(r *r) *int64 { return &r.Turn }),
		ordinal("worker", Int16, func(r *r) *int64 { return &r.Worker }),
		word("model", func(r *r) *string { return &r.Model }),
		word("url", func(r *r) *string { return &r.URL }),
		word("prompt_sha", func(r *r) *string { return &r.PromptSHA }).naming(),
		word("x_request_id", func(r *r) *string { return &r.XRequestID }).naming().onlyIn(journalOnly),
		word("x_correlation_id", func(r *r) *string { return &r.XCorrelationID }).naming().onlyIn(journalOnly),
		fact("warmup", func(r *r) *bool { return &r.Warmup }).onlyIn(journalOnly),
		fact("streamed", func(r *r) *bool { return &r.Streamed }).onlyIn(journalOnly),

		nanos("intended_ns", func(r *r) *int64 { return &r.Intended }),
		nanos("admitted_ns", func(r *r) *int64 { return &r.Admitted }),
		nanos("sent_ns", func(r *r) *int64 { return &r.Sent }),
		nanos("write_end_ns", func(r *r) *int64 { return &r.WriteEnd }).onlyIn(journalOnly),
		nanos("first_byte_ns", func(r *r) *int64 { return &r.FirstByte }),
		nanos("first_token_ns", func(r *r) *int64 { return &r.FirstToken }),
		nanos("first_output_ns", func(r *r) *int64 { return &r.FirstOutput }).onlyIn(journalOnly),
		nanos("last_token_ns", func(r *r) *int64 { return &r.LastToken }),
		nanos("end_ns", func(r *r) *int64 { return &r.End }),
		nanos("cancel_asked_ns", func(r *r) *int64 { return &r.CancelAsked }).onlyIn(journalOnly),
		{Field: Field{Name: "start_time", Kind: Time, enc: delta, Null: true}, in: tableOnly, int: func(r *r) *int64 { return &r.start }},

		word("status", func(r *r) *string { return (*string)(&r.Status) }),
		{Field: Field{Name: "http_status", Kind: Int16, enc: dictionary, Null: true}, int: func(r *r) *int64 { return &r.HTTPStatus }},
		word("error_kind", func(r *r) *string { return &r.ErrorKind }),
		word("error_message", func(r *r) *string { return &r.ErrorMessage }),
		word("finish_reason", func(r *r) *string { return &r.FinishReason }),
		fact("in_window", func(r *r) *bool { return &r.InWindow }),
		fact("steady", func(r *r) *bool { return &r.steady }).onlyIn(tableOnly),

		count("isl", "tokens", Int32, func(r *r) *int64 { return &r.ISL }),
		count("osl", "tokens", Int32, func(r *r) *int64 { return &r.OSL }),
		count("osl_requested", "tokens", Int32, func(r *r) *int64 { return &r.OSLRequested }),
		count("output_tokens", "tokens", Int32, func(r *r) *int64 { return &r.OutputTokens }).onlyIn(journalOnly),
		count("reasoning_tokens", "tokens", Int32, func(r *r) *int64 { return &r.ReasoningTokens }),
		count("usage_prompt_tokens", "tokens", Int32, func(r *r) *int64 { return &r.UsagePrompt }),
		count("usage_completion_tokens", "tokens", Int32, func(r *r) *int64 { return &r.UsageCompletion }),
		count("usage_reasoning_tokens", "tokens", Int32, func(r *r) *int64 { return &r.UsageReasoning }).onlyIn(journalOnly),
		count("usage_total_tokens", "tokens", Int32, func(r *r) *int64 { return &r.UsageTotal }).onlyIn(journalOnly),
		count("cached_tokens", "tokens", Int32, func(r *r) *int64 { return &r.Cached }),
		count("chunks", "", Int32, func(r *r) *int64 { return &r.chunks }).onlyIn(tableOnly),

		millis("ttft_ms", func(r *r) *float64 { return &r.ttft }),
		millis("ttfo_ms", func(r *r) *float64 { return &r.ttfo }),
		millis("itl_ms", func(r *r) *float64 { return &r.itl }),
		millis("latency_ms", func(r *r) *float64 { return &r.latency }),
		millis("ttft_from_intended_ms", func(r *r) *float64 { return &r.ttftPlan }),
		millis("latency_from_intended_ms", func(r *r) *float64 { return &r.latencyPlan }),
		millis("dispatch_lateness_ms", func(r *r) *float64 { return &r.lateness }),
		millis("admission_wait_ms", func(r *r) *float64 { return &r.wait }),
		real("receive_lag_us", "us", func(r *r) *float64 { return &r.ReceiveLag }),
		real("tps_user", "tokens/s", func(r *r) *float64 { return &r.tps }).onlyIn(tableOnly),

		maybe("slo_ok", func(r *r) *int64 { return &r.sloOK }).onlyIn(tableOnly),
		fact("slo_set", func(r *r) *bool { return &r.SLOSet }).onlyIn(journalOnly),
		word("slo_failed", func(r *r) *string { return &r.SLOFailed }),
		fact("connection_reused", func(r *r) *bool { return &r.Reused }),
		count("bytes_sent", "bytes", Int64, func(r *r) *int64 { return &r.BytesSent }),
		count("bytes_received", "bytes", Int64, func(r *r) *int64 { return &r.BytesReceived }),
		nanos("dns_ns", func(r *r) *int64 { return &r.DNS }).onlyIn(journalOnly),
		nanos("dial_ns", func(r *r) *int64 { return &r.Dial }).onlyIn(journalOnly),
		nanos("tls_ns", func(r *r) *int64 { return &r.TLS }).onlyIn(journalOnly),
	}
}

func chunkColumns() []column[chunkRow] {
	type c = chunkRow
	gap := real("gap_ms", "ms", func(c *c) *float64 { return &c.gap })
	gap.Kind = Float32
	return []column[c]{
		word("phase", func(c *c) *string { return &c.phase }),
		ordinal("request_id", Int64, func(c *c) *int64 { return &c.request }),
		ordinal("chunk", Int32, func(c *c) *int64 { return &c.chunk }),
		word("kind", func(c *c) *string { return &c.kind }),
		nanos("t_ns", func(c *c) *int64 { return &c.at }),
		gap,
		count("bytes", "bytes", Int32, func(c *c) *int64 { return &c.bytes }),
		count("tokens", "tokens", Int32, func(c *c) *int64 { return &c.tokens }), // a plain answer is one event of any length
		fact("same_read", func(c *c) *bool { return &c.sameRead }),
	}
}

func runColumns() []column[RunRow] {
	type r = RunRow
	when := func(name string, f func(*r) *int64) column[r] {
		return column[r]{Field: Field{Name: name, Kind: Time, enc: delta, Null: true}, int: f}
	}
	return []column[r]{
		when("started", func(r *r) *int64 { return &r.Started }),
		when("ended", func(r *r) *int64 { return &r.Ended }),
		count("planned", "requests", Int64, func(r *r) *int64 { return &r.Planned }),
		count("sent", "requests", Int64, func(r *r) *int64 { return &r.Sent }),
		count("ok", "requests", Int64, func(r *r) *int64 { return &r.OK }),
		count("failed", "requests", Int64, func(r *r) *int64 { return &r.Failed }),
		count("cancelled", "requests", Int64, func(r *r) *int64 { return &r.Cancelled }),
		nanos("window_start_ns", func(r *r) *int64 { return &r.WindowStart }),
		nanos("window_end_ns", func(r *r) *int64 { return &r.WindowEnd }),
		nanos("steady_start_ns", func(r *r) *int64 { return &r.SteadyStart }),
		nanos("steady_end_ns", func(r *r) *int64 { return &r.SteadyEnd }),
		count("seed", "", Int64, func(r *r) *int64 { return &r.Seed }),
		real("client_cpu", "ratio", func(r *r) *float64 { return &r.ClientCPU }),
		word("verdict", func(r *r) *string { return &r.Verdict }),
		count("attempt", "", Int32, func(r *r) *int64 { return &r.Attempt }),
		word("path", func(r *r) *string { return &r.Path }),
	}
}

func cellColumns() []column[CellRow] {
	type c = CellRow
	return []column[c]{
		count("trials", "", Int32, func(c *c) *int64 { return &c.Trials }),
		word("verdict", func(c *c) *string { return &c.Verdict }),
		maybe("pareto", func(c *c) *int64 { return &c.Pareto }),
		maybe("knee", func(c *c) *int64 { return &c.Knee }),
		word("best_for", func(c *c) *string { return &c.BestFor }),
		word("reason", func(c *c) *string { return &c.Reason }),
	}
}

func metricColumns() []column[MetricRow] {
	type m = MetricRow
	return []column[m]{
		word("level", func(m *m) *string { return &m.Level }),
		word("window", func(m *m) *string { return &m.Window }),
		word("metric", func(m *m) *string { return &m.Metric }),
		word("stat", func(m *m) *string { return &m.Stat }),
		real("value", "", func(m *m) *float64 { return &m.Value }),
		word("unit", func(m *m) *string { return &m.Unit }),
		real("ci_low", "", func(m *m) *float64 { return &m.Low }),
		real("ci_high", "", func(m *m) *float64 { return &m.High }),
		real("cv", "ratio", func(m *m) *float64 { return &m.CV }),
		count("n", "", Int64, func(m *m) *int64 { return &m.N }),
		real("n_effective", "", func(m *m) *float64 { return &m.NEff }),
		maybe("certified", func(m *m) *int64 { return &m.Certified }),
		word("method", func(m *m) *string { return &m.Method }),
	}
}

func telemetryColumns() []column[TelemetryRow] {
	type t = TelemetryRow
	return []column[t]{
		nanos("t_ns", func(t *t) *int64 { return &t.T }),
		word("source", func(t *t) *string { return &t.Source }),
		word("metric", func(t *t) *string { return &t.Metric }),
		word("labels", func(t *t) *string { return &t.Labels }),
		word("unit", func(t *t) *string { return &t.Unit }),
		word("kind", func(t *t) *string { return &t.Kind }),
		real("value", "", func(t *t) *float64 { return &t.Value }),
	}
}

func checkColumns() []column[CheckRow] {
	type c = CheckRow
	return []column[c]{
		word("level", func(c *c) *string { return &c.Level }),
		word("check", func(c *c) *string { return &c.Check }),
		word("severity", func(c *c) *string { return &c.Severity }),
		word("verdict", func(c *c) *string { return &c.Verdict }),
		real("value", "", func(c *c) *float64 { return &c.Value }),
		real("limit", "", func(c *c) *float64 { return &c.Limit }),
		word("unit", func(c *c) *string { return &c.Unit }),
		word("detail", func(c *c) *string { return &c.Detail }),
	}
}

// TableNames are the tables of a result directory.
func TableNames() []string {
	return []string{"requests", "chunks", "runs", "cells", "metrics", "telemetry", "checks"}
}

// Columns are the columns of a table with the axes that are always there.
func Columns(table string) ([]Field, error) {
	own := map[string][]Field{
		"requests": fields(inTable(requestColumns())), "chunks": fields(chunkColumns()), "runs": fields(runColumns()),
		"cells": fields(cellColumns()), "metrics": fields(metricColumns()), "telemetry": fields(telemetryColumns()),
		"checks": fields(checkColumns()),
	}[table]
	if own == nil {
		return nil, fmt.Errorf("no table %q; there are %v", table, TableNames())
	}
	return append(identityFields(table, wellKnownAxes()), own...), nil
}
