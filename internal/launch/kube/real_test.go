package kube_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	core "k8s.io/api/core/v1"

	"aiperf.dev/aiperf/internal/launch/kube"
)

var servers = flag.String("servers", "", "folder with etcd, kube-apiserver and kube-controller-manager: make k8s-test")

// TestRealCluster has Kubernetes' own servers take a load: an API server that holds pods to the
// restricted level, and the controllers of jobs and of what belongs to them. There is no node:
// the test says for each pod that it runs, and how it ended.
func TestRealCluster(t *testing.T) {
	if *servers == "" {
		t.Skip("make k8s-test builds the servers, and runs this")
	}
	began := time.Now()
	r := startReal(t)
	defer func() { t.Logf("Kubernetes' servers took %v", time.Since(began).Round(time.Second)) }()
	r.must("POST", "/api/v1/namespaces", map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "bench", "labels": map[string]string{
			"pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/warn": "restricted",
		}},
	})
	c, err := kube.Open(r.kubeconfig, "", "")
	if err != nil {
		t.Fatal(err)
	}
	var warned []string
	c.Warn = func(text string) { warned = append(warned, text) }
	ctx := context.Background()
	l := load()
	l.Workers = 4

	if err := c.Check(ctx, l); err != nil {
		t.Errorf("the server does not take the manifests: %v", err)
	}
	for name, all := range allLoads() {
		if err := c.Check(ctx, all); err != nil {
			t.Errorf("the server does not take the manifests of %s: %v", name, err)
		}
	}
	for _, f := range c.Preflight(ctx, &kube.Wants{Load: *l}) {
		if f.Stands == kube.No && !strings.Contains(f.Text, "nodes") {
			t.Errorf("preflight: %s", f.Text)
		}
	}
	r.serves("llm", "server", 8000)
	looked := c.Preflight(ctx, &kube.Wants{Load: *l, Endpoints: []string{
		"http://server.llm:8000/v1", "http://server.llm.svc:9000", "http://nothing.llm.svc.cluster.local", "http://192.0.2.1",
	}})
	for _, want := range []kube.Finding{
		{Stands: kube.OK, Text: "Service server in namespace llm has port 8000; ready addresses behind it: 1;"},
		{Stands: kube.No, Text: "Service server in namespace llm has port 8000, not 9000"},
		{Stands: kube.No, Text: "Service nothing does not exist in namespace llm"},
		{Stands: kube.Unknown, Text: "whether pods reach 192.0.2.1 cannot be seen from here"},
	} {
		if !slices.ContainsFunc(looked, func(f kube.Finding) bool {
			return f.Stands == want.Stands && strings.HasPrefix(f.Text, want.Text)
		}) {
			t.Errorf("preflight does not say %q: %q", want.Text, looked)
		}
	}
	if err := c.Place(ctx, l); err != nil {
		t.Fatal(err)
	}
	if len(warned) > 0 {
		t.Errorf("the server warns: %q", warned)
	}

	// Each index gets a pod. One fails, and its index alone gets another.
	failed := ""
	r.until("4 workers and a coordinator", func() bool { return len(r.pods("")) == 5 })
	for _, p := range r.pods("worker") {
		if index := p.Labels["batch.kubernetes.io/job-completion-index"]; index == "2" {
			failed = p.Name
			r.end(&p, 1)
		} else {
			r.runs(&p)
		}
	}
	var again core.Pod
	r.until("another pod of index 2", func() bool {
		i := slices.IndexFunc(r.pods("worker"), func(p core.Pod) bool {
			return p.Labels["batch.kubernetes.io/job-completion-index"] == "2" && p.Name != failed
		})
		if i >= 0 {
			again = r.pods("worker")[i]
		}
		return i >= 0
	})
	if n := len(r.pods("worker")); n != 5 {
		t.Errorf("%d pods of workers after one has failed, want 5", n)
	}
	if s, err := c.State(ctx, "big"); err != nil || s.Workers != 4 || s.Phase == kube.Failed {
		t.Errorf("the load: %+v, %v", s, err)
	}
	for _, p := range r.pods("worker") {
		if p.Name != failed {
			r.end(&p, 0)
		}
	}
	r.end(&again, 0)
	r.until("4 workers to be done", func() bool {
		s, err := c.State(ctx, "big")
		return err == nil && s.Over == 4
	})
	for _, p := range r.pods("coordinator") {
		r.end(&p, 4)
	}
	r.until("the load to have failed with 4", func() bool {
		s, err := c.State(ctx, "big")
		return err == nil && s.Phase == kube.Failed && s.Code == 4
	})

	// Whoever removes the coordinator's job removes the rest with it.
	r.must("DELETE", "/apis/batch/v1/namespaces/bench/jobs/big-coordinator",
		map[string]string{"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"})
	r.until("nothing to be left", func() bool { return r.left() == 0 })

	// A worker that fails again and again ends the load.
	if err := c.Place(ctx, l); err != nil {
		t.Fatal(err)
	}
	r.until("4 workers", func() bool { return len(r.pods("worker")) == 4 })
	r.until("the workers' job to fail", func() bool {
		for _, p := range r.pods("worker") {
			if p.Labels["batch.kubernetes.io/job-completion-index"] == "1" && p.Status.Phase == core.PodPending {
				r.end(&p, 2)
			}
		}
		s, err := c.State(ctx, "big")
		return err == nil && strings.Contains(s.Why, "FailedIndexes")
	})
	if found, err := c.Delete(ctx, "big"); !found || err != nil {
		t.Errorf("deleted: %v, %v", found, err)
	}
	r.until("nothing to be left", func() bool { return r.left() == 0 })
}

