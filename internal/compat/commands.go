// Package compat is other programs' ways in: what their command lines, files and
// environment variables mean here, their templates, and what is absent here with
// what to use instead. It says so in words; it runs nothing.
package compat

import (
	"aiperf.dev/aiperf/internal/diag"
)

// Absent is a command of AIPerf's that this program does not have.
type Absent struct{ Name, Instead string }

// AbsentCommands are refused by name, so that a script says what it lacks.
func AbsentCommands() []Absent {
	return []Absent{
		{"analyze swim-lane", "aiperf report DIR draws requests by slot and the load over time"},
		{"analyze turn-messages", "aiperf export DIR --table requests has every turn, and aiperf dataset inspect FILE shows texts"},
		{"synthesize", "aiperf synthesize-trace IN OUT changes a recorded trace; dataset: {type: \"synthetic\", …} makes conversations while the run is prepared: aiperf config init multi-turn-conversation"},
		{"service", "not needed: one process does the work of all services"},
		{"proxy", "not needed: one process has no message bus"},
	}
}

// Refuse is what an absent command says, with --help too.
func (a Absent) Refuse() error {
	return diag.New(a.Name+": a command of AIPerf's that is not here", a.Instead)
}
