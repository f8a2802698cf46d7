package sinks_test

import (
	"fmt"
	"math"
	"testing"

	"aiperf.dev/aiperf/sinks"
)

// What is picked of a run's journal is what its table says, of each column and window.
func TestPickedColumnsAreTheTables(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := inputOf(t, dir, demoPlan("picked", 1, 1), 2500, 2)
	run := &in.Journals[0]
	run.SteadyStart, run.SteadyEnd = 100e6, 300e6
	in.T0 = t0
	if _, err := sinks.WriteTables(dir, in); err != nil {
		t.Fatal(err)
	}
	table, err := sinks.ReadTable(dir, "requests", nil)
	if err != nil {
		t.Fatal(err)
	}
	fields, err := sinks.Columns("requests")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range fields {
		if _, err := sinks.PickColumns([]string{f.Name}); err == nil {
			names = append(names, f.Name)
		}
	}
	if len(names) < 40 {
		t.Errorf("only %d columns can be picked: %v", len(names), names)
	}
	pick, err := sinks.PickColumns(names)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[int64]int{}
	for i, id := range table.Floats["request_id"] {
		rows[int64(id)] = i
	}
	for _, window := range []string{"full", "steady"} {
		seen := map[int64]bool{}
		err := pick.Each(*run, window, 1000, func(n int, cols map[string][]any) error {
			for k := range n {
				id := cols["request_id"][k].(int64)
				i := rows[id]
				seen[id] = true
				for _, name := range names {
					if got, want := said(cols[name][k]), inTable(table, name, i); got != want {
						return fmt.Errorf("request %d: %s is %s, and %s in the table", id, name, got, want)
					}
				}
			}
			if n > 1000 {
				return fmt.Errorf("%d at once", n)
			}
			return nil
		})
		if err != nil {
			t.Errorf("%s: %s", window, err)
		}
		for id, i := range rows {
			want := table.Floats["in_window"][i] == 1 && (window == "full" || table.Floats["steady"][i] == 1)
			if seen[id] != want {
				t.Errorf("%s: request %d handed over: %t, want %t", window, id, seen[id], want)
			}
		}
		if window == "steady" && (len(seen) == 0 || len(seen) == len(rows)) {
			t.Errorf("%d of %d requests are steady: nothing is shown", len(seen), len(rows))
		}
	}
}

// said is a picked value as text.
func said(v any) string {
	switch x := v.(type) {
	case nil:
		return "null"
	case bool:
		return fmt.Sprint(truth(x))
	case string:
		return x
	case int64:
		return fmt.Sprint(float64(x))
	}
	return fmt.Sprint(v)
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// inTable is the same of the table.
func inTable(t *sinks.TableRows, column string, i int) string {
	if texts, ok := t.Texts[column]; ok {
		if texts[i] == "" {
			return "null"
		}
		return texts[i]
	}
	if v := t.Floats[column][i]; !math.IsNaN(v) {
		return fmt.Sprint(v)
	}
	return "null"
}

func TestPickedColumnsThatAreNotThere(t *testing.T) {
	t.Parallel()
	_, err := sinks.PickColumns([]string{"latency_ms", "latncy_ms"})
	if want := "the table requests has no column latncy_ms"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