// allLoads are loads with everything that a manifest can say but a queue, which is Kueue's.
func allLoads() map[string]*kube.Load {
	l := load()
	l.Name, l.Namespace = "all", "bench"
	seconds := int64(60)
	l.NodeSelector = map[string]string{"pool": "load"}
	l.Tolerations = []kube.Toleration{{Key: "load", Operator: "Exists", Effect: "NoExecute", Seconds: &seconds}}
	l.Labels, l.Annotations = map[string]string{"team": "llm"}, map[string]string{"a/b": "c"}
	l.Env, l.EnvFromSecrets = map[string]string{"A": "1"}, map[string]kube.SecretKey{"KEY": {Secret: "s", Key: "k"}}
	l.SecretMounts = []kube.SecretMount{{Name: "ca", MountPath: "/ca"}}
	l.DataClaim, l.ResultsClaim, l.PullSecrets, l.PullPolicy = "data", "kept", []string{"pull"}, "Always"
	l.Files["data/a b.jsonl"], l.Files["c.bin"] = []byte("{}\n"), []byte{0xff, 0}
	return map[string]*kube.Load{"all": l}
}

// real is Kubernetes' servers on this machine.
type real struct {
	t          *testing.T
	url        string
	kubeconfig string
	http       *http.Client
}

const realToken = "real-cluster-token-0123456789"

func startReal(t *testing.T) *real {
	t.Helper()
	dir := t.TempDir()
	port := func() int {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		return l.Addr().(*net.TCPAddr).Port
	}
	client, peer, api := port(), port(), port()
	at := func(name string) string { return filepath.Join(dir, name) }
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	r := &real{
		t: t, url: fmt.Sprintf("https://127.0.0.1:%d", api), kubeconfig: at("kubeconfig"),
		http: &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}},
	}
	config := map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": "c",
		"clusters": []any{map[string]any{"name": "c", "cluster": map[string]any{"server": r.url, "insecure-skip-tls-verify": true}}},
		"users":    []any{map[string]any{"name": "c", "user": map[string]any{"token": realToken}}},
		"contexts": []any{map[string]any{"name": "c", "context": map[string]any{"cluster": "c", "user": "c", "namespace": "bench"}}},
	}
	text, err := json.Marshal(config) // which is YAML
	if err != nil {
		t.Fatal(err)
	}
	private := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	for name, b := range map[string][]byte{
		"kubeconfig": text, "tokens": []byte(realToken + ",me,1,\"system:masters\"\n"), "sa.key": private,
		"sa.pub": pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}),
	} {
		if err := os.WriteFile(at(name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	clients, peers := fmt.Sprintf("http://127.0.0.1:%d", client), fmt.Sprintf("http://127.0.0.1:%d", peer)
	r.start("etcd", "--data-dir", at("etcd"), "--listen-client-urls", clients, "--advertise-client-urls", clients,
		"--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers, "--initial-cluster", "default="+peers,
		"--unsafe-no-fsync")
	r.start("kube-apiserver", "--etcd-servers", clients, "--secure-port", fmt.Sprint(api), "--bind-address", "127.0.0.1",
		"--cert-dir", at("certs"), "--token-auth-file", at("tokens"), "--authorization-mode", "RBAC",
		"--service-account-issuer", "https://kubernetes.default.svc", "--service-account-key-file", at("sa.pub"),
		"--service-account-signing-key-file", at("sa.key"), "--service-cluster-ip-range", "10.0.0.0/24",
		"--disable-admission-plugins", "ServiceAccount")
	r.until("the API server", func() bool {
		resp, err := r.ask("GET", "/readyz", nil)
		return err == nil && resp == "ok"
	})
	r.start("kube-controller-manager", "--kubeconfig", at("kubeconfig"), "--leader-elect=false", "--secure-port", "0",
		"--controllers", "job-controller,garbage-collector-controller,ttl-after-finished-controller")
	return r
}

// start starts a server, which ends with the test. What it says is shown if the test fails.
func (r *real) start(name string, args ...string) {
	r.t.Helper()
	var said bytes.Buffer
	cmd := exec.Command(filepath.Join(*servers, name), args...)
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
		if text := said.Bytes(); r.t.Failed() {
			r.t.Logf("%s:\n%s", name, text[max(0, len(text)-4000):])
		}
	})
}

