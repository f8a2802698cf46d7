package main

import (
	"encoding/base64"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/diag"
)

// TestSecretsAreNowhere gives secrets in every way there is to a server that
// repeats them in its errors, and looks for them, in every form, in all that is
// printed and written.
func TestSecretsAreNowhere(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Set-Cookie", r.Header.Get("Authorization"))
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte(`{"error":{"message":"no: ` + r.Header.Get("Authorization") + " " + r.Header.Get("X-Team-Auth") + " " + r.URL.String() + `"}}`))
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
			secrets := []string{"sk/key+in=flag", "pass/in+url", "key-in-query", "team-in-header", "pass/in+header", basic, "sig-in-query", "key-in-body", "pass-in-body"}
			for _, more := range [][]string{{"--export-level", "raw", "--export-http-trace", "-vv"}, {"--dry-run"}, {"--dry-run", "-o", "json"}} {
				args := append([]string{"profile", "-m", "demo", "--request-count", "2", "--tokenizer", "builtin", "--artifact-dir", "out"}, more...)
				p := aiperf(t, dir, append(args, words...)...)
				p.wants(0, diag.Failed)
				wantNone(t, "the screen", p.out.String()+p.err.String(), secrets)
			}
			files := 0
			err := filepath.WalkDir(filepath.Join(dir, "out"), func(path string, e fs.DirEntry, err error) error {
				if err != nil || e.IsDir() {
					return err
				}
				files++
				b, err := os.ReadFile(path)
				wantNone(t, path, string(b), secrets)
				return err
			})
			if err != nil || files < 20 {
				t.Errorf("%d files looked at, %v", files, err)
			}
		})
	}
}

func wantNone(t *testing.T, where, text string, secrets []string) {
	t.Helper()
	for _, s := range secrets {
		for _, form := range []string{s, url.QueryEscape(s), base64.StdEncoding.EncodeToString([]byte(s)), base64.RawURLEncoding.EncodeToString([]byte(s))} {
			if strings.Contains(text, form) {
				t.Errorf("%s shows %s", where, form)
			}
		}
	}
}
