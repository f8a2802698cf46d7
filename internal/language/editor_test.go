package language

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/textproto"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// session is a talk with the CUE language server about the files of a folder,
// as an editor holds it.
type session struct {
	t    *testing.T
	in   io.WriteCloser
	out  *bufio.Reader
	next int
}

// message is one of the protocol's, request, answer or notice.
type message struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params any             `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  json.RawMessage `json:"error,omitempty"`
}

// openEditor starts the server on dir. It ends with the test.
func openEditor(t *testing.T, dir string) *session {
	t.Helper()
	cmd := exec.Command("cue", "lsp")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CUE_REGISTRY=none", "CUE_CACHE_DIR="+filepath.Join(dir, ".cache"))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// A server that hangs ends here, and the test with it; nothing waits for this.
	hangs := time.AfterFunc(2*time.Minute, func() { _ = cmd.Process.Kill() })
	t.Cleanup(func() {
		hangs.Stop()
		_ = in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // killed
		if t.Failed() {
			t.Logf("the server said:\n%s", &said)
		}
	})
	s := &session{t: t, in: in, out: bufio.NewReader(out)}
	s.ask("initialize", map[string]any{
		"processId": nil, "rootUri": uri(dir), "workspaceFolders": []any{map[string]any{"uri": uri(dir), "name": "x"}},
		"capabilities": map[string]any{"textDocument": map[string]any{
			"hover":      map[string]any{"contentFormat": []string{"markdown"}},
			"completion": map[string]any{"completionItem": map[string]any{"snippetSupport": false}},
		}},
	})
	s.send(message{Method: "initialized", Params: map[string]any{}})
	return s
}

func uri(path string) string {
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String()
}

func (s *session) send(m message) {
	s.t.Helper()
	b, err := json.Marshal(struct {
		JSONRPC string `json:"jsonrpc"`
		message
	}{"2.0", m})
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := fmt.Fprintf(s.in, "Content-Length: %d\r\n\r\n%s", len(b), b); err != nil {
		s.t.Fatal(err)
	}
}

func (s *session) receive() (m message) {
	s.t.Helper()
	head, err := textproto.NewReader(s.out).ReadMIMEHeader()
	if err != nil {
		s.t.Fatalf("the server has gone: %v", err)
	}
	n, err := strconv.Atoi(head.Get("Content-Length"))
	if err != nil {
		s.t.Fatal(err)
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(s.out, body); err != nil {
		s.t.Fatal(err)
	}
	if err := json.Unmarshal(body, &m); err != nil {
		s.t.Fatal(err)
	}
	return m
}

// ask sends a request and returns what is answered; what the server asks in
// between gets an empty answer.
func (s *session) ask(method string, params any) json.RawMessage {
	s.t.Helper()
	s.next++
	id := json.RawMessage(strconv.Itoa(s.next))
	s.send(message{ID: id, Method: method, Params: params})
	for {
		m := s.receive()
		switch {
		case m.Method != "" && m.ID != nil:
			s.send(message{ID: m.ID, Result: json.RawMessage("[null]")})
		case m.Method == "" && bytes.Equal(m.ID, id):
			if m.Error != nil {
				s.t.Fatalf("%s: %s", method, m.Error)
			}
			return m.Result
		}
	}
}

// at is the place behind the first occurrence of text, back characters before
// its end.
func at(file, content, text string, back int) map[string]any {
	before, _, _ := strings.Cut(content, text)
	before += text[:len(text)-back]
	line := strings.Count(before, "\n")
	return map[string]any{
		"textDocument": map[string]any{"uri": uri(file)},
		"position":     map[string]any{"line": line, "character": len(before) - strings.LastIndex(before, "\n") - 1},
	}
}

// readme is the experiment that the front page shows.
func readme(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(root + "/README.md")
	if err != nil {
		t.Fatal(err)
	}
	m := fence.FindSubmatch(text)
	if m == nil {
		t.Fatal("README.md shows no experiment")
	}
	return string(m[2])
}

// What docs/editors.md promises: next to a vendored schema the language server
// shows our words and offers the fields that may stand where one types.
func TestEditor(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(vendored(t))
	if err != nil {
		t.Fatal(err)
	}
	file, content := filepath.Join(dir, "exp.cue"), readme(t)
	write(t, file, content)
	s := openEditor(t, dir)
	s.send(message{Method: "textDocument/didOpen", Params: map[string]any{
		"textDocument": map[string]any{"uri": uri(file), "languageId": "cue", "version": 1, "text": content},
	}})
	for text, want := range map[string]string{
		"requests: 100":           "Stop after this many requests",
		"isl: 512":                "Tokens",
		"num_runs: 5":             "trial",
		"concurrency: [1, 4, 16]": "Conversations at the same time", // an axis
	} {
		key, _, _ := strings.Cut(text, ":")
		hover := string(s.ask("textDocument/hover", at(file, content, text, len(text)-len(key)+1)))
		if !strings.Contains(strings.ToLower(hover), strings.ToLower(want)) {
			t.Errorf("hover on %s: %s, want %q in it", key, hover, want)
		}
	}
	if def := string(s.ask("textDocument/definition", at(file, content, "requests: 100", 10))); !strings.Contains(def,
		"aiperf.dev/schema/phase.cue") {
		t.Errorf("definition of requests: %s, want its place in the vendored schema", def)
	}
	version := 1
	for text, want := range map[string][2]string{
		"requests: 100":                          {"requests: 100, gr", "grace_period"},
		"osl: 64":                                {"osl: 64, turn", "turns"},
		`model: "demo"`:                          {"model: \"demo\"\n\t\tru", "runtime"},
		`streaming: true`:                        {"streaming: true, time", "timeout"},
		`gates: ["time_to_fir`:                   {"bud\n\tgates: [\"time_to_fir", "budget"},
		`parameters: {concurrency: [1, 4, 16], `: {"parameters: {con\n\tgates: [1], ", "concurrency"},
		`, "dataset.isl": [128, 1024]`:           {", dat\n\tgates: [1]", `"dataset.isl"`},
	} {
		version++
		edited := strings.Replace(content, text, want[0], 1)
		s.send(message{Method: "textDocument/didChange", Params: map[string]any{
			"textDocument":   map[string]any{"uri": uri(file), "version": version},
			"contentChanges": []any{map[string]any{"text": edited}},
		}})
		typed, _, _ := strings.Cut(want[0], "\n\tgates")
		labels := s.complete(at(file, edited, typed, 0))
		if !slices.Contains(labels, want[1]) {
			t.Errorf("completion behind %q: %v, want %s", typed, labels, want[1])
		}
		for _, label := range labels {
			if strings.HasPrefix(label, "#") && !slices.Contains([]string{"#rules", "#swept"}, label) {
				t.Errorf("completion behind %q: %s, which docs/editors.md does not speak of", typed, label)
			}
		}
	}
	s.ask("shutdown", nil)
	s.send(message{Method: "exit"})
}

