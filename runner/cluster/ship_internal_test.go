package cluster

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"aiperf.dev/aiperf/internal/record"
)

// A record is handed on soon, also where no other one follows it: a worker that is lost meanwhile
// had told of it.
func TestTheLastRecordIsToldOfSoon(t *testing.T) {
	t.Parallel()
	b, err := openBus("", "")
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	c := newCoordinator(&Options{Workers: 1}, b)
	if err := c.stream(t.Context()); err != nil {
		t.Fatal(err)
	}
	consumer, err := b.js.CreateOrUpdateConsumer(t.Context(), streamName, jetstream.ConsumerConfig{
		Durable: "coordinator", AckPolicy: jetstream.AckExplicitPolicy,
	})
	if err != nil {
		t.Fatal(err)
	}
	ship := &shipper{w: &worker{conn: b.conn, js: b.js, cut: make(chan struct{})}, run: 3}
	still := ship.every()
	defer still()
	ship.add(&record.Record{RequestID: 5})
	m, err := consumer.Next(jetstream.FetchMaxWait(time.Minute))
	if err != nil {
		t.Fatalf("nothing was handed on: %v", err)
	}
	var got batch
	if err := decode(m.Data(), &got); err != nil || got.Run != 3 || len(got.Records) != 1 ||
		got.Records[0].RequestID != 5 {
		t.Errorf("%v: %+v", err, got)
	}
}
