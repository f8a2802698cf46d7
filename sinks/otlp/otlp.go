// Package otlp sends metrics to an OpenTelemetry collector while they are measured: OTLP
// over HTTP, every two seconds, cumulative. In go records and snapshots of the engine;
// out go the semantic conventions' client metrics of generative AI, of the version that
// is asked for, and AIPerf's own (aiperf.TAG, aiperf.timing.…) for what these lack. All
// times are in seconds.
package otlp

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	"google.golang.org/protobuf/proto"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen"
)

// Config is what is sent where.
type Config struct {
	URL      string      // of the collector's metrics
	Resource [][2]string // attributes of all metrics
	Records  bool        // metrics of requests
	Timing   bool        // counts of requests, and what is under way
	Provider string      // gen_ai.provider.name; "" is found from the server's address
	Semconv  Version
}

// Version is one of the semantic conventions of generative AI.
type Version string

// The versions: what dashboards of today know, and what the conventions go on with.
const (
	V141 Version = "1.41"
	Next Version = "next"
)

const (
	interval = 2 * time.Second  // AIPerf's
	patience = 10 * time.Second // for one message
)

// Exporter sends. It is not for concurrent use.
type Exporter struct {
	config  Config
	meter   *meter
	records *recorder
	timing  *timing
	to      *sender

	over chan struct{} // closed when no further message is to be begun
	done sync.WaitGroup
	stop context.CancelFunc // of the message that is under way

	// Of messages; the goroutine that sends owns them until it is done.
	sent, lost int
	why        error // of the first that was lost
}

// Open begins to send. Whether the collector takes it shows Probe beforehand, and Close at
// the end: one that is there later is sent what was counted from the first request on.
func Open(ctx context.Context, c Config) (*Exporter, error) {
	to, err := newSender(c.URL)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	e := &Exporter{config: c, to: to, over: make(chan struct{}), stop: stop, meter: &meter{
		start: time.Now(), sets: map[string]*set{},
	}}
	for _, a := range c.Resource { // the last one of a name holds
		same := func(x *common.KeyValue) bool { return x.Key == a[0] }
		e.meter.resource = append(slices.DeleteFunc(e.meter.resource, same), text(a[0], a[1]))
	}
	var records, timed *scope
	if c.Records {
		records = e.meter.scope("aiperf.records")
	}
	if c.Timing {
		timed = e.meter.scope("aiperf.timing")
	}
	e.records, e.timing = newRecorder(e.meter, records, c), newTiming(e.meter, timed)
	e.done.Go(func() { e.send(ctx) })
	return e, nil
}

// send sends a message every now and then.
func (e *Exporter) send(ctx context.Context) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-e.over:
			return
		case <-tick.C:
			e.message(ctx)
		}
	}
}

// message sends all that was counted. What does not arrive is contained in the next one,
// whose counts go on from the first: nothing is lost but moments.
func (e *Exporter) message(ctx context.Context) {
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	m := e.meter.message(time.Now())
	if len(m.ResourceMetrics[0].ScopeMetrics) == 0 {
		return
	}
	body, err := proto.Marshal(m)
	if err == nil {
		err = e.to.post(ctx, body)
	}
	e.sent++
	if err != nil {
		e.lost++
		if e.why == nil {
			e.why = err
		}
	}
}

// Begin says of what the records are that follow.
func (e *Exporter) Begin(r Run) {
	e.records.operation = operation(r.Endpoint)
	run := []*common.KeyValue{text("aiperf.cell", r.Cell), whole("aiperf.trial", r.Trial+1)}
	e.records.run, e.timing.run = run, run
}

// Record adds a request that is over.
func (e *Exporter) Record(r *record.Record) {
	e.meter.mu.Lock()
	defer e.meter.mu.Unlock()
	e.timing.record(r)
	if e.config.Records && r.Part() != record.InUnsent {
		e.records.record(r)
	}
}

// Snapshot says what is under way.
func (e *Exporter) Snapshot(s loadgen.Snapshot) {
	e.meter.mu.Lock()
	defer e.meter.mu.Unlock()
	e.timing.snapshot(s)
}

// Close sends what is left. The error says what was not taken. When ctx ends, so does the
// message that is under way.
func (e *Exporter) Close(ctx context.Context) error {
	defer e.to.close()
	close(e.over)
	defer context.AfterFunc(ctx, e.stop)()
	e.done.Wait()
	e.message(ctx)
	e.stop()
	if e.lost > 0 {
		return fmt.Errorf("%d of %d messages were not taken: %w", e.lost, e.sent, e.why)
	}
	return nil
}

// Probe sends a message without metrics, which every collector takes. The error says why
// one does not take what it would be sent.
func Probe(ctx context.Context, to string) error {
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	s, err := newSender(to)
	if err != nil {
		return err
	}
	defer s.close()
	return s.post(ctx, nil)
}
