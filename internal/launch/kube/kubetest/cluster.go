// Package kubetest is a small cluster for tests: as much of Kubernetes' API as a load needs,
// and pods that are processes of this machine. It is no Kubernetes: whether that takes the
// manifests is another test's to say.
package kubetest

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"gopkg.in/yaml.v3"
)

// Cluster is what the API holds, and the processes of its pods.
type Cluster struct {
	Kubeconfig string // a file that leads there
	// Refuse, if it is set, is asked before anything is created; what it says is the refusal.
	Refuse func(kind, name string) string

	t       testing.TB
	program string // that pods run in place of theirs; "" runs none
	port    int    // on which coordinators listen here
	server  *httptest.Server

	mu      sync.Mutex
	objects map[string]map[string]any // by path
	uids    int
	pods    map[string]*pod // by name
	cut     bool            // the first log is cut in the middle
}

const token = "kubetest-token-0123456789"

// Start starts a cluster that ends with the test. Its pods run program.
func Start(t testing.TB, program string) *Cluster {
	t.Helper()
	c := &Cluster{
		t: t, program: program, objects: map[string]map[string]any{}, pods: map[string]*pod{}, port: freePort(t),
	}
	c.server = httptest.NewTLSServer(http.HandlerFunc(c.serve))
	t.Cleanup(func() {
		c.mu.Lock()
		all := c.pods
		c.pods = map[string]*pod{}
		c.mu.Unlock()
		for _, p := range all {
			p.stop()
		}
		c.server.CloseClientConnections()
		c.server.Close()
	})
	c.Kubeconfig = filepath.Join(t.TempDir(), "config")
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.server.Certificate().Raw})
	text, err := yaml.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": "test",
		"clusters": []any{map[string]any{"name": "test", "cluster": map[string]any{
			"server": c.server.URL, "certificate-authority": "ca.crt",
		}}},
		"users":    []any{map[string]any{"name": "me", "user": map[string]any{"token": token}}},
		"contexts": []any{map[string]any{"name": "test", "context": map[string]any{"cluster": "test", "user": "me", "namespace": "bench"}}},
	})
	if err == nil {
		err = os.WriteFile(c.Kubeconfig, text, 0o600)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(filepath.Dir(c.Kubeconfig), "ca.crt"), ca, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Names are the objects that are there, as kind/name, sorted.
func (c *Cluster) Names() (names []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for path := range c.objects {
		parts := strings.Split(path, "/")
		names = append(names, parts[len(parts)-2]+"/"+parts[len(parts)-1])
	}
	slices.Sort(names)
	return names
}

// Object is one of them.
func (c *Cluster) Object(name string) map[string]any {
	c.mu.Lock()
	defer c.mu.Unlock()
	for path, o := range c.objects {
		if strings.HasSuffix(path, "/"+name) {
			return o
		}
	}
	return nil
}

// Kill ends the process of a pod whose name begins so, and tells whether there was one.
func (c *Cluster) Kill(prefix string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, p := range c.pods {
		if strings.HasPrefix(name, prefix) && p.kill() {
			return true
		}
	}
	return false
}

func (c *Cluster) serve(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer "+token {
		fail(w, http.StatusUnauthorized, "Unauthorized")
		return
	}
	path := r.URL.Path
	parts := strings.Split(strings.Trim(path, "/"), "/")
	last := parts[len(parts)-1]
	switch {
	case path == "/version":
		answer(w, map[string]string{"major": "1", "minor": "36", "gitVersion": "v1.36.3"})
	case last == "selfsubjectaccessreviews":
		answer(w, map[string]any{"status": map[string]any{"allowed": true}})
	case path == "/api/v1/nodes":
		answer(w, map[string]any{"items": []any{map[string]any{
			"metadata": map[string]any{"name": "one"},
			"status":   map[string]any{"allocatable": map[string]string{"cpu": "8", "memory": "32Gi"}},
		}}})
	case last == "resourcequotas":
		answer(w, map[string]any{"items": []any{map[string]any{
			"metadata": map[string]any{"name": "q"},
			"status":   map[string]any{"hard": map[string]string{"pods": "10"}, "used": map[string]string{"pods": "4"}},
		}}})
	case path == "/api/v1/namespaces/bench":
		answer(w, map[string]any{"metadata": map[string]any{"name": "bench"}})
	case len(parts) > 2 && parts[len(parts)-3] == "pods" && last == "log":
		c.log(w, r, parts[len(parts)-2])
	case len(parts) > 2 && parts[len(parts)-3] == "pods" && last == "exec":
		c.exec(w, r, parts[len(parts)-2])
	case r.Method == http.MethodPost:
		c.create(w, r)
	case r.Method == http.MethodGet:
		c.get(w, r)
	case r.Method == http.MethodPatch:
		c.patch(w, r)
	case r.Method == http.MethodDelete:
		c.remove(w, path)
	default:
		fail(w, http.StatusMethodNotAllowed, r.Method)
	}
}

