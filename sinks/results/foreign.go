package results

import (
	"fmt"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/sinks/importer"
	"aiperf.dev/aiperf/sinks/receipt"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/decide"
)

// foreignRuns are the runs one by one, ordered by label and trial.
func foreignRuns(path string) ([]importer.Run, error) {
	r, err := importer.Open(path)
	if err != nil {
		return nil, err
	}
	return r.Runs, nil
}

// readForeign makes a system of them.
func readForeign(path string) (*System, error) {
	r, err := importer.Open(path)
	if err != nil {
		return nil, err
	}
	s := &System{Arm: decide.Arm{Name: path}, imported: r, receipts: map[string][]*receipt.Receipt{}}
	for i := range r.Runs {
		run := &r.Runs[i]
		at := slices.IndexFunc(s.Cells, func(c decide.ArmCell) bool { return c.Label == run.Label })
		if at < 0 {
			at = len(s.Cells)
			s.Cells = append(s.Cells, foreignCell(run))
		}
		told, err := foreignReceipt(r, run)
		if err != nil {
			return nil, &diag.Error{Place: path, Message: err.Error(), Cause: err}
		}
		s.receipts[run.Label] = append(s.receipts[run.Label], told)
		c := &s.Cells[at]
		c.Runs = append(c.Runs, decide.Outcome{
			Run: sweep.Run{Trial: run.Trial}, Taints: validity.Taints{}, OK: run.OK, Failed: run.Failed, Err: run.Err,
			Summaries: []metrics.Summary{{Window: decide.Full, Stats: run.Stats}},
		})
		s.Trials = max(s.Trials, len(c.Runs))
	}
	return s, nil
}

// Client is the program that measured, by its key, and its version, "" where that is not known;
// audit is the file with its audit that the result carries, "" for none. This program is "self".
func (s *System) Client() (tool, version, audit string) {
	if s.imported == nil {
		return "self", "", ""
	}
	return s.imported.Tool, s.imported.Version, s.imported.Audit
}

// foreignCell is what was asked, as far as the files say.
func foreignCell(run *importer.Run) decide.ArmCell {
	if run.Config != nil {
		phases := phasesOf(run.Config)
		return decide.ArmCell{
			Label: run.Label, Alike: alikeOf(run.Config), Closed: sweep.Closed(phases),
			Judged: sweep.Percentile(sweep.Planned(phases)),
		}
	}
	c := decide.ArmCell{Label: run.Label, Closed: run.Closed}
	planned := int64(0)
	if run.Model != "" {
		c.Alike = append(c.Alike, decide.Fact{Name: "model", Value: run.Model})
	}
	for _, s := range run.Settings {
		c.Alike = append(c.Alike, decide.Fact(s))
		if s.Name == "phases.0.requests" {
			planned = importer.Whole(s.Value)
		}
	}
	slices.SortFunc(c.Alike, func(a, b decide.Fact) int { return strings.Compare(a.Name, b.Name) })
	c.Judged = sweep.Percentile(planned)
	return c
}

// acrossTools makes what two programs measured comparable: figures that do not mean the
// same are dropped on both sides, and of what was asked that is held against each other
// which both tell. A cell of each is one and the same, whatever its files are called.
func acrossTools(a, b *System) {
	if a.imported == nil && b.imported == nil || a.imported != nil && b.imported != nil &&
		a.imported.Tool == b.imported.Tool {
		return
	}
	for _, s := range []*System{a, b} {
		if s.imported != nil {
			s.dropUnlike()
			s.countElsewhere()
		}
	}
	if len(a.Cells) == 1 && len(b.Cells) == 1 {
		b.receipts = map[string][]*receipt.Receipt{a.Cells[0].Label: b.receipts[b.Cells[0].Label]}
		b.Cells[0].Label = a.Cells[0].Label
	}
	for i := range a.Cells {
		for j := range b.Cells {
			if x, y := &a.Cells[i], &b.Cells[j]; x.Label == y.Label {
				x.Alike, y.Alike = inBoth(x.Alike, y.Alike), inBoth(y.Alike, x.Alike)
			}
		}
	}
}

// dropUnlike leaves the figures that are ours by the definitions.
func (s *System) dropUnlike() {
	unlike := map[string]bool{}
	for i := range s.imported.Runs {
		for _, d := range s.imported.Runs[i].Definitions() {
			if d.Relation == importer.NotComparable && !unlike[d.Ours] {
				unlike[d.Ours] = true
				s.Left = append(s.Left, fmt.Sprintf("%s of %s is left out: %s", d.Metric, s.imported.Name, d.Relates))
			}
		}
	}
	for _, c := range s.Cells {
		for _, o := range c.Runs {
			for w := range o.Summaries {
				o.Summaries[w].Stats = slices.DeleteFunc(slices.Clone(o.Summaries[w].Stats),
					func(st metrics.Stat) bool { return unlike[st.Tag] })
			}
		}
	}
}

// inBoth are the facts of a that b has, too, under any value.
func inBoth(a, b []decide.Fact) []decide.Fact {
	return slices.DeleteFunc(slices.Clone(a), func(f decide.Fact) bool {
		return !slices.ContainsFunc(b, func(g decide.Fact) bool { return g.Name == f.Name })
	})
}
