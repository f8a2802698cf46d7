// Package rlimit says how many files and ports this process may open, and asks
// the kernel for as many files as it grants.
package rlimit
