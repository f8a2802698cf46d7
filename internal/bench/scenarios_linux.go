package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// scenario is a group of rows that one kind of load gives.
type scenario struct {
	name string
	run  func(*bencher) ([]row, error)
}

func scenarios() []scenario {
	return []scenario{
		{"short answers", short},
		{"burst streams", burstStreams},
		{"paced streams", paced},
		{"constant rate", constant},
		{"poisson", poisson},
		{"burst of requests", burst},
		{"turnaround", turnaround},
		{"pause", pause},
		{"truth", truth},
		{"records", records},
		{"start and exit", startAndExit},
	}
}

func cpuPerRequest(o *outcome) float64 { return o.CPU / float64(o.Requests) }
func cpuPerEvent(o *outcome) float64   { return o.CPU / float64(o.Events) }

// short: whole answers on 64 connections, closed loop.
func short(b *bencher) ([]row, error) {
	j := job{Path: "json", Conns: 64, Warm: b.seconds(0.4, 0.2), Measure: b.seconds(1, 0.4)}
	var o, whole outcomes
	for range b.rounds(3) {
		for i, client := range []string{"aiperf", "net/http", "raw", "engine"} {
			one, err := b.run(client, j)
			if err != nil {
				return nil, err
			}
			if i == 3 {
				whole[0] = append(whole[0], one)
			} else {
				o[i] = append(o[i], one)
			}
		}
	}
	whole[1] = o[1]
	return []row{
		rowOf("short answer, 64 connections: CPU a request", "µs", "≤ 7.5 µs, ≤ 0.35 ×", o, median, cpuPerRequest),
		rowOf("the same with schedule, record and journal", "µs", "≤ 15 µs", whole, median, cpuPerRequest),
	}, nil
}

// burstStreams: 1,000 events in one piece.
func burstStreams(b *bencher) ([]row, error) {
	j := job{
		Path: "burst/1000", Stream: true, Events: 1000, Conns: 16, Warm: b.seconds(0.4, 0.2),
		Measure: b.seconds(1, 0.4),
	}
	o, err := b.three("aiperf", j, 3)
	if err != nil {
		return nil, err
	}
	return []row{rowOf("stream of 1,000 events at once: CPU a chunk", "µs", "≤ 0.3 µs", o, median, cpuPerEvent)}, nil
}

// paced: streams of one event each 20 ms.
func paced(b *bencher) (rows []row, err error) {
	const gap = 20 * time.Millisecond
	for _, c := range []struct {
		streams, rounds int
		aim             string
	}{{100, 3, "≤ 0.5 ×"}, {1000, 3, "≤ 0.85 ×"}, {4000, 1, ""}} {
		if b.quick && c.streams > 1000 {
			continue
		}
		j := job{Stream: true, Conns: c.streams, Rounds: 1, Warm: b.seconds(0.5, 0.4), Measure: b.seconds(1, 0.5)}
		j.Events = int((j.Warm+j.Measure+300*time.Millisecond)/gap) + 1
		j.Path = fmt.Sprintf("sse/%d/%d/%[2]d/%[2]d", j.Events, gap.Microseconds())
		o, err := b.three("aiperf", j, c.rounds)
		if err != nil {
			return nil, err
		}
		name := fmt.Sprintf("%d streams, an event each 20 ms: ", c.streams)
		rows = append(rows,
			rowOf(name+"CPU a chunk", "µs", c.aim, o, median, cpuPerEvent),
			rowOf(name+"error of the stamps, p50", "µs", "", o, median, func(o *outcome) float64 { return o.Stamp50 }),
			rowOf(name+"error of the stamps, p99", "µs", "≤ 15 µs", o, best,
				func(o *outcome) float64 { return o.Stamp99 }),
			rowOf(name+"memory a stream, its answer so far included", "KB", "", outcomes{o[0], o[1], nil},
				median, func(o *outcome) float64 { return o.KB }))
	}
	return rows, nil
}

