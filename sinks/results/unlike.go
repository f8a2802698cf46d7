package results

import (
	"fmt"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/sinks/receipt"
)

// Unlike is what is not the same in the cells that both have, by their receipts.
func Unlike(a, b *System) (out []receipt.Unlike) {
	for i := range a.Cells {
		for j := range b.Cells {
			if label := a.Cells[i].Label; b.Cells[j].Label == label {
				for _, d := range receipt.Differences(a.Receipt(i), b.Receipt(j)) {
					out = append(out, receipt.Unlike{Cell: label, Difference: d})
				}
			}
		}
	}
	return out
}

// Receipt is that of a cell. Of another program's results it has what was asked.
func (s *System) Receipt(cell int) *receipt.Receipt {
	of := &s.Cells[cell]
	r := receipt.New()
	if runs := s.receipts[of.Label]; len(runs) > 0 {
		r = receipt.Pool(runs)
	}
	r.Asked = nil
	for _, f := range of.Alike { // those that both programs tell
		r.Asked = append(r.Asked, receipt.Fact(f))
	}
	return r
}

// maxUnlike is how many differences an error names.
const maxUnlike = 4

// Refuse is the error of a comparison of two workloads; nil where they are one.
func Refuse(a, b *System, all []receipt.Unlike) error {
	fatal := slices.DeleteFunc(slices.Clone(all), func(u receipt.Unlike) bool { return u.Class != receipt.Fatal })
	if len(fatal) == 0 {
		return nil
	}
	var said []string
	for _, u := range fatal {
		if u.Cell == fatal[0].Cell {
			said = append(said, u.String())
		}
	}
	if more := len(said) - maxUnlike; more > 0 {
		said = append(said[:maxUnlike:maxUnlike], fmt.Sprintf("%d more", more))
	}
	at := ""
	if len(a.Cells) > 1 || len(b.Cells) > 1 {
		at = " at " + fatal[0].Cell
	}
	return &diag.Error{
		Message: fmt.Sprintf("%s and %s did not do the same%s: %s", a.Name, b.Name, at, strings.Join(said, "; ")),
		Hint:    "run both with the same experiment; aiperf compare --anyway compares them all the same",
	}
}
