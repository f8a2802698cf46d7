// Package mlflow files results with an MLflow server over its REST API. In go runs as
// plain data, parents before the runs that are nested in them; out come the ids that the
// server gave them. The limits of a batch are kept, and what is not a number is left out.
package mlflow

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"os"
	"path"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/secret"
	"aiperf.dev/aiperf/internal/words"
)

// Limits of MLflow's REST API.
const (
	mostMetrics, mostParams, mostTags = 1000, 100, 100
	mostEntities                      = 1000
	longestKey                        = 250
	longestParam                      = 6000
	longestTag                        = 8000
	longestName                       = 500
)

const (
	patience = 30 * time.Second // for one call, AIPerf's
	maxReply = 1 << 20
)

// Client speaks to one server.
type Client struct {
	base       string // without user and password
	experiment string // its id there
	auth       string // value of Authorization, "" for none
	http       *http.Client
}

// Run is what is filed: a run of MLflow's.
type Run struct {
	Name           string
	Parent         string // id; "" for none
	Began, Ended   time.Time
	Status         string // FINISHED, FAILED, KILLED
	Params, Tags   [][2]string
	Metrics        []Metric
	Artifacts      []Artifact
	ID             string // given by the server
	ArtifactFolder string // given by the server
}

// Metric is one number of a run.
type Metric struct {
	Key   string
	Value float64
}

// Artifact is a file of a run: its name there, and where it is here.
type Artifact struct{ Name, File string }

// callError is what the server refused.
type callError struct {
	status     int
	code, said string
}

func (e *callError) Error() string {
	if e.status == http.StatusForbidden && strings.Contains(e.said, "Invalid Host header") {
		return "it refuses the name it is called by (403, Invalid Host header): start it with " +
			"--allowed-hosts, or call it by an address that it allows"
	}
	return fmt.Sprintf("it answers %d: %s", e.status, words.Clip(words.Line(secret.Shapes(e.code+" "+e.said)), 200))
}

// Open finds the experiment at a server, or makes it. A user and password in the address,
// or MLFLOW_TRACKING_USERNAME and _PASSWORD, or MLFLOW_TRACKING_TOKEN, are sent along.
func Open(ctx context.Context, uri, experiment string) (*Client, error) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%s is not the address of an MLflow server; files are for mlflow itself: "+
			"mlflow server --backend-store-uri %s", secret.URL(uri), secret.URL(uri))
	}
	c := &Client{http: &http.Client{Timeout: patience, CheckRedirect: sameHost}}
	c.auth = authorization(u.User)
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	c.base = strings.TrimSuffix(u.String(), "/")
	name := cut(experiment, longestName)
	if c.experiment, err = c.find(ctx, name); err == nil {
		return c, nil
	}
	var refused *callError
	if !errors.As(err, &refused) || refused.code != "RESOURCE_DOES_NOT_EXIST" {
		return nil, err
	}
	var made struct {
		ID string `json:"experiment_id"`
	}
	err = c.call(ctx, http.MethodPost, "experiments/create", map[string]any{"name": name}, &made)
	if c.experiment = made.ID; err == nil {
		return c, nil
	}
	if errors.As(err, &refused) && refused.code == "RESOURCE_ALREADY_EXISTS" { // made by another meanwhile
		c.experiment, err = c.find(ctx, name)
	}
	return c, err
}

// sameHost follows no redirect to another host: credentials are for this one.
func sameHost(req *http.Request, via []*http.Request) error {
	if req.URL.Host != via[0].URL.Host || len(via) > 3 {
		return http.ErrUseLastResponse
	}
	return nil
}

func authorization(user *url.Userinfo) string {
	name, password := os.Getenv("MLFLOW_TRACKING_USERNAME"), os.Getenv("MLFLOW_TRACKING_PASSWORD")
	if user != nil {
		name = user.Username()
		password, _ = user.Password()
	}
	if name != "" {
		req := http.Request{Header: http.Header{}}
		req.SetBasicAuth(name, password)
		return req.Header.Get("Authorization")
	}
	if token := os.Getenv("MLFLOW_TRACKING_TOKEN"); token != "" {
		return "Bearer " + token
	}
	return ""
}

// find is the id of an experiment. One that was deleted cannot be written to.
func (c *Client) find(ctx context.Context, name string) (string, error) {
	var found struct {
		Experiment struct {
			ID    string `json:"experiment_id"`
			Stage string `json:"lifecycle_stage"`
		}
	}
	err := c.call(ctx, http.MethodGet, "experiments/get-by-name?experiment_name="+url.QueryEscape(name), nil, &found)
	if err == nil && found.Experiment.Stage == "deleted" {
		return "", fmt.Errorf("experiment %s was deleted there: restore it, or name another", words.Line(name))
	}
	return found.Experiment.ID, err
}

