// Package sinks writes results: records and summaries go in, files come out
// (Parquet, Arrow, CSV, JSON, JSONL, Markdown, the console). A sink belongs to
// one goroutine. NaN and Inf never reach a file: absent means absent.
//
// The steps: while a run goes on, a Journal keeps its records, and Details what
// they leave out if that is asked for. When it has ended, Profile.Write makes
// AIPerf's files from journal and summary; RecheckProfile recomputes such
// files, and Differences says where they are not AIPerf's. When all
// runs have ended, WriteTables folds their journals into the tables, and
// WriteAggregate and WriteSweep write what the trials and cells say together.
// Every column of every table is declared once, in columns.go; all formats
// follow from there. Export converts a table afterwards.
package sinks

import "aiperf.dev/aiperf/internal/record"

// Sink takes records. Never called concurrently.
type Sink interface {
	Write(*record.Record) error
	Close() error
}

var _ Sink = (*Journal)(nil)
