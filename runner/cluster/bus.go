// Package cluster has several processes carry out one run. Each of them, a worker,
// sends its part of the schedule by itself, from the same time on; nothing on the way of
// a request waits for a message. The coordinator, which is the ordinary program, tells
// the workers what to do, takes their records and holds them together. Between them is
// NATS, whose server the coordinator has in itself.
//
// In goes a run that was opened (onerun.Opened), out come its records and a Result, as
// if one process had sent it. The steps: Open starts the server and waits for workers to
// join; for each run they prepare (open the same files, agree on the same digests), set
// their clocks, begin each phase together, and send what they have.
package cluster

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// bus is the way from the coordinator to its workers.
type bus struct {
	server *server.Server
	conn   *nats.Conn
	js     jetstream.JetStream
	dir    string // what is not acknowledged yet lies here
	token  string
}

// starting is how long a server may take to be ready.
const starting = 10 * time.Second

// openBus starts a server on loopback, which only those can speak to who know its token.
func openBus() (*bus, error) {
	dir, err := os.MkdirTemp("", "aiperf-workers-")
	if err != nil {
		return nil, err
	}
	var secret [32]byte
	if _, err := rand.Read(secret[:]); err != nil {
		return nil, err
	}
	b := &bus{dir: dir, token: hex.EncodeToString(secret[:])}
	b.server, err = server.NewServer(&server.Options{
		ServerName: "aiperf", Host: "127.0.0.1", Port: server.RANDOM_PORT, Authorization: b.token,
		JetStream: true, StoreDir: dir, NoSigs: true, NoLog: true, MaxPayload: maxPayload,
		DisableShortFirstPing: true,
	})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	b.server.Start()
	if !b.server.ReadyForConnections(starting) {
		return nil, errors.Join(errors.New("the message server did not start"), b.close())
	}
	if b.conn, b.js, err = connect(b.server.ClientURL(), b.token, nil); err != nil {
		return nil, errors.Join(err, b.close())
	}
	return b, nil
}

// maxPayload is the largest message.
const maxPayload = 8 << 20

// connect joins the server at url. lost is called when the connection has broken for good,
// and when the server did not take what was published.
func connect(url, token string, lost func()) (*nats.Conn, jetstream.JetStream, error) {
	conn, err := nats.Connect(url, nats.Token(token), nats.Name("aiperf"), nats.NoReconnect(),
		nats.ClosedHandler(func(*nats.Conn) {
			if lost != nil {
				lost()
			}
		}))
	if err != nil {
		return nil, nil, fmt.Errorf("cannot reach the coordinator at %s: %w", url, err)
	}
	js, err := jetstream.New(conn, jetstream.WithPublishAsyncErrHandler(
		func(jetstream.JetStream, *nats.Msg, error) { // what was to be kept is not
			if lost != nil {
				lost()
			}
		}))
	return conn, js, err
}

// close ends the server and removes what it kept.
func (b *bus) close() error {
	if b.conn != nil {
		b.conn.Close()
	}
	b.server.Shutdown()
	b.server.WaitForShutdown()
	return os.RemoveAll(b.dir)
}
