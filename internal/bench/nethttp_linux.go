package main

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// theirs sends through net/http: a goroutine per request in flight, lines read
// with a bufio.Reader, the clock read at each. Due times are slept for.
func theirs(j *job, tr *traffic) error {
	n := &netHTTP{job: j, traffic: tr, url: "http://" + j.Addr + "/" + j.Path}
	n.client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1 << 16, DisableCompression: true}}
	defer n.client.CloseIdleConnections()
	if j.open() {
		return n.open()
	}
	var wait sync.WaitGroup
	for i := range j.Conns {
		wait.Go(func() {
			for k := 0; !tr.stop.Load() && (j.Rounds == 0 || k < j.Rounds); k++ {
				if err := n.request(fmt.Sprint(i, "-", k), 0); err != nil {
					n.fail(err)
					return
				}
			}
		})
	}
	wait.Wait()
	return n.err
}

type netHTTP struct {
	*job
	*traffic
	client *http.Client
	url    string

	mu  sync.Mutex
	err error
}

func (n *netHTTP) fail(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.err = err
}

// open sends each request at its time, from a goroutine of its own.
func (n *netHTTP) open() error {
	due := n.due()
	slots := make(chan struct{}, max(n.Conns, n.N))
	if n.Conns > 0 {
		slots = make(chan struct{}, n.Conns)
	}
	if n.Rate == 0 { // as many connections as will be needed at once
		if err := n.warm(); err != nil {
			return err
		}
	}
	n.pauseServer()
	n.began = wall() + 10e6
	var wait sync.WaitGroup
	for i := range n.N {
		until(n.began + due[i])
		wait.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			if err := n.request(strconv.Itoa(i), n.began+due[i]); err != nil {
				n.fail(err)
			}
		})
	}
	wait.Wait()
	return n.err
}

// warm opens N connections by keeping as many requests in flight.
func (n *netHTTP) warm() error {
	var wait sync.WaitGroup
	for range n.N {
		wait.Go(func() {
			resp, err := n.client.Post("http://"+n.Addr+"/sse/1/0/500000", "application/json", nil)
			if err != nil {
				n.fail(err)
				return
			}
			io.Copy(io.Discard, resp.Body) //nolint:errcheck // the connection counts
			resp.Body.Close()
		})
	}
	wait.Wait()
	return n.err
}

// request sends one and reads its answer to the end.
func (n *netHTTP) request(id string, intended int64) error {
	req, err := http.NewRequest(http.MethodPost, n.url, strings.NewReader(requestBody))
	if err != nil {
		return err
	}
	req.Header["X-Request-ID"] = []string{id}
	s := sample{id: id, intended: intended, sent: wall()}
	resp, err := n.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var errors []float64
	if n.Stream {
		errors, err = n.lines(resp.Body, &s)
	} else {
		_, err = io.Copy(io.Discard, resp.Body)
		s.first = wall()
		s.last = s.first
	}
	n.requests.Add(1)
	if n.counted() {
		n.mu.Lock()
		n.samples = append(n.samples, s)
		n.traffic.errors = append(n.traffic.errors, errors...)
		n.mu.Unlock()
	}
	return err
}

// lines reads a stream, and the clock at each event.
func (n *netHTTP) lines(body io.Reader, s *sample) (errors []float64, err error) {
	r := bufio.NewReaderSize(body, 4096)
	for {
		line, err := r.ReadSlice('\n')
		if err == io.EOF {
			return errors, nil
		}
		if err != nil {
			return errors, err
		}
		if len(line) < 20 {
			continue
		}
		now := wall()
		n.events.Add(1)
		if s.first == 0 {
			s.first = now
		}
		s.last = now
		if n.Rounds > 0 {
			if sent := sentAt(line); sent > 0 {
				errors = append(errors, float64(now-sent)/1e3)
			}
		}
	}
}
