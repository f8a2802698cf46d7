package onerun

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"time"

	"aiperf.dev/aiperf/internal/telemetry"
)

// network measures round trips to the targets while the run goes on.
type network struct{ *telemetry.Prober }

// startNetwork probes each target's port. A target behind a proxy of the environment is
// probed as if there were none.
func startNetwork(ctx context.Context, w *Watched) (Observer, error) {
	conf := &w.Run.Benchmark.Network
	if w.Client == nil || !conf.Measured() {
		return nil, nil //nolint:nilnil // nobody to ask, or not wanted
	}
	p := &telemetry.Prober{Interval: time.Duration(conf.PingInterval * float64(time.Second)), Now: w.Clock.Now}
	seen := map[string]bool{}
	for _, target := range w.Run.Targets {
		if at := portOf(target); at != "" && !seen[at] {
			seen[at] = true
			p.Targets = append(p.Targets, telemetry.Target{Name: w.shown(target), Address: at})
		}
	}
	p.Start(ctx, w.samples.write)
	return network{p}, nil
}

// Stop says which targets could not be reached.
func (n network) Stop(ctx context.Context, out *Result) error {
	sources := n.Prober.Stop(ctx)
	if out == nil {
		return nil
	}
	if len(sources) == 0 {
		out.Notes = append(out.Notes, "network latency: no target has a TCP port")
	}
	for _, s := range sources {
		if s.Off != "" {
			out.Notes = append(out.Notes, fmt.Sprintf("network latency: none of %s: %s", s.Name, s.Off))
		}
		for _, d := range s.Doubts {
			out.Notes = append(out.Notes, fmt.Sprintf("network latency of %s: %s", s.Name, d))
		}
	}
	out.Sources = append(out.Sources, sources...)
	return nil
}

// portOf is the host:port of a target, "" where it has none.
func portOf(target string) string {
	u, err := url.Parse(target)
	if err != nil || u.Hostname() == "" {
		return ""
	}
	port := u.Port()
	if port == "" {
		switch u.Scheme {
		case "http", "ws", "grpc":
			port = "80"
		case "https", "wss", "grpcs":
			port = "443"
		default:
			return ""
		}
	}
	return net.JoinHostPort(u.Hostname(), port)
}
