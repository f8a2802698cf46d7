package sinks_test

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/sinks"
)

// What the tables give back is what the journals held: every record, in the order in
// which they ended, by the clock of its run.
func TestRecordsOfTables(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := demoPlan("alpha", 2, 2)
	in := inputOf(t, dir, p, 400, 3)
	if _, err := sinks.WriteTables(dir, in); err != nil {
		t.Fatal(err)
	}
	r, err := sinks.OpenRecords(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for i, run := range p.Runs {
		at, ok, err := r.Next()
		if err != nil || !ok || at != (sinks.Place{Cell: run.Cell.Index, Trial: run.Trial}) {
			t.Fatalf("run %d is %v, %t, %v", i, at, ok, err)
		}
		var want, got []record.Record
		keep := func(into *[]record.Record) sinks.Consumer {
			return func(r *record.Record) error {
				one := *r
				one.RequestID = 0 // the experiment's in the tables
				one.Chunks = append([]record.Chunk(nil), r.Chunks...)
				for k := range one.Chunks {
					one.Chunks[k].Tokens, one.Chunks[k].Low = 0, one.Chunks[k].At // tables have them otherwise, and not
				}
				*into = append(*into, one)
				return nil
			}
		}
		info, err := sinks.ReadJournal(in.Journals[i].Path, keep(&want))
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Each(info.Meta.T0.Sub(in.T0).Nanoseconds(), keep(&got)); err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(want, got, cmpopts.EquateNaNs()); diff != "" || len(got) < 400 {
			t.Fatalf("run %d, %d records (-journal +tables):\n%.2000s", i, len(got), diff)
		}
	}
	if at, ok, err := r.Next(); ok || err != nil {
		t.Errorf("after the last run: %v, %t, %v", at, ok, err)
	}
}

// Answers with chunks cannot be made again without their table; a file of another
// version says so.
func TestRecordsNeedTheirTables(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := inputOf(t, dir, demoPlan("alpha", 1, 1), 10, 3)
	if _, err := sinks.WriteTables(dir, in); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "chunks.parquet")); err != nil {
		t.Fatal(err)
	}
	r, err := sinks.OpenRecords(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, _, err := r.Next(); err != nil {
		t.Fatal(err)
	}
	if err := r.Each(math.MinInt32, func(*record.Record) error { return nil }); err == nil {
		t.Error("answers of three chunks came back without any")
	}
}
