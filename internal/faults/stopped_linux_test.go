package faults

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	fs "aiperf.dev/aiperf/internal/faultserver"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/loadgen/transport"
)

// clientURL tells the role "client" where to send to.
const clientURL = "AIPERF_FAULTS_URL"

// streams is how many requests the client to be stopped has under way.
const streams = 64

// seen is an event as the stopped client dates it: by the transport's stamp and
// by when its own code had it, in Unix ns.
type seen struct {
	Event       int
	At, Low     int64
	Application int64
	Kernel      bool
}

// clientToStop opens streams, says "ready" when each has begun and "read" when
// each has brought its second event, and prints what it has seen when all have
// ended.
func clientToStop() {
	clock := record.NewClock()
	cl, err := transport.Open(transport.Config{Targets: []string{os.Getenv(clientURL)}, Clock: clock})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	var begun, second, over sync.WaitGroup
	var mu sync.Mutex
	var all []seen
	for range streams {
		begun.Add(1)
		second.Add(1)
		over.Add(1)
		x := &transport.Exchange{Path: "/", Stream: true, Deadline: record.None, CancelAfter: record.None}
		var read []int64
		x.OnEvent = func([]byte) {
			read = append(read, clock.Now())
			switch len(read) {
			case 1:
				begun.Done()
			case 2:
				second.Done()
			}
		}
		x.Done = func(x *transport.Exchange) {
			mu.Lock()
			defer mu.Unlock()
			defer over.Done()
			if x.Status != record.OK || len(x.Events) != 3 {
				fmt.Println("a stream ended as", x.Status, x.ErrorText, len(x.Events))
				return
			}
			event, err := strconv.Atoi(string(x.Data(1)))
			if err != nil {
				fmt.Println(err)
				return
			}
			e := x.Events[1]
			zero := clock.Began().UnixNano()
			all = append(all, seen{event, e.At + zero, e.Low + zero, read[1] + zero, cl.Stats().Stamps == "kernel"})
		}
		cl.Start(x)
	}
	begun.Wait()
	fmt.Println("ready")
	second.Wait()
	fmt.Println("read")
	over.Wait()
	json.NewEncoder(os.Stdout).Encode(all) //nolint:errcheck // the parent finds out
	cl.Close()                             //nolint:errcheck // the process ends
}

// A client that is stopped in the middle of its streams dates what came
// meanwhile by the kernel's stamps: as it was sent. Its own clock readings are
// late by as long as it was stopped.
func TestStampsHoldWhileStopped(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	sent := make([]time.Time, streams)
	var written sync.WaitGroup
	written.Add(streams)
	s := fs.Start(t, fs.Script{
		fs.Read(), fs.Send(fs.StreamHead() + fs.Event("begun")), fs.Await("stopped"),
		func(c *fs.Conn) bool {
			defer written.Done()
			i := n.Add(1) - 1
			sent[i] = time.Now()
			return fs.Send(fs.Event(fmt.Sprint(i)))(c)
		}, fs.Await("goes on"), fs.Send(fs.Event("[DONE]") + fs.LastChunk), fs.UntilClosed(),
	})
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), role+"=client", clientURL+"="+s.URL())
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill() //nolint:errcheck // it may have ended
		cmd.Wait()         //nolint:errcheck // it was killed, or has ended
	})
	in := bufio.NewReader(out)
	await(t, in, "ready")
	stop(t, cmd.Process.Pid)
	s.Notify("stopped")
	written.Wait()
	const away = 200 * time.Millisecond
	<-time.After(away) // as long as the client is stopped at least, with all events in its sockets
	cont := time.Now().UnixNano()
	if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	await(t, in, "read") // or the end of a stream might share a read with the event before it
	s.Notify("goes on")
	var all []seen
	if err := json.NewDecoder(in).Decode(&all); err != nil || len(all) != streams {
		t.Fatalf("the client told of %d events of %d: %v", len(all), streams, err)
	}
	if !all[0].Kernel {
		t.Skip("no kernel stamps here")
	}
	var kernel []float64
	for _, e := range all {
		kernel = append(kernel, float64(e.At-sent[e.Event].UnixNano())/1e6)
		if e.Application < cont-int64(time.Millisecond) {
			t.Errorf("event %d was read before the client went on", e.Event)
		}
		// All were sent when the client had still to be away for as long as it was:
		// half of that is left to whatever else the machine does.
		if at, by := sent[e.Event].UnixNano(), cont-int64(away/2); e.Low > e.At || e.At < at-int64(time.Millisecond) ||
			e.At > by {
			t.Errorf("event %d was sent at %d, before %d, and dated (%d, %d]", e.Event, at, by, e.Low, e.At)
		}
	}
	slices.Sort(kernel)
	t.Logf("stamps off by %.3f ms at the median, %.3f at most; the client's own by at least %v",
		stats.Quantile(kernel, 0.5), kernel[len(kernel)-1], away)
}

// await reads the line that the client says next.
func await(t *testing.T, in *bufio.Reader, want string) {
	t.Helper()
	if line, err := in.ReadString('\n'); err != nil || line != want+"\n" {
		t.Fatalf("the client said %q, %v; want %q", line, err, want)
	}
}

// stop sends SIGSTOP and returns when the process has stopped.
func stop(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	var ws syscall.WaitStatus
	for {
		_, err := syscall.Wait4(pid, &ws, syscall.WUNTRACED, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil || !ws.Stopped():
			t.Fatalf("the client ended instead of stopping: %v, %v", err, ws)
		default:
			return
		}
	}
}
