package transport

import (
	"fmt"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/rlimit"
)

// reservedDescriptors are kept for files, logs and what else a run opens.
const reservedDescriptors = 64

// Preflight tells why n connections at once cannot fit on this machine, or nil.
func (cl *Client) Preflight(n int) error {
	if limit, open, ok := rlimit.Descriptors(); ok && n+open+reservedDescriptors > limit {
		return &diag.Error{
			Code:    diag.Failed,
			Message: fmt.Sprintf("%d connections need %d file descriptors and the limit is %d (%d are open)", n, n+open+reservedDescriptors, limit, open),
			Hint:    "raise the limit with ulimit -n, or lower the concurrency",
		}
	}
	ports, ok := rlimit.LocalPorts()
	if !ok {
		return nil
	}
	destinations := 0
	for _, t := range cl.targets {
		if t.via == nil {
			t.mu.Lock()
			destinations += len(t.addrs)
			t.mu.Unlock()
		}
	}
	if room := ports * max(1, len(cl.sources)) * max(1, destinations); n > room {
		return &diag.Error{
			Code:    diag.Failed,
			Message: fmt.Sprintf("%d connections need as many local ports and there are %d (%d per source and destination address)", n, room, ports),
			Hint:    "list more source addresses, widen net.ipv4.ip_local_port_range, or lower the concurrency",
		}
	}
	return nil
}