// File makes a run, with all that it has. What was filed before an error stays there: the
// run is then marked as failed.
func (c *Client) File(ctx context.Context, r *Run) error {
	tags := r.Tags
	if r.Parent != "" {
		tags = append([][2]string{{"mlflow.parentRunId", r.Parent}}, tags...)
	}
	var made struct {
		Run struct {
			Info struct {
				ID     string `json:"run_id"`
				Folder string `json:"artifact_uri"`
			}
		}
	}
	err := c.call(ctx, http.MethodPost, "runs/create", map[string]any{
		"experiment_id": c.experiment, "run_name": cut(r.Name, longestKey), "start_time": r.Began.UnixMilli(),
		"tags": pairs(tags[:min(len(tags), mostTags)], longestTag),
	}, &made)
	if err != nil {
		return err
	}
	r.ID, r.ArtifactFolder = made.Run.Info.ID, made.Run.Info.Folder
	err = c.log(ctx, r, tags[min(len(tags), mostTags):])
	for i := 0; err == nil && i < len(r.Artifacts); i++ {
		err = c.upload(ctx, r, r.Artifacts[i])
	}
	status := r.Status
	if err != nil {
		status = "FAILED"
	}
	end := c.call(ctx, http.MethodPost, "runs/update",
		map[string]any{"run_id": r.ID, "status": status, "end_time": r.Ended.UnixMilli()}, nil)
	return errors.Join(err, end)
}

// log sends params, metrics and the rest of the tags in batches.
func (c *Client) log(ctx context.Context, r *Run, tags [][2]string) error {
	params, metrics := r.Params, finite(r.Metrics)
	at := r.Ended.UnixMilli()
	for len(params)+len(metrics)+len(tags) > 0 {
		p, t := min(len(params), mostParams), min(len(tags), mostTags)
		m := min(len(metrics), mostMetrics, mostEntities-p-t)
		list := make([]map[string]any, 0, m)
		for _, x := range metrics[:m] {
			list = append(
				list, map[string]any{"key": cut(x.Key, longestKey), "value": x.Value, "timestamp": at, "step": 0},
			)
		}
		err := c.call(ctx, http.MethodPost, "runs/log-batch", map[string]any{
			"run_id": r.ID, "metrics": list, "params": pairs(params[:p], longestParam), "tags": pairs(tags[:t], longestTag),
		}, nil)
		if err != nil {
			return err
		}
		params, metrics, tags = params[p:], metrics[m:], tags[t:]
	}
	return nil
}

func finite(all []Metric) (out []Metric) {
	for _, m := range all {
		if !math.IsNaN(m.Value) && !math.IsInf(m.Value, 0) {
			out = append(out, m)
		}
	}
	return out
}

// pairs are params or tags as the API has them.
func pairs(all [][2]string, longest int) []map[string]string {
	out := make([]map[string]string, 0, len(all))
	for _, p := range all {
		out = append(out, map[string]string{"key": cut(p[0], longestKey), "value": cut(p[1], longest)})
	}
	return out
}

func cut(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most])
	}
	return s
}

// upload stores a file with the server. Where the server keeps artifacts elsewhere only
// that store's own protocol can write them.
func (c *Client) upload(ctx context.Context, r *Run, a Artifact) error {
	u, err := url.Parse(r.ArtifactFolder)
	if err != nil || u.Scheme != "mlflow-artifacts" && u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("artifacts of its runs are kept at %s, which it does not take over HTTP: "+
			"mlflow server --serve-artifacts does", secret.URL(r.ArtifactFolder))
	}
	folder := u.Path
	if _, below, ok := strings.Cut(folder, "/mlflow-artifacts/artifacts"); ok {
		folder = below
	}
	f, err := os.Open(a.File)
	if err != nil {
		return err
	}
	defer f.Close()
	parts := strings.Split(strings.Trim(path.Join(folder, a.Name), "/"), "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return c.do(ctx, http.MethodPut, "/api/2.0/mlflow-artifacts/artifacts/"+strings.Join(parts, "/"), f,
		"application/octet-stream", nil)
}

// call is one of the REST API.
func (c *Client) call(ctx context.Context, method, name string, body, into any) error {
	var from io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return err
		}
		from = bytes.NewReader(b)
	}
	return c.do(ctx, method, "/api/2.0/mlflow/"+name, from, "application/json", into)
}

func (c *Client) do(ctx context.Context, method, where string, body io.Reader, kind string, into any) error {
	req, err := http.NewRequestWithContext(ctx, method, c.base+where, body)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", kind)
	if c.auth != "" {
		req.Header.Set("Authorization", c.auth)
	}
	res, err := c.http.Do(req)
	if err != nil {
		var of *url.Error // it names the address, which is said already
		if errors.As(err, &of) {
			if err = of.Err; of.Timeout() {
				return errors.New("it does not answer in time")
			}
		}
		return fmt.Errorf("%s", words.Clip(words.Line(secret.Shapes(err.Error())), 200))
	}
	defer res.Body.Close()
	reply, err := io.ReadAll(io.LimitReader(res.Body, maxReply))
	if err != nil {
		return err
	}
	if res.StatusCode/100 != 2 {
		refused := &callError{status: res.StatusCode, said: string(reply)}
		var doc struct {
			Code    string `json:"error_code"`
			Message string
		}
		if json.Unmarshal(reply, &doc) == nil && doc.Code != "" {
			refused.code, refused.said = doc.Code, doc.Message
		}
		return refused
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(reply, into); err != nil {
		return fmt.Errorf("its answer is not MLflow's: %s", words.Clip(words.Line(string(reply)), 100))
	}
	return nil
}

// Address is where the server is, without credentials.
func (c *Client) Address() string { return c.base }

// Experiment is the id of the experiment.
func (c *Client) Experiment() string { return c.experiment }
