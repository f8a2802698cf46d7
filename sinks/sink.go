// Package sinks writes results: records and summaries go in, files come out
// (Parquet, Arrow, CSV, JSON, JSONL, Markdown, the console). A sink belongs to
// one goroutine. NaN and Inf never reach a file: absent means absent.
package sinks

import "aiperf.dev/aiperf/internal/record"

// Sink takes records. Never called concurrently.
type Sink interface {
	Write(*record.Record) error
	Close() error
}
