package nearby

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// listens is the port of a server that answers so.
func listens(t *testing.T, status int, body string) int {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/models" || r.Method != http.MethodGet {
			t.Errorf("asked %s %s", r.Method, r.URL)
		}
		if status == http.StatusFound {
			w.Header().Set("Location", body)
		}
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}))
	t.Cleanup(s.Close)
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// closed is a port at which nobody listens.
func closed(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// Servers are found by their lists of models, in the order of the places; pages,
// errors, redirections, other lists and names that are not plain text are none.
func TestFind(t *testing.T) {
	t.Parallel()
	one := listens(t, 200, `{"object":"list","data":[{"id":"Qwen/Qwen3-0.6B"},{"id":"other"}]}`)
	places := []Place{
		{closed(t), "nobody"},
		{listens(t, 200, "<html>"), "a page"},
		{one, "one"},
		{listens(t, 401, `{"data":[{"id":"secret"}]}`), "one that wants a key"},
		{listens(t, 302, fmt.Sprintf("http://127.0.0.1:%d/v1/models", one)), "one that sends elsewhere"},
		{listens(t, 200, `{"data":[]}`), "an empty list"},
		{listens(t, 200, `{"models":[{"name":"x"}]}`), "another list"},
		{listens(t, 200, `{"data":[{"id":"red \u001b[31m"},{"id":""},{"id":"`+strings.Repeat("x", 300)+`"},{"id":"plain"}]}`), "hostile"},
		{listens(t, 200, `{"data":[`+strings.Repeat(`{"id":"m"},`, 200_000)+`{"id":"m"}]}`), "endless"},
	}
	got := Find(t.Context(), places)
	if len(got) != 2 || got[0].Usually != "one" || !slices.Equal(got[0].Models, []string{"Qwen/Qwen3-0.6B", "other"}) ||
		got[1].Usually != "hostile" || !slices.Equal(got[1].Models, []string{"plain"}) {
		t.Errorf("%+v", got)
	}
	if want := fmt.Sprintf("http://localhost:%d", one); got[0].URL() != want {
		t.Errorf("URL %s, want %s", got[0].URL(), want)
	}
}
