package loadgen

import (
	"aiperf.dev/aiperf/internal/queue"
	"aiperf.dev/aiperf/internal/record"
)

// collect hands the records to emit in the order in which their requests ended,
// until in is closed and empty. Several finishers work at once, so it holds
// back what is ahead of its turn.
func collect(in *queue.Mailbox[finished], emit func(finished)) {
	ahead := map[int64]finished{}
	var next int64
	for {
		f, ok := in.Take()
		if !ok {
			return
		}
		if f.order != next {
			ahead[f.order] = f
			continue
		}
		for ok {
			delete(ahead, next)
			next++
			emit(f)
			f, ok = ahead[next]
		}
	}
}

// emit hands over a record, its details first where they are wanted.
func (j *Job) emit(f finished) {
	if f.rec.Status == record.Unsent {
		j.Unsent(f.rec)
		return
	}
	if j.Keep != nil {
		j.Keep(f.rec, f.detail)
	}
	j.Emit(f.rec)
}
