package pace

import (
	"testing"
	"time"

	"aiperf.dev/aiperf/internal/record"
)

// The lead settles where a quarter of the wakings are later, and what is waited
// awake stays within its share.
func TestPacerLearns(t *testing.T) {
	t.Parallel()
	p := &Pacer{lead: maxLead / 4, mayspin: true}
	for i := range 4000 { // late by 0 to 99 µs, evenly
		p.learn(int64(i*37%100) * 1000)
	}
	if p.lead < 65_000 || p.lead > 85_000 {
		t.Errorf("lead %d ns, want about 75,000", p.lead)
	}
	for range 1000 {
		p.learn(10 * maxLead)
	}
	if p.lead != maxLead {
		t.Errorf("lead %d ns, want at most %d", p.lead, maxLead)
	}
	p.spun = 49_800_000
	if got := p.allowed(int64(time.Second)); got != maxLead {
		t.Errorf("allowed %d ns of what is left", got)
	}
	if p.spun++; p.allowed(int64(time.Second)) != 0 {
		t.Error("more was allowed than the share")
	}
	p.spun, p.mayspin = 0, false
	if p.allowed(int64(time.Second)) != 0 {
		t.Error("allowed on the only processor")
	}
	for range 1000 {
		p.learn(-1)
	}
	if p.lead != 0 {
		t.Errorf("lead %d ns though waking takes no time", p.lead)
	}
}

func TestPacer(t *testing.T) {
	t.Parallel()
	p, err := New(record.NewClock())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for i := range int64(20) {
		due := p.Now() + i*50_000
		p.WaitUntil(due)
		if now := p.Now(); now < due {
			t.Errorf("woke %d ns early", due-now)
		}
	}
	// A wake before, and one during, a wait without end.
	p.Wake()
	p.WaitUntil(Never)
	asleep := make(chan struct{})
	go func() {
		for p.Sleeping() == Awake {
		}
		p.Wake()
		close(asleep)
	}()
	p.WaitUntil(Never)
	<-asleep
	if p.Sleeping() != Awake {
		t.Errorf("still sleeping until %d", p.Sleeping())
	}
}
