package kube

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/diag"
)

// lookEvery is how often a load is looked at.
const lookEvery = time.Second

// Follow writes what the coordinator says, until it has ended. say is told what the load
// waits for, and what changes there. The state is the last one.
func (c *Client) Follow(ctx context.Context, name string, w io.Writer, say func(string)) (*State, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	log := &log{to: w}
	told := ""
	tell := func(s *State) {
		if s.Why != "" && s.Why != told && !s.ended {
			say(s.Why)
		}
		told = s.Why
	}
	for {
		s, err := c.State(ctx, name)
		if err != nil {
			return nil, err
		}
		tell(s)
		switch {
		case s.lost != "" && !s.ended:
			return s, &diag.Error{Code: diag.Failed, Message: "the workers of " + name + " have failed: " + s.lost}
		case s.started:
			done := make(chan error, 1)
			streaming, stop := context.WithCancel(ctx)
			go func() { done <- log.follow(streaming, c, s.pod) }()
			err := c.until(ctx, name, done, tell)
			stop()
			if err != nil {
				return nil, err
			}
			if s, err = c.State(ctx, name); err != nil || s.ended {
				return s, errors.Join(err, log.err)
			}
		case s.ended:
			return s, nil
		}
		select {
		case <-ctx.Done():
			return s, context.Cause(ctx)
		case <-time.After(lookEvery):
		}
	}
}

// until waits for the end of a stream, and looks at the load meanwhile: workers that have
// failed for good would be waited for.
func (c *Client) until(ctx context.Context, name string, done <-chan error, tell func(*State)) error {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		select {
		case err := <-done:
			if isCode(err, http.StatusForbidden) {
				return err
			}
			return nil // a connection that broke is made again
		case <-ctx.Done():
			<-done
			return context.Cause(ctx)
		case <-look.C:
			s, err := c.State(ctx, name)
			if err != nil {
				continue // the next one may come through
			}
			if tell(s); s.lost != "" && !s.ended {
				return &diag.Error{Code: diag.Failed, Message: "the workers of " + name + " have failed: " + s.lost}
			}
		}
	}
}

// log is what a container says, across connections that break.
type log struct {
	to   io.Writer
	last time.Time // of the last line
	err  error     // of to
}

// follow writes what is new, until the container or the connection ends. The error is the
// API's.
func (l *log) follow(ctx context.Context, c *Client, pod string) error {
	query := url.Values{"container": {coordinatorName}, "follow": {"true"}, "timestamps": {"true"}}
	if !l.last.IsZero() {
		query.Set("sinceTime", l.last.UTC().Format(time.RFC3339)) // whole seconds
	}
	resp, err := c.request(ctx, http.MethodGet, c.at("Pod")+"/"+pod+"/log", query, "", nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	seen := l.last
	for r := bufio.NewReader(resp.Body); ; {
		line, err := r.ReadString('\n')
		if err != nil { // half a line comes again, whole
			return nil
		}
		stamp, text, _ := strings.Cut(line, " ")
		at, err := time.Parse(time.RFC3339Nano, stamp)
		if err != nil || !at.After(seen) {
			continue
		}
		l.last = at
		if _, err := io.WriteString(l.to, text); err != nil {
			l.err = err
		}
	}
}

// Pods are the names of a load's pods, the coordinator's first.
func (c *Client) Pods(ctx context.Context, name string) (names []string, err error) {
	pods, err := list[*pod](ctx, c, "Pod", ofUs+","+labelLoad+"="+name, false)
	if err != nil {
		return nil, err
	}
	for _, p := range pods {
		if p.Metadata.Labels[labelPart] == coordinatorName {
			names = append([]string{p.Metadata.Name}, names...)
		} else {
			names = append(names, p.Metadata.Name)
		}
	}
	if len(names) == 0 {
		return nil, Missing(name, c.Namespace)
	}
	return names, nil
}

// Log writes what a pod has said; tail is how many lines of it at most, all below 0.
func (c *Client) Log(ctx context.Context, pod string, tail int, w io.Writer) error {
	query := url.Values{}
	if container := coordinatorName; strings.Contains(pod, "-"+coordinatorName) {
		query.Set("container", container)
	}
	if tail >= 0 {
		query.Set("tailLines", strconv.Itoa(tail))
	}
	resp, err := c.request(ctx, http.MethodGet, c.at("Pod")+"/"+pod+"/log", query, "", nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(w, resp.Body)
	return err
}

// Fetch copies the results of a load into a folder that is not there yet, or is empty.
func (c *Client) Fetch(ctx context.Context, name, into string) (files int, err error) {
	s, err := c.State(ctx, name)
	if err != nil {
		return 0, err
	}
	if !s.ended {
		return 0, &diag.Error{
			Code: diag.Failed, Message: fmt.Sprintf("%s is %s: its results are not whole yet", name, s.Phase),
			Hint: "aiperf kube attach " + name + " waits for its end",
		}
	}
	r, w := io.Pipe()
	got := make(chan error, 1)
	go func() {
		var err error
		files, err = Receive(r, into)
		r.CloseWithError(err) // nobody reads any more
		got <- err
	}()
	err = c.exec(ctx, s.pod, resultsName, []string{program, "kube", "send", ResultsDir + "/" + name}, w)
	w.CloseWithError(err)
	if broken := <-got; err == nil {
		err = broken
	}
	return files, err
}
