package main

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/metrics"
)

// The cells of AIPerf's CSV files. A number that is none is empty.
var (
	anyText   = regexp.MustCompile(`.`)
	anything  = regexp.MustCompile(``)
	cents     = regexp.MustCompile(`^(-?\d+(\.\d\d)?)?$`)
	fourths   = regexp.MustCompile(`^(-?\d+\.\d{4}|inf|0)?$`)
	whole     = regexp.MustCompile(`^\d+$`)
	spread    = regexp.MustCompile(`_(mean|std|min|max|cv)$`)
	statistic = regexp.MustCompile(`^` + stats + `$`)
)

const stats = `(avg|min|max|sum|std|p(1|5|10|25|50|75|90|95|99))`

const statistics = "avg,min,max,sum,p1,p5,p10,p25,p50,p75,p90,p95,p99,std"

// csvPart is one part of a CSV file of AIPerf's, up to an empty line.
type csvPart struct {
	title  string                   // a line of its own before the head, "" for none
	head   *regexp.Regexp           // the head's cells, joined by commas
	cells  func(column string) form // what a row's cell under a column must be, nil for a column that is none
	sorted bool                     // rows stand in the order of their metrics' tags
	// in place of rows: the first cells, in order; after a question mark one that may be missing
	fields []string
	bare   bool   // a part without a head
	none   string // the one line that stands for no rows
	may    bool   // the part may be missing
}

// form is what the text of a cell must match.
type form = *regexp.Regexp

// csvShapes are the parts of each file, in their order.
func csvShapes(names csvNames) map[string][]csvPart {
	numbers := func(column string) form {
		switch column {
		case "Metric":
			return names.row
		case "cv", "se", "t_critical":
			return fourths
		case "metric":
			return names.tagStat
		case "unit", "Unit":
			return anything
		}
		return cents
	}
	quoted := regexp.QuoteMeta
	tag := `(` + strings.Join(names.tags, "|") + `)(_` + stats + `)?` // over repetitions a column is of a statistic
	return map[string][]csvPart{
		"profile_export_aiperf.csv": {
			{head: regexp.MustCompile(`^Metric,` + quoted(statistics) + `$`), cells: numbers, sorted: true, may: true},
			{head: regexp.MustCompile(`^Metric,Value$`), cells: numbers, sorted: true, may: true},
			{head: regexp.MustCompile(`^Endpoint,GPU_Index,GPU_Name,GPU_UUID,Platform,Metric,` + quoted(statistics) + `$`), cells: func(string) form { return anything }, may: true},
		},
		"profile_export_aiperf_timeslices.csv": {
			{head: regexp.MustCompile(`^Timeslice,Start_NS,End_NS,Metric,Unit,Stat,Value$`), cells: func(column string) form {
				switch column {
				case "Timeslice", "Start_NS", "End_NS":
					return whole
				case "Metric":
					return names.bareRow
				case "Unit":
					return anyText
				case "Stat":
					return statistic
				}
				return cents
			}},
		},
		"profile_export_aiperf_aggregate.csv": {
			{head: regexp.MustCompile(`^metric,mean,std,min,max,cv,se,ci_low,ci_high,t_critical,unit$`), cells: numbers},
			{bare: true, fields: []string{"Aggregation Type", "Total Runs", "Successful Runs", "Confidence Level", "Run Labels", "?Single Run", "Cooldown Seconds", "?Variation Label", "?Variation Values", "?Sweep Mode", "?Model"}},
		},
		"profile_export_aiperf_sweep.csv": {
			{head: regexp.MustCompile(`^([a-z_.0-9]+,)+?(` + tag + `_mean,` + tag + `_std,` + tag + `_min,` + tag + `_max,` + tag + `_cv,?)+$`), cells: func(column string) form {
				switch {
				case !names.isStat.MatchString(column) && spread.MatchString(column):
					return nil
				case !names.isStat.MatchString(column):
					return anyText // the value of a parameter
				case strings.HasSuffix(column, "_cv"):
					return fourths
				}
				return cents
			}},
			{title: "Best Configurations", head: regexp.MustCompile(`^Configuration,.+,Metric,Unit$`), cells: func(column string) form {
				if column == "Configuration" {
					return regexp.MustCompile(`^Best (Throughput|Latency P99)$`)
				}
				return anything
			}, may: true},
			{title: "Pareto Optimal Points", head: regexp.MustCompile(`^.+$`), cells: func(string) form { return anyText }, none: "None"},
			{title: "Metadata", head: regexp.MustCompile(`^Field,Value$`), fields: []string{"Aggregation Type", "Sweep Parameters", "Number of Combinations", "Number of Profile Runs", "Number of Successful Runs"}},
		},
	}
}

