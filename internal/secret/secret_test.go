package secret

import (
	"encoding/base64"
	"net/url"
	"slices"
	"strings"
	"testing"
)

func TestName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"Authorization": true, "proxy-authorization": true, "X-API-Key": true, "api_key": true, "apiKey": true, "Ocp-Apim-Subscription-Key": true,
		"x-functions-key": true, "aeg-sas-key": true, "X-Amz-Security-Token": true, "access_token": true, "accessToken": true, "Set-Cookie": true,
		"X-Custom-Auth": true, "sig": true, "key": true, "client_secret": true,
		"X-Author": false, "max_tokens": false, "X-Routing-Key": false, "Idempotency-Key": false, "keyboard": false, "X-Team": false, "model": false, "": false,
	} {
		if got := Name(name); got != want {
			t.Errorf("Name(%q) = %v, want %v", name, got, want)
		}
	}
}

func TestURL(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"http://h:80/v1":                        "http://h:80/v1",
		"http://me:pw@h/v1":                     "http://<redacted>@h/v1",
		"https://me@h?x=1":                      "https://<redacted>@h?x=1",
		"http://h/v1?api-version=2&api_key=abc": "http://h/v1?api-version=2&api_key=<redacted>",
		"http://h?code=abc&sig=a%2Fb&ttft=4ms":  "http://h?code=<redacted>&sig=<redacted>&ttft=4ms",
		"http://h/a@b?e=x@y":                    "http://h/a@b?e=x@y",
		"mock:?ttft=4ms":                        "mock:?ttft=4ms",
		"/admin/on?api_key=abc&n=2":             "/admin/on?api_key=<redacted>&n=2",
		"see http://h?key=1":                    "see http://h?key=1", // running text is masked by its words
		"":                                      "",
	} {
		if got := URL(text); got != want {
			t.Errorf("URL(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	b64 := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	known, maybe := Words("sk-a/b+c d", map[string]string{
		"Authorization": "Basic " + b64("me:pass-in-header"), "X-Team": "blue-team-7", "X-Tier": "production", "X-Shard": "12345678", "User-Agent": "team-agent-7",
	},
		[]string{"http://you:p%40ss@h:1/?api_key=from-query&team=red-team", "h:2?token=bare-query"},
		map[string]any{
			"nested": map[string]any{"api_key": "in-the-body"}, "stop_token": "<|team_end|>",
			"max_tokens": 8, "token": "team", "user": "of-a-team",
		})
	slices.Sort(known)
	want := []string{
		"Basic " + b64("me:pass-in-header"), b64("me:pass-in-header"), "bare-query", "from-query",
		"in-the-body", "me:pass-in-header", "p@ss", "pass-in-header", "sk-a/b+c d", "you:p@ss",
	}
	slices.Sort(want)
	if !slices.Equal(known, want) {
		t.Errorf("known:\n got %q\nwant %q", known, want)
	}
	if want := []string{"blue-team-7"}; !slices.Equal(maybe, want) {
		t.Errorf("what may be a secret: got %q, want %q", maybe, want)
	}
}

func TestMaskerKnowsEveryForm(t *testing.T) {
	t.Parallel()
	const word = `sk/a"b+ü d`
	m := NewMasker("sk", word, "***", "redact")
	for _, form := range []string{
		word, url.QueryEscape(word), url.PathEscape(word), base64.StdEncoding.EncodeToString([]byte(word)),
		base64.RawURLEncoding.EncodeToString([]byte(word)),
		`sk/a\"b+ü d`, `sk/a\"b+\u00fc d`, "sk/a&#34;b+ü d",
	} {
		if got, want := m.Own("a "+form+" b"), "a *** b"; got != want {
			t.Errorf("Own(%q) = %q", form, got)
		}
	}
	if got := m.Own("<redacted> of *** is kept"); got != "<redacted> of *** is kept" {
		t.Errorf("masked twice: %q", got)
	}
	var none *Masker
	if got := none.Text("a hf_abcdefghijklmnop0 b"); got != "a *** b" {
		t.Errorf("without words: %q", got)
	}
}

// Names of members and numbers stay, and the text stays JSON.
func TestMaskerInJSON(t *testing.T) {
	t.Parallel()
	m := NewMasker("endpoint", "12345678", `q"uoted-1`)
	for raw, want := range map[string]string{
		`{"endpoint": {"type" :"endpoint 12345678"}, "n":12345678, "l":["q\"uoted-1",true]}`: `{"endpoint": {"type" :"*** ***"}, "n":12345678, "l":["***",true]}`,
		`{"a":"untouched \u00e4"}`:     `{"a":"untouched \u00e4"}`,
		`no JSON: endpoint`:            `no JSON: ***`,
		`{"a":"hf_abcdefghijklmnop0"}`: `{"a":"***"}`,
	} {
		if got := string(m.JSON([]byte(raw))); got != want {
			t.Errorf("JSON(%s)\n got %s\nwant %s", raw, got, want)
		}
	}
}

