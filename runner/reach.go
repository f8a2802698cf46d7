package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/mockserver"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/loadgen/endpoint"
	"aiperf.dev/aiperf/loadgen/transport"
	"aiperf.dev/aiperf/loadgen/transport/rpc"
	"aiperf.dev/aiperf/runner/onerun"
	"aiperf.dev/aiperf/runner/verdict"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
)

// reach makes one connection to every server of the plan, before anything is
// made for it. A cell needs all of its servers. When every cell lacks one the plan
// is not begun: its directory keeps its name for the attempt that works. Of
// several cells one may have a server that is down; it fails, and the others are
// measured. A comparison takes all of its servers, since one side alone decides
// nothing. A server that a flip brings up is not expected yet.
func reach(ctx context.Context, plan *sweep.Plan) error {
	tried := map[string]error{}
	all := plan.Experiment.Compare != nil
	var first error
	for _, c := range unflipped(plan) {
		b := &c.Resolved.Benchmark
		var lacks error
		for _, u := range b.Endpoint.URLs {
			err, known := tried[u]
			if !known && !mockserver.Named(u) {
				err = transport.Reach(ctx, onerun.Transport(b, []string{u}, record.NewClock()))
				tried[u] = err
			}
			lacks = cmp.Or(lacks, err)
		}
		if lacks == nil && !all || ctx.Err() != nil {
			return nil
		}
		first = cmp.Or(first, lacks)
	}
	if first == nil {
		return nil
	}
	return onerun.Unreachable(first)
}

// methods asks every server that is to describe its methods for the one that the
// experiment means, before anything is made for it. A name the server does not have is
// a mistake in the experiment; a server that is down is reported elsewhere.
func methods(ctx context.Context, plan *sweep.Plan, local *servers) error {
	asked := map[string]bool{}
	for _, c := range unflipped(plan) {
		b := c.Resolved.Benchmark
		if b.Endpoint.RPC == nil {
			continue
		}
		for _, u := range b.Endpoint.URLs {
			key := fmt.Sprintf("%q %q %q", u, b.Endpoint.RPC.Method, b.Endpoint.RPC.Body)
			if asked[key] {
				continue
			}
			asked[key] = true
			at, ok, err := local.early(ctx, u)
			if err != nil {
				return err
			}
			if ok {
				err = method(ctx, &b, at)
			}
			if err != nil && ctx.Err() == nil {
				if !mockserver.Named(u) {
					err = fmt.Errorf("%s: %w", transport.PlainURL(u, ""), err)
				}
				return err
			}
		}
	}
	return nil
}

// method asks the server at target.
func method(ctx context.Context, b *schema.Benchmark, target string) error {
	how := onerun.Transport(b, []string{target}, record.NewClock())
	if transport.Reach(ctx, how) != nil {
		return nil
	}
	client, err := transport.Open(how)
	if err != nil {
		return err
	}
	// A text that is a number, and base64, too: what the method takes in its place
	// is not known.
	x, err := smallest(b, b.Models.Items[0].Name, "1234")
	if err == nil {
		err = client.Knows(ctx, 0, x.Path, x.Body)
	}
	if err == nil {
		var answer rpc.Message
		if answer, err = client.Answers(ctx, 0, x.Path); err == nil {
			err = endpoint.RPCLeads(b.Endpoint.RPC, answer.Name, answer.Fields)
		}
	}
	return errors.Join(err, client.Close())
}

// FailedHint is what to try when every request of b failed like e.
func FailedHint(ctx context.Context, e verdict.ErrorCount, b *schema.Benchmark) string {
	base := b.Endpoint.URLs[0]
	how := onerun.Transport(b, b.Endpoint.URLs[:1], record.NewClock())
	switch {
	case overTLS(ctx, e, how):
		return "the server speaks TLS there: --url " + strings.Replace(base, "http://", "https://", 1)
	case how.HTTP2 && e.Cause == "reset":
		return "does the server speak HTTP/2 without TLS? HTTP/1.1 is the default: leave --http out"
	case e.Cause == "html":
		return "is " + base + " an inference server? the URL is its base address, such as http://localhost:8000"
	case e.HTTP == http.StatusUnauthorized, e.HTTP == http.StatusForbidden:
		return "the server needs a key: --api-key"
	case e.HTTP >= 300 && e.HTTP < 400:
		return "the server redirects to another address, which is not followed: give that one with --url"
	case e.HTTP >= 400:
		return cmp.Or(modelHint(ctx, e.HTTP, b, how), allMessages)
	}
	return allMessages
}

const allMessages = "error_message in the requests table has all of them"

// hintTimeout bounds a question to the server that only serves a hint.
const hintTimeout = 2 * time.Second

// overTLS reports whether requests in plain text failed like e because the server speaks
// TLS there. Servers break the connection, or answer 400 in plain text.
// as transport.Reach
func overTLS(ctx context.Context, e verdict.ErrorCount, how transport.Config) bool { //nolint:gocritic
	if e.Cause != "reset" && e.HTTP != http.StatusBadRequest {
		return false
	}
	if !strings.Contains(how.Targets[0], "://") {
		how.Targets = []string{"http://" + how.Targets[0]}
	}
	ctx, stop := context.WithTimeout(ctx, hintTimeout)
	defer stop()
	how.HTTP2 = false // a server of HTTP/1.1 answers its preface with something else, too
	return transport.SpeaksTLS(ctx, how)
}

// modelHint looks for the model of b in the server's list; "" when the server has none, or
// has the model and did not say that something was not found.
// as transport.Reach
func modelHint(ctx context.Context, status int, b *schema.Benchmark, how transport.Config) string { //nolint:gocritic
	served, wanted := servedModels(ctx, b, how), b.Models.Items[0].Name
	switch {
	case len(served) > 0 && !slices.Contains(served, wanted):
		use := cmp.Or(schema.Suggest(wanted, served), served[0])
		return "the server lists: " + words.Clip(strings.Join(served, ", "), shownWords) + "; use -m " + use
	case status != http.StatusNotFound:
		return ""
	case len(served) > 0:
		return "the server lists the model: is the endpoint type right (--endpoint-type)?"
	}
	return "is the model's name right (-m), and the endpoint type (--endpoint-type)?"
}

// Served are the models that the first server of a plan lists; nil when it has no list.
// The error is of a server that cannot be reached.
func Served(ctx context.Context, plan *sweep.Plan) ([]string, error) {
	if err := reach(ctx, plan); err != nil {
		return nil, err
	}
	b := &plan.Cells[0].Resolved.Benchmark
	return servedModels(ctx, b, onerun.Transport(b, b.Endpoint.URLs[:1], record.NewClock())), nil
}

// servedModels are the names in the server's list of models; nil when it has none.
// as transport.Reach
func servedModels(ctx context.Context, b *schema.Benchmark, how transport.Config) []string { //nolint:gocritic
	if mockserver.Named(how.Targets[0]) { // it is gone by now, and its error names its models
		return nil
	}
	return onerun.NewInquirer(&b.Endpoint, how).Served(ctx)
}
