// Package language holds the tests of the experiment language as others read
// it: the published schemas beside the program itself, the cue command and its
// language server on the user's files, packages and modules as the cue command
// takes them, and the pages that teach all this.
package language
