package kube_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/launch/kube"
	"aiperf.dev/aiperf/internal/launch/kube/kubetest"
)

func load() *kube.Load {
	return &kube.Load{
		Name: "big", Workers: 3, Image: "r/aiperf", TTL: 300, Command: []string{"run", "big.cue"},
		Files:           map[string][]byte{"big.cue": []byte("name: \"big\"\n")},
		CoordinatorSize: kube.Size{CPU: "2", Memory: "2Gi"}, WorkerSize: kube.Size{CPU: "1", Memory: "512Mi"},
	}
}

func open(t *testing.T, c *kubetest.Cluster) *kube.Client {
	t.Helper()
	client, err := kube.Open(c.Kubeconfig, "", "")
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// All that is created goes with the coordinator's job, and all of it is removed.
func TestPlacedAndRemoved(t *testing.T) {
	t.Parallel()
	cluster := kubetest.Start(t, "")
	c := open(t, cluster)
	ctx := context.Background()
	if err := c.Place(ctx, load()); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"configmaps/big-plan", "jobs/big-coordinator", "jobs/big-worker", "networkpolicies/big-coordinator",
		"networkpolicies/big-worker", "pods/big-coordinator-0-0", "pods/big-worker-0-0", "pods/big-worker-1-0",
		"pods/big-worker-2-0", "secrets/big-token", "services/big",
	}
	if got := cluster.Names(); !slices.Equal(got, want) {
		t.Errorf("placed: %v", got)
	}
	uid := cluster.Object("jobs/big-coordinator")["metadata"].(map[string]any)["uid"]
	for _, name := range want {
		if strings.HasPrefix(name, "pods/") || name == "jobs/big-coordinator" {
			continue
		}
		owners, _ := cluster.Object(name)["metadata"].(map[string]any)["ownerReferences"].([]any)
		if len(owners) != 1 || owners[0].(map[string]any)["uid"] != uid {
			t.Errorf("%s belongs to %v", name, owners)
		}
	}
	if err := c.Place(ctx, load()); err == nil || !strings.Contains(err.Error(), "there is a Secret big-token in namespace bench already") {
		t.Errorf("placed twice: %v", err)
	}
	if got := cluster.Names(); !slices.Equal(got, want) {
		t.Errorf("the second one took something of the first with it: %v", got)
	}
	if found, err := c.Delete(ctx, "big"); !found || err != nil {
		t.Errorf("deleted: %v, %v", found, err)
	}
	if left := cluster.Names(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if found, err := c.Delete(ctx, "big"); found || err != nil {
		t.Errorf("deleted again: %v, %v", found, err)
	}
}

// Of a load that could not be created whole nothing is left.
func TestHalfALoadIsNone(t *testing.T) {
	t.Parallel()
	cluster := kubetest.Start(t, "")
	cluster.Refuse = func(kind, name string) string {
		if name == "big-worker" && kind == "Job" {
			return "exceeded quota"
		}
		return ""
	}
	if err := open(t, cluster).Place(context.Background(), load()); err == nil || !strings.Contains(err.Error(), "exceeded quota") {
		t.Errorf("placed: %v", err)
	}
	if left := cluster.Names(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// A check creates nothing.
func TestPreflight(t *testing.T) {
	t.Parallel()
	cluster := kubetest.Start(t, "")
	w := &kube.Wants{Load: *load(), Secrets: []string{"openai"}}
	w.Load.Workers = 6
	said := map[string]string{}
	for _, f := range open(t, cluster).Preflight(context.Background(), w) {
		said[f.Text] = f.Stands
	}
	for text, want := range map[string]string{
		"Kubernetes v1.36.3":                                                      kube.OK,
		"namespace bench exists":                                                  kube.OK,
		"Secret openai does not exist":                                            kube.No,
		"the cluster takes the manifests":                                         kube.OK,
		"quota q: pods has 6 left of 10, and the load takes 7":                    kube.No,
		"1 nodes take pods of these, with room for 8 workers when they are empty": kube.OK,
		"you may place, follow, fetch and remove loads":                           kube.OK,
	} {
		if said[text] != want {
			t.Errorf("%q: %q, want %q of %v", text, said[text], want, said)
		}
	}
	if left := cluster.Names(); len(left) > 0 {
		t.Errorf("created: %v", left)
	}
}

// The first of several kubeconfigs counts; a context that is not there is named with those
// that are; a program says who somebody is.
func TestKubeconfig(t *testing.T) {
	cluster := kubetest.Start(t, "")
	dir := t.TempDir()
	first := filepath.Join(dir, "first")
	text := `apiVersion: v1
kind: Config
current-context: mine
contexts: [{name: mine, context: {cluster: test, user: asked, namespace: other}}]
users:
- name: asked
  user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: ./who, env: [{name: WHO, value: kubetest}]}}
`
	who := `#!/bin/sh
echo '{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": "'$WHO'-token-0123456789"}}'
`
	if err := errors.Join(
		os.WriteFile(first, []byte(text), 0o600), os.WriteFile(filepath.Join(dir, "who"), []byte(who), 0o700),
	); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", first+string(filepath.ListSeparator)+cluster.Kubeconfig)
	c, err := kube.Open("", "", "")
	if err != nil || c.Namespace != "other" {
		t.Fatalf("%+v, %v", c, err)
	}
	if _, err := c.List(context.Background(), "", false); err != nil {
		t.Error(err)
	}
	if _, err := kube.Open("", "nowhere", ""); err == nil || err.Error() != "kubeconfig: no context nowhere" {
		t.Error(err)
	}
	if _, err := kube.Open(filepath.Join(dir, "none"), "", ""); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Error(err)
	}
}

// Somebody whom the cluster does not know is told so.
func TestStranger(t *testing.T) {
	t.Parallel()
	cluster := kubetest.Start(t, "")
	b, err := os.ReadFile(cluster.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(filepath.Dir(cluster.Kubeconfig), "other")
	if err := os.WriteFile(other, []byte(strings.Replace(string(b), "kubetest-token", "another-token", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := kube.Open(other, "", "")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Place(context.Background(), load()); err == nil || !strings.Contains(err.Error(), "Unauthorized") ||
		strings.Contains(err.Error(), "another-token") {
		t.Error(err)
	}
}
