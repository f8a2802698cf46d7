// Package remote counts tokens by asking the server that is measured: it has
// the model's tokenizer, whatever it is. In goes the address of a server, out
// comes a Tokenizer. It is for what is counted before and after a measurement:
// every question is a request.
package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
)

// Tokenizer is safe for concurrent use. It keeps the first thing that went
// wrong; what it counts from there on is 0.
type Tokenizer struct {
	ctx    context.Context // of the preparation it is part of
	client *http.Client
	url    string
	header http.Header
	model  string
	form   form

	mu     sync.Mutex
	counts map[string]int // of texts that were asked for already
	bad    error
}

// Limits.
const (
	maxAnswer = 64 << 20 // bytes of an answer
	maxKept   = 1 << 16  // texts whose count is remembered
)

// form is how a family of servers is asked. All of them answer with a list of
// tokens, as "tokens" or alone.
type form struct {
	servers string
	body    func(model, text string) map[string]any
}

var forms = []form{
	{"vLLM and SGLang", func(model, text string) map[string]any {
		return map[string]any{"model": model, "prompt": text, "add_special_tokens": false}
	}},
	{"llama.cpp", func(_, text string) map[string]any {
		return map[string]any{"content": text, "add_special": false, "parse_special": true}
	}},
	{"Text Generation Inference", func(_, text string) map[string]any { return map[string]any{"inputs": text} }},
}

// probe is what a server is asked first. It has several tokens in every
// vocabulary, and a form that the server does not know gives none.
const probe = "The first question is how 12345 tokens are counted."

// ErrNone says that a server answers in none of the forms.
var ErrNone = errors.New("it does not answer POST /tokenize in a form that is known")

// Open finds out how the server at base counts. header goes with every
// question: it holds the key, if there is one. ctx bounds all questions.
func Open(ctx context.Context, client *http.Client, base string, header http.Header, model string) (*Tokenizer, error) {
	at, err := address(base)
	if err != nil {
		return nil, err
	}
	if header == nil {
		header = http.Header{}
	}
	t := &Tokenizer{ctx: ctx, client: client, url: at, header: header, model: model, counts: map[string]int{}}
	var reasons []string
	for _, t.form = range forms {
		ids, err := t.ask(probe)
		if err == nil && len(ids) > 0 {
			return t, nil
		}
		if err == nil {
			err = errors.New("no tokens")
		}
		reasons = append(reasons, t.form.servers+": "+err.Error())
		var unheard *url.Error
		if errors.As(err, &unheard) {
			return nil, fmt.Errorf("%w (%w)", ErrNone, err) // nobody is there
		}
	}
	return nil, fmt.Errorf("%w (%s)", ErrNone, strings.Join(reasons, "; "))
}

// address is where base counts.
func address(base string) (string, error) {
	if !strings.Contains(base, "://") {
		base = "http://" + base
	}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" {
		return "", fmt.Errorf("%q is not an address", base)
	}
	u.Path = strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/v1") + "/tokenize"
	u.RawPath = ""
	return u.String(), nil
}

var errForm = errors.New("an answer without a list of tokens")

// ask asks for the tokens of a text.
func (t *Tokenizer) ask(text string) ([]int, error) {
	body, err := json.Marshal(t.form.body(t.model, text))
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(t.ctx, http.MethodPost, t.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header = t.header.Clone()
	req.Header.Set("Content-Type", "application/json")
	res, err := t.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, err
	case res.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("HTTP %d", res.StatusCode)
	case len(b) > maxAnswer:
		return nil, fmt.Errorf("an answer of more than %d MiB", maxAnswer>>20)
	}
	return parse(b)
}

// token is one token as a number, or as an object that has one.
type token struct {
	ID          int
	Start, Stop *int // the part of the text it covers, where it says so
}

func (t *token) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] != '{' {
		return json.Unmarshal(b, &t.ID)
	}
	type plain token
	return json.Unmarshal(b, (*plain)(t))
}

// parse reads a list of tokens. Those that cover no text are special ones the
// server puts around it, which nobody asked for.
func parse(b []byte) ([]int, error) {
	var list []token
	if json.Unmarshal(b, &list) != nil {
		var answer struct{ Tokens *[]token }
		if err := json.Unmarshal(b, &answer); err != nil || answer.Tokens == nil {
			return nil, errForm
		}
		list = *answer.Tokens
	}
	ids := make([]int, 0, len(list))
	for _, t := range list {
		if t.Start == nil || t.Stop == nil || *t.Start != *t.Stop {
			ids = append(ids, t.ID)
		}
	}
	return ids, nil
}

// Name is how this tokenizer is asked for.
func (t *Tokenizer) Name() string { return "server" }

// Encode appends the ids of text to dst.
func (t *Tokenizer) Encode(dst []int, text string) []int {
	if text == "" || t.Err() != nil {
		return dst
	}
	ids, err := t.ask(text)
	if err != nil {
		t.fail(err)
	}
	return append(dst, ids...)
}

// Count is the number of tokens of text.
func (t *Tokenizer) Count(text string) int {
	t.mu.Lock()
	n, known := t.counts[text]
	t.mu.Unlock()
	if known {
		return n
	}
	n = len(t.Encode(nil, text))
	t.mu.Lock()
	if len(t.counts) < maxKept {
		t.counts[text] = n
	}
	t.mu.Unlock()
	return n
}

// Decode is not asked of a server: nothing needs it. It says so by Err.
func (t *Tokenizer) Decode([]int) string {
	t.fail(errors.New("a server is not asked for the text of tokens"))
	return ""
}

func (t *Tokenizer) fail(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.bad == nil {
		t.bad = err
	}
}

// Err is the first thing that went wrong: the counts since then mean nothing.
func (t *Tokenizer) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.bad == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", t.url, t.bad)
}

// Compare counts one text by both and says how they differ; "" when they
// agree, and when the server was not heard.
func (t *Tokenizer) Compare(name string, count func(string) int) string {
	const text = "Straße 42: the server's own tokenizer, it doesn't agree? \t{\"a\": [1, 2.5]}\n日本語 😀"
	theirs, ours := t.Count(text), count(text)
	if t.Err() != nil || theirs == ours {
		return ""
	}
	return fmt.Sprintf("tokens counted with %s, not the server's tokenizer: one text has %d tokens by the first, %d by the server", name, ours, theirs)
}