// constant: a request each 1/rate.
func constant(b *bencher) (rows []row, err error) {
	for _, rate := range []int{200, 1000, 5000} {
		n := int(b.seconds(1.2, 0.5).Seconds() * float64(rate))
		o, err := b.three("engine", job{Path: "json", N: n, Rate: float64(rate)}, 3)
		if err != nil {
			return nil, err
		}
		name := fmt.Sprintf("constant %d/s: ", rate)
		rows = append(rows,
			rowOf(fmt.Sprintf("%sarrivals of %d", name, n), "", "all", o, fewest,
				func(o *outcome) float64 { return float64(o.Requests) }),
			rowOf(name+"arrival after its time, p50", "ms", "≤ 0.1 ms", o, median,
				func(o *outcome) float64 { return o.Late50 }),
			rowOf(name+"p99", "ms", "≤ 0.5 ms", o, best, func(o *outcome) float64 { return o.Late99 }))
	}
	return rows, nil
}

// poisson: random arrivals, as the server sees them. The aim for D is a
// question of numbers: by chance alone it is below 1.36/√n in 95 of 100 cases,
// which is 0.024 for 3,200.
func poisson(b *bencher) ([]row, error) {
	o, err := b.three("engine", job{Path: "json", N: int(b.seconds(6.4, 1).Seconds() * 500), Rate: 500, Poisson: true},
		1)
	if err != nil {
		return nil, err
	}
	return []row{
		rowOf(fmt.Sprintf("Poisson 500/s: Kolmogorov–Smirnov D of %d gaps", o[0][0].Requests-1), "",
			fmt.Sprintf("< %.3f", o[0][0].Critical), o, median, func(o *outcome) float64 { return o.D }),
		rowOf("Poisson 500/s: arrival after its time, p99", "ms", "≤ 0.5 ms", o, best,
			func(o *outcome) float64 { return o.Late99 }),
	}, nil
}

// burst: 1,000 first requests at once.
func burst(b *bencher) ([]row, error) {
	o, err := b.three("engine", job{Path: "sse/1/0/300000", Stream: true, Events: 1, N: 1000}, 3)
	if err != nil {
		return nil, err
	}
	return []row{rowOf("burst of 1,000: first to last arrival", "ms", "≤ 25 ms", o, median,
		func(o *outcome) float64 { return o.Spread })}, nil
}

// turnaround: 1,000 streams that begin and end together, again and again.
func turnaround(b *bencher) ([]row, error) {
	j := job{Path: "sse/50/20000/100000", Stream: true, Events: 50, Conns: 1000, Rounds: 4}
	if b.quick {
		j.Path, j.Events, j.Rounds = "sse/10/20000/100000", 10, 3
	}
	engine, err := b.alone("engine", j, 2)
	if err != nil {
		return nil, err
	}
	o := outcomes{engine}
	name := "1,000 streams that end together: from one's end to the next one's sending, "
	return []row{
		rowOf(name+"p50", "ms", "", o, best, func(o *outcome) float64 { return o.Turn50 }),
		rowOf(name+"p99", "ms", "", o, best, func(o *outcome) float64 { return o.Turn99 }),
	}, nil
}

// pause: 200/s with a cap of 8, and a server that stands still for a second.
func pause(b *bencher) ([]row, error) {
	long := b.seconds(16, 2)
	j := job{
		Path: "json", N: int(long.Seconds() * 200), Rate: 200, Conns: 8,
		PauseAt: long / 4, PauseFor: b.seconds(1, 0.2),
	}
	o, err := b.three("engine", j, 1)
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("200/s, cap 8, server pauses %v of %v: ", j.PauseFor, long)
	return []row{
		rowOf(name+"p99 from the due time", "ms", "log ± 5 %", o, median, func(o *outcome) float64 { return o.Told99 }),
		rowOf(name+"the same by the server's log", "ms", "", o, median, func(o *outcome) float64 { return o.Log99 }),
		rowOf(name+"p99 of the service alone", "ms", "", o, median, func(o *outcome) float64 { return o.Service99 }),
	}, nil
}

