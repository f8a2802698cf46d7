// Package sinks writes results: records and rows go in, tables come out
// (Parquet, Arrow, CSV). A journal or a table belongs to one goroutine. NaN and
// Inf never reach a file: absent means absent.
//
// The steps: while a run goes on, a Journal keeps its records. When all runs
// have ended, WriteTables folds their journals into the tables. Every column of
// every table is declared once, in columns.go; all formats, units and the
// documentation follow from there. Export converts a table afterwards.
//
// AIPerf's own files are made in sinks/aiperf.
package sinks
