package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/klauspost/compress/zstd"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/resultdir"
)

// TestSecretsAreNowhere gives secrets in every way there is to a server that
// repeats them in its errors, and looks for them, in every form, in all that is
// printed and written.
func TestSecretsAreNowhere(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Set-Cookie", r.Header.Get("Authorization"))
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte(`{"error":{"message":"no: ` + r.Header.Get("Authorization") + " " +
			r.Header.Get("X-Team-Auth") + " " + r.URL.String() + `"}}`))
	}))
	t.Cleanup(server.Close) // after the parallel parts
	host := strings.TrimPrefix(server.URL, "http://")
	basic := base64.StdEncoding.EncodeToString([]byte("robot:pass/in+header"))
	for name, words := range map[string][]string{
		"key":    {"--api-key", "sk/key+in=flag", "-u", "http://me:pass%2Fin%2Burl@" + host + "/v1?api_key=key-in-query", "-H", "X-Team-Auth: team-in-header"},
		"header": {"--header=Authorization: Basic " + basic, "-u", host + "?sig=sig-in-query"},
		"body":   {"--extra-inputs", "api_key:key-in-body", `{"nested":{"password":"pass-in-body"}}`, "-u", host},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			secrets := []string{
				"sk/key+in=flag", "pass/in+url", "key-in-query", "team-in-header", "pass/in+header",
				basic, "sig-in-query", "key-in-body", "pass-in-body",
			}
			for _, more := range [][]string{
				{"--export-level", "raw", "--export-http-trace", "-vv"},
				{"--dry-run"},
				{"--dry-run", "-o", "json"},
			} {
				args := append([]string{
					"profile", "-m", "demo", "--request-count", "2", "--tokenizer",
					"builtin", "--artifact-dir", "out",
				}, more...)
				p := aiperf(t, dir, append(args, words...)...)
				p.wants(0, diag.Failed)
				wantNone(t, "the screen", p.out.String()+p.err.String(), secrets)
			}
			wantNoneBelow(t, filepath.Join(dir, "out"), 20, secrets)
		})
	}
}

func wantNone(t *testing.T, where, text string, secrets []string) {
	t.Helper()
	for _, s := range secrets {
		for _, form := range []string{
			s, url.QueryEscape(s), base64.StdEncoding.EncodeToString([]byte(s)),
			base64.RawURLEncoding.EncodeToString([]byte(s)),
		} {
			if strings.Contains(text, form) {
				t.Errorf("%s shows %s", where, form)
			}
		}
	}
}

// wantNoneBelow looks for secrets in every file below dir, of which there are at least so
// many; e.yaml is the experiment that says them.
func wantNoneBelow(t *testing.T, dir string, least int, secrets []string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || e.Name() == "e.yaml" {
			return err
		}
		files++
		b, err := os.ReadFile(path)
		if err == nil && e.Name() == resultdir.RecordsKept {
			b, err = unpacked(b)
		}
		wantNone(t, path, string(b), secrets)
		return err
	})
	if err != nil || files < least {
		t.Errorf("%d files looked at, %v", files, err)
	}
}

// unpacked is what an archive of records says.
func unpacked(b []byte) ([]byte, error) {
	d, err := zstd.NewReader(nil)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.DecodeAll(b, nil)
}

// canaries is an experiment that says a secret, canary-… or a token known by its
// shape, in every place where one can be said.
const canaries = `
variables: {tok: "${CANARY_VARIABLE}", own: {api_key: canary-variable-key-1}}
benchmark:
  model: "${MODEL}"
  endpoint:
    url: "http://canary-user-1:canary-password-1@HOST/${CANARY_PATH}?api_key=canary-query-1&plain=1&t=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJjYW5hcnkifQ.c2lnbmF0dXJl"
    streaming: true
    type: chat
    headers:
      X-Foo: canary-header-1
      x_internal: "Token canary-header-2"
      Cookie: "a=canary-header-3"
      X-Env: "${CANARY_ENV}"
      X-Variable: "v {{ tok }}"
      X-Jwt: eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.YWJjZGVmZ2hpag
      X-Short: "8"
      X-Flag: "true"
      User-Agent: the-agent/1.0
    extra: {note: "${CANARY_EXTRA}", list: ["sk-canary0123456789abcdef"], nested: {password: canary-extra-1, "n": 8}}
  dataset: {isl: 16, osl: 4, entries: 4, system_prompt: "the key is ${CANARY_PROMPT}", prefix_prompts: {}}
  profiling: {requests: "${REQUESTS}", concurrency: 1}
  artifacts: {raw: true, trace: true, export_outputs_json: true}
sweep: {parameters: {"endpoint.headers.X-Axis": [canary-axis-1, "${CANARY_AXIS}"]}}
multi_run: {num_runs: 2}
gates: ["error_rate <= 1"]
`

// The values of variables that say the canaries, and some that are no secrets.
var canaryEnv = []string{
	"CANARY_VARIABLE=canary-variable-1", "CANARY_PATH=canary-path-1", "CANARY_ENV=canary-env-1", "CANARY_EXTRA=canary-extra-env-1", "CANARY_PROMPT=canary-prompt-1",
	"CANARY_AXIS=canary-axis-2", "MODEL=canary-is-no-model", "REQUESTS=4", "OPENAI_API_KEY=canary-openai-1",
}

