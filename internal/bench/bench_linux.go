package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/stats"
)

// bencher is what scenarios share: a server, and this program to run clients from.
type bencher struct {
	ctx   context.Context
	quick bool
	self  string
	addr  string
	stdin io.Closer // ends the server
	cmd   *exec.Cmd
	home  string // for the program and its results
}

func newBench(ctx context.Context, quick bool) (*bencher, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	b := &bencher{ctx: ctx, quick: quick, self: self}
	if b.home, err = os.MkdirTemp("", "aiperf-bench"); err != nil {
		return nil, err
	}
	b.cmd = exec.Command(self, "server")
	b.cmd.Stderr = os.Stderr
	if b.stdin, err = b.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := b.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := b.cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("start the server: %w", err)
	}
	b.addr = strings.TrimSpace(line)
	return b, nil
}

func (b *bencher) close() {
	b.stdin.Close()
	b.cmd.Wait() //nolint:errcheck // it exits 0
	os.RemoveAll(b.home)
}

// run has one client do j, in a process of its own.
func (b *bencher) run(client string, j job) (*outcome, error) {
	j.Client, j.Addr = client, b.addr
	text, err := json.Marshal(j)
	if err != nil {
		return nil, err
	}
	if _, err := serverLog(b.addr); err != nil { // what was before is of no interest
		return nil, err
	}
	cmd := exec.CommandContext(b.ctx, b.self, "client", string(text))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("client %s: %w", client, err)
	}
	var o outcome
	return &o, json.Unmarshal(out, &o)
}

// outcomes are those of each client, one a round.
type outcomes [3][]*outcome

// three runs the clients one after the other, rounds times: what disturbs the
// machine for a while disturbs neighbours, and not all rounds of one client.
func (b *bencher) three(first string, j job, rounds int) (o outcomes, err error) {
	for range b.rounds(rounds) {
		for i, client := range []string{first, "net/http", "raw"} {
			one, err := b.run(client, j)
			if err != nil {
				return o, err
			}
			o[i] = append(o[i], one)
		}
	}
	return o, nil
}

// alone runs one client rounds times.
func (b *bencher) alone(client string, j job, rounds int) (o []*outcome, err error) {
	for range b.rounds(rounds) {
		one, err := b.run(client, j)
		if err != nil {
			return nil, err
		}
		o = append(o, one)
	}
	return o, nil
}

// rounds is how often something is measured; a quick look is one.
func (b *bencher) rounds(n int) int {
	if b.quick {
		return 1
	}
	return n
}

// seconds is how long a measurement takes: long, or a quick look.
func (b *bencher) seconds(long, short float64) time.Duration {
	if b.quick {
		long = short
	}
	return time.Duration(long * float64(time.Second))
}

// program builds aiperf once.
func (b *bencher) program() (string, error) {
	exe := filepath.Join(b.home, "aiperf")
	if _, err := os.Stat(exe); err == nil {
		return exe, nil
	}
	if out, err := exec.Command("go", "build", "-o", exe, "aiperf.dev/aiperf/cmd/aiperf").CombinedOutput(); err != nil {
		return "", errors.New(string(bytes.TrimSpace(out)))
	}
	return exe, nil
}

// row is a line of the table; a figure below 0 is absent.
type row struct {
	what    string
	figures [3]float64
	unit    string
	aim     string
}

func (r row) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "| %s |", r.what)
	for _, f := range r.figures {
		b.WriteString(" " + figure(f, r.unit) + " |")
	}
	ratio := ""
	if r.figures[0] > 0 && r.figures[1] > 0 {
		ratio = fmt.Sprintf("%.2f", r.figures[0]/r.figures[1])
	}
	fmt.Fprintf(&b, " %s | %s |", ratio, r.aim)
	return b.String()
}

// absent marks a figure that a client does not have.
const absent = -1e9

func figure(f float64, unit string) string {
	if f == absent {
		return "–"
	}
	format := "%.3f %s"
	switch a := max(f, -f); {
	case a >= 1000:
		format = "%.0f %s"
	case a >= 10:
		format = "%.1f %s"
	case a >= 1:
		format = "%.2f %s"
	}
	return strings.TrimSpace(fmt.Sprintf(format, f, unit))
}

// choice says which round's figure is shown.
type choice struct {
	name string
	of   func(sorted []float64) float64
}

// The median is for what varies both ways. The best is for tails: a hiccup of
// the machine makes them worse, and nothing makes them better.
var (
	median = choice{"median", func(v []float64) float64 { return stats.Quantile(v, 0.5) }}
	best   = choice{"best", func(v []float64) float64 { return v[0] }}
	fewest = choice{"fewest", func(v []float64) float64 { return v[0] }}
)

// rowOf takes one figure of each client's outcomes.
func rowOf(what, unit, aim string, o outcomes, c choice, get func(*outcome) float64) row {
	r := row{what: what, unit: unit, aim: aim}
	if n := len(o[0]); n > 1 {
		r.what += fmt.Sprintf(", %s of %d", c.name, n)
	}
	for i := range o {
		r.figures[i] = absent
		if len(o[i]) > 0 {
			r.figures[i] = c.of(figures(o[i], get))
		}
	}
	return r
}

func figures(o []*outcome, get func(*outcome) float64) []float64 {
	var v []float64
	for _, one := range o {
		v = append(v, get(one))
	}
	slices.Sort(v)
	return v
}

func loadAverage() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(b))[:1], " ")
}
