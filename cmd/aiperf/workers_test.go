package main

import (
	"encoding/csv"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdScheduledAlike wants the requests of two result directories to be the same:
// scheduled-alike [-set] DIR DIR. Their numbers, sessions, texts and lengths have to be,
// and when the schedule wanted them; with -set, for closed loops, the numbers and times
// follow the answers and do not count.
func cmdScheduledAlike(ts *testscript.TestScript, neg bool, args []string) {
	columns := []string{"session_id", "conversation_id", "turn", "model", "prompt_sha", "isl", "osl_requested"}
	if args[0] == "-set" {
		args = args[1:]
	} else {
		columns = append(columns, "request_id", "intended_ns")
	}
	var all [][]string
	for _, dir := range args {
		rows, err := csv.NewReader(strings.NewReader(ts.ReadFile(dir + "/requests.csv"))).ReadAll()
		ts.Check(err)
		first := map[string]int64{}
		var lines []string
		for _, row := range rows[1:] {
			var line []string
			for _, name := range columns {
				v := row[slices.Index(rows[0], name)]
				if name == "intended_ns" { // since the first one of the phase
					at, err := strconv.ParseInt(v, 10, 64)
					ts.Check(err)
					phase := row[slices.Index(rows[0], "phase")]
					if _, seen := first[phase]; !seen {
						first[phase] = at
					}
					v = strconv.FormatInt(at-first[phase], 10)
				}
				line = append(line, v)
			}
			lines = append(lines, strings.Join(line, " "))
		}
		slices.Sort(lines)
		all = append(all, lines)
	}
	switch {
	case neg || len(all) != 2 || len(all[0]) < 10:
		ts.Fatalf("usage: scheduled-alike [-set] DIR DIR, of ten requests at least")
	case !slices.Equal(all[0], all[1]):
		for i := range min(len(all[0]), len(all[1])) {
			if all[0][i] != all[1][i] {
				ts.Fatalf("%s has %d requests, %s %d; the first that differ:\n%s\n%s", args[0], len(all[0]), args[1],
					len(all[1]), all[0][i], all[1][i])
			}
		}
		ts.Fatalf("%s has %d requests, %s %d", args[0], len(all[0]), args[1], len(all[1]))
	}
}
