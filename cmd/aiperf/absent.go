package main

// absent are the commands of AIPerf that this program does not have, with what
// to use instead. They are refused by name, so that a script says what it lacks.
var absent = []command{
	absentCommand("plot", "every result directory has a report and tables that open in any notebook: aiperf export DIR --table metrics"),
	absentCommand("analyze", "aiperf export DIR --table requests has every request with its stamps; --table chunks every token"),
	absentCommand("analyze-trace", "a run has every length: aiperf export DIR --table requests; reuse of blocks is not computed"),
	absentCommand("synthesize", "dataset: {type: \"synthetic\", …} makes conversations while the run is prepared: aiperf config init multi-turn"),
	absentCommand("service", "not needed: one process does the work of all services"),
	absentCommand("proxy", "not needed: one process has no message bus"),
	absentCommand("kube", "run the one static binary in a pod or job of your own"),
	absentCommand("speed-bench-report", "aiperf export DIR --table cells compares the cells of a sweep; acceptance lengths are not measured"),
	absentCommand("chat", "try the server with curl; aiperf profile --request-count 1 measures one request"),
}

func absentCommand(name, instead string) command {
	return command{name: name, usage: "not here: " + instead, hidden: true, instead: instead}
}

// refuse is what an absent command says, with --help too.
func (c command) refuse() error {
	return &usageError{c.name + ": a command of AIPerf's that is not here", c.instead}
}
