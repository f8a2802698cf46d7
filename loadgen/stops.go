package loadgen

import (
	"math"
	"time"

	"aiperf.dev/aiperf/loadgen/pace"
	"aiperf.dev/aiperf/schema"
)

// Why a phase stopped, and why an arrival or a turn was not sent.
const (
	stopRequests    = "requests"
	stopSessions    = "sessions"
	stopDuration    = "duration"
	stopInterrupted = "interrupted"
	stopFailures    = "failures"
	stopUnreachable = "unreachable"
	stopStalled     = "stalled"
	stopSchedule    = "schedule"
	stopScaled      = "adaptive_scale"
	stopStable      = "stable"

	skipOnCap   = "on_cap"           // no slot was free (on_cap: skip)
	skipLate    = "client_late"      // a client that never stands still would have sent it
	skipStopped = "stopped"          // still waiting when the phase stopped
	skipNoTurn  = "no_turn"          // no session may start and no turn was waiting
	skipCut     = "conversation_cut" // the phase stopped before this turn
	skipFailed  = "turn_failed"      // the turn before it failed
)

// stops say when a phase ends: when nothing new is sent, and when what is still
// under way is cut off.
type stops struct {
	why   string // why nothing is sent any more; "" while it is
	noNew string // why no session starts any more; started ones go on
	last  string // the reason when nothing is left to be played
	end   int64  // nothing is due from here on; never without a duration
	grace int64  // how long answers are waited for after the end

	cut      int64 // what is still on the wire is cancelled here
	cutTried int64 // when that was first tried, never before
	isCut    bool
	awaited  bool // this client noticed late that it was time, and waited for what was to be read
}

// defaultGrace is how long a measured phase waits for answers after its end.
const defaultGrace = 30 * time.Second

// graceOf is how long answers are waited for after the phase's duration.
func graceOf(cfg *schema.Phase, patient bool) int64 {
	switch {
	case cfg.GracePeriod != nil && math.IsInf(float64(*cfg.GracePeriod), 1):
		return pace.Never
	case cfg.GracePeriod != nil:
		return int64(cfg.GracePeriod.Go())
	case cfg.Kind == kindWarmup || patient:
		return pace.Never
	}
	return int64(defaultGrace)
}

// begin starts the clock.
func (s *stops) begin(now int64, duration *schema.Duration) {
	s.end, s.cutTried = pace.Never, pace.Never
	if duration != nil {
		s.end = later(now, int64(duration.Go()))
	}
	s.cut = later(s.end, s.grace) // also when all was sent before the end
}

// hasten cuts off what is under way after the grace, or its default, from now
// on: the phase ends before its time.
func (s *stops) hasten(now int64) {
	grace := s.grace
	if grace == pace.Never {
		grace = int64(defaultGrace)
	}
	s.cut = min(s.cut, later(now, grace))
}

// reason is why the phase ended.
func (s *stops) reason() string {
	if s.why != "" {
		return s.why
	}
	return s.noNew
}
