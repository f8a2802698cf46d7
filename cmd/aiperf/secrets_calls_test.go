package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/loadgen/transport/rpc"
)

// rpcCanaries is an experiment that says secrets in the metadata and in the parameters of
// gRPC calls.
const rpcCanaries = `
benchmark:
  model: demo
  endpoint:
    url: "grpc://HOST"
    streaming: true
    type: kserve_v2_infer
    api_key: "${CANARY_KEY}"
    headers:
      x-foo: canary-header-1
      x-env: "Token ${CANARY_ENV}"
      x-jwt: eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.YWJjZGVmZ2hpag
    extra: {note: "${CANARY_EXTRA}"}
  dataset: {isl: 16, osl: 4, entries: 4}
  profiling: {requests: 4, concurrency: 1}
  artifacts: {raw: true, trace: true, export_outputs_json: true}
sweep: {parameters: {"endpoint.headers.x-axis": [canary-axis-1, "${CANARY_AXIS}"]}}
`

// wire hands the messages of gRPC over as they are.
type wire struct{}

func (wire) Name() string { return "wire" }

func (wire) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(*v.(*[]byte))}, nil
}

func (wire) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}

var _ encoding.CodecV2 = wire{}

// A gRPC server that repeats all metadata and the parameters of a request in its own
// metadata, its answers and its errors: no secret is on a screen or in a file.
func TestNoCanaryOfGRPC(t *testing.T) {
	t.Parallel()
	var asked, told atomic.Int64
	server := grpc.NewServer(grpc.ForceServerCodecV2(wire{}),
		grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
			md, _ := metadata.FromIncomingContext(stream.Context())
			var in []byte
			if err := stream.RecvMsg(&in); err != nil {
				return err
			}
			_, body, err := rpc.DecodeRequest(in)
			if err != nil {
				return err
			}
			echo := strings.Join(strings.Fields(fmt.Sprint(map[string][]string(md))), " ") + " " + string(body)
			if strings.Contains(echo, "canary-header-1") && strings.Contains(echo, "Token canary-env-1") &&
				strings.Contains(echo, "canary-key-1") && strings.Contains(echo, "canary-axis-") {
				told.Add(1)
			}
			_ = stream.SetHeader(metadata.Pairs("x-echo", echo))
			stream.SetTrailer(metadata.Pairs("x-echo-end", echo))
			if asked.Add(1)%2 == 0 {
				return status.Error(codes.PermissionDenied, echo)
			}
			quoted, _ := json.Marshal(echo)
			answer, err := rpc.EncodeAnswer([]byte(`{"model_name":`+string(quoted)+`,"id":`+string(quoted)+
				`,"outputs":[{"name":"text_output","datatype":"BYTES","shape":[1],"data":[`+string(quoted)+
				`]}],"parameters":{"triton_final_response":true,"note":`+string(quoted)+`}}`), true)
			if err != nil {
				return err
			}
			return stream.SendMsg(&answer)
		}))
	at, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1) // 1: it ends whether or not somebody asks
	go func() { served <- server.Serve(at) }()
	t.Cleanup(func() { server.Stop(); <-served })
	wantCanariesNowhere(t, strings.ReplaceAll(rpcCanaries, "HOST", at.Addr().String()), []string{
		"CANARY_KEY=canary-key-1", "CANARY_ENV=canary-env-1", "CANARY_EXTRA=canary-extra-1", "CANARY_AXIS=canary-axis-2",
	}, 40, "header-1", "key-1", "env-1", "extra-1", "axis-1", "axis-2")
	if told.Load() < 8 {
		t.Errorf("%d of %d calls had the real values", told.Load(), asked.Load())
	}
}

// flipCanaries is an experiment whose server is brought into its states by calls that say
// secrets in the path, the headers and the body.
const flipCanaries = `
benchmark:
  model: demo
  endpoint: {type: chat, streaming: true}
  dataset: {isl: 16, osl: 4, entries: 4}
  profiling: {requests: 2, concurrency: 1}
sweep:
  parameters:
    endpoint:
      - {label: one, url: "http://HOST", flip: {call: "/admin/${CANARY_PATH}?key=canary-query-1", headers: {X-Admin: "${CANARY_ADMIN}", X-Own: canary-own-1},
          body: {api_key: canary-body-1, note: "${CANARY_NOTE}", list: ["${CANARY_LIST}"], nested: {password: canary-nested-1}}}}
      - {label: two, url: "http://HOST", flip: {call: "http://user-1:canary-password-1@HOST/admin/two?token=${CANARY_TOKEN}", headers: {Authorization: "Bearer ${CANARY_ADMIN}"}, body: {}}}
multi_run: {num_runs: 2}
gates: ["error_rate <= 1"]
`