// A proxy that the environment names gets its password, and repeats it in an error: it is in no
// file and on no screen.
func TestProxyPasswordIsNowhere(t *testing.T) {
	t.Parallel()
	var told atomic.Int64
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		said := r.Header.Get("Proxy-Authorization")
		plain, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(said, "Basic "))
		if string(plain) == "user-1:canary-proxy-1" {
			told.Add(1)
		}
		w.Header().Set("X-Echo", said)
		w.WriteHeader(http.StatusProxyAuthRequired)
		fmt.Fprintf(w, `{"error":{"message":"no such user: %s, %s"}}`, said, plain)
	}))
	t.Cleanup(proxy.Close)
	dir := t.TempDir()
	text := `benchmark: {model: demo, endpoint: {url: "http://server.example:8000", type: chat, proxy: env}, tokenizer: {name: builtin}, ` +
		`dataset: {prompts: {isl: 8, osl: 4}}, profiling: {concurrency: 1, requests: 2}, artifacts: {raw: true, trace: true}}` + "\n"
	if err := os.WriteFile(filepath.Join(dir, "e.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	secrets := []string{"canary-proxy-1", base64.StdEncoding.EncodeToString([]byte("user-1:canary-proxy-1"))}
	p := aiperfWith(t, dir, []string{
		"HTTP_PROXY=" + strings.Replace(proxy.URL, "//", "//user-1:canary-proxy-1@", 1),
		"http_proxy=", "NO_PROXY=", "no_proxy=",
	}, "run", "e.yaml", "--artifact-dir", "out", "-vv")
	p.wants(diag.Failed)
	wantNone(t, "the screen", p.out.String()+p.err.String(), secrets)
	if told.Load() == 0 {
		t.Error("the proxy did not get the password")
	}
	wantNoneBelow(t, filepath.Join(dir, "out"), 20, secrets)
}

// TestNoCanaryAnywhere runs a whole plan against a server that repeats all it is told
// in its errors, its answers and its headers, and looks for every secret in all bytes
// that are printed and written. The server itself gets the real ones.
func TestNoCanaryAnywhere(t *testing.T) {
	t.Parallel()
	var asked, told atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		echo := r.URL.String() + " " + string(body)
		for _, name := range []string{
			"X-Foo", "X_internal", "Cookie", "X-Env", "X-Variable", "X-Jwt", "X-Axis",
			"Authorization",
		} {
			echo += " " + name + ": " + r.Header.Get(name)
			w.Header().Add("X-Echo", r.Header.Get(name))
		}
		if strings.Contains(echo, "canary-header-1") && strings.Contains(echo, "canary-env-1") &&
			strings.Contains(echo, "v canary-variable-1") && strings.Contains(echo, "/canary-path-1") {
			told.Add(1)
		}
		quoted, _ := json.Marshal(echo)
		if asked.Add(1)%2 == 0 {
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(`{"error":{"message":` + string(quoted) + `}}`))
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprintf(w, "data: {\"id\":%s,\"model\":%[1]s,\"system_fingerprint\":%[1]s,\"choices\":[{\"index\":0,\"delta\":{\"content\":%[1]s},\"finish_reason\":null}]}\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":%[1]s}]}\n\ndata: [DONE]\n\n", quoted)
	}))
	t.Cleanup(server.Close)
	dir := t.TempDir()
	text := strings.ReplaceAll(canaries, "HOST", strings.TrimPrefix(server.URL, "http://"))
	if err := os.WriteFile(filepath.Join(dir, "e.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	secrets := []string{"YWJjZGVmZ2hpag", "c2lnbmF0dXJl", "sk-canary0123456789abcdef"}
	for _, name := range []string{
		"header-1", "header-2", "header-3", "variable-1", "variable-key-1", "path-1", "env-1", "extra-1", "extra-env-1", "prompt-1", "axis-1", "axis-2", "user-1", "password-1", "query-1", "openai-1",
	} {
		secrets = append(secrets, "canary-"+name)
	}
	for _, args := range [][]string{
		{"validate", "e.yaml", "--lenient"},
		{"explain", "e.yaml", "--lenient"},
		{"plan", "e.yaml", "--lenient", "--cells"},
		{"plan", "e.yaml", "--lenient", "-o", "json"},
		{"config", "expand", "e.yaml"},
		{"run", "e.yaml", "--lenient", "--dry-run"},
		{"run", "e.yaml", "--lenient", "--artifact-dir", "lean", "--tokenizer", "builtin", "--no-aiperf-artifacts"},
		{"export", "lean", "--to", "aiperf"},
		{"run", "e.yaml", "--lenient", "--artifact-dir", "out", "--tokenizer", "builtin", "--junit", "junit.xml", "-vv", "--aiperf-artifacts"},
		{"run", "e.yaml", "--lenient", "--artifact-dir", "out", "--tokenizer", "builtin", "--resume"},
		{"report", "out"},
		{"checks", "out"},
		{"profile", "-f", "e.yaml", "--dry-run"},
	} {
		p := aiperfWith(t, dir, canaryEnv, args...)
		p.wants(0, diag.Failed, diag.Invalid)
		wantNone(t, strings.Join(args, " "), p.out.String()+p.err.String(), secrets)
	}
	if told.Load() < 16 {
		t.Errorf("%d of %d requests had the real values", told.Load(), asked.Load())
	}
	wantNoneBelow(t, dir, 60, secrets)
	for _, name := range []string{"resolved.json", "cells.csv", "plan.lock.json"} { // what is no secret stays
		b, err := os.ReadFile(filepath.Join(dir, "out", name))
		if err != nil || !strings.Contains(string(b), "canary-is-no-model") {
			t.Errorf("%s lacks the model's name, %v", name, err)
		}
	}
}
