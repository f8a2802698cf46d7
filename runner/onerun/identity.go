package onerun

import (
	"cmp"
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

	"aiperf.dev/aiperf/internal/mockserver"
	"aiperf.dev/aiperf/loadgen/tokenizer/remote"
	"aiperf.dev/aiperf/loadgen/transport"
	"aiperf.dev/aiperf/runner/verdict"
	"aiperf.dev/aiperf/schema"
)

// inquiryTimeout is short: a target that does not answer at once is not asked.
const inquiryTimeout = time.Second

// maxModelList bounds what is read of a list, in bytes.
const maxModelList = 1 << 20

// Inquirer asks targets what they serve, over connections of its own: it is no
// part of the load.
type Inquirer struct {
	client *http.Client
	urls   []string
	header http.Header
	mask   func(string) string // takes secrets out of foreign texts; nil for none
}

// NewInquirer asks how.Targets, with the headers of e.
func NewInquirer(e *schema.Endpoint, how transport.Config) *Inquirer {
	q := &Inquirer{header: http.Header{}}
	for _, h := range e.Headers {
		q.header.Set(h.Name, h.Value)
	}
	if e.APIKey != "" && q.header.Get("Authorization") == "" {
		q.header.Set("Authorization", "Bearer "+e.APIKey)
	}
	for _, t := range how.Targets {
		q.urls = append(q.urls, serverURL(t, "/v1/models"))
	}
	t := &http.Transport{DisableKeepAlives: true, DisableCompression: true, ResponseHeaderTimeout: inquiryTimeout}
	if how.ProxyEnv {
		t.Proxy = http.ProxyFromEnvironment
	}
	if c, err := how.TLS(); err == nil { // a mistake there is the client's to tell
		t.TLSClientConfig = c
	}
	q.client = &http.Client{
		Transport: t, Timeout: inquiryTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // a key is not carried elsewhere
		},
	}
	return q
}

// keepsAlive is a client like that of the questions, for many of them.
func (q *Inquirer) keepsAlive() *http.Client {
	t := q.client.Transport.(*http.Transport).Clone()
	t.DisableKeepAlives = false
	return &http.Client{Transport: t, CheckRedirect: q.client.CheckRedirect}
}

// tokenizer is what the first target counts with. Its answers may take longer
// than those about models: prompts are counted, many of them.
func (q *Inquirer) tokenizer(ctx context.Context, base, model string) (*remote.Tokenizer, error) {
	t := q.client.Transport.(*http.Transport).Clone()
	t.DisableKeepAlives = false
	t.ResponseHeaderTimeout = tokenizeTimeout
	client := &http.Client{Transport: t, Timeout: tokenizeTimeout, CheckRedirect: q.client.CheckRedirect}
	return remote.Open(ctx, client, base, q.header, model)
}

// counters are the programs whose /tokenize is known, as they call themselves
// in their lists of models. Others are not asked: to them it would be one more
// request, and nobody wants one that was not sent to measure.
var counters = []string{"vllm", "sglang", "llamacpp", "aiperf"}

// asksTokens reports whether a run's counts are worth a question to the server:
// texts are counted, by this program, for a server that can tell.
func asksTokens(m *Opened, before []verdict.ServerIdentity) bool {
	e := &m.Benchmark.Endpoint
	counts := func(id verdict.ServerIdentity) bool { return id.Counts }
	return m.API.TakesText && !e.UseServerTokenCount && slices.ContainsFunc(before, counts) &&
		!slices.ContainsFunc(e.URLs, mockserver.Named)
}

// disagrees counts one text by the server and by the run's tokenizer, and says
// how they differ; "" when they agree and when the server counts for nobody.
// It waits no longer than for the server's models.
func (q *Inquirer) disagrees(ctx context.Context, m *Opened) string {
	tok, err := remote.Open(ctx, q.client, m.Targets[0], q.header, m.Benchmark.Models.Items[0].Name)
	if err != nil {
		return ""
	}
	return tok.Compare(m.Tokenizer.Name(), m.Tokenizer.Count)
}

// tokenizeTimeout is how long one text may take to be counted.
const tokenizeTimeout = 30 * time.Second

