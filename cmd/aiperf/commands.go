package main

// commands is the catalogue of subcommands, in the order help lists them. One
// row and one file each.
var commands = []command{
	runCommand, profileCommand, validateCommand, planCommand, explainCommand, checksCommand,
	exportCommand, schemaCommand, configCommand, mockServerCommand,
}
