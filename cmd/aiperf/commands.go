package main

import "slices"

//go:generate go test -run TestGeneratedDocs . -docs

// catalogue is every subcommand, in the order help lists them. One row and one
// file each; those of AIPerf that are not here come last and are not listed.
func catalogue() []command {
	return slices.Concat([]command{
		runCommand, profileCommand, validateCommand, planCommand, explainCommand, checksCommand, calibrateCommand,
		exportCommand, schemaCommand, configCommand(), pluginsCommand, mockServerCommand, completionCommand,
	}, absent)
}
