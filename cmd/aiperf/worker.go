package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/runner"
	"aiperf.dev/aiperf/runner/cluster"
)

var workersFlag = argv.Switch{
	Name: "workers", Arg: "N", Topic: "load",
	Doc: "send the load from N processes on this machine, which share each run: the load is what it is with one",
}

var onFlag = argv.Switch{
	Name: "on", Arg: "WHERE", Words: []string{"k8s"}, Topic: "load",
	Doc: "k8s: the workers are pods of a Kubernetes cluster: aiperf kube profile, with its flags",
}

var listenFlag = argv.Switch{
	Name: "listen", Arg: "ADDR", Topic: "load",
	Doc: "wait there for the workers, which are started on other machines with aiperf worker; needs --token-file",
}

var tokenFileFlag = argv.Switch{
	Name: "token-file", Arg: "FILE", Topic: "load",
	Doc: "file with the token that these workers have to know; made if it is missing",
}

var natsFlag = argv.Switch{
	Name: "nats", Arg: "URL", Topic: "load",
	Doc: "wait for the workers at this NATS server, which has JetStream, in place of --listen; --token-file is its token's",
}

var workerCommand = command{
	minor: true, name: "worker", usage: "send a part of the load of another aiperf",
	help: `aiperf worker --join URL joins the program that aiperf run --workers has begun,
and sends its part of every run. It ends with it.`,
	flags: []argv.Switch{
		{Name: "join", Arg: "URL", Doc: "address of the coordinator, as in nats://127.0.0.1:4222"},
		{Name: "nats", Arg: "URL", Doc: "in place of --join: the NATS server that the coordinator names with --nats"},
		{Name: "wait", Arg: "SECONDS", Doc: "how long to wait for a coordinator that is not there yet (default 0)"},
		{Name: "index", Arg: "K", Doc: "which worker it is, from 0 on (default: JOB_COMPLETION_INDEX, else one that is missing)"},
		{Name: "token-file", Arg: "FILE", Doc: "file with the token that the coordinator wants; - is stdin"},
	},
	run: func(a *app, p *argv.Line) error {
		url := p.Get("join")
		if p.Has("nats") {
			url = p.Get("nats")
			if err := cluster.NATS(url); err != nil {
				return err
			}
		}
		if p.Has("join") == p.Has("nats") || p.Has("join") && !p.Has("token-file") {
			return diag.New("worker: --join and --token-file are needed, or --nats",
				"aiperf run FILE --workers 2 starts its workers itself")
		}
		token := ""
		if p.Has("token-file") {
			var err error
			if token, err = a.tokenIn(p.Get("token-file")); err != nil {
				return err
			}
		}
		k, err := index(p.Get("index"))
		if err != nil {
			return err
		}
		wait := 0.0
		if p.Has("wait") {
			if wait, err = strconv.ParseFloat(p.Get("wait"), 64); err != nil || !(wait >= 0 && wait <= maxWait) {
				return diag.New(fmt.Sprintf("--wait: %s is not a number of seconds from 0 to %d", p.Get("wait"), maxWait),
					"--wait 600 waits ten minutes for the coordinator")
			}
		}
		err = cluster.Join(a.issue, a.hard, cluster.Joining{
			URL: url, NATS: p.Has("nats"), Token: token, Version: version, K: k,
			Wait: time.Duration(wait * float64(time.Second)), Say: func(line string) { a.note(line) },
		})
		if errors.Is(err, cluster.ErrLeft) {
			return exit(diag.Interrupted)
		}
		return err
	},
}

// tokenIn is the token in a file; - is stdin.
func (a *app) tokenIn(file string) (string, error) {
	in := a.In
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return "", diag.New("--token-file: "+err.Error(), "")
		}
		defer f.Close()
		in = f
	}
	token, err := io.ReadAll(io.LimitReader(in, 1<<10))
	if err != nil {
		return "", diag.New("--token-file: "+err.Error(), "")
	}
	return strings.TrimSpace(string(token)), nil
}

