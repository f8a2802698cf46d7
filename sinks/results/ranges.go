package results

import (
	"slices"

	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/sinks"
	"aiperf.dev/aiperf/sweep/decide"
)

// planInDoubt reports whether a check of the plan as a whole found something, of the rows of the table
// checks: by how much that moves the numbers of its runs no run can say.
func planInDoubt(checks *sinks.TableRows) bool {
	for i := range checks.N {
		if text(checks, "level", i) == "plan" && validity.OfSeverity(text(checks, "severity", i)) > validity.Valid {
			return true
		}
	}
	return false
}

// fillReports reads what only the reports of the runs say: how many of the failed requests come together, and, with
// ranges, how far numbers in doubt may be off.
func fillReports(dir string, cells []resultdir.LockCell, at map[[2]int]*decide.Outcome, ranges bool) {
	runs, _ := resultdir.Begun(dir) // a damaged journal says nothing
	reports := resultdir.ReportsOf(dir)
	for _, r := range runs {
		var report struct {
			Cell   string          `json:"cell"`
			Trial  int             `json:"trial"`
			Ranges validity.Ranges `json:"ranges"`
			Failed float64         `json:"failed_effect"`
			Good   float64         `json:"good_effect"`
		}
		if reports.Read(r.Run, r.Dir, &report) != nil {
			continue
		}
		cell := slices.IndexFunc(cells, func(c resultdir.LockCell) bool { return c.ID == report.Cell })
		if o := at[[2]int{cell, report.Trial}]; o != nil {
			if o.FailedEffect, o.GoodEffect = report.Failed, report.Good; ranges {
				o.Ranges = report.Ranges
			}
		}
	}
}
