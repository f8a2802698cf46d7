package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/runner"
	"aiperf.dev/aiperf/runner/verdict"
	"aiperf.dev/aiperf/schema"
)

// allFailed says in one line why every request of a result failed, in the
// server's own words, with what to try. It says nothing of other results.
func (a *app) allFailed(res *runner.Result) {
	r := res.Report()
	if r.Sent == 0 || r.Failed < r.Sent || len(r.Errors) == 0 {
		return
	}
	first := r.Errors[0]
	a.complain(diag.New(fmt.Sprintf("all %s failed: %s: %s", words.Count(r.Sent, "request"), first.Kind, words.Clip(first.Message, 200)),
		failedHint(a.hard, first, res.Plan.Cells[0].Resolved.Benchmark.Endpoint)))
}

// failedHint is what to try when every request failed like e.
func failedHint(ctx context.Context, e verdict.ErrorCount, at schema.Endpoint) string {
	base := at.URLs[0]
	switch {
	case e.Cause == "html":
		return "is " + base + " an inference server? the URL is its base address, such as http://localhost:8000"
	case e.HTTP == http.StatusNotFound:
		if names := servedModels(ctx, at); len(names) > 0 {
			return "the server lists: " + strings.Join(names, ", ") + "; use -m " + names[0]
		}
		return "is the model's name right (-m), and the endpoint type (--endpoint-type)?"
	case e.HTTP == http.StatusUnauthorized, e.HTTP == http.StatusForbidden:
		return "the server wants a key: --api-key"
	case e.HTTP >= 300 && e.HTTP < 400:
		return "the server points to another address; requests are not sent there: give that one with --url"
	}
	return "error_message in the requests table has all of them"
}

// modelsTimeout bounds the question for the list of models: it only serves a hint.
const modelsTimeout = 2 * time.Second

// servedModels asks a server of OpenAI's kind what it serves; nil when it does
// not say.
func servedModels(ctx context.Context, at schema.Endpoint) []string {
	base := strings.TrimSuffix(strings.TrimSuffix(at.URLs[0], "/"), "/v1")
	if runner.IsMock(base) { // it is gone by now, and its error names its models
		return nil
	}
	ctx, stop := context.WithTimeout(ctx, modelsTimeout)
	defer stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/v1/models", nil)
	if err != nil {
		return nil
	}
	if at.APIKey != "" {
		req.Header.Set("Authorization", "Bearer "+at.APIKey)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil
	}
	defer resp.Body.Close()
	var list struct{ Data []struct{ ID string } }
	if json.NewDecoder(http.MaxBytesReader(nil, resp.Body, 1<<20)).Decode(&list) != nil {
		return nil
	}
	var names []string
	for _, m := range list.Data[:min(5, len(list.Data))] {
		names = append(names, m.ID)
	}
	return names
}
