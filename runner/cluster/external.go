package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	neturl "net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"aiperf.dev/aiperf/internal/diag"
)

// A NATS server that somebody else runs carries words and records as the coordinator's own does.
// When it is started again, all connections break: the run under way is lost with them, workers
// join once more, and it is sent again.

// NATS names such a server for coordinators and workers. It refuses what is no address.
func NATS(url string) error {
	u, err := neturl.Parse(url)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "nats" && u.Scheme != "tls" || strings.Trim(u.Path, "/") != "":
		return diag.New(fmt.Sprintf("--nats: %s is not the address of a NATS server", url), "--nats nats://host:4222, or tls://host:4222")
	case u.User != nil:
		return diag.New("--nats: an address with a password can be read by others", "--token-file names a file with the token")
	}
	return nil
}

// oldest is the first version of NATS that is known to do: 2.oldest.
const oldest = 10

// patienceNATS is how long such a server may be away.
const patienceNATS = time.Minute

// openExternal joins the server at url, which has to have what is needed, and nobody else at
// work.
func openExternal(ctx context.Context, url, token string) (*bus, error) {
	b := &bus{token: token, url: url, address: url, away: &atomic.Int64{}, again: &atomic.Bool{}}
	conn, js, err := dial(url, token, nil, nats.MaxReconnects(-1), nats.ReconnectWait(knocking),
		nats.ReconnectJitter(knocking/4, knocking/4), nats.PingInterval(2*time.Second), nats.MaxPingsOutstanding(5),
		nats.DisconnectErrHandler(func(*nats.Conn, error) { b.away.CompareAndSwap(0, time.Now().UnixNano()) }))
	if err != nil {
		return nil, err
	}
	b.conn, b.js = conn, js
	if err := b.fits(ctx); err != nil {
		conn.Close()
		return nil, err
	}
	return b, nil
}

// dial joins a server of somebody else's.
func dial(url, token string, lost func(), more ...nats.Option) (*nats.Conn, jetstream.JetStream, error) {
	options := append([]nats.Option{nats.Name("aiperf")}, more...)
	if token != "" {
		options = append(options, nats.Token(token))
	}
	conn, js, err := join(url, lost, options)
	switch {
	case errors.Is(err, nats.ErrAuthorization):
		return nil, nil, diag.New("the NATS server at "+url+" does not take the token", "--token-file names a file with that of the server")
	case err != nil:
		why := err.Error()
		if u, e := neturl.Parse(url); e == nil && errors.Is(err, nats.ErrNoServers) {
			port := u.Port()
			if port == "" {
				port = strconv.Itoa(nats.DefaultPort)
			}
			why = cause(whyNot(net.JoinHostPort(u.Hostname(), port), err))
		}
		return nil, nil, &diag.Error{
			Code: diag.Failed, Message: fmt.Sprintf("cannot reach the NATS server at %s: %s", url, why), Cause: err,
			Hint: "is it running there? without --nats the program brings its own",
		}
	}
	return conn, js, nil
}

// dialOnce joins it without coming back.
func dialOnce(url, token string, lost func()) (*nats.Conn, jetstream.JetStream, error) {
	return dial(url, token, lost, nats.NoReconnect())
}

// fits refuses a server that could not carry a run, or carries another one's.
func (b *bus) fits(ctx context.Context) error {
	at := "the NATS server at " + b.url
	if v := b.conn.ConnectedServerVersion(); tooOld(v) {
		return diag.New(fmt.Sprintf("%s is version %s", at, v), fmt.Sprintf("2.%d or a later one is needed", oldest))
	}
	if n := b.conn.MaxPayload(); n < maxPayload {
		return diag.New(fmt.Sprintf("%s takes messages of %d KiB, and %d are needed", at, n>>10, maxPayload>>10),
			"max_payload: 8MB in the server's configuration")
	}
	ctx, cancel := context.WithTimeout(ctx, starting)
	defer cancel()
	if _, err := b.js.AccountInfo(ctx); errors.Is(err, jetstream.ErrJetStreamNotEnabled) ||
		errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount) {
		return diag.New(at+" has no JetStream for this account", "nats-server --jetstream, or jetstream: enabled for the account")
	} else if err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	_, err := ask[welcome](b.conn, subjectJoin, hello{}, starting)
	if err == nil {
		return diag.New("another aiperf is at work on "+at, "it carries one at a time; give each an account of its own")
	} else if !errors.Is(err, nats.ErrNoResponders) {
		return fmt.Errorf("%s: %w", at, err)
	}
	return b.clear(ctx) // what one left that was killed
}

// tooOld tells whether a version is below 2.oldest.
func tooOld(version string) bool {
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	a, err1 := strconv.Atoi(major)
	b, err2 := strconv.Atoi(minor)
	return err1 != nil || err2 != nil || a < 2 || a == 2 && b < oldest
}

// clear removes what is kept there of aiperf.
func (b *bus) clear(ctx context.Context) error {
	err1, err2 := b.js.DeleteStream(ctx, streamName), b.js.DeleteObjectStore(ctx, storeName)
	if errors.Is(err1, jetstream.ErrStreamNotFound) {
		err1 = nil
	}
	if errors.Is(err2, jetstream.ErrStreamNotFound) || errors.Is(err2, jetstream.ErrBucketNotFound) {
		err2 = nil
	}
	return errors.Join(err1, err2)
}

// gone is a server that has been away for too long. The coordinator's own never is.
func (b *bus) gone() error {
	if b.away == nil {
		return nil
	}
	if since := b.away.Load(); since != 0 && time.Since(time.Unix(0, since)) > patienceNATS {
		return fmt.Errorf("the NATS server at %s has been away for %v", b.url, patienceNATS)
	}
	return nil
}

// back is told whenever there is a connection again.
func (b *bus) back(tell func()) {
	if b.again == nil {
		return
	}
	b.conn.SetReconnectHandler(func(*nats.Conn) {
		b.away.Store(0)
		b.again.Store(true)
		tell()
	})
}

// restarted tells whether the connection broke and was made again since it was asked last.
func (b *bus) restarted() bool { return b.again != nil && b.again.Swap(false) }
