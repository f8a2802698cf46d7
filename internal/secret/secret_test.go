package secret

import (
	"encoding/base64"
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
		"see http://h?key=1":                    "see http://h?key=1", // running text is masked by its words
		"":                                      "",
	} {
		if got := URL(text); got != want {
			t.Errorf("URL(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestWordsHaveEveryForm(t *testing.T) {
	t.Parallel()
	b64 := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	got := Words("sk-a/b+c d", map[string]string{"Authorization": "Basic " + b64("me:pass-in-header"), "X-Team": "blue-team"},
		[]string{"http://you:p%40ss@h:1/?api_key=from-query&team=red-team", "h:2?token=bare-query"},
		map[string]any{"nested": map[string]any{"api_key": "in-the-body"}, "stop_token": "<|team_end|>", "max_tokens": 8, "token": "team", "user": "of-a-team"})
	for _, want := range []string{
		"sk-a/b+c d", "sk-a%2Fb+c%20d", "sk-a%2Fb%2Bc+d", b64("sk-a/b+c d"), "Basic " + b64("me:pass-in-header"), b64("me:pass-in-header"),
		"pass-in-header", "p@ss", b64("you:p@ss"), "from-query", "bare-query", "in-the-body",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("Words lacks %q", want)
		}
	}
	if all := strings.Join(got, " "); strings.Contains(all, "team") {
		t.Errorf("Words has what is no secret: %q", got)
	}
	if !slices.IsSortedFunc(got, func(a, b string) int { return len(b) - len(a) }) {
		t.Errorf("not longest first: %q", got)
	}
	if got := Words("abc", nil, []string{"://", "http://me:***@h"}, nil); len(got) > 0 && !slices.Contains(got, "me:***") {
		t.Errorf("short and masked words: %q", got)
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
	if !InCommand([]string{"sh", "-c", "curl -H 'Authorization: Bearer abc' http://h"}) || InCommand([]string{"sh", "-c", `curl -H "Authorization: $AUTH" http://h`}) {
		t.Error("a header in a line for the shell")
	}
}
