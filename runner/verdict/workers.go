package verdict

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/internal/words"
)

// mostWorkers bounds how many workers are told apart, and leastOfWorker is how many answers
// say something about one.
const (
	mostWorkers   = 4096
	leastOfWorker = 30
)

// addWorker notes how long an answer took that a worker got.
func (p *PhaseEvidence) addWorker(r *record.Record) {
	v := r.Latency()
	if math.IsNaN(v) || r.Worker < 0 || r.Worker >= mostWorkers {
		return
	}
	if n := int(r.Worker) + 1 - len(p.byWorker); n > 0 {
		p.byWorker = append(p.byWorker, make([][]float64, n)...)
	}
	p.byWorker[r.Worker] = append(p.byWorker[r.Worker], v)
}

// workersAlike compares each worker's median latency with that of all. Workers play one
// schedule in turns, so each has the same load before it and the same moments of the server.
// What chance explains, by a sign test at 1 in 1,000 over all workers, counts as alike.
func workersAlike(p *PhaseEvidence) (Reading, bool) {
	if len(p.byWorker) < 2 {
		return Reading{}, false
	}
	all := slices.Sorted(slices.Values(slices.Concat(p.byWorker...)))
	middle := median(all)
	chance := stats.NormalQuantile(1 - 0.0005/float64(len(p.byWorker)))
	worst, off, told := 0, 0.0, 0
	for k, own := range p.byWorker {
		if len(own) < leastOfWorker {
			continue
		}
		told++
		below, _ := slices.BinarySearch(own, middle)
		n := float64(len(own))
		if math.Abs(float64(below)-n/2) <= chance*math.Sqrt(n)/2 {
			continue
		}
		if d := median(own)/middle - 1; math.Abs(d) > math.Abs(off) {
			worst, off = k, d
		}
	}
	detail := fmt.Sprintf("%d workers have the same latency", len(p.byWorker))
	switch {
	case told == 0:
		detail = fmt.Sprintf("too short to tell whether %d workers have the same latency: it takes %d answers of one",
			len(p.byWorker), leastOfWorker)
	case told < len(p.byWorker):
		detail = fmt.Sprintf("%d of %d workers had the %d answers that it takes to tell, and none of them differs from all", told,
			len(p.byWorker), leastOfWorker)
	}
	if off != 0 {
		than := "higher"
		if off < 0 {
			than = "lower"
		}
		detail = fmt.Sprintf("the median latency at worker %d of %d is %s %s than that of all workers", worst+1,
			len(p.byWorker), words.Percent(math.Abs(off)), than)
	}
	return Reading{
		Value: math.Abs(off), Warn: 0.1, Fail: never, Detail: detail,
		So: ": latencies depend on where the worker is", Try: "check that worker's machine and its network path to the server",
	}, true
}

// workersTogether is how far apart several workers may have begun.
func workersTogether(e *Evidence) []Reading {
	if e.Apart == 0 {
		return nil
	}
	return []Reading{{
		Value: e.Apart, Warn: 10, Fail: never,
		Detail: "the workers began a phase up to " + words.Millis(e.Apart) + " apart",
		Try:    "workers nearer to the coordinator, or on machines that are less busy",
	}}
}

// LostWorker is one that the others went on without.
type LostWorker struct {
	Worker int64
	Of     int     // how many there were
	After  float64 // s, since the beginning
	Why    string
}

// workersLost is the share of workers that was lost. From then on less was sent than was asked for.
func workersLost(e *Evidence) []Reading {
	if len(e.Lost) == 0 {
		return nil
	}
	first := slices.MinFunc(e.Lost, func(a, b LostWorker) int { return cmp.Compare(a.After, b.After) })
	share := float64(len(e.Lost)) / float64(first.Of)
	which := fmt.Sprintf("worker %d of %d (%s of them) was lost after %.3g s: %s", first.Worker+1, first.Of,
		words.Percent(share), first.After, first.Why)
	if n := len(e.Lost); n > 1 {
		which = fmt.Sprintf("%d of %d workers (%s) were lost, the first after %.3g s: %s", n, first.Of, words.Percent(share),
			first.After, first.Why)
	}
	return []Reading{{
		Value: share, Fail: never, Detail: which,
		So: "; from then on less load was sent than was asked for. Requests that were not reported by then are not counted:" +
			" those still open, and those answered just before",
		Try: "on_worker_loss: abort sends such a run again, by as many workers as were asked for",
	}}
}
