package main

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/capture"
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/mockserver"
	"aiperf.dev/aiperf/internal/secret"
	"aiperf.dev/aiperf/loadgen/tokenizer"
)

var captureCommand = command{
	minor: true, name: "capture", usage: "record real traffic as a trace that can be replayed",
	help: `aiperf capture stands between clients and a server and records what passes:
arrivals, conversations, lengths, times, and which prompts begin alike.

  aiperf capture --listen 9000 --to http://127.0.0.1:8000 -o trace.jsonl
  aiperf profile -m demo -u mock: --input-file trace.jsonl --fixed-schedule

Point clients at the address it listens on; Ctrl-C ends it with a summary. The
trace holds no text, no header and no address unless --text keep asks for texts.`,
	flags: []argv.Switch{
		{Name: "listen", Arg: "HOST:PORT", Doc: "where clients connect (default 127.0.0.1:9000); a port alone is on loopback"},
		{Name: "to", Arg: "URL", Doc: "the server"},
		{Name: "output", Short: "o", Arg: "FILE", Doc: "the trace (default trace.jsonl)"},
		{Name: "overwrite", Doc: "replace FILE if it exists"},
		{
			Name: "text", Arg: "LEVEL", Words: capture.Texts(),
			Doc: "keep texts, hash them in blocks (default), or lengths alone",
		},
		{Name: "tokenizer", Arg: "NAME", Doc: "tokenizer that counts lengths (default builtin)"},
		{Name: "block-size", Arg: "TOKENS", Doc: "tokens per hash id (default 16)"},
		{Name: "requests", Arg: "N", Doc: "end after so many requests"},
		{Name: "duration", Arg: "TIME", Doc: "end after a time, such as 10m"},
		{Name: "size", Arg: "MIB", Doc: "end when the trace has this size (default 1024)"},
	},
	run: (*app).capture,
}

func (a *app) capture(p *argv.Line) error {
	if len(p.Words) > 0 {
		return diag.New("capture: "+p.Words[0]+": it takes no such word", captureUsage)
	}
	o, err := captureOptions(p)
	if err != nil {
		return err
	}
	l, err := listen(cmp.Or(p.Get("listen"), "127.0.0.1:9000"))
	if err != nil {
		return err
	}
	defer l.Close() // Serve has closed it where all went well
	at := l.Addr().(*net.TCPAddr)
	if sameAddress(at, o.To) {
		return diag.New("--to: "+o.To.Host+" is where capture itself listens", "--to names the server behind it")
	}
	o.Warn = func(line string) { a.warn(line) }
	if !at.IP.IsLoopback() {
		a.warn("everybody who can reach " + at.String() + " can use the server through it")
	}
	c, err := capture.Open(o)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.Out, "listening http://%s, passes requests on to %s\n", at, secret.URL(o.To.String()))
	sum, err := c.Serve(a.issue, a.hard, l)
	sum.Print(a.Out)
	if err != nil {
		return &diag.Error{Code: diag.Failed, Message: o.File + ": " + err.Error(), Cause: err}
	}
	if sum.Requests() == 0 {
		if err := os.Remove(o.File); err != nil {
			return err
		}
		return &diag.Error{
			Code: diag.Failed, Message: "no request of an inference API came; no trace is written",
			Hint: "do clients use http://" + at.String() + " in place of the server's address?",
		}
	}
	more, model := "", cmp.Or(sum.Model(), "MODEL")
	if sum.Streamed() {
		more = " --streaming"
	}
	if t := p.Get("tokenizer"); t != "" {
		more += " --tokenizer " + t // a replay makes its prompts as long by the same count
	}
	if strings.ContainsAny(model, " \t'\"$`\\") || o.To.Host == "" {
		model = "MODEL"
	}
	fmt.Fprintf(a.Out, "replay it: aiperf profile -m %s -u %s --endpoint-type %s%s --input-file %s --fixed-schedule\n", model,
		secret.URL(o.To.String()), sum.API(), more, o.File)
	return nil
}

