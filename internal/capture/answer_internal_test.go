package capture

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"aiperf.dev/aiperf/loadgen/endpoint"
)

// All answers together keep no more than they may, and give it back.
func TestAnswersShareTheirRoom(t *testing.T) {
	t.Parallel()
	spec := endpoint.Usual(nil)
	var all atomic.Int64
	all.Store(mostWords - 10)
	stream := newAnswer(spec, http.Header{"Content-Type": {"text/event-stream"}}, &all)
	for range 3 {
		stream.add([]byte(`data: {"choices":[{"delta":{"content":"eight by"}}]}`+"\n\n"), time.Second)
	}
	if got := stream.text.String(); got != "eight by" || !stream.cut || stream.chunks != 3 || all.Load() != mostWords-2 {
		t.Errorf("kept %q, cut %v, %d events, %d bytes in all", got, stream.cut, stream.chunks, all.Load())
	}
	whole := newAnswer(spec, http.Header{"Content-Type": {"application/json"}}, &all)
	whole.add([]byte(strings.Repeat("a", 100)), time.Second)
	if whole.unread != unreadable || len(whole.plain) > 0 {
		t.Errorf("an answer that does not fit: %q, %d bytes", whole.unread, len(whole.plain))
	}
	stream.release()
	whole.release()
	if all.Load() != mostWords-10 {
		t.Errorf("%d bytes in all at the end, want %d", all.Load(), mostWords-10)
	}
}
