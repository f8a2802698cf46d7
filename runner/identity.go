package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"aiperf.dev/aiperf/loadgen/transport"
	"aiperf.dev/aiperf/schema"
)

// Identity is what the targets said they are, at the start and at the end of a
// run, and the models that were asked for.
type Identity struct {
	Before []face   `json:"before"`
	After  []face   `json:"after"`
	Asked  []string `json:"asked"`
}

// face is what one target shows of itself.
type face struct {
	Server string   `json:"server,omitempty"` // the header
	Models []string `json:"models"`           // sorted; nil where there is no list
}

func (f face) known() bool { return f.Models != nil }

// has tells whether the list holds a model of this name, whatever follows it.
func (f face) has(model string) bool {
	return slices.ContainsFunc(f.Models, func(m string) bool { return m == model || strings.HasPrefix(m, model+" ") })
}

// The levels of a change.
const (
	sameServer    = 0
	changedServer = 1
	otherModel    = 2
)

// compare finds the worst change over the targets.
func (id *Identity) compare() (level float64, words string) {
	level, words = sameServer, "the server showed the same models and Server header at the start and at the end"
	for i, b := range id.Before {
		if !b.known() || i >= len(id.After) {
			continue
		}
		l, w := b.became(id.After[i], id.Asked)
		if l > level {
			level, words = l, w
		}
	}
	return level, words
}

// became says what changed from f to now.
func (f face) became(now face, asked []string) (float64, string) {
	kept := slices.ContainsFunc(f.Models, func(m string) bool { return slices.Contains(now.Models, m) })
	for _, m := range asked {
		if now.known() && f.has(m) && !now.has(m) {
			return otherModel, fmt.Sprintf("the server listed %s at the start and %s at the end", m, listed(now.Models))
		}
	}
	switch {
	case !now.known():
		return changedServer, "the server listed its models at the start and not at the end"
	case !kept && len(f.Models) > 0:
		return otherModel, fmt.Sprintf("the server listed %s at the start and %s at the end", listed(f.Models), listed(now.Models))
	case !slices.Equal(f.Models, now.Models):
		return changedServer, fmt.Sprintf("the server listed %s at the start and %s at the end", listed(f.Models), listed(now.Models))
	case f.Server != now.Server:
		return changedServer, fmt.Sprintf("the Server header was %q at the start and %q at the end", f.Server, now.Server)
	}
	return sameServer, ""
}

// listed is a list for people, at most three of it.
func listed(models []string) string {
	switch n := len(models); {
	case n == 0:
		return "no model"
	case n > 3:
		return strings.Join(models[:3], ", ") + fmt.Sprintf(" and %d more", n-3)
	}
	return strings.Join(models, ", ")
}

// inquiryTimeout is short: a target that does not answer at once is not asked.
const inquiryTimeout = time.Second

// maxModelList bounds what is read of a list, in bytes.
const maxModelList = 1 << 20

// inquirer asks targets what they serve, over connections of its own: it is no
// part of the load.
type inquirer struct {
	client *http.Client
	urls   []string
	header http.Header
}

func newInquirer(e *schema.Endpoint, how transport.Config) *inquirer {
	q := &inquirer{header: http.Header{}}
	for name, value := range e.Headers {
		q.header.Set(name, value)
	}
	if e.APIKey != "" && q.header.Get("Authorization") == "" {
		q.header.Set("Authorization", "Bearer "+e.APIKey)
	}
	for _, t := range how.Targets {
		q.urls = append(q.urls, modelsURL(t))
	}
	t := &http.Transport{DisableKeepAlives: true, DisableCompression: true, ResponseHeaderTimeout: inquiryTimeout}
	if how.ProxyEnv {
		t.Proxy = http.ProxyFromEnvironment
	}
	if c, err := how.TLS(); err == nil { // a mistake there is the client's to tell
		t.TLSClientConfig = c
	}
	q.client = &http.Client{Transport: t, Timeout: inquiryTimeout, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse // a key is not carried elsewhere
	}}
	return q
}

// modelsURL is where base lists its models; "" if base is no address.
func modelsURL(base string) string {
	if !strings.Contains(base, "://") {
		base = "http://" + base
	}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" {
		return ""
	}
	u.Path = strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/v1") + "/v1/models"
	u.RawPath = ""
	return u.String()
}

// ask asks all targets at once.
func (q *inquirer) ask(ctx context.Context) []face {
	faces := make([]face, len(q.urls))
	var wait sync.WaitGroup
	for i, u := range q.urls {
		wait.Go(func() { faces[i] = q.one(ctx, u) })
	}
	wait.Wait()
	return faces
}

// one asks one target; a face that is not known if it has no list.
func (q *inquirer) one(ctx context.Context, u string) face {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u, nil)
	if u == "" || err != nil {
		return face{}
	}
	req.Header = q.header.Clone()
	res, err := q.client.Do(req)
	if err != nil {
		return face{}
	}
	defer res.Body.Close()
	var doc struct {
		Data []struct {
			ID     string `json:"id"`
			Root   string `json:"root"`
			MaxLen int64  `json:"max_model_len"`
		} `json:"data"`
	}
	if res.StatusCode != http.StatusOK || json.NewDecoder(io.LimitReader(res.Body, maxModelList)).Decode(&doc) != nil || doc.Data == nil {
		return face{}
	}
	f := face{Server: res.Header.Get("Server"), Models: []string{}}
	for _, m := range doc.Data {
		name := m.ID
		if m.Root != "" && m.Root != m.ID {
			name += " (" + m.Root + ")"
		}
		if m.MaxLen > 0 {
			name += fmt.Sprintf(" of %d tokens", m.MaxLen)
		}
		f.Models = append(f.Models, name)
	}
	slices.Sort(f.Models)
	return f
}

// identity is what was learned; nil where nobody had a list at the start. Then
// nobody is asked again.
func identity(before []face, ask func() []face, asked []string) *Identity {
	if !slices.ContainsFunc(before, face.known) {
		return nil
	}
	return &Identity{Before: before, After: ask(), Asked: asked}
}

func modelNames(m schema.Models) []string {
	var names []string
	for _, i := range m.Items {
		names = append(names, i.Name)
	}
	return names
}
