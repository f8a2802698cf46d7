// Package mode knows the ways to drive load, one file and one row each: when
// requests are due, which sessions are played, when a follow-up turn is due,
// what is known before anything is sent. In goes a phase, the run's seed and
// what the phase plays; out comes a Load that the engine carries out without
// asking which mode it is.
package mode

import (
	"slices"
	"time"

	"aiperf.dev/aiperf/internal/seed"
	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/schema/fields"
)

// rates are the settings of modes that send at a rate.
var rates = []fields.Setting{
	{Name: "rate", Needed: "give requests per second (--request-rate)", Or: []string{"rate_series"}},
	{Name: "rate_ramp"},
	{Name: "rate_series"},
}

// Mode is one way to drive load: a row of the catalogue.
type Mode struct {
	// Name is the phase type; of a mode that a setting chooses, whatever the
	// type says, it is the setting.
	Name  string
	Title string // for people: "open loop, evenly spaced arrivals"
	Doc   string // one sentence
	// Takes are the settings of a phase that only some modes take.
	Takes []fields.Setting
	// Instead says what to do about settings that the mode does not take, by
	// name; without it the setting's own word holds.
	Instead map[string]string
	// Pattern is the word of --arrival-pattern for the mode; "" for one that
	// a flag of its own chooses.
	Pattern string
	// Presumed is the setting that, given without a type, means this mode.
	Presumed string
	// Closed: no clock says when to send; a free slot is an arrival.
	Closed bool
	// EveryTurn: every turn of a conversation waits for an arrival of its own,
	// not only the first.
	EveryTurn bool
	// Ends: the schedule ends by itself, so no other bound is needed.
	Ends bool
	// Timed: the time stamps of the records are the schedule.
	Timed bool
	// Turns is how many turns the conversations need at least; 0: any number.
	Turns int
	// Varying: the load changes over the phase on purpose.
	Varying bool
	// Patient: answers are waited for without end unless a grace period is set.
	Patient bool
	// Primed: sessions begin in their middle; a phase of the same mode before it
	// primes the server's cache.
	Primed bool
	// NeedsSet: the schedule depends on what is played.
	NeedsSet bool
	// Dispersion is, for random arrivals, the variance of the number of
	// arrivals in a long window over its mean: for independent gaps the square
	// of their coefficient of variation (Cox, Renewal Theory). nil: not random.
	Dispersion func(p *schema.Phase) float64
	// Requests is how many requests are sent when nothing bounds the phase, and
	// PerSlot how many each slot sends at least; 0 where that is an error or the
	// schedule's own business.
	Requests, PerSlot int64
	// Expected is how many requests are due in so many seconds; nil where no
	// clock says.
	Expected func(p *schema.Phase, seconds float64) float64
	// Artifact is what AIPerf calls the load in a directory's name; float writes
	// numbers as it does. nil: concurrency and rate, where they are given.
	Artifact func(p *schema.Phase, float func(float64) string) string

	// chosen tells whether the setting chooses it; nil: the phase type does.
	chosen func(p *schema.Phase) bool
	open   func(m *Mode, p *schema.Phase, root int64, set *dataset.Set) (Load, error)
}

// BySetting tells that a setting of this name chooses the mode, no phase type.
func (m *Mode) BySetting() bool { return m.chosen != nil }

// Load is a phase's load in its mode, from the beginning.
type Load struct {
	*Mode
	// Arrivals say when something is due. In a closed loop they are the first
	// sends of each slot, for which no answer is needed; the rest follows the
	// answers and is not in them.
	Arrivals Arrivals
	// Sessions say what is played. They go on independently of Arrivals.
	Sessions Sessions
	// FollowUp says when the schedule wants the turn after an answer, which may
	// be before that answer, and whether its pace was held up by it.
	FollowUp func(a Answered) (due int64, heldUp bool)
	// DueAt is when the schedule wants a turn that has a time stamp, from the
	// start of the phase, whatever becomes of the turns before it; nil where no
	// schedule does.
	DueAt func(t *dataset.Turn) time.Duration
}

// Arrivals says when a phase wants to send. Offsets count from the start of
// the phase and never decrease. They are absolute: offset i is a function of
// the seed and of i, whatever became of the sends before it.
type Arrivals interface {
	// Next is the next offset, or false when the schedule has ended.
	Next() (offset time.Duration, ok bool)
}

// Steered are arrivals whose rate can be changed while they come.
type Steered interface {
	Arrivals
	// Steer sets the rate, in requests/s, from an offset on. next is the arrival that
	// Next gave last and that has not come yet; Steer tells when it comes instead.
	Steer(at time.Duration, rate float64, next time.Duration) (time.Duration, bool)
}

// Sessions is a session source: it decides what is played, in order. It has one
// user.
type Sessions interface {
	// Next is the next conversation, its number in the phase and how many of its turns
	// to play, or false when the phase has no more.
	Next() (n int64, c *dataset.Conversation, turns int, ok bool)
}

// Answered is a turn whose answer has ended. Times are ns on the run's clock.
type Answered struct {
	PhaseStart int64
	Intended   int64 // when the turn was due
	End        int64
	Next       *dataset.Turn
}

// catalogue is all modes, one a file.
var catalogue = [...]*Mode{
	&closedLoop, &constantRate, &poissonRate, &gammaRate, &rateSeries,
	&userCentric, &fixedSchedule, &agenticReplay,
}

// Catalogue is all modes, the closed loop first.
func Catalogue() []*Mode { return slices.Clone(catalogue[:]) }

// Of is the mode of p.
func Of(p *schema.Phase) (*Mode, error) {
	var typed *Mode
	for _, m := range catalogue {
		switch {
		case m.chosen == nil && m.Name == p.Type:
			typed = m
		case m.chosen != nil && m.chosen(p):
			return m, nil
		}
	}
	if typed == nil {
		return nil, errorf(p, "type %q is not a way to drive load", p.Type)
	}
	return typed, nil
}

// Open is the load of p under the run's seed. set is what it plays; nil is
// enough for the arrivals of modes that do not need it.
func Open(p *schema.Phase, root int64, set *dataset.Set) (Load, error) {
	m, err := Of(p)
	if err != nil {
		return Load{}, err
	}
	if m.NeedsSet && set == nil {
		return Load{}, errorf(p, "the schedule depends on the dataset")
	}
	l, err := m.open(m, p, root, set)
	if err != nil {
		return Load{}, err
	}
	l.Mode = m
	if l.Sessions == nil && set != nil {
		l.Sessions = &sampled{Sampler: sampler(p, root, set)}
	}
	if l.FollowUp == nil {
		l.FollowUp = afterThinking
	}
	return l, nil
}

// sampler is the order in which p plays its conversations.
func sampler(p *schema.Phase, root int64, set *dataset.Set) *dataset.Sampler {
	return set.Sampler(int64(seed.Of(root, "sampling/"+p.Name)))
}

// sampled plays what the sampler says.
type sampled struct {
	*dataset.Sampler
	n int64
}

func (s *sampled) Next() (n int64, c *dataset.Conversation, turns int, ok bool) {
	if c = s.Sampler.Next(); c == nil {
		return 0, nil, 0, false
	}
	s.n++
	return s.n - 1, c, len(c.Turns), true
}

// Skip leaves a session out.
func (s *sampled) Skip() {
	s.Sampler.Skip()
	s.n++
}

// afterThinking is the follow-up rule of most modes: think time after the
// answer.
func afterThinking(a Answered) (due int64, heldUp bool) {
	return a.End + int64(max(0, a.Next.Delay)), false
}