// csvNames are the rows that AIPerf's files can have, and those that ours add.
type csvNames struct {
	tags                          []string
	tagOf                         map[string]string // by label
	row, bareRow, tagStat, isStat *regexp.Regexp
}

func readCSVNames(t *testing.T, added map[string]bool) csvNames {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "testdata", "aiperf", "csv_rows.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	n := csvNames{tagOf: map[string]string{}}
	var labels, bare []string
	add := func(tag, label string) {
		n.tags = append(n.tags, tag)
		n.tagOf[label] = tag
		labels = append(labels, regexp.QuoteMeta(label))
		name := label
		if at := strings.LastIndex(label, " ("); at > 0 {
			name = label[:at]
		}
		bare = append(bare, regexp.QuoteMeta(name), regexp.QuoteMeta(label)) // a header may have parentheses of its own
	}
	for line := range strings.Lines(string(b)) {
		tag, label, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		add(tag, label)
	}
	for tag := range added {
		if m, ok := metrics.Lookup(tag); ok && !slices.Contains(n.tags, tag) {
			label := m.Header
			if u := strings.ToLower(m.Unit); u != "" && u != "count" && u != "requests" {
				label += " (" + m.Unit + ")"
			}
			add(tag, label)
		}
	}
	slices.Sort(n.tags)
	tag := strings.Join(n.tags, "|")
	n.row = regexp.MustCompile(`^(` + strings.Join(labels, "|") + `)$`)
	n.bareRow = regexp.MustCompile(`^(` + strings.Join(bare, "|") + `)$`)
	n.tagStat = regexp.MustCompile(`^(` + tag + `)_` + stats + `$`)
	n.isStat = regexp.MustCompile(`^(` + tag + `)(_` + stats + `)?_(mean|std|min|max|cv)$`)
	return n
}

