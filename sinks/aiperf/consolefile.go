package aiperf

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/words"
)

// consoleWidth is the width of profile_export_console.txt.
const consoleWidth = 140

// writeConsole writes profile_export_console.txt: AIPerf's tables as text.
func (w *Writer) writeConsole() error {
	var b strings.Builder
	if errs := w.errors.list(); len(errs) > 0 {
		errorTable(errs).write(&b)
	}
	title := w.Title
	if title == "" {
		title = "LLM"
	}
	title = "AIPerf | " + title + " Metrics"
	for _, t := range []struct {
		title string
		group metrics.Group
		shown bool
	}{
		{"AIPerf | HTTP Trace Timing", metrics.HTTP, w.ShowTrace},
		{title + ": Effective", metrics.Effective, true},
		{title + ": Active", metrics.Active, true},
		{title + ": Usage", metrics.Usage, true},
		{title, metrics.Main, true},
	} {
		if t.shown {
			metricTable(t.title, w.summary, t.group).write(&b)
		}
	}
	w.footer(&b)
	return w.put(w.Dir, w.names.Console, "console", []byte(b.String()))
}

// footer says where things are.
func (w *Writer) footer(b *strings.Builder) {
	if w.Info.WasCancelled {
		b.WriteString("The profile run was cancelled early. Results shown may be incomplete or inaccurate.\n")
	}
	fmt.Fprintf(b, "CLI Command: %s\n", w.Info.CLICommand)
	if s, ok := w.summary.Get("benchmark_duration"); ok {
		early := ""
		if w.Info.WasCancelled {
			early = " (cancelled early)"
		}
		fmt.Fprintf(b, "Benchmark Duration: %s sec%s\n", fixed2(s.Avg), early)
	}
	lines := [][2]string{{"CSV Export", w.names.CSV}}
	if w.JSON {
		lines = append(lines, [2]string{"JSON Export", w.names.JSON})
	}
	if w.Records {
		lines = append(lines, [2]string{"Record Export", w.names.Records})
	}
	for _, l := range lines {
		fmt.Fprintf(b, "%s: %s\n", l[0], filepath.Join(w.Info.Config.Dir, l[1]))
	}
	if w.Log != "" {
		fmt.Fprintf(b, "Log File: %s\n", w.Log)
	}
}

// box is a table in a frame.
type box struct {
	title string
	head  []string
	rows  [][]string
	left  int // columns aligned left
}

// consoleStats are the columns of a metric's row.
func consoleStats() []string { return []string{"avg", "min", "max", "p99", "p90", "p50", "std"} }

// metricTable has the metrics of a group in their order; error-adjusted ones
// come last in the main table.
func metricTable(title string, sum *metrics.Summary, group metrics.Group) *box {
	t := &box{title: title, head: append([]string{"Metric"}, consoleStats()...), left: 1}
	var shown []metrics.Metric
	said := &metrics.Summary{Stats: told(sum)}
	for _, m := range metrics.Catalogue() {
		if _, ok := said.Get(m.Tag); ok && (m.Group == group || group == metrics.Main && m.Group == metrics.Adjusted) {
			shown = append(shown, m)
		}
	}
	slices.SortStableFunc(shown, func(a, b metrics.Metric) int {
		return cmp.Or(cmp.Compare(rank(a.Group), rank(b.Group)), cmp.Compare(a.Order, b.Order))
	})
	for _, m := range shown {
		s, _ := said.Get(m.Tag)
		row := []string{title1(s)}
		for _, name := range consoleStats() {
			if s.Scalar && name != "avg" || !isFinite(s.Value(name)) {
				row = append(row, "N/A")
				continue
			}
			row = append(row, fixed2(s.Value(name)))
		}
		t.rows = append(t.rows, row)
	}
	return t
}

func rank(g metrics.Group) int {
	if g == metrics.Adjusted {
		return 1
	}
	return 0
}

// title1 is a metric's name with its unit.
func title1(s metrics.Stat) string { return s.Header + " (" + s.Unit + ")" }

// fixed2 is v with two decimals and commas.
func fixed2(v float64) string { return words.Decimals(v, 2) }

func errorTable(errs []object) *box {
	t := &box{title: "AIPerf | Error Summary", head: []string{"Code", "Type", "Message", "Count"}, left: 3}
	for _, e := range errs {
		row := []string{"N/A", "N/A", "N/A", fmt.Sprint(e.get("count"))}
		details, err := detailsOf(e)
		if err == nil {
			for i, key := range []string{"code", "type", "message"} {
				if v := details.get(key); v != nil {
					row[i] = words.Clip(fmt.Sprint(v), 80)
				}
			}
		}
		t.rows = append(t.rows, row)
	}
	return t
}

// detailsOf reads the details of an entry of the error summary back.
func detailsOf(e object) (object, error) {
	raw, err := appendJSON(nil, e.get("error_details"))
	if err != nil {
		return nil, err
	}
	v, err := parseOrdered(raw)
	o, _ := v.(object)
	return o, err
}

// write draws the table, centred; an empty one is left out.
func (t *box) write(b *strings.Builder) {
	if len(t.rows) == 0 {
		return
	}
	widths := make([]int, len(t.head))
	for _, row := range append([][]string{t.head}, t.rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	total := 1
	for _, w := range widths {
		total += w + 3
	}
	margin := strings.Repeat(" ", max(0, (consoleWidth-total)/2))
	b.WriteString(margin + centred(t.title, total) + "\n")
	t.rule(b, margin, widths, "┏", "━", "┳", "┓")
	t.line(b, margin, widths, t.head, "┃")
	t.rule(b, margin, widths, "┡", "━", "╇", "┩")
	for _, row := range t.rows {
		t.line(b, margin, widths, row, "│")
	}
	t.rule(b, margin, widths, "└", "─", "┴", "┘")
	b.WriteByte('\n')
}

func centred(s string, width int) string {
	n := max(0, width-utf8.RuneCountInString(s))
	return strings.Repeat(" ", n/2) + s
}

func (t *box) rule(b *strings.Builder, margin string, widths []int, first, fill, mid, last string) {
	b.WriteString(margin)
	for i, w := range widths {
		b.WriteString(map[bool]string{true: first, false: mid}[i == 0])
		b.WriteString(strings.Repeat(fill, w+2))
	}
	b.WriteString(last + "\n")
}

func (t *box) line(b *strings.Builder, margin string, widths []int, cells []string, bar string) {
	b.WriteString(margin)
	for i, cell := range cells {
		pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
		if i >= t.left {
			cell = pad + cell
		} else {
			cell += pad
		}
		b.WriteString(bar + " " + cell + " ")
	}
	b.WriteString(bar + "\n")
}