// complete are the labels that the server offers at a place.
func (s *session) complete(place map[string]any) (labels []string) {
	s.t.Helper()
	var list struct{ Items []struct{ Label string } }
	answer := s.ask("textDocument/completion", place)
	if err := json.Unmarshal(answer, &list); err != nil {
		s.t.Fatalf("%s: %v", answer, err)
	}
	for _, it := range list.Items {
		labels = append(labels, it.Label)
	}
	return labels
}

// A newcomer copies the experiment of the front page next to a vendored schema:
// both say that it is right; after one typo both name its line.
func TestOneTypo(t *testing.T) {
	t.Parallel()
	dir := vendored(t)
	file := filepath.Join(dir, "exp.cue")
	content := readme(t)
	write(t, file, content)
	if err := validate(file); err != nil {
		t.Error(err)
	}
	if out, said, err := cueCommand(t, dir, "vet", "-c", "exp.cue"); err != nil || out+said != "" {
		t.Errorf("cue vet: %v\n%s%s", err, out, said)
	}
	for right, wrong := range map[string]string{
		"requests: 100":   "reqests: 100",
		"streaming: true": "streaming: 7",
		`type: "chat"`:    `type: "chatt"`,
		"num_runs: 5":     "num_runs: 0",
		`type: "grid"`:    `type: "gird"`,
		"osl: 64":         "osl: [64]",
	} {
		typo := strings.Replace(content, right, wrong, 1)
		before, _, _ := strings.Cut(typo, wrong)
		line := strings.Count(before, "\n") + 1
		write(t, file, typo)
		ours := validate(file)
		_, vet, err := cueCommand(t, dir, "vet", "-c", "exp.cue")
		if place := fmt.Sprintf("exp.cue:%d:", line); ours == nil || err == nil ||
			!strings.Contains(ours.Error(), place) || !strings.Contains(vet, place) {
			t.Errorf("%s: want line %d\naiperf: %v\ncue vet: %v\n%s", wrong, line, ours, err, vet)
		}
	}
}
