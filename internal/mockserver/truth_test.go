package mockserver

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// observation is what a raw client saw of one stream, on the server's clock.
type observation struct {
	asked, sent int64 // before and after the request was written
	reads       []struct{ at, total int64 }
}

// watch sends one request over a connection of its own and stamps every read.
// Nothing in the client knows HTTP: what it counts is bytes.
func watch(b *bench, id, body string) (o observation) {
	c, err := net.Dial("tcp", strings.TrimPrefix(b.url, "http://"))
	if err != nil {
		b.t.Error(err)
		return o
	}
	defer c.Close()
	request := fmt.Sprintf("POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Request-ID: %s\r\nContent-Length: %d\r\n\r\n%s", id, len(body), body)
	o.asked = b.s.now()
	if _, err := c.Write([]byte(request)); err != nil {
		b.t.Error(err)
		return o
	}
	o.sent = b.s.now()
	buf, total := make([]byte, 64<<10), int64(0)
	for {
		n, err := c.Read(buf)
		at := b.s.now()
		if total += int64(n); n > 0 {
			o.reads = append(o.reads, struct{ at, total int64 }{at, total})
		}
		if err != nil {
			return o
		}
	}
}

// seen is when the client had the first byte of an event.
func (o observation) seen(from int64) int64 {
	for _, r := range o.reads {
		if r.total > from {
			return r.at
		}
	}
	return -1
}

// The log tells the truth: it accounts for every byte a client got; nothing is
// received before it was sent, or sent before it is in the log; and nothing
// leaves before its scripted time.
func TestLogIsTrue(t *testing.T) {
	t.Parallel()
	const clients, tokens = 20, 8
	const ttft, itl = 5 * time.Millisecond, time.Millisecond
	b := start(t, "ttft=5ms&itl=1ms")
	seen := make([]observation, clients)
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() {
			seen[i] = watch(b, fmt.Sprint(i),
				fmt.Sprintf(`{"model":"m","messages":[{"role":"user","content":"a"}],"max_tokens":%d,"stream":true}`,
					tokens))
		})
	}
	wg.Wait()
	for _, e := range b.stop() {
		var i int
		if _, err := fmt.Sscan(e.RequestID, &i); err != nil {
			t.Fatalf("log line %d: x_request_id %q", e.N, e.RequestID)
		}
		o := seen[i]
		if e.Recv < o.asked {
			t.Errorf("request %d was received %d ns before it was sent", i, o.asked-e.Recv)
		}
		offset, token := int64(0), int64(0)
		for _, c := range e.Chunks {
			if at := o.seen(offset); at < c.At {
				t.Errorf("request %d: %s at offset %d was seen at %d, logged at %d", i, c.Kind, offset, at, c.At)
			}
			if c.Kind == "content" {
				if due := e.Recv + int64(ttft) + token*int64(itl); c.At < due {
					t.Errorf("request %d: token %d left %d ns before its time", i, token, due-c.At)
				}
				token++
			}
			offset += int64(c.Bytes)
		}
		if total := o.reads[len(o.reads)-1].total; offset != total {
			t.Errorf("request %d: the log has %d bytes, the client got %d", i, offset, total)
		}
		if token != tokens || e.OutTokens != tokens || e.Aborted || e.End < e.Last || e.First <= e.Recv {
			t.Errorf("request %d: %+v", i, e)
		}
	}
}

// One connection carries many requests, and the log says which.
func TestKeepAlive(t *testing.T) {
	t.Parallel()
	b := start(t, "ttft=0s&osl=1")
	c, err := net.Dial("tcp", strings.TrimPrefix(b.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	// both at once: the second waits in the connection until the first is answered
	if _, err := c.Write([]byte(strings.Repeat("POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 14\r\n\r\n{\"prompt\":\"a\"}", 2))); err != nil {
		t.Fatal(err)
	}
	buf, got := make([]byte, 4096), ""
	for strings.Count(got, "HTTP/1.1 200 OK") < 2 || !strings.HasSuffix(got, "}") {
		n, err := c.Read(buf)
		if err != nil {
			t.Fatalf("after %q: %v", got, err)
		}
		got += string(buf[:n])
	}
	log := b.stop()
	if len(log) != 2 || log[0].Conn != log[1].Conn || log[0].ConnReq != 0 ||
		log[1].ConnReq != 1 || log[1].Recv < log[0].First {
		t.Errorf("log: %+v", log)
	}
}

// A client that goes away is noticed, and its place in the engine freed.
func TestClientGoesAway(t *testing.T) {
	t.Parallel()
	b := start(t, "step=1ms&batch=1")
	c, err := net.Dial("tcp", strings.TrimPrefix(b.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	body := `{"messages":[{"content":"a"}],"max_tokens":100000,"stream":true}`
	fmt.Fprintf(c, "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	if _, err := c.Read(make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	c.Close()
	if a := b.post("/v1/completions", `{"prompt":"a","max_tokens":2}`); a.status != 200 {
		t.Errorf("the next request: %d %v", a.status, a.err)
	}
	log := b.stop()
	if !log[0].Aborted || log[0].OutTokens >= 100000 || log[1].Aborted {
		t.Errorf("log: aborted %t after %d tokens, then %t", log[0].Aborted, log[0].OutTokens, log[1].Aborted)
	}
}

// A reader that is too slow holds up itself and nobody else.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	const n = 5000 // of 4 KB each: 20 MB are more than the kernel keeps for a connection
	b := start(t, "ttft=0s&itl=0s")
	c, err := net.Dial("tcp", strings.TrimPrefix(b.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	body := fmt.Sprintf(`{"model":%q,"messages":[{"content":"a"}],"max_tokens":%d,"stream":true}`,
		strings.Repeat("m", 4000), n)
	fmt.Fprintf(c, "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s",
		len(body), body)
	if a := b.post("/v1/completions", `{"prompt":"a","max_tokens":2}`); a.status != 200 {
		t.Errorf("the other client: %d %v", a.status, a.err)
	}
	total, buf := 0, make([]byte, 1<<20)
	for {
		k, err := c.Read(buf)
		total += k
		if err != nil {
			break
		}
	}
	log := b.stop()
	e := log[slices.IndexFunc(log, func(e Entry) bool { return e.Stream })]
	logged := 0
	for _, ch := range e.Chunks {
		logged += ch.Bytes
	}
	if e.OutTokens != n || total != logged || !slices.IsSortedFunc(e.Chunks,
		func(a, b Chunk) int { return int(a.At - b.At) }) {
		t.Errorf("sent %d tokens and %d bytes, received %d bytes", e.OutTokens, logged, total)
	}
}
