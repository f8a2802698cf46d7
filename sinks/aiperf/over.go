package aiperf

import (
	"os"
	"path/filepath"

	"aiperf.dev/aiperf/internal/metrics"
)

// Over is what AIPerf's files over several runs say beside the runs' numbers: plain
// data, folders being those of the result directory. The zero Over has no files.
type Over struct {
	Cells     []CellFiles
	Design    *Design // nil where the cells were not drawn
	DesignDir string
	Sweep     *SweepSummary // nil without a sweep
	SweepDir  string
	History   *SearchHistory // nil where nothing was searched
}

// CellFiles are the files over the trials of one cell.
type CellFiles struct {
	Dir string
	Aggregate
	Collate bool          // the requests of all trials are brought together
	Records []CollatedRun // theirs
}

// Write writes the files below root, where those of the runs are. of gives the summary
// of a run by its folder.
func (o *Over) Write(root string, of func(dir string) *metrics.Summary) error {
	for i := range o.Cells {
		if err := o.Cells[i].write(root, of); err != nil {
			return err
		}
	}
	if o.Design != nil {
		dir, err := madeDir(root, o.DesignDir)
		if err != nil {
			return err
		}
		if _, err := WriteDesign(dir, o.Design); err != nil {
			return err
		}
	}
	if o.History != nil {
		if _, err := WriteHistory(root, o.History); err != nil {
			return err
		}
	}
	if o.Sweep == nil {
		return nil
	}
	for i := range o.Sweep.Cells {
		c := &o.Sweep.Cells[i]
		c.Runs = c.Runs[:0]
		for _, run := range c.Dirs {
			c.Runs = append(c.Runs, of(run))
		}
	}
	dir, err := madeDir(root, o.SweepDir)
	if err != nil {
		return err
	}
	if _, err = WriteSweep(dir, o.Sweep); err != nil || o.Sweep.Post == nil {
		return err
	}
	_, err = WritePostProcess(dir, o.Sweep, o.Sweep.Post)
	return err
}

func (c *CellFiles) write(root string, of func(dir string) *metrics.Summary) error {
	dir, err := madeDir(root, c.Dir)
	if err != nil {
		return err
	}
	for i := range c.Runs {
		c.Runs[i].Summary = of(c.Runs[i].Dir)
	}
	if _, err := WriteAggregate(dir, &c.Aggregate); err != nil {
		return err
	}
	if !c.Collate {
		return nil
	}
	runs := make([]CollatedRun, len(c.Records))
	for i, r := range c.Records {
		runs[i] = CollatedRun{r.Label, filepath.Join(root, r.Records)}
	}
	_, err = WriteCollated(dir, &c.Aggregate, runs)
	return err
}

// madeDir is a folder below root, which is there then.
func madeDir(root, dir string) (string, error) {
	at := filepath.Join(root, dir)
	return at, os.MkdirAll(at, 0o755)
}
