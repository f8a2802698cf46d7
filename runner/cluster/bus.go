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
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	neturl "net/url"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"aiperf.dev/aiperf/internal/diag"
)

// bus is the way from the coordinator to its workers.
type bus struct {
	server  *server.Server // nil for one that somebody else runs
	conn    *nats.Conn
	js      jetstream.JetStream
	dir     string // what is not acknowledged yet lies here
	token   string
	url     string // where workers of this machine reach it
	address string // and those of others

	// of a server that somebody else runs
	away  *atomic.Int64 // since when there is no connection to it, in ns of 1970; 0 while there is one
	again *atomic.Bool  // there was none for a while
}

// split is an address with a port.
func split(listen string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(listen)
	if err == nil {
		port, err = strconv.Atoi(text)
	}
	if err != nil || port < 0 || port > 65535 {
		return "", 0, diag.New(fmt.Sprintf("--listen: %s is not an address with a port", listen),
			"--listen 0.0.0.0:4222 takes workers from anywhere")
	}
	if host == "" {
		host = "0.0.0.0"
	}
	return host, port, nil
}

// starting is how long a server may take to be ready.
const starting = 10 * time.Second

// openBus starts a server, which only those can speak to who know its token: on loopback
// where listen is "", else there, and then by TLS unless that is loopback, too.
func openBus(listen, token string) (*bus, error) {
	o := &server.Options{
		ServerName: "aiperf", Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, NoSigs: true, NoLog: true,
		MaxPayload: maxPayload, DisableShortFirstPing: true,
	}
	var err error
	if listen != "" {
		if o.Host, o.Port, err = split(listen); err != nil {
			return nil, err
		}
		if err := free(o.Host, o.Port); err != nil {
			return nil, err
		}
		if o.Port == 0 {
			o.Port = server.RANDOM_PORT
		}
	}
	if token == "" {
		if token, err = newToken(); err != nil {
			return nil, err
		}
	}
	scheme := "nats"
	if !private(o.Host) {
		scheme = "tls"
		if o.TLSConfig, err = serverTLS(token); err != nil {
			return nil, err
		}
		o.TLS, o.TLSTimeout = true, starting.Seconds()
	}
	dir, err := os.MkdirTemp("", "aiperf-workers-")
	if err != nil {
		return nil, err
	}
	o.Authorization, o.StoreDir = token, dir
	b := &bus{dir: dir, token: token}
	b.server, err = server.NewServer(o)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	b.server.Start()
	if !b.server.ReadyForConnections(starting) {
		return nil, errors.Join(fmt.Errorf("cannot listen at %s", net.JoinHostPort(o.Host, strconv.Itoa(o.Port))), b.close())
	}
	at, ok := b.server.Addr().(*net.TCPAddr)
	if !ok {
		return nil, errors.Join(fmt.Errorf("no port: %v", b.server.Addr()), b.close())
	}
	host := o.Host
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	b.address = addressOf(o.Host, at.Port)
	b.url = scheme + "://" + net.JoinHostPort(host, strconv.Itoa(at.Port))
	if b.conn, b.js, err = connect(b.url, b.token, nil, nats.Timeout(starting)); err != nil {
		return nil, errors.Join(err, b.close())
	}
	return b, nil
}

// maxPayload is the largest message.
const maxPayload = 8 << 20

// free says why nothing can listen at an address. The server would try for long, and not say it.
func free(host string, port int) error {
	address := net.JoinHostPort(host, strconv.Itoa(port))
	l, err := net.Listen("tcp", address)
	if err == nil {
		return l.Close()
	}
	hint := ""
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		hint = "take another port, or 0 for one that is free"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		hint = fmt.Sprintf("it is not an address of this machine; 0.0.0.0:%d takes workers from anywhere", port)
	case errors.Is(err, syscall.EACCES):
		hint = "take a port above 1023"
	}
	return &diag.Error{Code: diag.Usage, Message: fmt.Sprintf("--listen: %s: %s", address, cause(err)), Hint: hint, Cause: err}
}

