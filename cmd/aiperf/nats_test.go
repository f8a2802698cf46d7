package main

import (
	"net/http/httptest"
	"os"
	"strconv"

	"github.com/nats-io/nats-server/v2/server"
)

// natsOfOthers is a NATS server as a process of its own: PORT FOLDER TOKEN, and "tls" for one with the
// certificate of net/http/httptest.
func natsOfOthers() {
	port, err := strconv.Atoi(os.Args[1])
	if err != nil {
		panic(err)
	}
	o := &server.Options{
		Host: "127.0.0.1", Port: port, JetStream: true, StoreDir: os.Args[2], Authorization: os.Args[3],
		MaxPayload: 8 << 20, NoLog: true,
	}
	if len(os.Args) > 4 {
		web := httptest.NewTLSServer(nil)
		web.Close()
		o.TLSConfig = web.TLS
	}
	s, err := server.NewServer(o)
	if err != nil {
		panic(err)
	}
	s.Start()
	s.WaitForShutdown()
}