// truth: TTFT 100 ms, gap 10 ms, 64 events.
func truth(b *bencher) (rows []row, err error) {
	for _, c := range []int{1, 200} {
		j := job{Path: "sse/64/10000/100000", Stream: true, Events: 64, Conns: c, Rounds: 3}
		if b.quick {
			j.Path, j.Events, j.Rounds = "sse/16/10000/100000", 16, 2
		}
		o, err := b.three("engine", j, 1)
		if err != nil {
			return nil, err
		}
		name := fmt.Sprintf("TTFT 100 ms, gap 10 ms, %d at once: ", c)
		rows = append(rows,
			rowOf(name+"TTFT too high, p50", "ms", "≤ 0.2 ms", o, median, func(o *outcome) float64 { return o.TTFT50 }),
			rowOf(name+"TTFT too high, p99", "ms", "≤ 1 ms", o, median, func(o *outcome) float64 { return o.TTFT99 }),
			rowOf(name+"ITL too high, p50", "ms", "≤ 0.02 ms", o, median, func(o *outcome) float64 { return o.ITL50 }))
	}
	return rows, nil
}

// profile runs the whole program against the server.
func (b *bencher) profile(args ...string) (*exec.Cmd, error) {
	exe, err := b.program()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(b.home, "results")
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(b.ctx, exe, append([]string{
		"profile", "-m", "m", "-u", "http://" + b.addr + "/json", "--tokenizer", "builtin", "--isl", "16", "--osl", "1",
		"--random-seed", "1", "--allow-invalid", "--artifact-dir", dir,
	}, args...)...)
	return cmd, nil
}

// records: the whole program, from its start to its last file.
func records(b *bencher) ([]row, error) {
	n := 100000
	if b.quick {
		n = 10000
	}
	cmd, err := b.profile("--concurrency", "64", "--request-count", strconv.Itoa(n))
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	took := time.Since(began)
	used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	rss := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss
	one := func(what, unit, aim string, v float64) row {
		return row{
			what:    fmt.Sprintf("%d short requests, the whole program: %s", n, what),
			figures: [3]float64{v, absent, absent}, unit: unit, aim: aim,
		}
	}
	return []row{
		one("CPU a request, files included", "µs", "≤ 15 µs", float64(used.Microseconds())/float64(n)),
		one("wall time", "s", "", took.Seconds()),
		one("largest resident size", "MB", "", float64(rss)/1024),
	}, nil
}

// startAndExit: what ten requests cost, and how long the program takes around them.
func startAndExit(b *bencher) ([]row, error) {
	var first, last, used []float64
	for range 3 {
		cmd, err := b.profile("--concurrency", "1", "--request-count", "10")
		if err != nil {
			return nil, err
		}
		if _, err := serverLog(b.addr); err != nil {
			return nil, err
		}
		began := wall()
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%w: %s", err, out)
		}
		ended := wall()
		log, err := serverLog(b.addr)
		if err != nil {
			return nil, err
		}
		lo, hi := ended, began
		for _, l := range log {
			lo, hi = min(lo, l.krx), max(hi, l.last)
		}
		first, last = append(first, float64(lo-began)/1e6), append(last, float64(ended-hi)/1e6)
		used = append(used, (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds())
	}
	least := func(what, unit, aim string, v []float64) row {
		return row{
			what:    "a run of 10 requests: " + what + ", best of 3",
			figures: [3]float64{min(v[0], v[1], v[2]), absent, absent}, unit: unit, aim: aim,
		}
	}
	return []row{
		least("start of the process to its first request", "ms", "≤ 150 ms", first),
		least("last answer to the end", "ms", "≤ 200 ms", last),
		least("CPU", "s", "≤ 0.3 s", used),
	}, nil
}
