package sim

import (
	"bytes"
	"net/http"

	"aiperf.dev/aiperf/internal/mockserver"
)

// othersQuestion is what another client asks: the same each time.
const othersQuestion = `{"model":"demo","stream":true,"max_tokens":16,"messages":[{"role":"user","content":"Why is the sky blue, and the sea?"}]}`

// others are the users of another client in one run.
type others []*other

// other is one of them: it asks again as soon as it is answered.
type other struct {
	world  *world
	server *mockserver.Virtual
	visit  *mockserver.Visit
	left   bool
}

// join adds a user who asks server from now on.
func (all *others) join(w *world, server *mockserver.Virtual) {
	o := &other{world: w, server: server}
	*all = append(*all, o)
	o.ask()
}

// leave ends what they still wait for.
func (all others) leave() {
	for _, o := range all {
		o.left = true
		o.visit.Leave()
	}
}

// ask sends the question. The next one follows at the moment in which the answer ends: the
// server is still writing.
func (o *other) ask() {
	over := false
	again := func() {
		if !over {
			over = true
			o.world.after(0, o.again)
		}
	}
	header := http.Header{"Content-Type": {"application/json"}}
	o.visit = o.server.Ask("/v1/chat/completions", header, []byte(othersQuestion), func(b []byte) {
		if bytes.Contains(b, []byte("[DONE]")) {
			again()
		}
	}, again)
}

func (o *other) again() {
	if !o.left {
		o.ask()
	}
}