// cause is an error of the network without what was tried, which is said beside it.
func cause(err error) string {
	var call *os.SyscallError
	if errors.As(err, &call) {
		return call.Err.Error()
	}
	var at *net.OpError
	if errors.As(err, &at) {
		return at.Err.Error()
	}
	return err.Error()
}

// connect joins the server at url. lost is called when the connection has broken for good,
// and when the server did not take what was published.
func connect(url, token string, lost func(), more ...nats.Option) (*nats.Conn, jetstream.JetStream, error) {
	options := append([]nats.Option{nats.Token(token), nats.Name("aiperf"), nats.NoReconnect()}, more...)
	// elsewhere the token goes to who knows it alone
	if u, err := neturl.Parse(url); err != nil || !private(u.Hostname()) || u.Scheme == "tls" {
		pinned, err := clientTLS(token)
		if err != nil {
			return nil, nil, err
		}
		options = append(options, nats.Secure(pinned))
	}
	conn, js, err := join(url, lost, options)
	return conn, js, unreached(url, err)
}

// unreached is why there is no connection to a coordinator, and what to type instead.
func unreached(url string, err error) error {
	if err == nil {
		return nil
	}
	_, host, _ := strings.Cut(url, "://")
	out := &diag.Error{Code: diag.Failed, Message: fmt.Sprintf("cannot reach the coordinator at %s: %v", url, err), Cause: err}
	var strange *tls.CertificateVerificationError
	switch {
	case errors.Is(err, nats.ErrSecureConnWanted):
		out.Message = fmt.Sprintf("what listens at %s does not speak TLS", host)
		out.Hint = "a coordinator does where it listens for other machines: is that its address?"
		if u, e := neturl.Parse(url); e == nil && private(u.Hostname()) {
			out.Hint = "--join nats://" + host
		}
	case errors.Is(err, errStranger):
		out.Hint = "copy the file that the coordinator names with --token-file"
	case errors.As(err, &strange):
		out.Message, out.Hint = fmt.Sprintf("what listens at %s speaks TLS", host), "--join tls://"+host
	case errors.Is(err, nats.ErrAuthorization):
		out.Message = "the coordinator at " + url + " does not take the token"
		out.Hint = "copy the file that the coordinator names with --token-file"
	case errors.Is(err, nats.ErrNoServers):
		out.Message = fmt.Sprintf("cannot reach the coordinator at %s: %s", url, cause(whyNot(host, err)))
		out.Hint = "--wait 600 waits ten minutes for it"
	}
	return out
}

// whyNot is why nothing answers at an address: NATS says only that nothing does.
func whyNot(address string, otherwise error) error {
	conn, err := net.DialTimeout("tcp", address, nats.DefaultTimeout)
	if err != nil {
		return err
	}
	_ = conn.Close() // it answers by now
	return otherwise
}

// join joins a server, and is told of what connect is.
func join(url string, lost func(), options []nats.Option) (*nats.Conn, jetstream.JetStream, error) {
	over := func() {
		if lost != nil {
			lost()
		}
	}
	conn, err := nats.Connect(url, append(options, nats.ClosedHandler(func(*nats.Conn) { over() }))...)
	if err != nil {
		return nil, nil, err
	}
	js, err := jetstream.New(conn, jetstream.WithPublishAsyncErrHandler(
		func(jetstream.JetStream, *nats.Msg, error) { over() })) // what was to be kept is not
	return conn, js, err
}

// close ends the server and removes what it kept.
func (b *bus) close() (err error) {
	if b.server == nil && b.conn.IsConnected() {
		ctx, cancel := context.WithTimeout(context.Background(), starting)
		defer cancel()
		err = b.clear(ctx)
	}
	if b.conn != nil {
		b.conn.Close()
	}
	if b.server == nil {
		return err
	}
	b.server.Shutdown()
	b.server.WaitForShutdown()
	return os.RemoveAll(b.dir)
}
