package mlflow_test

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"aiperf.dev/aiperf/sinks/mlflow"
)

// tracking is a server that keeps MLflow's limits.
type tracking struct {
	mu          sync.Mutex
	known       bool // the experiment
	refuse      string
	metrics     map[string]float64
	params      map[string]string
	tags        map[string]string
	status      string
	files       map[string]string
	batches     int
	auth        string
	artifactURI string
}

func (s *tracking) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	s.auth = r.Header.Get("Authorization")
	name := strings.TrimPrefix(r.URL.Path, "/api/2.0/mlflow/")
	fail := func(status int, code string) {
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"error_code":%q,"message":"no\u001b[31m"}`, code)
	}
	var in struct {
		RunID   string `json:"run_id"`
		Status  string
		Metrics []struct {
			Key   string
			Value *float64
		}
		Params, Tags []struct{ Key, Value string }
	}
	if name == s.refuse {
		fail(500, "INTERNAL_ERROR")
		return
	}
	switch {
	case name == "experiments/get-by-name" && !s.known:
		fail(404, "RESOURCE_DOES_NOT_EXIST")
	case name == "experiments/get-by-name":
		fmt.Fprint(w, `{"experiment":{"experiment_id":"7","lifecycle_stage":"active"}}`)
	case name == "experiments/create":
		s.known = true
		fmt.Fprint(w, `{"experiment_id":"7"}`)
	case name == "runs/create" || name == "runs/log-batch":
		if err := json.Unmarshal(body, &in); err != nil || len(in.Metrics) > 1000 || len(in.Params) > 100 ||
			len(in.Tags) > 100 ||
			len(in.Metrics)+len(in.Params)+len(in.Tags) > 1000 || len(body) > 1<<20 {
			fail(400, "INVALID_PARAMETER_VALUE")
			return
		}
		for _, m := range in.Metrics {
			if m.Value == nil {
				fail(400, "INVALID_PARAMETER_VALUE")
				return
			}
			s.metrics[m.Key] = *m.Value
		}
		for _, p := range in.Params {
			s.params[p.Key] = p.Value
		}
		for _, p := range in.Tags {
			s.tags[p.Key] = p.Value
		}
		s.batches++
		fmt.Fprintf(w, `{"run":{"info":{"run_id":"r1","artifact_uri":%q}}}`, s.artifactURI)
	case name == "runs/update":
		_ = json.Unmarshal(body, &in)
		s.status = in.Status
		fmt.Fprint(w, `{}`)
	case strings.HasPrefix(r.URL.Path, "/api/2.0/mlflow-artifacts/artifacts/") && r.Method == http.MethodPut:
		s.files[strings.TrimPrefix(r.URL.Path, "/api/2.0/mlflow-artifacts/artifacts/")] = string(body)
		fmt.Fprint(w, `{}`)
	default:
		fail(404, "ENDPOINT_NOT_FOUND")
	}
}

func serve(t *testing.T, change func(*tracking)) (*tracking, string) {
	t.Helper()
	s := &tracking{
		metrics: map[string]float64{}, params: map[string]string{}, tags: map[string]string{},
		files:       map[string]string{},
		artifactURI: "mlflow-artifacts:/7/r1/artifacts",
	}
	if change != nil {
		change(s)
	}
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	return s, srv.URL
}

// A run arrives whole, in batches that the server takes, and without what is not a number.
func TestFile(t *testing.T) {
	t.Parallel()
	s, address := serve(t, nil)
	c, err := mlflow.Open(t.Context(), strings.Replace(address, "://", "://me:secret@", 1), "new")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "a b.json")
	if err := os.WriteFile(file, []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	r := &mlflow.Run{
		Name: "n", Parent: "p", Status: "FINISHED", Began: time.Unix(1, 0), Ended: time.Unix(2, 0),
		Artifacts: []mlflow.Artifact{{Name: "exports/a b.json", File: file}}, Metrics: []mlflow.Metric{
			{"nan", math.NaN()}, {"inf", math.Inf(1)},
		},
	}
	for i := range 2345 {
		r.Metrics = append(r.Metrics, mlflow.Metric{Key: fmt.Sprint("m", i), Value: float64(i)})
	}
	for i := range 250 {
		r.Params, r.Tags = append(
			r.Params, [2]string{fmt.Sprint("p", i), strings.Repeat("x", 9000)},
		), append(r.Tags, [2]string{fmt.Sprint("t", i), "v"})
	}
	if err := c.File(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if len(s.metrics) != 2345 || len(s.params) != 250 || len(s.tags) != 251 || s.metrics["m2344"] != 2344 ||
		len(s.params["p9"]) != 6000 {
		t.Errorf("%d metrics, %d params, %d tags", len(s.metrics), len(s.params), len(s.tags))
	}
	if s.tags["mlflow.parentRunId"] != "p" || s.status != "FINISHED" ||
		s.files["7/r1/artifacts/exports/a b.json"] != "{}" || r.ID != "r1" {
		t.Errorf("parent %q, %s, files %v", s.tags["mlflow.parentRunId"], s.status, s.files)
	}
	if s.auth != "Basic bWU6c2VjcmV0" || strings.Contains(c.Address(), "secret") {
		t.Errorf("authorized by %q; shown as %s", s.auth, c.Address())
	}
}

// What a server does not take is one line, and its run is marked as failed.
func TestRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		change func(*tracking)
		says   string
	}{
		{func(s *tracking) { s.refuse = "experiments/get-by-name" }, "it answers 500"},
		{func(s *tracking) { s.refuse = "runs/log-batch" }, "it answers 500"},
		{func(s *tracking) { s.artifactURI = "s3://bucket/7" }, "--serve-artifacts"},
	} {
		s, address := serve(t, c.change)
		client, err := mlflow.Open(t.Context(), address, "e")
		if err == nil {
			err = client.File(t.Context(), &mlflow.Run{
				Status: "FINISHED", Metrics: []mlflow.Metric{{"a", 1}}, Artifacts: []mlflow.Artifact{{"x", "mlflow_test.go"}},
			})
			if s.status != "FAILED" {
				t.Errorf("%s: the run is %q", c.says, s.status)
			}
		}
		if err == nil || !strings.Contains(err.Error(), c.says) || strings.ContainsAny(err.Error(), "\n\x1b") {
			t.Errorf("%v, want %s", err, c.says)
		}
	}
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "Invalid Host header - possible DNS rebinding attack detected", http.StatusForbidden)
	}))
	t.Cleanup(host.Close)
	if _, err := mlflow.Open(t.Context(), host.URL, "e"); err == nil ||
		!strings.Contains(err.Error(), "--allowed-hosts") {
		t.Errorf("%v", err)
	}
	if _, err := mlflow.Open(t.Context(), "file:///tmp/mlruns", "e"); err == nil ||
		!strings.Contains(err.Error(), "mlflow server --backend-store-uri") {
		t.Errorf("%v", err)
	}
}
