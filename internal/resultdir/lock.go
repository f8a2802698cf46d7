package resultdir

import (
	"encoding/json"
	"path/filepath"
)

// LockSchema names the form of plan.lock.json.
const LockSchema = "plan.lock/2"

// Lock is a plan as it is kept beside its results: enough to tell whether a
// later plan is the same, and if not, in what.
type Lock struct {
	Schema    string     `json:"schema"`
	PlanHash  string     `json:"plan_hash"`
	Name      string     `json:"name,omitempty"`
	Cells     []LockCell `json:"cells"`
	Trials    int        `json:"trials"`
	Order     string     `json:"order"`
	CellOrder string     `json:"cell_order"`
	BaseSeed  int64      `json:"base_seed"`
	Seeds     string     `json:"seeds"`
	Seeded    bool       `json:"seeded"` // false: the seed was drawn, a later plan may have another
	Runs      []LockRun  `json:"runs"`   // those that the plan lists
}

// LockCell is one cell.
type LockCell struct {
	ID        string          `json:"id"`
	Label     string          `json:"label"`
	Short     string          `json:"short,omitempty"` // what screens call it
	Work      string          `json:"work,omitempty"`  // the part of that which says what is asked
	Dir       string          `json:"dir"`
	Seed      int64           `json:"seed"`
	Point     map[string]any  `json:"point"`
	Benchmark json.RawMessage `json:"benchmark"`
}

// LockRun is one run, in order of execution.
type LockRun struct {
	ID     string `json:"id"`
	Cell   string `json:"cell"`
	Trial  int    `json:"trial"`
	Seed   int64  `json:"seed"`
	Text   int64  `json:"text_seed"`
	Warmup bool   `json:"warmup"`
	Dir    string `json:"dir"`
}

// ReadLock reads the plan that was begun in dir, with the cells that its source has made
// up since.
func ReadLock(dir string) (Lock, error) {
	var l Lock
	if err := ReadJSON(filepath.Join(dir, LockName), &l); err != nil {
		return l, err
	}
	for _, e := range Events(dir) {
		if e.Made != nil {
			l.Cells = append(l.Cells, *e.Made)
		}
	}
	return l, nil
}
