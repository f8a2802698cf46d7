package otlp

import (
	"cmp"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/metric"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	library "go.opentelemetry.io/otel/sdk/resource"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	wire "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// What a collector receives of drawn values is what OpenTelemetry's own library sends of
// them: sums, gauges and histograms, with their buckets, ends, descriptions and attributes.
func TestAsOpenTelemetry(t *testing.T) {
	t.Parallel()
	for seed := range uint64(8) {
		draw := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // drawn scenarios
		theirs := &wire.MetricsData{}
		srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if err := proto.Unmarshal(body, theirs); err != nil {
				t.Error(err)
			}
		}))
		t.Cleanup(srv.Close)
		out, err := otlpmetrichttp.New(t.Context(), otlpmetrichttp.WithEndpointURL(srv.URL+"/v1/metrics"))
		if err != nil {
			t.Fatal(err)
		}
		provider := sdk.NewMeterProvider(
			sdk.WithReader(sdk.NewPeriodicReader(out, sdk.WithInterval(time.Hour))),
			sdk.WithResource(library.NewSchemaless(attribute.String("service.name", "x"))),
		)
		m := &meter{start: time.Now(), sets: map[string]*set{}, resource: []*common.KeyValue{text("service.name", "x")}}

		meter, scope := provider.Meter("one"), m.scope("one")
		bounds := [][]float64{tokenBounds, firstBounds, defaultBounds}[draw.IntN(3)]
		adds, _ := meter.Int64Counter("adds", metric.WithUnit("{token}"))
		last, _ := meter.Int64Gauge("last", metric.WithDescription("The last one."))
		part, _ := meter.Float64Gauge("part")
		falls, _ := meter.Float64Histogram("falls", metric.WithUnit("s"), metric.WithExplicitBucketBoundaries(bounds...))
		none, _ := meter.Int64Counter("none")
		_ = none // what counted nothing is not sent
		mine := []*instrument{
			scope.instrument(sum, "adds", "{token}", ""),
			scope.instrument(wholes, "last", "", "The last one."),
			scope.instrument(gauge, "part", "", ""),
			scope.instrument(histogram, "falls", "s", "", bounds...),
		}
		scope.instrument(sum, "none", "", "")
		for range 1 + draw.IntN(200) {
			name, port, failed := fmt.Sprint(draw.IntN(3)), draw.IntN(2)*300, draw.IntN(2) == 0
			with := metric.WithAttributes(
				attribute.String("name", name), attribute.Int("port", port), attribute.Bool("failed", failed),
			)
			of := m.set(text("name", name), whole("port", port), yesno("failed", failed))
			n, v := draw.Int64N(5000), draw.ExpFloat64()*bounds[draw.IntN(len(bounds))]
			if draw.IntN(4) == 0 {
				v = bounds[draw.IntN(len(bounds))] // just at the end of a bucket
			}
			adds.Add(t.Context(), n, with)
			last.Record(t.Context(), n, with)
			part.Record(t.Context(), v, with)
			falls.Record(t.Context(), v, with)
			for i, v := range []float64{float64(n), float64(n), v, v} {
				mine[i].add(of, v)
			}
		}
		if err := provider.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		ours := m.message(time.Now())
		if diff := gocmp.Diff(sorted(theirs), sorted(ours), protocmp.Transform(), nearly); diff != "" {
			t.Fatalf("seed %d (-library +this):\n%s", seed, diff)
		}
	}
}

// nearly: the library adds the values of a histogram in shares, in another order.
var nearly = cmpopts.EquateApprox(1e-12, 0)

// sorted is a message without moments, its series and attributes in one order.
func sorted(m *wire.MetricsData) *wire.MetricsData {
	for _, r := range m.ResourceMetrics {
		for _, s := range r.ScopeMetrics {
			for _, x := range s.Metrics {
				numbers := [][]*wire.NumberDataPoint{x.GetSum().GetDataPoints(), x.GetGauge().GetDataPoints()}
				for _, list := range numbers {
					slices.SortFunc(list, byAttributes)
					for _, p := range list {
						p.StartTimeUnixNano, p.TimeUnixNano = 0, 0
					}
				}
				list := x.GetHistogram().GetDataPoints()
				slices.SortFunc(list, byAttributes)
				for _, p := range list {
					p.StartTimeUnixNano, p.TimeUnixNano = 0, 0
				}
			}
			slices.SortFunc(s.Metrics, func(a, b *wire.Metric) int { return cmp.Compare(a.Name, b.Name) })
		}
	}
	return m
}

// byAttributes orders points.
func byAttributes[P interface{ GetAttributes() []*common.KeyValue }](a, b P) int {
	return cmp.Compare(key(a.GetAttributes()), key(b.GetAttributes()))
}

func key(list []*common.KeyValue) string {
	slices.SortFunc(list, func(a, b *common.KeyValue) int { return cmp.Compare(a.Key, b.Key) })
	out := ""
	for _, a := range list {
		out += fmt.Sprintln(a.Key, a.Value.GetStringValue(), a.Value.GetIntValue(), a.Value.GetBoolValue())
	}
	return out
}

// A server that names another model in every answer does not make messages grow: what
// comes after the first sets of attributes is counted together, and nothing is lost.
func TestOverflow(t *testing.T) {
	t.Parallel()
	m := &meter{sets: map[string]*set{}}
	adds := m.scope("one").instrument(sum, "adds", "", "")
	for i := range 3 * maxSets {
		adds.add(m.set(text("model", fmt.Sprint(i))), 1)
	}
	points := m.message(time.Now()).ResourceMetrics[0].ScopeMetrics[0].Metrics[0].GetSum().DataPoints
	if len(points) != maxSets+1 {
		t.Errorf("%d series, want %d", len(points), maxSets+1)
	}
	if last := points[len(points)-1]; last.GetAsInt() != 2*maxSets || last.Attributes[0].Key != "otel.metric.overflow" {
		t.Errorf("the last series is %v", last)
	}
}

// Sets are told apart by every attribute.
func TestSets(t *testing.T) {
	t.Parallel()
	m := &meter{sets: map[string]*set{}}
	lists := [][]*common.KeyValue{
		{},
		{text("a", "")},
		{text("a", "b")},
		{text("a", "b"), text("c", "")},
		{text("a", ""), text("b", "c")},
		{whole("a", 0)},
		{whole("a", 1)},
		{whole("a", 128)},
		{whole("a", 16384)},
		{yesno("b", false)},
		{yesno("b", true)},
	}
	seen := map[*set]int{}
	for i, list := range lists {
		of := m.set(list...)
		if was, ok := seen[of]; ok {
			t.Errorf("%v and %v are one set", lists[was], list)
		}
		seen[of] = i
		if m.set(list...) != of {
			t.Errorf("%v is two sets", list)
		}
	}
}
