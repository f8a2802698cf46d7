//go:build unix

package plugin_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/plugin"
	"aiperf.dev/aiperf/internal/secret"
)

const greeting = `read -r hello
echo '{"aiperf": 1, "kind": "grader", "name": "t", "version": "1"}'
`

// folder is a grader whose program is a script.
func folder(t *testing.T, script, more string) string {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, "main.sh", script)
	write(t, dir, plugin.ManifestName,
		"aiperf: 1\nkind: grader\nname: t\nversion: \"1\"\ncommand: [sh, main.sh]\n"+more)
	return dir
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func started(t *testing.T, script, more string) (*plugin.Process, error) {
	t.Helper()
	m, err := plugin.Open(folder(t, script, more))
	if err != nil {
		t.Fatal(err)
	}
	p, err := plugin.Host{Allow: true, Hide: secret.NewMasker("hunter2hunter2")}.Start(t.Context(), m)
	if err == nil {
		t.Cleanup(func() { _ = p.Close() })
	}
	return p, err
}

// A program that answers is asked by many at once, and each gets their own answer.
func TestManyAskAtOnce(t *testing.T) {
	t.Parallel()
	p, err := started(t, greeting+`while read -r line; do
	id=${line#*'"id":'}; id=${id%%[,\}]*}
	echo "{\"id\": $id, \"twice\": $((id * 2)), \"said\": $line}"
done`, "")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			var out struct {
				ID, Twice int
				Said      struct{ N int }
			}
			if err := p.Call(map[string]any{"n": i}, &out); err != nil || out.Twice != 2*out.ID || out.Said.N != i {
				t.Errorf("%d: %+v, %v", i, out, err)
			}
		})
	}
	all.Wait()
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if err := p.Call(nil, nil); err == nil || !strings.Contains(err.Error(), "its run is over") {
		t.Errorf("a call after the end: %v", err)
	}
}

func TestStream(t *testing.T) {
	t.Parallel()
	p, err := started(t, greeting+`read -r line
echo '{"id": 1, "a": 1}'; echo '{"id": 1, "a": 2}'; echo '{"id": 1, "done": true}'
read -r line; echo '{"id": 2, "error": "no more\u001b[31m of it"}'
read -r line; echo '{"id": 3, "a": 3}'; cat >/dev/null`, "")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	each := func(line []byte) error { got = append(got, string(line)); return nil }
	if err := p.Stream(nil, each); err != nil || len(got) != 2 {
		t.Errorf("%q, %v", got, err)
	}
	var refused *plugin.Refusal
	if err := p.Stream(nil, each); !errors.As(err, &refused) || err.Error() != "plug-in t: no more of it" {
		t.Errorf("a refusal: %v", err)
	}
	enough := errors.New("enough")
	if err := p.Stream(nil, func([]byte) error { return enough }); !errors.Is(err, enough) {
		t.Errorf("who has enough: %v", err)
	}
}

