package telemetry

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// prober makes connections by dial, in virtual time.
func prober(dial func(ctx context.Context) error) *Prober {
	began := time.Now()
	return &Prober{
		Targets: []Target{{"http://s:8000", "s:8000"}}, Interval: time.Second,
		Now: func() int64 { return int64(time.Since(began)) },
		Lookup: func(context.Context, string) (string, error) {
			time.Sleep(50 * time.Millisecond) // a slow name server is no round trip
			return "10.0.0.1:8000", nil
		},
		Dial: func(ctx context.Context, address string) (net.Conn, error) {
			if address != "10.0.0.1:8000" {
				return nil, fmt.Errorf("dialled %s", address)
			}
			if err := dial(ctx); err != nil {
				return nil, err
			}
			ours, theirs := net.Pipe()
			return ours, theirs.Close()
		},
	}
}

func TestProberMeasuresConnections(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := prober(func(context.Context) error { time.Sleep(3 * time.Millisecond); return nil })
		var trips RoundTrips
		p.Start(t.Context(), func(rows []Sample) {
			for _, s := range rows {
				trips.Add(s)
			}
		})
		time.Sleep(9500 * time.Millisecond)
		sources := p.Stop(t.Context())
		if len(trips.Samples) != 10 || math.Abs(trips.Mean()-3) > 1e-9 || trips.Failed != 0 || sources[0].Off != "" {
			t.Errorf("round trips %v, mean %g, %d failed, source %+v", trips.Samples, trips.Mean(), trips.Failed,
				sources[0])
		}
	})
}

// A run that is shorter than five intervals has five probes nevertheless, unless the
// target does not answer.
func TestProberTopsUp(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name         string
		dial         func(context.Context) error
		good, failed int
		off          string
	}{
		{"quick", func(context.Context) error { time.Sleep(time.Millisecond); return nil }, 5, 0, ""},
		{"slow", func(ctx context.Context) error {
			select {
			case <-time.After(1200 * time.Millisecond):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}, 2, 0, ""},
		{"refused", func(context.Context) error {
			return &net.OpError{Op: "dial", Err: fmt.Errorf("connect: %w", syscall.ECONNREFUSED)}
		}, 0, 1, "connection refused"},
		{"unreachable", func(context.Context) error {
			return &net.OpError{Op: "dial", Err: errors.New("network is unreachable")}
		}, 0, 1, "network is unreachable"},
		{"silent", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, 0, 0, "there was no time to make a connection"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := prober(c.dial)
				var trips RoundTrips
				p.Start(t.Context(), func(rows []Sample) {
					for _, s := range rows {
						trips.Add(s)
					}
				})
				time.Sleep(300 * time.Millisecond)
				began := time.Now()
				sources := p.Stop(t.Context())
				if len(trips.Samples) != c.good || trips.Failed != c.failed || sources[0].Off != c.off {
					t.Errorf("%d good, %d failed, off %q; want %d, %d, %q", len(trips.Samples),
						trips.Failed, sources[0].Off, c.good, c.failed, c.off)
				}
				if took := time.Since(began); took > topUp {
					t.Errorf("it took %s to stop", took)
				}
			})
		})
	}
}
