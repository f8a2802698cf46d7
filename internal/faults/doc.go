// Package faults proves what the engine and the program do when a server, the
// network or this machine misbehaves. In go scripted servers and signals, out
// comes that every run ends, counts every request exactly once, keeps failures
// out of the statistics of successes, and names them in the server's words.
//
// catalogue_test.go lists every fault and where it is proven.
package faults
