package loadgen

import "aiperf.dev/aiperf/internal/record"

// collect hands the records to emit in the order in which their requests ended,
// until in is closed and empty. Several finishers work at once, so it holds
// back what is ahead of its turn.
func collect(in *mailbox[finished], emit func(*record.Record)) {
	ahead := map[int64]*record.Record{}
	var next int64
	for {
		f, ok := in.take()
		if !ok {
			return
		}
		if f.order != next {
			ahead[f.order] = f.rec
			continue
		}
		for rec := f.rec; rec != nil; rec = ahead[next] {
			delete(ahead, next)
			next++
			emit(rec)
		}
	}
}
