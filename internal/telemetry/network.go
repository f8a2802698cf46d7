package telemetry

import (
	"context"
	"errors"
	"math"
	"net"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"
)

// Network is the collector of round trips to the servers: the time that a TCP connection
// takes to be made, which is one.
const Network = "network"

// What a Prober says: a connection that was made, and one that was not, with a label for
// the reason.
const (
	Connect       = "tcp_connect_seconds"
	ConnectFailed = "tcp_connect_failed"
)

const (
	connectTimeout = 5 * time.Second
	// fewestProbes are made of each target, if need be after the load: at most for so long.
	fewestProbes = 5
	topUp        = 3 * time.Second
)

// Target is an address that connections are made to.
type Target struct {
	Name    string // as it is shown: without secrets
	Address string // host:port
}

// Prober makes a connection to each target at each interval, and closes it at once.
// Nothing is sent. The host's name is looked up before, so that it is not part of it.
type Prober struct {
	Targets  []Target
	Interval time.Duration
	Now      func() int64 // ns since the run's T0
	// Dial opens a connection; nil for the network's. Lookup finds the address of a
	// host:port; nil for the system's.
	Dial   func(ctx context.Context, address string) (net.Conn, error)
	Lookup func(ctx context.Context, address string) (string, error)

	stop context.CancelFunc
	wait sync.WaitGroup
	made []probed // by target
	sink Sink
}

// probed is what is known of one target. It belongs to one goroutine at a time.
type probed struct {
	address  string // with the host as a number; "" while it is not known
	good, n  int
	failed   string // the last reason
	failures int    // in a row
}

// Start probes each target once and goes on. The first probe waits for nobody: the load
// may begin before it is back.
func (p *Prober) Start(ctx context.Context, sink Sink) {
	if p.Dial == nil {
		p.Dial = func(ctx context.Context, address string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", address)
		}
	}
	if p.Lookup == nil {
		p.Lookup = lookup
	}
	p.sink, p.made = sink, make([]probed, len(p.Targets))
	ctx, p.stop = context.WithCancel(ctx)
	for i := range p.Targets {
		p.wait.Go(func() {
			timer := time.NewTicker(p.Interval)
			defer timer.Stop()
			for {
				p.probe(ctx, i)
				select {
				case <-ctx.Done():
					return
				case <-timer.C:
				}
			}
		})
	}
}

// lookup is the first address of a host.
func lookup(ctx context.Context, address string) (string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", err
	}
	found, err := net.DefaultResolver.LookupHost(ctx, host)
	if err != nil || len(found) == 0 {
		return "", errors.New("the host's name is not known")
	}
	return net.JoinHostPort(found[0], port), nil
}

// probe makes one connection. What ctx ended is no probe.
func (p *Prober) probe(ctx context.Context, i int) {
	of, t := &p.made[i], p.Targets[i]
	within, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	var err error
	if of.address == "" {
		of.address, err = p.Lookup(within, t.Address)
	}
	began := time.Now()
	var took time.Duration
	if err == nil {
		var conn net.Conn
		if conn, err = p.Dial(within, of.address); err == nil {
			took = time.Since(began)
			_ = conn.Close()
		}
	}
	if ctx.Err() != nil {
		return
	}
	s := Sample{
		At: p.Now(), Source: t.Name, Collector: Network, Metric: Connect, Unit: "seconds", Kind: Gauge,
		Value: took.Seconds(),
	}
	of.n++
	if err != nil {
		of.failed = reason(err)
		of.failures++
		s.Metric, s.Unit, s.Value, s.Labels = ConnectFailed, "", 1, Labels([][2]string{{"error", of.failed}})
	} else {
		of.good++
		of.failures = 0
	}
	p.sink([]Sample{s})
}

// reason is why a connection was not made, without addresses.
func reason(err error) string {
	var timeout interface{ Timeout() bool }
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded),
		errors.As(err, &timeout) && timeout.Timeout():
		return "no connection within " + connectTimeout.String()
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	}
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return short(err.Error())
		}
		err = inner
	}
}

// Stop makes more connections where a short run had few, and tells what was seen.
func (p *Prober) Stop(ctx context.Context) (out []Source) {
	p.stop()
	p.wait.Wait()
	ctx, cancel := context.WithTimeout(ctx, topUp)
	defer cancel()
	for i := range p.Targets {
		p.wait.Go(func() {
			for of := &p.made[i]; of.good < fewestProbes && of.failures == 0 && ctx.Err() == nil; {
				p.probe(ctx, i)
			}
		})
	}
	p.wait.Wait()
	for i, t := range p.Targets {
		s := Source{Name: t.Name, Collector: Network, Asked: true}
		switch of := &p.made[i]; {
		case of.good == 0:
			s.Off = of.failed
			if of.n == 0 {
				s.Off = "there was no time to make a connection"
			}
		case of.failures > 0:
			s.Doubts = append(s.Doubts, "the last connection was not made: "+of.failed)
		}
		out = append(out, s)
	}
	return out
}

// RoundTrips are those of connections of a run, in ms, in ascending order.
type RoundTrips struct {
	Samples []float64
	Failed  int
}

// Add takes a sample of any collector.
func (r *RoundTrips) Add(s Sample) {
	switch {
	case s.Collector != Network:
	case s.Metric == Connect:
		ms := s.Value * 1e3
		i, _ := slices.BinarySearch(r.Samples, ms)
		r.Samples = slices.Insert(r.Samples, i, ms)
	case s.Metric == ConnectFailed:
		r.Failed++
	}
}

// Mean is theirs; NaN for none.
func (r *RoundTrips) Mean() float64 {
	sum := 0.0
	for _, v := range r.Samples {
		sum += v
	}
	if len(r.Samples) == 0 {
		return math.NaN()
	}
	return sum / float64(len(r.Samples))
}