// checkCSVs compares every CSV file below root that AIPerf has, too. It returns
// how many of each there were.
func checkCSVs(t *testing.T, root string, added map[string]bool) map[string]int {
	t.Helper()
	names := readCSVNames(t, added)
	shapes := csvShapes(names)
	seen := map[string]int{}
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || shapes[e.Name()] == nil {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := csvHolds(b, shapes[e.Name()], names); err != nil {
			rel, _ := filepath.Rel(root, path)
			t.Errorf("%s: %v", rel, err)
		}
		seen[e.Name()]++
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return seen
}

// csvHolds says how a file differs from its shape, nil if it does not.
func csvHolds(b []byte, shape []csvPart, names csvNames) error {
	if bytes.Count(b, []byte("\n")) != bytes.Count(b, []byte("\r\n")) || !bytes.HasSuffix(b, []byte("\r\n")) {
		return fmt.Errorf("lines do not end with CR LF")
	}
	text := strings.TrimLeft(string(b), "\r\n") // a file without rows begins with the empty line after them
	var parts []string
	for part := range strings.SplitSeq(strings.TrimRight(text, "\r\n"), "\r\n\r\n") {
		parts = append(parts, strings.Trim(part, "\r\n"))
	}
	for _, want := range shape {
		if len(parts) > 0 {
			ok, err := want.holds(parts[0], names)
			if err != nil {
				return err
			}
			if ok {
				parts = parts[1:]
				continue
			}
		}
		if !want.may {
			return fmt.Errorf("no part %s%s", want.title, want.head)
		}
	}
	if len(parts) > 0 {
		return fmt.Errorf("a part that AIPerf does not write: %.80q", parts[0])
	}
	return nil
}

// holds reports whether text is the part, and what is wrong within it.
func (p csvPart) holds(text string, names csvNames) (bool, error) {
	r := csv.NewReader(strings.NewReader(text))
	r.FieldsPerRecord = -1
	rows, err := r.ReadAll()
	if err != nil {
		return false, err
	}
	if p.title != "" {
		if !slices.Equal(rows[0], []string{p.title}) {
			return false, nil
		}
		rows = rows[1:]
	}
	if len(rows) == 0 {
		return p.may, nil // a title without a table
	}
	if p.none != "" && slices.Equal(rows[0], []string{p.none}) {
		return true, nil
	}
	head := rows[0]
	if !p.bare {
		if !p.head.MatchString(strings.Join(head, ",")) {
			return false, nil
		}
		rows = rows[1:]
	}
	if p.fields != nil {
		for _, name := range p.fields {
			name, may := strings.CutPrefix(name, "?")
			switch {
			case len(rows) > 0 && len(rows[0]) == 2 && rows[0][0] == name:
				rows = rows[1:]
			case !may:
				return false, fmt.Errorf("%s: no row %q", p.title, name)
			}
		}
		if len(rows) > 0 {
			return false, fmt.Errorf("%s: row %q", p.title, rows[0])
		}
		return true, nil
	}
	last := ""
	for _, row := range rows {
		if len(row) != len(head) {
			return false, fmt.Errorf("%d cells under %d columns: %q", len(row), len(head), row)
		}
		for i, cell := range row {
			if want := p.cells(head[i]); want == nil || !want.MatchString(cell) {
				return false, fmt.Errorf("row %q: %s is %q", row[0], head[i], cell)
			}
		}
		if tag := names.tagOf[row[0]]; p.sorted && tag != "" {
			if tag < last {
				return false, fmt.Errorf("%s stands behind %s", tag, last)
			}
			last = tag
		}
	}
	return true, nil
}

// TestCSVShapesAreAIPerfs: the table of shapes takes every CSV file of AIPerf's
// that was recorded here, and refuses what AIPerf does not write.
func TestCSVShapesAreAIPerfs(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "testdata", "aiperf", "artifacts")
	seen := checkCSVs(t, root, nil)
	names := readCSVNames(t, nil)
	shapes := csvShapes(names)
	for name, least := range map[string]int{
		"profile_export_aiperf.csv": 17, "profile_export_aiperf_timeslices.csv": 1,
		"profile_export_aiperf_aggregate.csv": 1, "profile_export_aiperf_sweep.csv": 1,
	} {
		if seen[name] < least {
			t.Errorf("only %d recorded files %s", seen[name], name)
		}
	}
	read := func(path ...string) string {
		b, err := os.ReadFile(filepath.Join(append([]string{root}, path...)...))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	profile, sweep := read("chat_stream", "profile_export_aiperf.csv"),
		read("sweep_conc", "sweep_aggregate", "profile_export_aiperf_sweep.csv")
	for what, c := range map[string]struct{ file, text, old, with string }{
		"a row that nobody knows":      {"profile_export_aiperf.csv", profile, "Request Latency (ms),", "Request Lateness (ms),"},
		"a column that nobody knows":   {"profile_export_aiperf.csv", profile, "p99,std", "p99,p999"},
		"more digits":                  {"profile_export_aiperf.csv", profile, "Decode Duration (ms),27.12", "Decode Duration (ms),27.123"},
		"bare line ends":               {"profile_export_aiperf.csv", profile, "\r\n", "\n"},
		"another order":                {"profile_export_aiperf.csv", profile, "Tokens In Flight (tokens)", "Audio Duration (sec)"},
		"a part that nobody knows":     {"profile_export_aiperf.csv", profile, "Endpoint,GPU_Index", "Host,GPU_Index"},
		"a field that nobody knows":    {"profile_export_aiperf_sweep.csv", sweep, "Number of Profile Runs", "Number of Runs"},
		"a metric that nobody knows":   {"profile_export_aiperf_sweep.csv", sweep, "request_latency_cv", "request_lateness_cv"},
		"a part less":                  {"profile_export_aiperf_sweep.csv", sweep, "Pareto Optimal Points\r\nNone\r\n\r\n", ""},
		"a spread of another format":   {"profile_export_aiperf_sweep.csv", sweep, "0.0000", "0.00000"},
		"a parameter without its cell": {"profile_export_aiperf_sweep.csv", sweep, "\r\n1,", "\r\n"},
	} {
		if !strings.Contains(c.text, c.old) {
			t.Fatalf("%s: the recorded file has no %q", what, c.old)
		}
		if err := csvHolds([]byte(strings.Replace(c.text, c.old, c.with, 1)), shapes[c.file], names); err == nil {
			t.Errorf("%s: taken", what)
		}
	}
}
