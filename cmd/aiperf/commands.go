package main

import (
	"slices"

	"aiperf.dev/aiperf/internal/compat"
)

//go:generate go test -run TestGeneratedDocs|TestExamplesPage . -docs

// catalogue is every subcommand, in the order help lists them. One row and one
// file each; those of AIPerf that are not here come last and are not listed.
func catalogue() []command {
	return slices.Concat([]command{
		quickCommand,
		runCommand,
		profileCommand,
		validateCommand,
		planCommand,
		explainCommand,
		checksCommand,
		calibrateCommand,
		auditCommand,
		compareCommand,
		trendCommand,
		diagnoseCommand,
		watchCommand,
		reportCommand,
		plotCommand,
		exportCommand,
		importCommand,
		analyzeCommand,
		processExportsCommand,
		bundleCommand,
		verifyCommand,
		rerunCommand,
		listCommand,
		chatCommand,
		captureCommand,
		datasetCommand,
		analyzeTraceCommand,
		synthesizeTraceCommand,
		anonymizeTraceCommand,
		speedBenchReportCommand,
		schemaCommand,
		configCommand(),
		pluginsCommand,
		mockServerCommand,
		workerCommand,
		kubeCommand(),
		slurmCommand(),
		completionCommand,
		manCommand(),
		versionCommand,
	}, absentCommands())
}

// absentCommands are those of AIPerf that are refused by name.
func absentCommands() []command {
	var out []command
	for _, c := range compat.AbsentCommands() {
		out = append(out, command{name: c.Name, usage: "not here: " + c.Instead, hidden: true, instead: c.Instead})
	}
	return out
}
