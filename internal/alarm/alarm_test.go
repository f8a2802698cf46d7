package alarm_test

import (
	"testing"
	"time"

	"aiperf.dev/aiperf/internal/alarm"
)

// The alarm is not early, and can be moved forward while somebody waits.
func TestAlarm(t *testing.T) {
	t.Parallel()
	a, err := alarm.New()
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	began := time.Now()
	a.Set(int64(time.Millisecond))
	if a.Wait(); time.Since(began) < time.Millisecond {
		t.Errorf("rang after %v", time.Since(began))
	}
	a.Set(int64(time.Hour))
	rung := make(chan struct{})
	go func() { a.Wait(); close(rung) }()
	a.Set(0)
	<-rung
}
