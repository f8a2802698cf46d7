package record

// Branches counts what became of the sessions that others start, of those that
// wait for them, and of the orchestrators, which send nothing themselves. The
// counts are those of AIPerf's branch_stats.
type Branches struct {
	Spawned    int64 `json:"spawned"`    // sessions that another one started and that sent something
	Completed  int64 `json:"completed"`  // of these, those that came to their end
	Failed     int64 `json:"failed"`     // of these, those that a failed request ended
	Truncated  int64 `json:"truncated"`  // sessions that the phase's end cut short, or kept from beginning
	Delayed    int64 `json:"delayed"`    // sessions that began at a recorded time behind what started them
	Suspended  int64 `json:"suspended"`  // turns that had to wait for sessions
	Resumed    int64 `json:"resumed"`    // of these, those that went on
	Suppressed int64 `json:"suppressed"` // of these, those that were over too late to go on
	Graphs     int64 `json:"graphs"`     // plays of orchestrators
	GraphsDone int64 `json:"graphs_done"`
}

// Add sums up the phases of a run.
func (b *Branches) Add(c *Branches) {
	b.Spawned += c.Spawned
	b.Completed += c.Completed
	b.Failed += c.Failed
	b.Truncated += c.Truncated
	b.Delayed += c.Delayed
	b.Suspended += c.Suspended
	b.Resumed += c.Resumed
	b.Suppressed += c.Suppressed
	b.Graphs += c.Graphs
	b.GraphsDone += c.GraphsDone
}