func TestMaskerAtACut(t *testing.T) {
	t.Parallel()
	m := NewMasker("sk-12345")
	for text, want := range map[string]string{
		"it begins {sk-12": "it begins {***", "it begins {sk-": "it begins {sk-", "sk-1234 and more": "sk-1234 and more",
	} {
		if got := m.Cut(text); got != want {
			t.Errorf("Cut(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestShapes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln-_x b":                                                                               "a # b",
		"key sk-proj-abc_DEF0123456789, or sk-ant-api03-abcdefghij0":                                                                     "key #, or #",
		"hf_abcdefghijklmnop0123 ghp_abcdefghijklmnop0123 github_pat_11ABCDEFG0_abcdefghijklm nvapi-abcdefghijklmnop-0":                  "# # # #",
		"glpat-abcdefghij0123456789 gsk_abcdefghijklmnop0 xoxb-1234567890-abc AKIAIOSFODNN7EXAMPLE AIzaSyA-0123456789012345678901234567": "# # # # #",
		"Authorization: Bearer abc123, next":                                                                                             "Authorization: Bearer #, next",
		"bearer%20abc123":                                                                                                                "bearer%20#",
		"Proxy-Authorization: Basic bWU6cHc=":                                                                                            "Proxy-Authorization: Basic #",
		`proxy "http://me:pw@h:1/x": refused`:                                                                                            `proxy "http://#@h:1/x": refused`,
		"GET /v1?a=1&access_token=abc&b=2 and ?sig=x":                                                                                    "GET /v1?a=1&access_token=#&b=2 and ?sig=#",
		"/v1?h=0123456789abcdef0123456789abcdef":                                                                                         "/v1?h=#",
		"-----BEGIN RSA PRIVATE KEY-----\nMIIabc\n-----END RSA PRIVATE KEY-----":                                                         "#",
		// innocent
		"the bearer of bad news, basic understanding":      "the bearer of bad news, basic understanding",
		"risk-free task-abcdefghijklmnopqrst max_tokens=8": "risk-free task-abcdefghijklmnopqrst max_tokens=8",
		"mock:?ttft=4ms&itl=1ms":                           "mock:?ttft=4ms&itl=1ms",
		"a@b.example writes to http://h/a@b":               "a@b.example writes to http://h/a@b",
		"meta-llama/Llama-3.1-8B-Instruct Asia Basic":      "meta-llama/Llama-3.1-8B-Instruct Asia Basic",
		"Bearer " + Mask:                                   "Bearer " + Mask,
	} {
		if got := Shapes(text); got != strings.ReplaceAll(want, "#", Gap) {
			t.Errorf("Shapes(%q)\n got %q\nwant %q", text, got, want)
		}
	}
	if got := Tokens("a hf_abcdefghijklmnop0 b Bearer abc123"); !slices.Equal(got,
		[]string{"hf_abcdefghijklmnop0", "abc123"}) {
		t.Errorf("Tokens: %q", got)
	}
}

func TestHeader(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"X-Team": true, "Authorization": true, "x-anything": true, "Accept": false,
		"content-TYPE": false, " User-Agent ": false, "X-Request-ID": false,
	} {
		if got := Header(name); got != want {
			t.Errorf("Header(%q) = %v, want %v", name, got, want)
		}
	}
}

// Short words, numbers and words of a language are masked where they are said,
// and do not turn a whole file into masks.
func TestTelling(t *testing.T) {
	t.Parallel()
	for word, want := range map[string][2]bool{ // known to be a credential, may be one
		"": {}, "abc": {}, "true": {}, "EMPTY": {}, "8": {}, "1234": {}, "None": {}, "a1b2": {true, false}, "p@ss": {true, false},
		"password": {true, false}, "production": {true, false}, "12345678": {true, false}, "1.5e300000": {true, true}, "blue-team": {true, true},
		"correcthorsebatterystaple": {true, true}, "SuperSecret": {true, true},
	} {
		if got := [2]bool{Telling(word, true), Telling(word, false)}; got != want {
			t.Errorf("Telling(%q) = %v, want %v", word, got, want)
		}
	}
}

func TestInCommand(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]bool{
		"./restart.sh new": false, "vllm serve m --tokenizer t --max-tokens 4": false, "./switch --cache-key blocks": false,
		"./switch --token abc": true, "./switch --token=abc": true, "API_KEY=abc ./switch": true, "API_KEY=$KEY ./switch": false,
		"./switch --token $TOKEN": false, "./switch --token --fast": false, "curl http://me:pw@host/": true, "curl http://host/?api_key=abc": true,
	} {
		if got := InCommand(strings.Fields(line)); got != want {
			t.Errorf("InCommand(%q) = %v, want %v", line, got, want)
		}
	}
	if !InCommand([]string{"sh", "-c", "curl -H 'Authorization: Bearer abc' http://h"}) ||
		InCommand([]string{"sh", "-c", `curl -H "Authorization: $AUTH" http://h`}) {
		t.Error("a header in a line for the shell")
	}
}
