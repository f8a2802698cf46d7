package otlp

import (
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	wire "go.opentelemetry.io/proto/otlp/metrics/v1"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"
)

// maxSets bounds the sets of attributes that are told apart, and with them what one message
// holds, whatever servers answer. What comes later is counted together, as the overflow.
const maxSets = 2000

// meter holds all that was counted since start: a message is a picture of it, so that one
// that is lost costs moments and not counts.
type meter struct {
	resource []*common.KeyValue
	start    time.Time

	mu     sync.Mutex // of all below
	scopes []*scope
	sets   map[string]*set
	room   strings.Builder
}

// scope is a part of the program whose metrics belong together. A nil one has instruments
// that count nothing.
type scope struct {
	name string
	all  []*instrument
}

// instrument counts one metric. Its methods are called under the meter's lock; a nil one
// counts nothing.
type instrument struct {
	name, unit, doc string
	shape           shape
	bounds          []float64 // of a histogram: upper ends of its buckets, which belong to them
	series          map[*set]*series
	order           []*set // of the series, by age
}

// shape is what becomes of an instrument's values.
type shape int

const (
	sum       shape = iota // whole numbers that add up
	gauge                  // the last one, a fraction
	wholes                 // the last one, a whole number
	histogram              // how many fell into each bucket
)

// series is what one instrument counted for one set of attributes.
type series struct {
	value    float64 // of a sum and of a gauge: exact up to 2^53
	total    float64 // of a histogram, as all below
	min, max float64
	buckets  []uint64 // one more than the bounds
}

// set is a list of attributes; two lists that say the same are one set.
type set struct{ attributes []*common.KeyValue }

// overflow marks what has no set of its own, as the specification calls it.
var overflow = &set{attributes: []*common.KeyValue{{
	Key: "otel.metric.overflow", Value: &common.AnyValue{Value: &common.AnyValue_BoolValue{BoolValue: true}},
}}}

// defaultBounds are the specification's for histograms that say none.
var defaultBounds = []float64{0, 5, 10, 25, 50, 75, 100, 250, 500, 750, 1000, 2500, 5000, 7500, 10000}

func text(key, value string) *common.KeyValue {
	return &common.KeyValue{Key: key, Value: &common.AnyValue{
		Value: &common.AnyValue_StringValue{StringValue: strings.ToValidUTF8(value, "\uFFFD")},
	}}
}

func whole(key string, value int) *common.KeyValue {
	return &common.KeyValue{Key: key, Value: &common.AnyValue{Value: &common.AnyValue_IntValue{IntValue: int64(value)}}}
}

func yesno(key string, value bool) *common.KeyValue {
	return &common.KeyValue{Key: key, Value: &common.AnyValue{Value: &common.AnyValue_BoolValue{BoolValue: value}}}
}

// scope begins one.
func (m *meter) scope(name string) *scope {
	s := &scope{name: name}
	m.scopes = append(m.scopes, s)
	return s
}

func (s *scope) instrument(shape shape, name, unit, doc string, bounds ...float64) *instrument {
	if s == nil {
		return nil
	}
	i := &instrument{name: name, unit: unit, doc: doc, shape: shape, bounds: bounds, series: map[*set]*series{}}
	s.all = append(s.all, i)
	return i
}

// set is the one of these attributes, whose values only this package makes. The meter's
// lock is held.
func (m *meter) set(attributes ...*common.KeyValue) *set {
	key := &m.room
	key.Reset()
	for _, a := range attributes {
		key.WriteString(a.Key)
		key.WriteByte(0)
		switch v := a.Value.Value.(type) {
		case *common.AnyValue_StringValue:
			key.WriteByte('s')
			key.WriteString(v.StringValue)
		case *common.AnyValue_BoolValue:
			if v.BoolValue {
				key.WriteByte(1)
			}
		case *common.AnyValue_IntValue:
			key.WriteByte('n')
			for n := uint64(v.IntValue); n > 0; n >>= 7 { //nolint:gosec // a port or a trial
				key.WriteByte(byte(n&0x7f) | 0x80)
			}
		}
		key.WriteByte(0)
	}
	if s := m.sets[key.String()]; s != nil {
		return s
	}
	if len(m.sets) >= maxSets {
		return overflow
	}
	s := &set{attributes: slices.Clone(attributes)}
	m.sets[key.String()] = s
	return s
}

// add counts a value: a sum grows by it, a gauge becomes it, a histogram has one more.
func (i *instrument) add(of *set, v float64) {
	if i == nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return
	}
	s := i.series[of]
	if s == nil {
		s = &series{min: v, max: v}
		if i.shape == histogram {
			s.buckets = make([]uint64, len(i.bounds)+1)
		}
		i.series[of] = s
		i.order = append(i.order, of)
	}
	switch i.shape {
	case sum:
		s.value += v
	case gauge, wholes:
		s.value = v
	case histogram:
		s.total += v
		s.min, s.max = min(s.min, v), max(s.max, v)
		n, _ := slices.BinarySearch(i.bounds, v)
		s.buckets[n]++
	}
}

// message is all that was counted until now. Nothing in it changes later.
func (m *meter) message(now time.Time) *wire.MetricsData {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := &wire.ResourceMetrics{Resource: &resource.Resource{Attributes: m.resource}}
	for _, s := range m.scopes {
		part := &wire.ScopeMetrics{Scope: &common.InstrumentationScope{Name: s.name}}
		for _, i := range s.all {
			if len(i.order) > 0 {
				part.Metrics = append(part.Metrics, i.metric(nano(m.start), nano(now)))
			}
		}
		if len(part.Metrics) > 0 {
			out.ScopeMetrics = append(out.ScopeMetrics, part)
		}
	}
	return &wire.MetricsData{ResourceMetrics: []*wire.ResourceMetrics{out}}
}

// nano is a moment in nanoseconds since 1970.
func nano(t time.Time) uint64 { return uint64(max(0, t.UnixNano())) } //nolint:gosec // not below 0

func (i *instrument) metric(start, now uint64) *wire.Metric {
	out := &wire.Metric{Name: i.name, Unit: i.unit, Description: i.doc}
	if i.shape == histogram {
		h := &wire.Histogram{AggregationTemporality: wire.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE}
		for _, of := range i.order {
			s := i.series[of]
			p := &wire.HistogramDataPoint{
				Attributes: of.attributes, StartTimeUnixNano: start, TimeUnixNano: now,
				ExplicitBounds: i.bounds, BucketCounts: slices.Clone(s.buckets),
				Sum: new(s.total), Min: new(s.min), Max: new(s.max),
			}
			for _, n := range s.buckets {
				p.Count += n
			}
			h.DataPoints = append(h.DataPoints, p)
		}
		out.Data = &wire.Metric_Histogram{Histogram: h}
		return out
	}
	points := make([]*wire.NumberDataPoint, 0, len(i.order))
	for _, of := range i.order {
		p := &wire.NumberDataPoint{Attributes: of.attributes, StartTimeUnixNano: start, TimeUnixNano: now}
		if v := i.series[of].value; i.shape == gauge {
			p.Value = &wire.NumberDataPoint_AsDouble{AsDouble: v}
		} else {
			p.Value = &wire.NumberDataPoint_AsInt{AsInt: int64(v)}
		}
		points = append(points, p)
	}
	if i.shape == sum {
		out.Data = &wire.Metric_Sum{Sum: &wire.Sum{
			DataPoints: points, IsMonotonic: true,
			AggregationTemporality: wire.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE,
		}}
	} else {
		out.Data = &wire.Metric_Gauge{Gauge: &wire.Gauge{DataPoints: points}}
	}
	return out
}
