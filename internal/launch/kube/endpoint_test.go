package kube_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/launch/kube"
)

// What preflight says of the server that a load is for.
func TestEndpointsOfAPlan(t *testing.T) {
	t.Parallel()
	service := func(kind string, ports ...int) any {
		var all []any
		for _, p := range ports {
			all = append(all, map[string]any{"port": p})
		}
		return map[string]any{"spec": map[string]any{"type": kind, "ports": all}}
	}
	behind := func(ready ...bool) any {
		var all []any
		for _, is := range ready {
			all = append(all, map[string]any{"addresses": []string{"10.1.1.1"}, "conditions": map[string]any{"ready": is}})
		}
		return map[string]any{"items": []any{map[string]any{"endpoints": all}}}
	}
	api := map[string]any{
		"/version":                 map[string]string{"major": "1", "minor": "36", "gitVersion": "v1.36.3"},
		"/api/v1/namespaces/bench": map[string]any{},
		"/api/v1/namespaces/bench/services/server":                         service("ClusterIP", 80, 8000),
		"/api/v1/namespaces/other/services/empty":                          service("ClusterIP", 8000),
		"/api/v1/namespaces/bench/services/out":                            service("ExternalName"),
		"/apis/discovery.k8s.io/v1/namespaces/bench/endpointslices?server": behind(true, true, false),
		"/apis/discovery.k8s.io/v1/namespaces/other/endpointslices?empty":  behind(false),
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		at := r.URL.Path
		if _, name, of := strings.Cut(r.URL.Query().Get("labelSelector"), "service-name="); of {
			at += "?" + name
		}
		w.Header().Set("Content-Type", "application/json")
		if api[at] == nil {
			w.WriteHeader(http.StatusNotFound)
			_ = json.NewEncoder(w).Encode(map[string]string{"message": "not found"})
			return
		}
		_ = json.NewEncoder(w).Encode(api[at])
	}))
	defer s.Close()
	config := filepath.Join(t.TempDir(), "config")
	text := `{current-context: c, clusters: [{name: c, cluster: {server: "` + s.URL + `"}}],
contexts: [{name: c, context: {cluster: c, namespace: bench}}]}`
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := kube.Open(config, "", "")
	if err != nil {
		t.Fatal(err)
	}
	for url, want := range map[string]kube.Finding{
		"http://server:8000/v1":                  {kube.OK, "Service server in namespace bench has port 8000; ready addresses behind it: 2;"},
		"http://server.bench.svc.cluster.local.": {kube.OK, "Service server in namespace bench has port 80; ready addresses behind it: 2"},
		"http://server:9000":                     {kube.No, "Service server in namespace bench has port 80, 8000, not 9000"},
		"https://server":                         {kube.No, "has port 80, 8000, not 443"},
		"http://empty.other:8000":                {kube.No, "and no pod behind it is ready"},
		"http://absent:8000":                     {kube.No, "Service absent does not exist in namespace bench"},
		"http://absent.other.svc:8000":           {kube.No, "Service absent does not exist in namespace other"},
		"http://out:8000":                        {kube.Unknown, "leads out of the cluster"},
		"https://example.com/v1":                 {kube.Unknown, "example.com is not a Service of the cluster; whether pods reach it"},
		"https://api.example.com":                {kube.Unknown, "whether pods reach api.example.com cannot be seen from here"},
		"http://10.0.0.7:8000":                   {kube.Unknown, "whether pods reach 10.0.0.7 cannot be seen from here"},
		"http://localhost:8000":                  {kube.No, "localhost is each pod itself"},
		"http://[::1]:8000":                      {kube.No, "::1 is each pod itself"},
		"mock:":                                  {kube.No, "the built-in server"},
		"nonsense":                               {kube.No, "is not the address of a server"},
	} {
		all := c.Preflight(context.Background(), &kube.Wants{Load: *load(), Endpoints: []string{url}})
		said := func(f kube.Finding) bool { return f.Stands == want.Stands && strings.Contains(f.Text, want.Text) }
		if !slices.ContainsFunc(all, said) {
			t.Errorf("%s: %q, want %q", url, all, want)
		}
	}
}