// until waits for what the controllers do.
func (r *real) until(what string, seen func() bool) {
	r.t.Helper()
	give := time.After(3 * time.Minute) // an index is started again after 10, 20 and 40 s
	for look := time.NewTicker(200 * time.Millisecond); !seen(); {
		select {
		case <-give:
			r.t.Fatalf("waited for %s; there is %q", what, r.names())
		case <-look.C:
		}
	}
}

// ask asks the API server.
func (r *real) ask(method, path string, body any) (string, error) {
	b, err := json.Marshal(body)
	if err != nil {
		return "", err
	}
	req, err := http.NewRequest(method, r.url+path, bytes.NewReader(b))
	if err != nil {
		return "", err
	}
	req.Header.Set("Authorization", "Bearer "+realToken)
	req.Header.Set("Content-Type", "application/json")
	if method == http.MethodPatch {
		req.Header.Set("Content-Type", "application/merge-patch+json")
	}
	resp, err := r.http.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if resp.StatusCode >= 300 {
		err = errors.Join(err, fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, text))
	}
	return string(text), err
}

func (r *real) must(method, path string, body any) string {
	r.t.Helper()
	text, err := r.ask(method, path, body)
	if err != nil {
		r.t.Fatal(err)
	}
	return text
}

// serves makes a Service with a pod behind it that is ready and one that is not.
func (r *real) serves(namespace, name string, port int) {
	r.t.Helper()
	r.must("POST", "/api/v1/namespaces", map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": namespace},
	})
	r.must("POST", "/api/v1/namespaces/"+namespace+"/services", map[string]any{
		"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"name": name},
		"spec": map[string]any{"ports": []any{map[string]any{"port": port}}},
	})
	var behind []any
	for ready, address := range map[bool]string{true: "10.1.1.1", false: "10.1.1.2"} {
		behind = append(behind, map[string]any{
			"addresses": []string{address}, "conditions": map[string]any{"ready": ready},
		})
	}
	r.must("POST", "/apis/discovery.k8s.io/v1/namespaces/"+namespace+"/endpointslices", map[string]any{
		"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4", "endpoints": behind,
		"metadata": map[string]any{"name": name + "-1", "labels": map[string]string{"kubernetes.io/service-name": name}},
		"ports":    []any{map[string]any{"port": port}},
	})
}

// pods are those of a part of the load, of all for "".
func (r *real) pods(part string) []core.Pod {
	r.t.Helper()
	path := "/api/v1/namespaces/bench/pods"
	if part != "" {
		path += "?labelSelector=app.kubernetes.io/component=" + part
	}
	var all core.PodList
	if err := json.Unmarshal([]byte(r.must("GET", path, nil)), &all); err != nil {
		r.t.Fatal(err)
	}
	return all.Items
}

// realKinds are those of which a load consists.
var realKinds = []string{
	"/api/v1/namespaces/bench/pods", "/api/v1/namespaces/bench/secrets", "/api/v1/namespaces/bench/services",
	"/api/v1/namespaces/bench/configmaps", "/apis/batch/v1/namespaces/bench/jobs",
	"/apis/networking.k8s.io/v1/namespaces/bench/networkpolicies",
}

// left counts what is left of loads. Pods that wait for a node to end them are let go.
func (r *real) left() int {
	r.t.Helper()
	for _, p := range r.pods("") {
		if p.DeletionTimestamp != nil {
			_, _ = r.ask("DELETE", "/api/v1/namespaces/bench/pods/"+p.Name+"?gracePeriodSeconds=0", nil) // it may be gone
		}
	}
	return len(r.names())
}

// names are those of what is there of loads.
func (r *real) names() (all []string) {
	r.t.Helper()
	for _, path := range realKinds {
		var some struct {
			Items []struct {
				Metadata struct {
					Name string `json:"name"`
				} `json:"metadata"`
			} `json:"items"`
		}
		if err := json.Unmarshal([]byte(r.must("GET", path, nil)), &some); err != nil {
			r.t.Fatal(err)
		}
		for _, o := range some.Items {
			all = append(all, path[strings.LastIndexByte(path, '/')+1:]+"/"+o.Metadata.Name)
		}
	}
	return all
}

// runs says that a pod runs.
func (r *real) runs(p *core.Pod) {
	r.t.Helper()
	r.status(p, map[string]any{"phase": "Running"})
}

// end says that a pod has ended.
func (r *real) end(p *core.Pod, code int) {
	r.t.Helper()
	phase := "Succeeded"
	if code != 0 {
		phase = "Failed"
	}
	var all []any
	for _, c := range p.Spec.Containers {
		all = append(all, map[string]any{
			"name": c.Name, "image": c.Image, "imageID": "", "ready": false, "restartCount": 0,
			"state": map[string]any{"terminated": map[string]any{"exitCode": code, "reason": "Ended"}},
		})
	}
	r.status(p, map[string]any{"phase": phase, "containerStatuses": all})
}

func (r *real) status(p *core.Pod, s map[string]any) {
	r.t.Helper()
	r.must("PATCH", "/api/v1/namespaces/bench/pods/"+p.Name+"/status", map[string]any{"status": s})
}
