// Package otlp sends metrics to an OpenTelemetry collector while they are measured: OTLP
// over HTTP, every two seconds, cumulative. In go records and snapshots of the engine;
// out go the semantic conventions' client metrics of generative AI, of the version that
// is asked for, and AIPerf's own (aiperf.TAG, aiperf.timing.…) for what these lack. All
// times are in seconds.
package otlp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"

	"aiperf.dev/aiperf/internal/secret"
	"aiperf.dev/aiperf/internal/words"

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
	// maxSeries bounds what one message holds, whatever servers answer.
	maxSeries = 2000
)

// Exporter sends. It is not for concurrent use. It is an interface so that the package which
// holds one does not compile the library's generic types once more.
type Exporter interface {
	// Begin says of what the records are that follow.
	Begin(r Run)
	// Record adds a request that is over.
	Record(r *record.Record)
	// Snapshot says what is under way.
	Snapshot(s loadgen.Snapshot)
	// Close sends what is left. The error says what was not taken.
	Close(ctx context.Context) error
}

// exporter is OpenTelemetry's.
type exporter struct {
	config   Config
	provider *sdk.MeterProvider
	records  *recorder
	timing   *timing
	failed   *failures
}

// failures counts messages that were not taken; the first reason is told.
type failures struct {
	sdk.Exporter
	sent, lost int
	why        error
}

// Export sends a message. What could not be sent is contained in the next one, whose
// counts go on from the first: nothing is lost but moments.
func (f *failures) Export(ctx context.Context, m *metricdata.ResourceMetrics) error {
	err := f.Exporter.Export(ctx, m)
	f.sent++
	if err != nil {
		f.lost++
		if f.why == nil {
			f.why = err
		}
	}
	return err
}

// Open begins to send. Whether the collector takes it shows Probe beforehand, and Close at
// the end: one that is there later is sent what was counted from the first request on.
func Open(ctx context.Context, c Config) (Exporter, error) {
	// What the environment says of exporters (OTEL_EXPORTER_OTLP_HEADERS and others) holds here, too.
	out, err := otlpmetrichttp.New(ctx, otlpmetrichttp.WithEndpointURL(c.URL), otlpmetrichttp.WithTimeout(patience),
		otlpmetrichttp.WithRetry(otlpmetrichttp.RetryConfig{Enabled: false}))
	if err != nil {
		return nil, err
	}
	e := &exporter{config: c, failed: &failures{Exporter: out}}
	var attrs []attribute.KeyValue
	for _, a := range c.Resource {
		attrs = append(attrs, attribute.String(a[0], a[1]))
	}
	e.provider = sdk.NewMeterProvider(
		sdk.WithReader(sdk.NewPeriodicReader(e.failed, sdk.WithInterval(interval), sdk.WithTimeout(patience))),
		sdk.WithResource(resource.NewSchemaless(attrs...)), sdk.WithCardinalityLimit(maxSeries),
	)
	var meter metric.Meter = noop.Meter{}
	if c.Records {
		meter = e.provider.Meter("aiperf.records")
	}
	if e.records, err = newRecorder(meter, c); err != nil {
		return nil, err
	}
	meter = noop.Meter{}
	if c.Timing {
		meter = e.provider.Meter("aiperf.timing")
	}
	if e.timing, err = newTiming(meter); err != nil {
		return nil, err
	}
	return e, nil
}

func (e *exporter) Close(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	err := e.provider.Shutdown(ctx)
	switch {
	case e.failed.lost > 0:
		return fmt.Errorf("%d of %d messages were not taken: %s", e.failed.lost, e.failed.sent, told(e.failed.why))
	case err != nil:
		return fmt.Errorf("%s", told(err))
	}
	return nil
}

// Probe sends a message without metrics, which every collector takes. The error says why
// one does not take what it would be sent.
func Probe(ctx context.Context, to string) error {
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, http.NoBody)
	if err != nil {
		return fmt.Errorf("%s", told(err))
	}
	req.Header.Set("Content-Type", "application/x-protobuf")
	for name, value := range environmentHeaders() {
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("%s", told(err))
	}
	defer res.Body.Close() //nolint:errcheck // only read
	said, _ := io.ReadAll(io.LimitReader(res.Body, 4096))
	if res.StatusCode/100 != 2 {
		return fmt.Errorf("it answers %s", told(fmt.Errorf("%d: %s", res.StatusCode, strings.TrimSpace(string(said)))))
	}
	return nil
}

// told is an error as people may read it: one line, without credentials.
func told(err error) string {
	var of *url.Error // it names the address, which is said already
	if errors.As(err, &of) {
		err = of.Err
	}
	return words.Clip(secret.Shapes(err.Error()), 200)
}

// environmentHeaders are those that the environment asks exporters to send, as the
// exporter itself reads them.
func environmentHeaders() map[string]string {
	out := map[string]string{}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_METRICS_HEADERS"} {
		for pair := range strings.SplitSeq(os.Getenv(name), ",") {
			if key, value, ok := strings.Cut(pair, "="); ok {
				if v, err := url.PathUnescape(strings.TrimSpace(value)); err == nil {
					out[strings.TrimSpace(key)] = v
				}
			}
		}
	}
	return out
}