// index is which worker this is: what the flag says, else what a Kubernetes job says; -1 for
// any that is missing.
func index(said string) (int64, error) {
	from := "--index"
	if of, in := os.LookupEnv("JOB_COMPLETION_INDEX"); in && said == "" {
		from, said = "JOB_COMPLETION_INDEX", of
	}
	if said == "" {
		return -1, nil
	}
	k, err := strconv.ParseInt(said, 10, 64)
	if err != nil || k < 0 {
		return 0, diag.New(fmt.Sprintf("%s: %s is not a whole number", from, said), "workers count from 0: --index 0 is the first")
	}
	return k, nil
}

// workersAsked is the number that --workers says; 1 without it.
func workersAsked(p *argv.Line) (int, error) {
	if !p.Has("workers") {
		return 1, nil
	}
	n, err := strconv.Atoi(p.Get("workers"))
	if err != nil || n < 1 || n > mostWorkers {
		return 0, diag.New(fmt.Sprintf("--workers: %s is not a number from 1 to %d", p.Get("workers"), mostWorkers), "")
	}
	return n, nil
}

// workers starts the processes that --workers asks for and has them send what the plan
// says. end lets them go.
func (a *app) workers(p *argv.Line, opt *runner.Options) (end func() error, err error) {
	elsewhere := p.Has("listen") || p.Has("nats")
	switch {
	case p.Has("listen") && p.Has("nats"):
		return nil, diag.New("--listen and --nats are two ways for workers to join", "leave one out")
	case p.Has("listen") && !p.Has("token-file"), p.Has("token-file") && !elsewhere, elsewhere && !p.Has("workers"):
		return nil, diag.New("--workers, --listen and --token-file belong together", "--workers 3 alone starts three here")
	}
	if !p.Has("workers") {
		return func() error { return nil }, nil
	}
	n, err := workersAsked(p)
	if err != nil {
		return nil, err
	}
	o := cluster.Options{
		Workers: n, Version: version,
		Launch: func(url, token string, k int64) (*cluster.Process, error) { return launch(opt.Exe, url, token, k) },
	}
	if elsewhere {
		o.Launch, opt.Machines = nil, n
		join, token := "--join", ""
		if p.Has("token-file") {
			token = " --token-file " + p.Get("token-file")
		}
		if p.Has("nats") {
			join, o.NATS = "--nats", p.Get("nats")
			if err = cluster.NATS(o.NATS); err == nil && token != "" {
				o.Token, err = a.tokenIn(p.Get("token-file"))
			}
		} else {
			o.Listen = p.Get("listen")
			o.Token, err = cluster.TokenIn(p.Get("token-file"))
		}
		if err != nil {
			return nil, err
		}
		o.Missing = func(n int64, address string, within time.Duration) {
			fmt.Fprintf(a.Err, "waiting for %s, at most %s: aiperf worker %s %s%s\n", words.Count(n, "worker"), words.Span(within),
				join, address, token)
		}
	}
	c, err := cluster.Open(a.issue, o)
	if e := (*diag.Error)(nil); errors.As(err, &e) {
		return nil, e
	} else if err != nil {
		return nil, &diag.Error{Code: diag.Failed, Message: "--workers: " + err.Error(), Cause: err}
	}
	opt.Driver = c.Driver()
	return c.Close, nil
}

// maxWait is the longest --wait, in seconds.
const maxWait = 86400

// mostWorkers is how many processes one machine is asked for at most.
const mostWorkers = 256

// launch starts a worker on this machine.
func launch(exe, url, token string, k int64) (*cluster.Process, error) {
	cmd := exec.Command(exe, "worker", "--join", url, "--token-file", "-", "--index", strconv.FormatInt(k, 10))
	cmd.Stdin = strings.NewReader(token)
	var said bytes.Buffer // a line, if anything
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	w := &cluster.Process{Over: make(chan struct{}), Kill: func() { _ = cmd.Process.Kill() }}
	go func() {
		defer close(w.Over)
		if w.Err = cmd.Wait(); w.Err != nil && said.String() != "" {
			w.Err = fmt.Errorf("%w: %s", w.Err, strings.TrimSpace(said.String()))
		}
	}()
	return w, nil
}
