package aiperf

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/words"
)

// maker stands before the titles: programs look for the whole of them.
const maker = "NVIDIA AIPerf"

// writeConsole writes profile_export_console.txt: AIPerf's tables as text.
func (w *Writer) writeConsole() error {
	var b strings.Builder
	if !w.Info.complete() {
		fmt.Fprintf(&b, "%s | INCOMPLETE RESULTS\n%s\nThey are about a part of the run: do not compare them with complete ones.\n\n",
			maker, w.Info.incompleteReason())
	}
	if errs := w.errors.list(); len(errs) > 0 {
		errorTable(errs).write(&b)
	}
	title := w.Title
	if title == "" {
		title = "LLM"
	}
	title = maker + " | " + title + " Metrics"
	for _, t := range []struct {
		title string
		group metrics.Group
		shown bool
	}{
		{maker + " | HTTP Trace Timing", metrics.HTTP, w.ShowTrace},
		{title + ": Effective", metrics.Effective, true},
		{title + ": Active", metrics.Active, true},
		{title + ": Usage", metrics.Usage, true},
		{title, metrics.Main, true},
	} {
		if t.shown {
			metricTable(t.title, w.summary, t.group).write(&b)
		}
	}
	w.Info.telemetry().console(&b)
	for _, p := range w.panels() {
		p.write(&b)
	}
	w.Info.scores.console(&b)
	if err := w.footer(&b); err != nil {
		return err
	}
	// a command line is foreign text, too
	return w.put(w.Dir, w.names.Console, "console", []byte(words.Clean(b.String())))
}

// panels are what AIPerf warns of below its tables: programs know them by their
// titles, the words are ours.
func (w *Writer) panels() (out []panel) {
	all, _ := w.summary.Get(metrics.RequestCount)
	share := func(tag string) string {
		s, ok := w.summary.Get(tag)
		if !ok || !(s.Avg > 0) || !(all.Avg > 0) {
			return ""
		}
		return fmt.Sprintf("%s of %s requests (%.1f%%)", words.Decimals(s.Avg, 0), words.Decimals(all.Avg, 0),
			100*s.Avg/all.Avg)
	}
	if many := share(metrics.UsageDiscrepancyCount); many != "" {
		out = append(out, panel{"Token Count Discrepancy Warning", []string{
			fmt.Sprintf("%s: the server's usage and the count made here differ by more than %g%%.", many,
				metrics.DiscrepancyShown),
			"The tokenizer may not be the served model's, or the server adds tokens, such as a chat template's.",
			"  --tokenizer NAME          counts with that model's tokenizer",
			"  --use-server-token-count  takes the server's numbers",
		}})
	}
	if many := share(metrics.OSLMismatchCount); many != "" {
		diff, _ := w.summary.Get(metrics.OSLMismatchDiffPct)
		out = append(out, panel{"Output Sequence Length Mismatch Warning", []string{
			fmt.Sprintf("%s: the answer has not the length that was asked for, by more than %g%% or %g tokens.", many,
				100*metrics.MismatchShare, metrics.MismatchTokens),
			fmt.Sprintf("Average difference: %.1f%%. A model that comes to its end stops early unless the server is told not to.", diff.Avg),
			"  --extra-inputs ignore_eos:true  where the server knows it",
			"  --extra-inputs min_tokens:N     where the server knows it",
			"  --use-server-token-count        when it may be the tokenizer",
		}})
	}
	return out
}

// footer says where things are.
func (w *Writer) footer(b *strings.Builder) error {
	fmt.Fprintf(b, "CLI Command: %s\n", w.Info.CLICommand)
	cancelled := w.Info.WasCancelled
	if s, ok := w.summary.Get(metrics.BenchmarkDuration); ok {
		early := ""
		if cancelled {
			early = " (cancelled early)"
		}
		fmt.Fprintf(b, "Benchmark Duration: %s sec%s\n", fixed2(s.Avg), early)
	}
	for _, f := range []struct {
		label, name string
		there       bool
	}{
		{"CSV Export", w.names.CSV, true},
		{"JSON Export", w.names.JSON, w.JSON},
		{"Timeslice CSV Export", w.names.SlicesCSV, w.slicer != nil},
		{"Timeslice JSON Export", w.names.SlicesJSON, w.slicer != nil},
		{"Raw Records", w.names.Raw, w.Raw},
		{"Outputs JSON", w.names.Outputs, w.Outputs},
		{"accuracy_csv", w.names.Scores, w.Info.scores.overall.total > 0},
	} {
		if f.there {
			fmt.Fprintf(b, "%s: %s\n", f.label, filepath.Join(w.Info.Config.Dir, f.name))
		}
	}
	if w.Log != "" {
		log, err := filepath.Abs(w.Log)
		if err != nil {
			return err
		}
		fmt.Fprintf(b, "Log File: %s\n", log)
	}
	if cancelled {
		b.WriteString("The profile run was cancelled early. Results shown may be incomplete or inaccurate.\n")
	}
	return nil
}