// A server that repeats the calls of its flips in its refusals, and refuses every second:
// no secret is on a screen or in a file.
func TestNoCanaryOfFlips(t *testing.T) {
	t.Parallel()
	var flips, told atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if !strings.HasPrefix(r.URL.Path, "/admin/") {
			_, _ = io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
			return
		}
		user, password, _ := r.BasicAuth()
		echo := fmt.Sprintf("%s %s %s:%s %v", r.URL, body, user, password, r.Header)
		n := flips.Add(1)
		for _, secrets := range []string{
			"canary-path-1 canary-query-1 canary-admin-1 canary-own-1 canary-body-1 canary-note-1 canary-list-1 canary-nested-1",
			"canary-token-1 canary-admin-1",
		} {
			all := true
			for _, s := range strings.Fields(secrets) {
				all = all && strings.Contains(echo, s)
			}
			if all {
				told.Add(1)
			}
		}
		w.Header().Set("X-Echo", strings.Join(strings.Fields(echo), " "))
		if n%2 == 0 {
			w.WriteHeader(http.StatusConflict)
		}
		quoted, _ := json.Marshal(echo)
		_, _ = fmt.Fprintf(w, `{"error":{"message":%s}}`, quoted)
	}))
	t.Cleanup(server.Close)
	wantCanariesNowhere(t, strings.ReplaceAll(flipCanaries, "HOST", strings.TrimPrefix(server.URL, "http://")),
		[]string{
			"CANARY_PATH=canary-path-1", "CANARY_ADMIN=canary-admin-1", "CANARY_NOTE=canary-note-1", "CANARY_LIST=canary-list-1", "CANARY_TOKEN=canary-token-1",
		}, 20, "path-1", "query-1", "admin-1", "own-1", "body-1", "note-1", "list-1", "nested-1", "password-1",
		"token-1")
	if flips.Load() < 4 || told.Load() != flips.Load() {
		t.Errorf("%d of %d flips had the real values", told.Load(), flips.Load())
	}
}

// wantCanariesNowhere goes with an experiment through the commands that read it and looks
// for the canaries of these names, and for a known token, in all that is printed and in at
// least so many files.
func wantCanariesNowhere(t *testing.T, experiment string, env []string, least int, names ...string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "e.yaml"), []byte(experiment), 0o600); err != nil {
		t.Fatal(err)
	}
	secrets := []string{"YWJjZGVmZ2hpag"}
	for _, name := range names {
		secrets = append(secrets, "canary-"+name)
	}
	for _, args := range [][]string{
		{"validate", "e.yaml"},
		{"explain", "e.yaml"},
		{"plan", "e.yaml", "--cells"},
		{"plan", "e.yaml", "-o", "json"},
		{"config", "expand", "e.yaml"},
		{"run", "e.yaml", "--dry-run"},
		{"run", "e.yaml", "--artifact-dir", "lean", "--tokenizer", "builtin", "--no-aiperf-artifacts"},
		{"export", "lean", "--to", "aiperf"},
		{"run", "e.yaml", "--artifact-dir", "out", "--tokenizer", "builtin", "--junit", "junit.xml", "-vv", "--aiperf-artifacts"},
		{"run", "e.yaml", "--artifact-dir", "out", "--tokenizer", "builtin", "--resume"},
		{"report", "out"},
		{"checks", "out"},
		{"profile", "-f", "e.yaml", "--dry-run"},
	} {
		p := aiperfWith(t, dir, env, args...)
		p.wants(0, diag.Failed, diag.Invalid)
		wantNone(t, strings.Join(args, " "), p.out.String()+p.err.String(), secrets)
	}
	wantNoneBelow(t, dir, least, secrets)
}
