package sinks_test

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/sinks"
)

// The tables of a run do not depend on how its requests are numbered: whole, as one
// worker's share, or with numbers missing.
func TestTablesOfSparseNumbers(t *testing.T) {
	t.Parallel()
	const n, unsent = 1000, 7
	tables := func(t *testing.T, share record.Share, number func(local int64) int64) (out []rowsOf) {
		dir := t.TempDir()
		p, path := demoPlan("alpha", 1, 1), filepath.Join(dir, "stream.arrow")
		j, err := sinks.NewJournal(path, sinks.RunMeta{Cell: p.Cells[0].ID, Share: share, T0: t0})
		if err != nil {
			t.Fatal(err)
		}
		write := func(r *record.Record) {
			if err := j.Write(r); err != nil {
				t.Fatal(err)
			}
		}
		for r := range outOfOrder(newGenerator(3, 4), n) {
			if local := r.RequestID; local%(n/unsent) == 0 {
				u := record.New()
				u.RequestID, u.Phase, u.Status, u.Intended = -1-share.ID(local/(n/unsent)), "profiling", record.Unsent,
					local
				write(&u)
			}
			r.RequestID = number(r.RequestID)
			write(r)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		in := sinks.TablesInput{
			Plan: p, T0: t0, Chunks: true, Formats: []string{"parquet"},
			Journals: []sinks.RunJournal{{Path: path, SteadyStart: 0, SteadyEnd: 1e9}},
		}
		if _, err := sinks.WriteTables(dir, in); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"requests", "chunks"} {
			rows, last := readParquet(t, filepath.Join(dir, name+".parquet")), int64(-1)
			for _, row := range rows {
				var id int64
				if _, err := fmt.Sscan(row["request_id"], &id); err != nil {
					t.Fatal(err)
				}
				if id >= 0 && id < last {
					t.Fatalf("%s: request %d follows request %d", name, id, last)
				}
				last = max(last, id)
				delete(row, "request_id")
			}
			// what was never sent has no place among the others
			slices.SortStableFunc(rows, func(a, b map[string]string) int {
				if a["status"] == string(record.Unsent) && b["status"] == a["status"] {
					return cmp.Compare(a["start_time"], b["start_time"])
				}
				return cmp.Compare(a["status"], b["status"])
			})
			out = append(out, rows)
		}
		return out
	}
	want := tables(t, record.Share{}, func(local int64) int64 { return local })
	if len(want[0]) < n+unsent || len(want[1]) < 3*n {
		t.Fatalf("%d requests, %d chunks", len(want[0]), len(want[1]))
	}
	third := record.Share{K: 2, Of: 3}
	for name, c := range map[string]struct {
		share  record.Share
		number func(int64) int64
	}{
		"share":           {third, third.ID},
		"numbers missing": {record.Share{}, func(local int64) int64 { return local + local/10*local }},
		"none expected":   {third, func(local int64) int64 { return 3*local + 1 }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := tables(t, c.share, c.number)
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Errorf("apart from their numbers (-dense +sparse):\n%.2000s", diff)
			}
		})
	}
}
