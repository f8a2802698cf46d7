package record

import "math"

// ms is the span from a to b in milliseconds, NaN when either is missing.
func ms(a, b int64) float64 {
	if a == None || b == None {
		return math.NaN()
	}
	return float64(b-a) / 1e6
}

// TTFT is first content − sent, in ms. Only for streamed answers.
func (r *Record) TTFT() float64 { return r.ifStreamed(ms(r.Sent, r.FirstToken)) }

// TTFO is first content that is not reasoning − sent, in ms.
func (r *Record) TTFO() float64 { return r.ifStreamed(ms(r.Sent, r.FirstOutput)) }

// Latency is last content − sent, in ms; usage chunk and end mark do not count.
func (r *Record) Latency() float64 { return ms(r.Sent, r.LastToken) }

// Decode is latency − TTFT, in ms.
func (r *Record) Decode() float64 { return r.ifStreamed(ms(r.FirstToken, r.LastToken)) }

// ITL is (latency − TTFT) / (OSL − 1), in ms; absent below two tokens.
func (r *Record) ITL() float64 {
	if r.OSL == None || r.OSL < 2 {
		return math.NaN()
	}
	return r.Decode() / float64(r.OSL-1)
}

// FullDecode is the end of the answer − first content, in ms: what comes after the last content,
// such as a usage chunk, counts.
func (r *Record) FullDecode() float64 { return r.ifStreamed(ms(r.FirstToken, r.End)) }

// FullITL is FullDecode / (OSL − 1), in ms; absent below two tokens.
func (r *Record) FullITL() float64 {
	if r.OSL == None || r.OSL < 2 {
		return math.NaN()
	}
	return r.FullDecode() / float64(r.OSL-1)
}

// TTFTFromIntended is TTFT as the schedule saw it, in ms: a client or a cap
// that delays the sending cannot hide in it.
func (r *Record) TTFTFromIntended() float64 { return r.ifStreamed(ms(r.Intended, r.FirstToken)) }

// TTFOFromIntended is TTFO as the schedule saw it, in ms.
func (r *Record) TTFOFromIntended() float64 { return r.ifStreamed(ms(r.Intended, r.FirstOutput)) }

// LatencyFromIntended is Latency as the schedule saw it, in ms.
func (r *Record) LatencyFromIntended() float64 { return ms(r.Intended, r.LastToken) }

// DispatchLateness is sent − max(intended, admitted) − connecting, in ms: the client's
// own fault. Any client that needs a connection waits for it to open.
func (r *Record) DispatchLateness() float64 {
	return ms(max(r.Intended, r.Admitted), r.Sent) - r.ConnectTime()
}

// ConnectTime is how long its connection was being opened before it was sent, in ms; 0 on a kept one.
func (r *Record) ConnectTime() float64 { return float64(max(r.Connecting, 0)) / 1e6 }

// AdmissionWait is admitted − intended, in ms, at least 0: the cap's doing.
func (r *Record) AdmissionWait() float64 {
	w := ms(r.Intended, r.Admitted)
	if w < 0 {
		return 0
	}
	return w
}

func (r *Record) ifStreamed(v float64) float64 {
	if !r.Streamed {
		return math.NaN()
	}
	return v
}
