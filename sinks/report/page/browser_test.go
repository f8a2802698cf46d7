package page

import (
	"context"
	_ "embed"
	"encoding/json"
	"html"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

//go:embed testdata/probe.js
var probe string

// listen stands before the page's script and keeps what goes wrong.
const listen = `"use strict";window.wrong=[];
addEventListener("error",(e)=>wrong.push("error: "+e.message),true);
addEventListener("unhandledrejection",(e)=>wrong.push("rejection: "+e.reason));
addEventListener("securitypolicyviolation",(e)=>wrong.push("policy: "+e.violatedDirective+" "+e.blockedURI));
for(const k of ["error","warn"])console[k]=(...a)=>wrong.push(k+": "+a.join(" "));`

// browser is a Chromium of this machine, "" when there is none that starts.
func browser(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		exe, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		if dom, err := dump(t, exe, "data:text/html,<p>it%20starts</p>"); err == nil && strings.Contains(dom, "it starts") {
			return exe
		}
	}
	return ""
}

// dump is the document at address when its scripts have run.
func dump(t *testing.T, exe, address string) (string, error) {
	t.Helper()
	home, err := os.MkdirTemp("", "browser")
	if err != nil {
		t.Fatal(err)
	}
	// Not t.TempDir: what the browser leaves running may still write there.
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	cmd := exec.CommandContext(ctx, exe, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
		"--disable-background-networking", "--host-resolver-rules=MAP * ~NOTFOUND", "--user-data-dir="+home, "--dump-dom", address)
	cmd.Env = append(os.Environ(), "HOME="+home)
	cmd.WaitDelay = time.Second
	b, err := cmd.Output()
	return string(b), err
}

// In a browser the page complains of nothing, asks for nothing, and can be used
// with mouse and keyboard.
func TestBrowser(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a browser")
	}
	exe := browser(t)
	if exe == "" {
		t.Skip("no Chromium that starts")
	}
	theirs := "../../../testdata/aiperf/artifacts/"
	b, err := Build(theirs+"chat_stream", theirs+"rate_poisson", theirs+"warmup")
	if err != nil {
		t.Fatal(err)
	}
	doc := string(b)
	// The policy lets the two scripts of the test in, and nothing else.
	first := strings.Index(doc, "script-src ") + len("script-src ")
	doc = doc[:first] + html.EscapeString("'"+digest(listen)+"' '"+digest(probe)+"' ") + doc[first:]
	doc = strings.Replace(doc, "<title>", "<script>"+listen+"</script><title>", 1)
	doc = strings.Replace(doc, "</body>", "<script>"+probe+"</script></body>", 1)
	path, err := filepath.Abs(filepath.Join(t.TempDir(), "report.html"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(doc), 0o600); err != nil {
		t.Fatal(err)
	}
	dom, err := dump(t, exe, (&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String())
	if err != nil {
		t.Skip("the browser gave up: ", err)
	}
	found := regexp.MustCompile(`(?s)<pre id="probe">(.*?)</pre>`).FindStringSubmatch(dom)
	if found == nil {
		t.Fatal("the scripts did not run")
	}
	var got struct {
		Wrong, Requests, Failed []string
		Done                    int
	}
	if err := json.Unmarshal([]byte(html.UnescapeString(found[1])), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Wrong)+len(got.Requests)+len(got.Failed) > 0 {
		t.Errorf("said %q, asked for %q, failed %q", got.Wrong, got.Requests, got.Failed)
	}
	if got.Done != 12 {
		t.Errorf("%d things were tried, want 12", got.Done)
	}
}