// A program that ends when it has done its work has not failed.
func TestDone(t *testing.T) {
	t.Parallel()
	p, err := started(t, greeting+`read -r line; echo '{"id": 1, "done": true}'`, "")
	if err == nil {
		err = p.Stream(nil, func([]byte) error { return nil })
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// One answer is all there is to a question.
func TestAnswersOnce(t *testing.T) {
	t.Parallel()
	p, err := started(t, greeting+`read -r line; yes '{"id": 1}'`, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Call(nil, &struct{}{}); err != nil {
		t.Error(err)
	}
	for err == nil {
		err = p.Call(nil, &struct{}{})
	}
	if !strings.Contains(err.Error(), "answers question 1, which is not open") {
		t.Error(err)
	}
}

// Whatever a program does, who asks gets one line that says what is wrong, and soon.
func TestProgramsThatMisbehave(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ script, more, want string }{
		"hangs at once":          {"cat >/dev/null", "timeout: 0.3", "said nothing for"},
		"hangs later":            {greeting + "cat >/dev/null", "timeout: 0.3", "did not answer within"},
		"reads nothing":          {greeting + "while :; do sleep 60; done", "timeout: 0.3", "did not answer within"},
		"closes its ears":        {greeting + "exec <&-; while :; do sleep 60; done", "timeout: 0.3", "did not answer within"},
		"dies at once":           {"exit 3", "", "its program ended: exit status 3"},
		"dies midway":            {greeting + "read -r line; echo first >&2; echo last words >&2; exit 4", "", "its program ended: exit status 4: last words"},
		"ends without an answer": {greeting + "read -r line", "", "its program ended: without an error"},
		"is killed":              {greeting + "read -r line; kill -9 $$", "", "its program ended: signal: killed"},
		"is of another version":  {`echo '{"aiperf": 1, "kind": "grader", "name": "t", "version": "2"}'; cat`, "", `of version "2", and aiperf-plugin.yaml says 1`},
		"is of another protocol": {`echo '{"aiperf": 7, "kind": "grader", "name": "t", "version": "1"}'; cat`, "", `of protocol "7", and aiperf-plugin.yaml says 1`},
		"is of another kind":     {`echo '{"aiperf": 1, "kind": "metric", "name": "t", "version": "1"}'; cat`, "", `of kind "metric"`},
		"has another name":       {`echo '{"aiperf": 1, "kind": "grader", "name": "u", "version": "1"}'; cat`, "", `of name "u"`},
		"greets in words":        {"echo hello", "", `not the handshake but "hello"`},
		"prints words":           {greeting + "read -r line; echo loading; cat", "", `line 2 of its output is not JSON with an id: "loading"`},
		"answers without an id":  {greeting + `read -r line; echo '{"outcome": "right"}'; cat`, "", "is not JSON with an id"},
		"answers nobody":         {greeting + `read -r line; echo '{"id": 77}'; cat`, "", "answers question 77, which is not open"},
		"answers with an array":  {greeting + `read -r line; echo '{"id": 1, "n": []}'; cat`, "", "its answer cannot be read"},
		"floods stdout":          {greeting + "read -r line; yes", "", `not JSON with an id: "y"`},
		"floods with answers":    {greeting + `yes '{"id": 2}'`, "", "answers question 2, which is not open"},
		"never ends its line":    {greeting + "read -r line; tr '\\0' x </dev/zero", "", "line 2 of its output is longer than 16 MiB"},
		"floods stderr":          {greeting + "yes >&2", "timeout: 0.3", "did not answer within"},
		"tells a secret":         {greeting + "read -r line; echo the key is hunter2hunter2 >&2; exit 1", "", "the key is ***"},
		"prints a secret":        {greeting + "read -r line; echo the key is hunter2hunter2; cat", "", "the key is ***"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := started(t, c.script, c.more)
			if err == nil {
				var out struct{ N int }
				err = p.Call(map[string]any{"text": strings.Repeat("x", 1<<20)}, &out)
				if again := p.Call(nil, &out); again == nil || again.Error() != err.Error() {
					t.Errorf("asked again: %v", again)
				}
			}
			if err == nil || !strings.HasPrefix(err.Error(), "plug-in t: ") || !strings.Contains(err.Error(), c.want) ||
				strings.ContainsAny(err.Error(), "\n\x1b") || diag.Of(err).Hint == "" || len(err.Error()) > 500 {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

// What a program started in its group ends with it. The child holds a pipe open, which
// ends when no process has it any more.
func TestNothingStays(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(stop context.CancelCauseFunc, p *plugin.Process){
		"with the run": func(_ context.CancelCauseFunc, p *plugin.Process) { _ = p.Close() },
		"with the plan": func(stop context.CancelCauseFunc, p *plugin.Process) {
			stop(errors.New("interrupted"))
			if err := p.Call(nil, nil); err == nil || !strings.Contains(err.Error(), "interrupted") {
				t.Errorf("after the plan's end: %v", err)
			}
		},
		"when it dies": func(_ context.CancelCauseFunc, p *plugin.Process) { _ = p.Call(nil, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := folder(t, greeting+"sh -c 'trap : TERM HUP; exec 3> pipe >&3; printf begun >&3; while :; do sleep 1; done' & read -r line", "")
			at := filepath.Join(t.TempDir(), "pipe")
			if err := syscall.Mkfifo(at, 0o600); err != nil {
				t.Fatal(err)
			}
			script, err := os.ReadFile(filepath.Join(dir, "main.sh"))
			if err != nil {
				t.Fatal(err)
			}
			write(t, dir, "main.sh", strings.Replace(string(script), "3> pipe", "3> "+at, 1))
			m, err := plugin.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancelCause(t.Context())
			defer stop(nil)
			p, err := plugin.Host{Allow: true}.Start(ctx, m)
			if err != nil {
				t.Fatal(err)
			}
			pipe, err := os.Open(at)
			if err == nil {
				defer pipe.Close() //nolint:errcheck // it was only read
				_, err = io.ReadFull(pipe, make([]byte, len("begun")))
			}
			if err != nil {
				t.Fatal(err)
			}
			end(stop, p)
			if _, err := io.Copy(io.Discard, pipe); err != nil { // for ever, if the child lives on
				t.Error(err)
			}
		})
	}
}

func TestWithoutPermission(t *testing.T) {
	t.Parallel()
	dir := folder(t, "echo ran > here", "")
	m, err := plugin.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	_, err = plugin.Host{}.Start(t.Context(), m)
	if err == nil || err.Error() != "plug-in t runs sh main.sh on this machine" ||
		!strings.Contains(diag.Of(err).Hint, "--allow-hooks") {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "here")); err == nil {
		t.Error("it ran")
	}
}

func TestManifests(t *testing.T) {
	t.Parallel()
	const good = "aiperf: 1\nkind: grader\nname: t\nversion: \"1\"\ncommand: [sh, main.sh]\n"
	for text, want := range map[string]string{
		"":                                      "the manifest is empty",
		"[]":                                    "yaml:1:1: a manifest is a mapping",
		"a: [":                                  "did not find expected node content",
		good + "---\na: 1":                      "a second document",
		good + "comand: [x]":                    "yaml:6:1: unknown key comand",
		good + "name: u":                        "yaml:6:1: name: given twice",
		"schema_version: \"1.0\"\nendpoint: {}": "yaml:1:1: a manifest of AIPerf's: its Python classes cannot be loaded",
		"aiperf: 2\nkind: grader":               "yaml:1:9: aiperf: protocol 2 is not known",
		"kind: grader":                          "aiperf: required",
		"aiperf: 1\nkind: graders":              `yaml:2:7: kind: "graders" is not a kind`,
		"aiperf: 1\nkind: grader":               "name: required",
		"aiperf: 1\nkind: grader\nname: A b":    `yaml:3:7: name: "A b" is not a name`,
		strings.Replace(good, "[sh, main.sh]", "sh main.sh", 1):       "yaml:5:10: command: want a list",
		strings.Replace(good, "[sh, main.sh]", "[../sh]", 1):          "yaml:5:11: command: ../sh leaves the plug-in's folder",
		strings.Replace(good, "[sh, main.sh]", "[sh, ../main.sh]", 1): "command: ../main.sh leaves the plug-in's folder",
		strings.Replace(good, "[sh, main.sh]", "[/bin/sh]", 1):        "command: /bin/sh leaves the plug-in's folder",
		strings.Replace(good, "[sh, main.sh]", "[sh, a/../../x]", 1):  "leaves the plug-in's folder",
		good + "timeout: soon":                                      "yaml:6:10: timeout: want a number above 0",
		good + "timeout: .inf":                                      "timeout: want a number above 0",
		good + "path: /v1":                                          "yaml:6:1: path: is not a setting of a plug-in of kind grader",
		strings.Replace(good, "grader", "endpoint", 1):              "path: required",
		strings.Replace(good, "grader", "endpoint", 1) + "path: v1": "path: want a path below",
		strings.Replace(good, "grader", "endpoint", 1) + "path: /a\nstreams: perhaps": "streams: want true or false",
		good + "digest: 12": "digest: want sha256:",
		good + "digest: sha256:" + strings.Repeat("0", 64): "yaml:6:1: digest: sha256:" + strings.Repeat("0", 64) + ": its files have sha256:",
		good + "description: |\n  a\n  b\n":                "yaml:6:14: description: want a line of text",
	} {
		dir := t.TempDir()
		write(t, dir, plugin.ManifestName, text)
		_, err := plugin.Open(dir)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), dir) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	_, err := plugin.Open(filepath.Join(t.TempDir(), "nothing"))
	if err == nil || !strings.Contains(err.Error(), "no such plug-in") {
		t.Errorf("nothing there: %v", err)
	}
}

// The digest is that of the files, whatever Python leaves beside them.
func TestDigest(t *testing.T) {
	t.Parallel()
	dir := folder(t, greeting, "")
	digest := func() string {
		t.Helper()
		m, err := plugin.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		return m.Digest
	}
	first := digest()
	if err := os.Mkdir(filepath.Join(dir, "__pycache__"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "__pycache__/main.pyc", "x")
	if again := digest(); again != first {
		t.Errorf("%s, then %s", first, again)
	}
	m, err := plugin.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	seal := m.Seal()
	write(t, dir, plugin.ManifestName, fmt.Sprintf("aiperf: 1\nkind: grader\nname: t\nversion: \"1\"\n"+
		"command: [sh, main.sh]\ndigest: %s\n", first))
	if m, err = plugin.Open(dir); err != nil || m.Seal() == seal {
		t.Errorf("a changed manifest: %v, the seal stays: %t", err, m.Seal() == seal)
	}
	write(t, dir, "more.sh", "echo")
	if _, err := plugin.Open(dir); err == nil || !strings.Contains(diag.Of(err).Hint, "digest: sha256:") {
		t.Errorf("one file more: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, "more.sh")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/hostname", filepath.Join(dir, "out")); err != nil {
		t.Fatal(err)
	}
	if _, err := plugin.Open(dir); err == nil || !strings.Contains(err.Error(), "out: leaves the plug-in's folder") {
		t.Errorf("a link that leads out: %v", err)
	}
}

func TestPrograms(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"[no-such-program-xyz]": "command no-such-program-xyz: is not on PATH",
		"[./nothing]":           "command ./nothing: no such file",
		"[./main.sh]":           "command ./main.sh: cannot be executed",
	} {
		dir := folder(t, greeting, "")
		write(t, dir, plugin.ManifestName, "aiperf: 1\nkind: grader\nname: t\nversion: \"1\"\ncommand: "+command+"\n")
		m, err := plugin.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		_, err = plugin.Host{Allow: true}.Start(t.Context(), m)
		if err == nil || !strings.Contains(err.Error(), want) || diag.Of(err).Hint == "" {
			t.Errorf("%s: %v, want %s", command, err, want)
		}
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"b", "a"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, dir, name+"/"+plugin.ManifestName, "aiperf: 1\nkind: grader\nname: "+name+"\nversion: \"1\"\ncommand: [sh]\n")
	}
	write(t, dir, "a/"+plugin.ManifestName, "aiperf: 1")
	found := plugin.Find(dir)
	if len(found) != 2 || found[0].Err == nil || found[1].Manifest.Name != "b" {
		b, _ := json.Marshal(found)
		t.Errorf("found %s", b)
	}
}
