package kube

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

	"aiperf.dev/aiperf/internal/diag"
)

// Client speaks to a cluster's API.
type Client struct {
	base      *url.URL
	http      *http.Client
	auth      *auth
	Namespace string
	// Warn is told what the API warns of, such as a rule for pods that is only warned of; nil for nobody.
	Warn func(string)
}

// status is how the API says that it did not.
type status struct {
	Status  string `json:"status"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
	Code    int    `json:"code"`
	Details struct {
		Causes []struct {
			Reason  string `json:"reason"`
			Message string `json:"message"`
		} `json:"causes"`
	} `json:"details"`
}

// refusal is an answer of the API that is not what was asked for.
type refusal struct {
	code    int
	message string
}

func (r *refusal) Error() string { return r.message }

// IsMissing tells whether what was asked for is not there.
func IsMissing(err error) bool { return isCode(err, http.StatusNotFound) }

// IsThere tells whether something is there already.
func IsThere(err error) bool { return isCode(err, http.StatusConflict) }

func isCode(err error, code int) bool {
	var r *refusal
	return errors.As(err, &r) && r.code == code
}

// maxAnswer bounds an answer, in bytes: a list of ten thousand pods has some 100 MB.
const maxAnswer = 512 << 20

// The kinds that are used, and where the API has them.
var places = map[string]string{
	"ConfigMap": "/api/v1/namespaces/%s/configmaps", "Secret": "/api/v1/namespaces/%s/secrets",
	"Service": "/api/v1/namespaces/%s/services", "Pod": "/api/v1/namespaces/%s/pods",
	"Job":           "/apis/batch/v1/namespaces/%s/jobs",
	"NetworkPolicy": "/apis/networking.k8s.io/v1/namespaces/%s/networkpolicies",
}

// at is where the objects of a kind are.
func (c *Client) at(kind string) string {
	return fmt.Sprintf(places[kind], url.PathEscape(c.Namespace))
}

// request asks the API. The body of the answer is the caller's to close.
func (c *Client) request(
	ctx context.Context, method, path string, query url.Values, kind string, body []byte,
) (*http.Response, error) {
	u := *c.base
	u.Path += path
	u.RawQuery = query.Encode()
	req, err := http.NewRequestWithContext(ctx, method, u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if err := c.auth.sign(ctx, req.Header); err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", "aiperf")
	if body != nil {
		req.Header.Set("Content-Type", kind)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) { // the whole address says no more
			err = u.Err
		}
		return nil, &diag.Error{Code: diag.Failed, Message: "the cluster at " + c.base.Host + ": " + err.Error(), Cause: err}
	}
	if resp.StatusCode >= 300 {
		defer resp.Body.Close()
		return nil, refused(resp, c.base.Host)
	}
	if c.Warn != nil {
		for _, w := range resp.Header.Values("Warning") { // 299 - "text"
			if _, text, ok := strings.Cut(w, ` "`); ok {
				c.Warn(strings.TrimSuffix(text, `"`))
			}
		}
	}
	return resp, nil
}

// refused is an answer that is an error.
func refused(resp *http.Response, host string) error {
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
	var s status
	if json.Unmarshal(text, &s) != nil || s.Message == "" {
		s.Message = "the cluster at " + host + " says " + resp.Status
	}
	hint := ""
	switch resp.StatusCode {
	case http.StatusUnauthorized:
		hint = "it does not know who asks: is the kubeconfig still valid?"
	case http.StatusForbidden:
		hint = "aiperf kube preflight lists what has to be allowed"
	}
	return &diag.Error{
		Code: diag.Failed, Message: s.Message, Hint: hint, Cause: &refusal{resp.StatusCode, s.Message},
	}
}

// ask asks the API, and reads its answer into into, which may be nil.
func (c *Client) ask(ctx context.Context, method, path string, query url.Values, body, into any) error {
	var text []byte
	kind := "application/json"
	if method == http.MethodPatch {
		kind = "application/merge-patch+json"
	}
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return err
		}
	}
	resp, err := c.request(ctx, method, path, query, kind, text)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if into == nil {
		_, err = io.Copy(io.Discard, io.LimitReader(resp.Body, maxAnswer))
		return err
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(into); err != nil {
		return &diag.Error{Code: diag.Failed, Message: "the cluster at " + c.base.Host + ": " + err.Error(), Cause: err}
	}
	return nil
}

// list is the objects of a kind with these labels; all namespaces where everywhere is set.
func list[T any](ctx context.Context, c *Client, kind, labels string, everywhere bool) ([]T, error) {
	at := c.at(kind)
	if everywhere {
		at = strings.Replace(places[kind], "/namespaces/%s", "", 1)
	}
	var all []T
	query := url.Values{"labelSelector": {labels}, "limit": {"500"}}
	for {
		var page struct {
			Metadata struct {
				Continue string `json:"continue"`
			} `json:"metadata"`
			Items []T `json:"items"`
		}
		if err := c.ask(ctx, http.MethodGet, at, query, nil, &page); err != nil {
			return nil, err
		}
		all = append(all, page.Items...)
		if page.Metadata.Continue == "" {
			return all, nil
		}
		query.Set("continue", page.Metadata.Continue)
	}
}