// serverURL is path on the server of base; "" if base is no address.
func serverURL(base, path string) string {
	if !strings.Contains(base, "://") {
		base = "http://" + base
	}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" {
		return ""
	}
	u.Path = strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/v1") + path
	u.RawPath = ""
	return u.String()
}

// Served are the names in the first target's list of models; nil when it has none.
func (q *Inquirer) Served(ctx context.Context) (names []string) {
	list, _ := q.models(ctx, q.urls[0])
	for _, m := range list {
		names = append(names, m.ID)
	}
	return names
}

// ask asks all targets at once.
func (q *Inquirer) ask(ctx context.Context) []verdict.ServerIdentity {
	found := make([]verdict.ServerIdentity, len(q.urls))
	var wait sync.WaitGroup
	for i, u := range q.urls {
		wait.Go(func() { found[i] = q.one(ctx, u) })
	}
	wait.Wait()
	return found
}

// listed is one model of a server's list.
type listed struct {
	ID     string `json:"id"`
	Owner  string `json:"owned_by"`
	Root   string `json:"root"`
	MaxLen int64  `json:"max_model_len"`
}

// Models asks target i for its list, and what the server calls itself; nil if it has no list.
func (q *Inquirer) models(ctx context.Context, u string) (list []listed, server string) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u, nil)
	if u == "" || err != nil {
		return nil, ""
	}
	req.Header = q.header.Clone()
	res, err := q.client.Do(req)
	if err != nil {
		return nil, ""
	}
	defer res.Body.Close()
	var doc struct{ Data []listed }
	if res.StatusCode != http.StatusOK || json.NewDecoder(io.LimitReader(res.Body, maxModelList)).Decode(&doc) != nil {
		return nil, ""
	}
	return doc.Data, res.Header.Get("Server")
}

// one asks one target; one that is not known if it has no list.
func (q *Inquirer) one(ctx context.Context, u string) verdict.ServerIdentity {
	list, server := q.models(ctx, u)
	if list == nil {
		return verdict.ServerIdentity{}
	}
	f := verdict.ServerIdentity{Server: server, Models: []string{}}
	for _, m := range list {
		name := m.ID
		if m.Root != "" && m.Root != m.ID {
			name += " (" + m.Root + ")"
		}
		if m.MaxLen > 0 {
			name += fmt.Sprintf(" of %d tokens", m.MaxLen)
		}
		f.Models = append(f.Models, name)
		f.Counts = f.Counts || slices.Contains(counters, m.Owner)
	}
	slices.Sort(f.Models)
	return f
}

// identified asks servers what they serve, before the run and after it.
type identified struct {
	who    *Inquirer
	before []verdict.ServerIdentity
	asked  []string // models
	doubt  string   // about the tokenizer, by what the server counts
}

func startIdentity(ctx context.Context, w *Watched) (Observer, error) {
	if w.Client == nil {
		return nil, nil //nolint:nilnil // nobody to ask
	}
	run := w.Run
	o := &identified{who: NewInquirer(&run.Benchmark.Endpoint, w.Transport)}
	o.before = o.who.ask(ctx)
	for _, m := range run.Benchmark.Models.Items {
		o.asked = append(o.asked, m.Name)
	}
	if run.doubt == "" && asksTokens(run, o.before) {
		o.doubt = run.loader.compared(run, func() string { return o.who.disagrees(ctx, run) })
	}
	return o, nil
}

// Stop asks once more, unless no server had a list at the start. Where a second Ctrl-C leaves no time to
// ask, nothing is known of the end, which is no change of the server.
func (o *identified) Stop(ctx context.Context, out *Result) error {
	if out == nil {
		return nil
	}
	out.Doubt = cmp.Or(out.Doubt, o.doubt)
	id := identity(o.before, func() []verdict.ServerIdentity { return o.who.ask(ctx) }, o.asked)
	if ctx.Err() == nil {
		out.Identity = id
	}
	return nil
}

// identity is what was learned; nil where nobody had a list at the start. Then
// nobody is asked again.
func identity(before []verdict.ServerIdentity, ask func() []verdict.ServerIdentity, asked []string) *verdict.Identity {
	if !slices.ContainsFunc(before, verdict.ServerIdentity.Known) {
		return nil
	}
	return &verdict.Identity{Before: before, After: ask(), Asked: asked}
}
