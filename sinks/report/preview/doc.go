// Package preview prints what there is to know before anything is sent: a plan
// with its cells, the variations of a sweep, how many trials find a difference,
// what a dataset or a trace holds.
package preview