func (c *Cluster) create(w http.ResponseWriter, r *http.Request) {
	var o map[string]any
	if err := json.NewDecoder(r.Body).Decode(&o); err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	m, _ := o["metadata"].(map[string]any)
	name, _ := m["name"].(string)
	kind, _ := o["kind"].(string)
	if c.Refuse != nil {
		if why := c.Refuse(kind, name); why != "" {
			fail(w, http.StatusForbidden, why)
			return
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	path := r.URL.Path + "/" + name
	if c.objects[path] != nil {
		fail(w, http.StatusConflict, fmt.Sprintf("%s %q already exists", kind, name))
		return
	}
	if r.URL.Query().Get("dryRun") == "" {
		c.put(path, o)
		if kind == "Job" {
			c.begin(path, o)
		}
	}
	answer(w, o)
}

// put keeps an object, with what the API adds.
func (c *Cluster) put(path string, o map[string]any) {
	c.uids++
	m := o["metadata"].(map[string]any)
	m["uid"] = "uid-" + strconv.Itoa(c.uids)
	m["creationTimestamp"] = time.Now().UTC().Format(time.RFC3339)
	c.objects[path] = o
}

func (c *Cluster) get(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if o := c.objects[r.URL.Path]; o != nil {
		answer(w, o)
		return
	}
	parts := strings.Split(r.URL.Path, "/")
	plural := parts[len(parts)-1]
	if !slices.Contains([]string{"secrets", "configmaps", "services", "networkpolicies", "jobs", "pods"}, plural) {
		fail(w, http.StatusNotFound, parts[len(parts)-2]+" \""+plural+"\" not found")
		return
	}
	items := []any{}
	for path, o := range c.objects {
		if strings.HasPrefix(path, r.URL.Path+"/") && matches(o, r.URL.Query()) {
			items = append(items, o)
		}
	}
	answer(w, map[string]any{"items": items})
}

// matches tells whether an object has the labels that a query asks for.
func matches(o map[string]any, q url.Values) bool {
	labels, _ := o["metadata"].(map[string]any)["labels"].(map[string]any)
	for _, one := range strings.Split(q.Get("labelSelector"), ",") {
		if key, value, ok := strings.Cut(one, "="); ok && labels[key] != value {
			return false
		}
	}
	return true
}

// patch merges, as far as it is used: whole members of metadata.
func (c *Cluster) patch(w http.ResponseWriter, r *http.Request) {
	var change struct {
		Metadata map[string]any `json:"metadata"`
	}
	if err := json.NewDecoder(r.Body).Decode(&change); err != nil || r.Header.Get("Content-Type") != "application/merge-patch+json" {
		fail(w, http.StatusUnsupportedMediaType, "no merge patch")
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.objects[r.URL.Path]
	if o == nil {
		fail(w, http.StatusNotFound, "not found")
		return
	}
	for key, value := range change.Metadata {
		o["metadata"].(map[string]any)[key] = value
	}
	answer(w, o)
}

func (c *Cluster) remove(w http.ResponseWriter, path string) {
	c.mu.Lock()
	o := c.objects[path]
	delete(c.objects, path)
	var stop []*pod
	if o != nil && o["kind"] == "Job" {
		for name, p := range c.pods {
			if p.job == path {
				delete(c.objects, p.path)
				delete(c.pods, name)
				stop = append(stop, p)
			}
		}
	}
	c.mu.Unlock()
	for _, p := range stop {
		p.stop()
	}
	if o == nil {
		fail(w, http.StatusNotFound, "not found")
		return
	}
	answer(w, map[string]any{"status": "Success"})
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func fail(w http.ResponseWriter, code int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(map[string]any{"kind": "Status", "status": "Failure", "code": code, "message": message})
}
