package report

import (
	"fmt"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sinks/receipt"
	"aiperf.dev/aiperf/sweep/decide"
)

// Beside is a comparison with what is not the same in both. Rows of cells that are two
// workloads say so.
func Beside(of *decide.Comparison, unlike []receipt.Unlike) Comparison {
	c := Comparison{Comparison: of, Unlike: unlike}
	for _, rows := range [][]decide.Row{of.Rows, of.Together} {
		for i := range rows {
			rows[i].Apart = len(c.fatal(rows[i].Cell)) > 0
		}
	}
	return c
}

// maxMoved is how many differences that can move metrics are named.
const maxMoved = 4

// Moved are the differences that can move metrics, a sentence each and each once, and how
// many more there are that move none.
func (c Comparison) Moved() (lines []string) {
	more, noted, unknown := 0, map[string]bool{}, map[string]bool{}
	for _, u := range c.Unlike {
		switch line := u.String() + ": that " + u.CanMove(); {
		case u.Unknown:
			unknown[u.Name] = true
		case u.Class == receipt.Noted:
			noted[u.Name] = true
		case u.Class != receipt.Material || slices.Contains(lines, line):
		case len(lines) == maxMoved:
			more++
		default:
			lines = append(lines, line)
		}
	}
	if more > 0 {
		lines = append(lines, words.Count(more, "more difference")+" that can move metrics: --output json")
	}
	return lines
}

// fatal are the names of what makes a cell another workload.
func (c Comparison) fatal(cell string) (names []string) {
	for _, u := range c.Unlike {
		if u.Class == receipt.Fatal && (u.Cell == cell || cell == togetherName) && !slices.Contains(names, u.Name) {
			names = append(names, u.Name)
		}
	}
	return names
}

// otherwise says that two workloads were compared all the same, and in what they differ.
func (c Comparison) otherwise() []string {
	var lines []string
	for _, u := range c.Unlike {
		if line := u.String(); u.Class == receipt.Fatal && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		return nil
	}
	more := ""
	if n := len(lines) - maxMoved; n > 0 {
		lines, more = lines[:maxMoved], fmt.Sprintf("; %d more", n)
	}
	return []string{"Not the same workload: " + strings.Join(lines, "; ") + more}
}

// unlikeDoc is a difference as data.
type unlikeDoc struct {
	Cell      string   `json:"cell"`
	Name      string   `json:"name"`
	Baseline  string   `json:"baseline"`
	Candidate string   `json:"candidate"`
	Class     string   `json:"class"` // fatal, material, noted
	Unknown   bool     `json:"unknown,omitempty"`
	Raises    []string `json:"raises,omitempty"` // metrics of the candidate
	Lowers    []string `json:"lowers,omitempty"`
	Moves     []string `json:"moves,omitempty"` // either way
}

func (c Comparison) unlikeDocs() (out []unlikeDoc) {
	for _, u := range c.Unlike {
		d := unlikeDoc{
			Cell: u.Cell, Name: u.Name, Baseline: u.A, Candidate: u.B, Class: u.Class.String(), Unknown: u.Unknown,
		}
		for _, m := range u.Difference.Moves {
			switch m.Way {
			case 1:
				d.Raises = append(d.Raises, m.Metric)
			case -1:
				d.Lowers = append(d.Lowers, m.Metric)
			default:
				d.Moves = append(d.Moves, m.Metric)
			}
		}
		out = append(out, d)
	}
	return out
}
