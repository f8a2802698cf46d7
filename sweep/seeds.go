package sweep

import (
	"fmt"
	"math"

	"aiperf.dev/aiperf/internal/seed"
	"aiperf.dev/aiperf/schema"
)

// The ways in which runs draw their requests.
const (
	// Blocks: a trial is a block. Every cell of it draws the same lengths, turns,
	// gaps between arrivals, think times and choices; another trial draws others.
	// Text is fresh in every run, so that no run warms a prefix cache for the next.
	Blocks = "blocks"
	// Fixed is AIPerf's rule: a cell sends the same requests in all trials.
	Fixed = "fixed"
	// Independent: every run draws for itself.
	Independent = "independent"
)

// defaultSeed is used when several runs are planned and no seed is given.
const defaultSeed = 42

// chooseSeeds says how the runs draw: as asked, by AIPerf's rule when one of its
// own settings about seeds is given, in blocks otherwise. One run is all there
// is of its workload: it draws from the seed that was given.
func (p *Plan) chooseSeeds() error {
	m := p.MultiRun
	theirs := ""
	for _, name := range []string{"set_consistent_seed", "same_seed", "vary_seed_per_trial"} {
		if theirs == "" && p.ruled[name] {
			theirs = name
		}
	}
	switch {
	case m.Seeds != "" && theirs != "":
		return &schema.Error{
			Path: "multi_run.seeds", Message: fmt.Sprintf("%s cannot be combined with %s: both set how runs draw",
				m.Seeds, theirs), Hint: "leave one of them out",
		}
	case m.Seeds != "":
		p.Seeds, p.SeedsWhy = m.Seeds, "multi_run.seeds"
	case theirs != "":
		p.Seeds, p.SeedsWhy = Fixed, theirs+" is given"
	case p.Experiment.Search != nil: // runs at one load are pooled, and must not be alike
		p.Seeds, p.SeedsWhy = Independent, "search is given"
	case len(p.Cells) == 1 && p.Trials == 1:
		p.Seeds = Fixed
	default:
		p.Seeds = Blocks
	}
	return nil
}

// plantSeeds gives every cell its seed: the base, plus the cell's index in a
// sweep unless same_seed. The base is random_seed, else 42 when several runs
// are planned and they shall be consistent, else one drawn now. A search draws
// one, too: it asks how much a server carries, and a second execution with the
// same prompts would be answered from the prefix cache that the first one filled.
func (p *Plan) plantSeeds(same bool, draw func() int64) {
	several := len(p.Axes) > 0 || p.searches() || p.Trials > 1 && (p.MultiRun.SetConsistentSeed || p.Seeds != Fixed)
	switch {
	case p.Experiment.RandomSeed != nil:
		p.BaseSeed, p.Seeded = *p.Experiment.RandomSeed, true
	case several && p.Experiment.Search == nil:
		p.BaseSeed, p.Seeded = defaultSeed, true
	default:
		p.BaseSeed = draw()
	}
	p.sameSeed = same
	for _, c := range p.Cells {
		p.plantSeed(c)
	}
}

func (p *Plan) plantSeed(c *Cell) {
	c.Seed = p.BaseSeed
	if !p.sameSeed {
		c.Seed += int64(c.Index)
	}
}

// searches reports whether the plan makes up its cells as it goes.
func (p *Plan) searches() bool {
	k := p.Kind()
	return k != nil && k.Searches || p.Experiment.Search != nil
}

// shapeSeed is the root of everything that a run draws beside its text.
func (p *Plan) shapeSeed(c *Cell, trial int) int64 {
	switch {
	case p.Seeds == Blocks:
		return stream(p.BaseSeed, fmt.Sprintf("shape/%d", trial))
	case p.Seeds == Independent:
		return p.trialStream(c, trial)
	}
	return p.fixedSeed(c, trial)
}

// textSeed is the root of a run's synthetic text.
func (p *Plan) textSeed(c *Cell, trial int) int64 {
	if p.Seeds == Blocks {
		return stream(p.BaseSeed, fmt.Sprintf("text/%s/%d", c.ID, trial))
	}
	return p.shapeSeed(c, trial)
}

// fixedSeed is AIPerf's: all trials of a cell share the cell's seed, so they
// send the same prompts. With vary_seed_per_trial, or when nothing ties the
// trials together, each has its own.
func (p *Plan) fixedSeed(c *Cell, trial int) int64 {
	if p.MultiRun.VarySeedPerTrial || !p.Seeded && p.Trials > 1 {
		return p.trialStream(c, trial)
	}
	return c.Seed
}

// trialStream is the stream "<label>:trial:<n>" of the base seed, as in AIPerf.
func (p *Plan) trialStream(c *Cell, trial int) int64 {
	return stream(p.BaseSeed, fmt.Sprintf("%s:trial:%d", c.Label, trial))
}

// stream is the seed of a named stream; seeds are never negative.
func stream(base int64, name string) int64 { return int64(seed.Of(base, name) & math.MaxInt64) }
