package page

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sinks"
	"aiperf.dev/aiperf/sinks/report"
	"aiperf.dev/aiperf/sinks/report/chart"
)

// failed is one kind of failure in one cell.
type failed struct {
	Failure
	cell     *chart.Cell
	measured int // of the count, after the warmup and not ended on purpose
}

// kindsMost bounds how many kinds are told apart: a server may say something
// else each time.
const kindsMost = 10_000

// digits differ between failures that are one: the number of a request, a moment.
var digits = regexp.MustCompile(`[0-9]+`)

// readErrors counts failures by kind and words. Those whose words differ in
// numbers only are one kind, with the words of the first.
func readErrors(d *chart.Data) ([]failed, error) {
	want := map[string]bool{"cell": true, "status": true, "error_kind": true, "error_message": true, "phase": true}
	var out []failed
	at := map[string]int{}
	count := func(dir, cell, kind, message string, c *chart.Cell, measured bool) {
		k := strings.Join([]string{dir, cell, kind, alike(message)}, "\x00")
		j, ok := at[k]
		if !ok {
			if len(at) == kindsMost {
				return
			}
			j = len(out)
			at[k] = j
			out = append(out, failed{Failure{0, kind, message}, c, 0})
		}
		out[j].Count++
		if measured {
			out[j].measured++
		}
	}
	for _, f := range d.Failures {
		count(f.Cell.Dir, f.Cell.ID, words.Clip(f.Kind, 80), words.Clip(f.Message, textLimit), f.Cell, true)
	}
	for _, dir := range d.Dirs {
		if d.Foreign[dir] != "" {
			continue
		}
		_, err := sinks.EachTable(dir, "requests", func(c string) bool { return want[c] },
			func(t *sinks.TableRows) error {
				for i := range t.N {
					if t.Texts["status"][i] == "ok" {
						continue
					}
					kind, message := words.Clip(cmp.Or(t.Texts["error_kind"][i], t.Texts["status"][i]), 80),
						words.Clip(t.Texts["error_message"][i], textLimit)
					measured := t.Texts["phase"][i] != "warmup" &&
						record.Status(t.Texts["status"][i]).Part() == record.InFailed
					count(dir, t.Texts["cell"][i], kind, message, find(d, dir, t.Texts["cell"][i]), measured)
				}
				return nil
			})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// alike is a message without what differs between two of one kind.
func alike(message string) string { return digits.ReplaceAllString(message, "0") }

// failuresMost is how many kinds of failures stand above the table.
const failuresMost = 3

// failing is how many requests failed.
func failing(list []failed) (n int) {
	for _, f := range list {
		n += f.measured
	}
	return n
}

// ofSystems says how many requests of each of several systems failed, those that failed most first: "31 of
// 960 of after, none of before", the first of them in a format; "" where systems are not compared, or it is
// not known of each.
func ofSystems(d *chart.Data, list []failed, first string) string {
	type count struct {
		name       string
		failed, of int
	}
	var each []count
	known := 0
	for _, c := range d.Cells {
		name := d.System(c)
		i := slices.IndexFunc(each, func(x count) bool { return x.name == name })
		if i < 0 {
			i, each = len(each), append(each, count{name: name})
		}
		known += d.Requests.Each[c]
		each[i].of += d.Requests.Each[c]
		for _, f := range list {
			if f.cell == c {
				each[i].failed += f.measured
			}
		}
	}
	if len(each) < 2 || known != d.Requests.Total || len(d.Changes()) == 0 {
		return ""
	}
	slices.SortStableFunc(each, func(a, b count) int { return cmp.Compare(b.failed*a.of, a.failed*b.of) })
	var some, none []string
	for _, x := range each {
		if x.failed == 0 {
			none = append(none, x.name)
			continue
		}
		some = append(some, fmt.Sprintf(first, words.Whole(int64(x.failed)), words.Whole(int64(x.of)), x.name))
		first = "%s of %s of %s"
	}
	if len(some) == 0 {
		return ""
	}
	if len(none) > 0 {
		some = append(some, "none of "+words.And(none))
	}
	return strings.Join(some, ", ")
}

// failures says how many requests of all cells failed, of each system where there are several, and in which
// words most of them did; in which words alone where the whole result failed.
func failures(list []failed, systems string, total int, whole bool) string {
	var kinds []Failure
	all := 0
	for _, f := range list {
		if f.measured == 0 {
			continue
		}
		all += f.measured
		i := slices.IndexFunc(kinds, func(k Failure) bool {
			return k.Kind == f.Kind &&
				alike(k.Message) == alike(f.Message)
		})
		if i < 0 {
			i, kinds = len(kinds), append(kinds, Failure{0, f.Kind, f.Message})
		}
		kinds[i].Count += f.measured
	}
	if all == 0 {
		return ""
	}
	slices.SortStableFunc(kinds, func(a, b Failure) int { return b.Count - a.Count })
	var said []string
	what := words.Whole(int64(all)) + " of " + words.Count(total, "request") + " failed: "
	if systems != "" {
		what = systems + ": "
	}
	if whole { // the answer has the number
		what = "The error: "
		if len(kinds) > 1 {
			what = "The errors: "
		}
	}
	for i, k := range kinds {
		if i == failuresMost {
			rest := 0
			for _, k := range kinds[i:] {
				rest += k.Count
			}
			said = append(said, report.OtherFailures(int64(rest), len(kinds)-i))
			break
		}
		text := k.Kind
		if len(kinds) > 1 {
			text = words.Whole(int64(k.Count)) + " × " + text
		}
		if k.Message != "" {
			text += ", “" + words.Clip(k.Message, 100) + "”"
		}
		said = append(said, text)
	}
	return what + strings.Join(said, "; ")
}

// failuresOf says how many requests of a cell failed, in all its trials; "" where that is not known.
func failuresOf(d *chart.Data, list []failed, c *chart.Cell) string {
	if d.Requests.Each[c] == 0 {
		return ""
	}
	own := slices.DeleteFunc(slices.Clone(list), func(f failed) bool { return f.cell != c })
	return failures(own, "", d.Requests.Each[c], false)
}

// errorsOf are the most frequent failures of a cell.
func errorsOf(list []failed, c *chart.Cell) []Failure {
	var out []Failure
	for _, f := range list {
		if f.cell == c {
			out = append(out, f.Failure)
		}
	}
	slices.SortStableFunc(out, func(a, b Failure) int { return b.Count - a.Count })
	return out[:min(len(out), 10)]
}