const captureUsage = "aiperf capture --listen 127.0.0.1:9000 --to http://127.0.0.1:8000 -o trace.jsonl"

// captureOptions reads the flags.
func captureOptions(p *argv.Line) (o capture.Options, err error) {
	o = capture.Options{
		File: cmp.Or(p.Get("output"), "trace.jsonl"), Overwrite: p.Has("overwrite"),
		Text: capture.Text(cmp.Or(p.Get("text"), string(capture.Hash))),
	}
	if o.To, err = serverAddress(p.Get("to")); err != nil {
		return o, err
	}
	var size, block int64
	for _, f := range []struct {
		name  string
		to    *int64
		least int64
	}{{"block-size", &block, 1}, {"requests", &o.Requests, 1}, {"size", &size, 1}} {
		s := p.Get(f.name)
		if s == "" {
			continue
		}
		if *f.to, err = strconv.ParseInt(s, 10, 64); err != nil || *f.to < f.least || *f.to > 1e9 {
			return o, diag.New(fmt.Sprintf("--%s: %s is not a whole number from %d", f.name, s, f.least), "")
		}
	}
	o.Block, o.Bytes = int(cmp.Or(block, 16)), cmp.Or(size, 1024)<<20
	if s := p.Get("duration"); s != "" {
		if o.Duration, err = time.ParseDuration(s); err != nil || o.Duration <= 0 {
			return o, diag.New("--duration: "+s+" is not a time", "such as 90s, 10m or 2h")
		}
	}
	if o.Tokenizer, err = tokenizer.Open(cmp.Or(p.Get("tokenizer"), "builtin")); err != nil {
		return o, asUsage(err)
	}
	return o, nil
}

// serverAddress reads --to. Clients bring their own credentials, so it has none.
func serverAddress(s string) (*url.URL, error) {
	if s == "" {
		return nil, diag.New("capture: in front of which server?", captureUsage)
	}
	if mockserver.Named(s) {
		return nil, diag.New("--to: the built-in server is another process here",
			"aiperf mock-server --port 8000 runs it on its own")
	}
	if !strings.Contains(s, "://") {
		s = "http://" + s
	}
	u, err := url.Parse(s)
	switch {
	case err != nil, u.Host == "", u.Scheme != "http" && u.Scheme != "https":
		return nil, diag.New("--to: not the address of an HTTP server", "such as http://127.0.0.1:8000")
	case u.User != nil || u.RawQuery != "":
		return nil, diag.New("--to: credentials and parameters are the clients' own", "leave out what is before @ and behind ?")
	}
	return u, nil
}

// listen opens the address; a port alone is on loopback.
func listen(s string) (net.Listener, error) {
	if _, err := strconv.Atoi(s); err == nil {
		s = ":" + s
	}
	host, port, err := net.SplitHostPort(s)
	if n, bad := strconv.Atoi(port); err != nil || bad != nil || n < 0 || n > 65535 {
		return nil, diag.New("--listen: "+s+" is not HOST:PORT", "127.0.0.1:9000, or 0.0.0.0:9000 to be reached from elsewhere")
	}
	l, err := net.Listen("tcp", net.JoinHostPort(cmp.Or(host, "127.0.0.1"), port))
	if err != nil {
		return nil, &diag.Error{
			Code: diag.Failed, Message: "cannot listen on " + s + ": " + lastReason(err), Hint: "another port with --listen", Cause: err,
		}
	}
	return l, nil
}

// lastReason is err without what repeats the address.
func lastReason(err error) string {
	parts := strings.Split(err.Error(), ": ")
	return parts[len(parts)-1]
}

// sameAddress reports whether to leads back to at.
func sameAddress(at *net.TCPAddr, to *url.URL) bool {
	port := cmp.Or(to.Port(), map[string]string{"http": "80", "https": "443"}[to.Scheme])
	if port != strconv.Itoa(at.Port) {
		return false
	}
	ip := net.ParseIP(to.Hostname())
	return to.Hostname() == "localhost" || ip != nil && (ip.Equal(at.IP) || ip.IsLoopback() && at.IP.IsUnspecified())
}
