package leak_test

import (
	"testing"

	"go.uber.org/goleak"

	"aiperf.dev/aiperf/internal/leak"
)

// A goroutine that was there before is ignored, and one that ends is not left
// behind. Nothing here waits for one that stays: that takes a minute.
func TestNone(t *testing.T) {
	stay := make(chan struct{})
	defer close(stay)
	go func() { <-stay }()
	before := goleak.IgnoreCurrent()
	begun, end := make(chan struct{}), make(chan struct{})
	go func() { close(begun); <-end }()
	<-begun
	close(end)
	leak.None(t, before)
}
