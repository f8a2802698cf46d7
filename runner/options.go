package runner

import (
	"time"

	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/internal/rules"
	"aiperf.dev/aiperf/loadgen"
	"aiperf.dev/aiperf/runner/onerun"
	"aiperf.dev/aiperf/runner/verdict"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/decide"
	"aiperf.dev/aiperf/sweep/search"
	"aiperf.dev/aiperf/sweep/source"
)

// Options are what the plan does not say.
type Options struct {
	Dir         string      // result directory
	Latest      string      // link beside Dir that leads to it once it is finished, "" for none
	Resume      bool        // continue what was begun in Dir
	Redo        []sweep.Run // with Resume: of these another attempt is made, whatever came of the last one
	KeepStreams bool        // the runs' streams stay when the tables are written
	MoveAside   bool        // results that Dir holds go to Dir.1, Dir.2, …
	Overwrite   bool        // the same, and they are removed once new results have taken their place
	Source      []byte      // the experiment as it is kept, nil for flags
	SourceName  string      // the file or folder that it came from
	CommandLine string      // as typed, secrets masked
	Exe         string      // this program, to start the built-in server from
	Version     string
	// SourceEnding is that of the file that Source is kept in: .cue, .yaml, .json.
	SourceEnding string
	AllowHooks   bool // commands that the experiment names may be run
	AllowCode    bool // the code of answers may be run, to judge it
	// AllowInvalid carries out a plan that this machine cannot drive, too.
	AllowInvalid bool
	Page         bool     // write report.html when the plan is done
	AIPerf       bool     // write AIPerf's files, too; without them Export can, later
	Origins      []string // every setting with its origin, for resolved.json
	// Say takes a line about results that were there before. nil: nobody listens.
	Say func(string)
	// Live takes the engine's snapshots of the run in progress, about twice a second.
	Live func(loadgen.Snapshot)
	// Notify, if set, is told before each run and after it.
	Notify func(Step)
	// Driver carries out the runs; nil is this process, on the real network. With one
	// that has no network no server is asked anything, and the machine is not watched:
	// it is how whole plans are simulated by the thousand.
	Driver onerun.Driver
	// Machines is how many send, this one or others like it: 0 is this one alone.
	Machines int
}

// network tells whether the plan's servers are real.
func (o *Options) network() bool { return o.Driver == nil || o.Driver.Network() }

// Step is where the plan is.
type Step struct {
	Run     sweep.Run
	Index   int             // of the run among those that the plan's source gave
	Total   int             // of them; 0 where nobody can know
	Why     string          // the plan's source gave it; "" where no outcome decided that
	Stand   string          // what a search knew before it
	Skipped bool            // done before, by an earlier process
	Report  *RunReport      // nil before the run
	Outcome *decide.Outcome // of a run that was measured, nil before it
	Err     error
}

// Result is what a plan gave.
type Result struct {
	Dir          string
	Plan         *sweep.Plan
	Outcomes     []decide.Outcome
	Results      *decide.Results
	Reports      map[string]*RunReport // by run ID
	Failures     map[string]error      // by run ID: why a run of this process could not be measured at all
	PlanFindings []verdict.Finding
	Verdict      verdict.Verdict
	Search       *search.Answer  // of a plan that searches
	Adaptive     *source.Adapted // of an adaptive search
	Rules        *rules.Document // how they stand to the rules that were asked for, nil for none
	Spared       int             // runs that were not needed, by what the others gave
	Interrupted  bool
	Finished     *resultdir.Manifest // the directory was complete before; nothing else is set then
	Stopped      string              // why the plan ended before its last run, "" if it did not
	Began        time.Time
	Elapsed      time.Duration
	complete     bool   // the plan's source has no further run
	command      string // as typed, secrets masked
	defaultISL   bool   // nobody said how long prompts are
	view         string // file name of the page with charts, "" when none was written
	limit        string // what limits the server, "" where nothing is known of it
}
