package source

import (
	"fmt"
	"os"
	"runtime/metrics"
	"time"

	"aiperf.dev/aiperf/internal/diag"
)

// Evaluation of an experiment must end within these.
const (
	maxTime   = 10 * time.Second
	maxMemory = 512 << 20 // beyond what the process held before
)

// Watch ends the process when evaluation takes too long or too much memory.
// CUE and templates take no context and a goroutine that runs them cannot be
// stopped, so leaving is the only sure way out.
func Watch(name string) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	began, held, used := time.Now(), memory(), processTime()
	go func() {
		defer close(ended)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			if time.Since(began) > maxTime && processTime()-used > maxTime {
				leave(name, fmt.Sprintf("takes longer than %v to evaluate", maxTime))
			}
			if memory() > held+maxMemory {
				leave(name, fmt.Sprintf("needs more than %d MB to evaluate", maxMemory>>20))
			}
		}
	}()
	return func() { close(done); <-ended }
}

func leave(name, what string) {
	fmt.Fprintf(os.Stderr, "aiperf: %s: %s\n  hint: write the values instead of computing them\n", name, what)
	os.Exit(int(diag.Usage))
}

func memory() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
