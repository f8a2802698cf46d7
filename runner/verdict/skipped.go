package verdict

import (
	"fmt"
	"maps"
	"slices"
)

// clientLate is the engine's reason for arrivals that a cap would have let through.
const clientLate = "client_late"

// skippedWords say why arrivals or turns were not sent, by the engine's reason.
var skippedWords = map[string]string{
	"on_cap":           "due requests were dropped, because concurrency was at its limit (on_cap: skip)",
	clientLate:         "due requests were never sent, because this program had stood still",
	"stopped":          "due requests still waited for a slot when the phase ended",
	"no_turn":          "due requests had no turn to send, because no conversation could start",
	"conversation_cut": "turns of conversations were due after the end of the phase",
	"turn_failed":      "turns were not sent because the one before them failed",
}

// skippedNotices tell what the phase meant to send and did not: nothing is
// dropped in silence.
func (p *PhaseEvidence) skippedNotices() []Notice {
	var out []Notice
	for _, why := range slices.Sorted(maps.Keys(p.Result.Skipped)) {
		n := p.Result.Skipped[why]
		words, known := skippedWords[why]
		if !known {
			words = "due requests were not sent (" + why + ")"
		}
		if n > 0 {
			out = append(out, Notice{"skipped." + why, fmt.Sprintf("%d %s; %d requests were sent", n, words,
				p.Result.Issued), float64(n)})
		}
	}
	return out
}
