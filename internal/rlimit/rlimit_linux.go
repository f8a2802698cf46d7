package rlimit

import (
	"fmt"
	"os"
)

// LocalPorts is how many ports outgoing connections choose from.
func LocalPorts() (n int, ok bool) {
	b, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		return 0, false
	}
	var low, high int
	if _, err := fmt.Sscan(string(b), &low, &high); err != nil || high < low {
		return 0, false
	}
	return high - low + 1, true
}

func openDescriptors() int {
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(names)
}
