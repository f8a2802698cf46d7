package metrics

import (
	"math"

	"aiperf.dev/aiperf/internal/record"
)

// images is the number of pictures in the request.
func images(r *record.Record) float64 { return some(r.Images) }

// items counts what an answer holds, if it is of a kind.
func items(kind string) func(*record.Record) float64 {
	return func(r *record.Record) float64 {
		if r.ItemKind != kind {
			return math.NaN()
		}
		return some(r.Items)
	}
}

// ofFilms is a time of requests that made a video.
func ofFilms(of func(*record.Record) float64) func(*record.Record) float64 {
	return func(r *record.Record) float64 {
		if r.ItemKind != record.Films {
			return math.NaN()
		}
		return of(r)
	}
}

// firstPartial is when the first of several versions of a picture came, in ms
// since sent; the only one is no partial image.
func firstPartial(r *record.Record) float64 {
	if r.ItemKind != record.Pictures || !r.Streamed || len(r.Chunks) < 2 || !r.Chunks[1].IsContent() {
		return math.NaN()
	}
	return spanMS(r.Sent, r.FirstToken)
}

// itemRate is rate for what most APIs have nothing of: without a success nobody
// knows whether there would have been any.
func itemRate(tag string) func(*Totals) float64 {
	return func(t *Totals) float64 {
		if t.OK == 0 {
			return math.NaN()
		}
		return per(t.came(tag), t.Seconds)
	}
}