// box is a table in a frame. A cell may have several lines.
type box struct {
	title string
	head  []string
	rows  [][]string
	left  int  // the column that is aligned left, -1 for none
	ruled bool // a line stands between two rows
}

// consoleStats are the columns of a metric's row.
func consoleStats() []string { return []string{"avg", "min", "max", "p99", "p90", "p50", "std"} }

// metricTable has the metrics of a group in their order; error-adjusted ones
// come last in the main table.
func metricTable(title string, sum *metrics.Summary, group metrics.Group) *box {
	t := &box{title: title, head: append([]string{"Metric"}, consoleStats()...), left: -1}
	var shown []metrics.Metric
	said := &metrics.Summary{Stats: told(sum)}
	for _, m := range append(metrics.Catalogue(), metrics.NetworkMetrics()...) {
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

// title1 is a metric's name with its unit, which has a line of its own below a
// long name.
func title1(s metrics.Stat) string {
	between := " "
	if words.Width(s.Header) > 30 {
		between = "\n"
	}
	return s.Header + between + "(" + s.Unit + ")"
}

// fixed2 is v with two decimals and commas.
func fixed2(v float64) string { return words.Decimals(v, 2) }

func errorTable(errs []object) *box {
	t := &box{title: maker + " | Error Summary", head: []string{"Code", "Type", "Message", "Count"}, left: 2}
	for _, e := range errs {
		row := []string{"N/A", "N/A", "N/A", fmt.Sprint(e.get("count"))}
		details, err := detailsOf(e)
		if err == nil {
			for i, key := range []string{"code", "type", "message"} {
				if v := details.get(key); v != nil {
					row[i] = words.Clip(words.Line(fmt.Sprint(v)), 80)
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

// write draws the table; an empty one is left out.
func (t *box) write(b *strings.Builder) {
	if len(t.rows) == 0 {
		return
	}
	widths := make([]int, len(t.head))
	for _, row := range append([][]string{t.head}, t.rows...) {
		for i, cell := range row {
			for line := range strings.SplitSeq(cell, "\n") {
				widths[i] = max(widths[i], words.Width(line))
			}
		}
	}
	total := 1
	for _, w := range widths {
		total += w + 3
	}
	b.WriteString(centred(t.title, total) + "\n")
	rule(b, widths, "┏", "━", "┳", "┓")
	t.row(b, widths, t.head, "┃")
	rule(b, widths, "┡", "━", "╇", "┩")
	for i, row := range t.rows {
		if t.ruled && i > 0 {
			rule(b, widths, "├", "─", "┼", "┤")
		}
		t.row(b, widths, row, "│")
	}
	rule(b, widths, "└", "─", "┴", "┘")
	b.WriteByte('\n')
}

func centred(s string, width int) string {
	n := max(0, width-words.Width(s))
	return strings.Repeat(" ", n/2) + s
}

func rule(b *strings.Builder, widths []int, first, fill, mid, last string) {
	for i, w := range widths {
		b.WriteString(map[bool]string{true: first, false: mid}[i == 0])
		b.WriteString(strings.Repeat(fill, w+2))
	}
	b.WriteString(last + "\n")
}

// row writes the lines of a row: as many as its tallest cell has.
func (t *box) row(b *strings.Builder, widths []int, cells []string, bar string) {
	for n, more := 0, true; more; n++ {
		more = false
		for i, cell := range cells {
			lines := strings.Split(cell, "\n")
			text := ""
			if n < len(lines) {
				text = lines[n]
			}
			more = more || n+1 < len(lines)
			pad := strings.Repeat(" ", widths[i]-words.Width(text))
			if i == t.left {
				text, pad = pad, text
			}
			b.WriteString(bar + " " + pad + text + " ")
		}
		b.WriteString(bar + "\n")
	}
}

// panel is a warning in a frame with its title in the upper edge.
type panel struct {
	title string
	lines []string
}

// Panel is lines in a frame, with a title, as AIPerf draws attention to them.
func Panel(title string, lines ...string) string {
	var b strings.Builder
	panel{title, lines}.write(&b)
	return b.String()
}

func (p panel) write(b *strings.Builder) {
	width := words.Width(p.title) + 4
	for _, l := range p.lines {
		width = max(width, words.Width(l)+4)
	}
	rest := width - words.Width(p.title) - 2
	fmt.Fprintf(b, "╭%s %s %s╮\n", strings.Repeat("─", rest/2), p.title, strings.Repeat("─", rest-rest/2))
	for _, l := range p.lines {
		fmt.Fprintf(b, "│  %s%s  │\n", l, strings.Repeat(" ", width-4-words.Width(l)))
	}
	fmt.Fprintf(b, "╰%s╯\n\n", strings.Repeat("─", width))
}
