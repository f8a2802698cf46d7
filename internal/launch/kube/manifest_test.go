package kube

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
)

var update = flag.Bool("update", false, "write the manifests of testdata anew")

// loads are those whose manifests are kept.
func loads() map[string]*Load {
	least := &Load{
		Name: "big", Workers: 25, Image: "registry.example/aiperf:1", TTL: 300, Command: []string{"run", "big.cue"},
		Files:           map[string][]byte{"big.cue": []byte("name: \"big\"\nbenchmark: {\n\tmodel: \"demo\"\n}\n")},
		CoordinatorSize: Size{"2", "2Gi"}, WorkerSize: Size{"1", "512Mi"},
	}
	seconds := int64(60)
	all := &Load{
		Name: "all", Namespace: "bench", Workers: 3, Image: "registry.example/aiperf@sha256:0123", TTL: 0,
		PullPolicy: "IfNotPresent", PullSecrets: []string{"pull"},
		Command: []string{"run", "all.cue", "--set", "endpoint.timeout=30"},
		Files: map[string][]byte{
			"all.cue": []byte("name: \"all\"\n"), "data/a b.jsonl": []byte("{\"text\": \"a\"}\n"), "data/c.bin": {0xff, 0},
		},
		DataClaim: "data", ResultsClaim: "kept", CoordinatorSize: Size{"4", "8Gi"}, WorkerSize: Size{"500m", "1Gi"},
		NodeSelector: map[string]string{"pool": "load"},
		Tolerations:  []Toleration{{Key: "load", Operator: "Exists", Effect: "NoExecute", Seconds: &seconds}},
		Queue:        "local", Priority: "high", Labels: map[string]string{"team": "llm"},
		Annotations: map[string]string{"sidecar.istio.io/inject": "false"}, Env: map[string]string{"B": "true", "A": "1"},
		EnvFromSecrets: map[string]SecretKey{"OPENAI_API_KEY": {"openai", "key"}},
		SecretMounts:   []SecretMount{{"ca", "/ca", ""}, {"client", "/client/tls.crt", "tls.crt"}},
		ServiceAccount: "bench", TokenSecret: "mine",
	}
	return map[string]*Load{"least": least, "all": all}
}

// Manifests are what they were; UPDATE: go test ./internal/launch/kube -update.
func TestManifests(t *testing.T) {
	t.Parallel()
	for name, l := range loads() {
		var got bytes.Buffer
		if err := l.Write(&got); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join("testdata", name+".yaml")
		if *update {
			if err := os.WriteFile(file, got.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Bytes(), want) {
			t.Errorf("%s: go test -update writes\n%s", file, &got)
		}
	}
}

// The API's own types know every field that a manifest has, and take it for what is meant.
func TestTheAPIKnowsEveryField(t *testing.T) {
	t.Parallel()
	for name, l := range loads() {
		var text bytes.Buffer
		if err := l.Write(&text); err != nil {
			t.Fatal(err)
		}
		d := yaml.NewDecoder(&text)
		seen := map[string]int{}
		for {
			var o map[string]any
			if err := d.Decode(&o); err != nil {
				break
			}
			kind, _ := o["kind"].(string)
			seen[kind]++
			into, ok := map[string]any{
				"v1 ConfigMap": &core.ConfigMap{}, "v1 Service": &core.Service{}, "batch/v1 Job": &batch.Job{},
				"networking.k8s.io/v1 NetworkPolicy": &networking.NetworkPolicy{},
			}[fmt.Sprint(o["apiVersion"], " ", kind)]
			if !ok {
				t.Fatalf("%s: an object of %v %s", name, o["apiVersion"], kind)
			}
			b, err := json.Marshal(o)
			if err != nil {
				t.Fatal(err)
			}
			strict := json.NewDecoder(bytes.NewReader(b))
			strict.DisallowUnknownFields()
			if err := strict.Decode(into); err != nil {
				t.Errorf("%s: %s: %v\n%s", name, kind, err, b)
			}
			if j, ok := into.(*batch.Job); ok {
				restricted(t, name, l, j)
			}
		}
		if seen["Job"] != 2 || seen["ConfigMap"] != 1 || seen["Service"] != 1 || seen["NetworkPolicy"] != 2 || len(seen) != 4 {
			t.Errorf("%s: %v", name, seen)
		}
	}
}

// restricted holds a job to the restricted level of pod security, and to what is promised
// beyond it.
func restricted(t *testing.T, name string, l *Load, j *batch.Job) {
	t.Helper()
	pod := &j.Spec.Template.Spec
	bad := func(what string) { t.Errorf("%s: %s: %s", name, j.Name, what) }
	if sc := pod.SecurityContext; sc == nil || sc.RunAsNonRoot == nil || !*sc.RunAsNonRoot || *sc.RunAsUser == 0 ||
		sc.SeccompProfile.Type != core.SeccompProfileTypeRuntimeDefault {
		bad("the pod may run as root, or without seccomp")
	}
	if pod.HostNetwork || pod.HostPID || pod.HostIPC {
		bad("the pod shares the node's")
	}
	if pod.AutomountServiceAccountToken == nil || *pod.AutomountServiceAccountToken {
		bad("the pod gets a token of the cluster's")
	}
	for _, c := range pod.Containers {
		sc := c.SecurityContext
		if sc == nil || *sc.AllowPrivilegeEscalation || !*sc.ReadOnlyRootFilesystem || len(sc.Capabilities.Drop) != 1 ||
			sc.Capabilities.Drop[0] != "ALL" || len(sc.Capabilities.Add) > 0 {
			bad(c.Name + " may more than it needs")
		}
		if c.Resources.Limits.Cpu().IsZero() || c.Resources.Limits.Memory().IsZero() {
			bad(c.Name + " has no limits")
		}
	}
	for _, v := range pod.Volumes {
		if v.ConfigMap == nil && v.Secret == nil && v.EmptyDir == nil && v.PersistentVolumeClaim == nil {
			bad("volume " + v.Name)
		}
	}
	if !strings.HasSuffix(j.Name, "-worker") {
		return
	}
	s := j.Spec
	if *s.CompletionMode != batch.IndexedCompletion || int(*s.Completions) != l.Workers ||
		int(*s.Parallelism) != l.Workers || s.BackoffLimitPerIndex == nil || *s.PodReplacementPolicy != batch.Failed {
		bad("not one pod for each index, started again by itself")
	}
	for _, e := range pod.Containers[0].Env {
		if e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil {
			bad("a worker gets secrets from the coordinator alone")
		}
	}
}

func TestLoadsThatCannotBePlaced(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*Load){
		"is not a name for Kubernetes":                       func(l *Load) { l.Name = "Big_Run" },
		"--image: which image?":                              func(l *Load) { l.Image = "" },
		"../a.jsonl cannot go along with the experiment":     func(l *Load) { l.Files["../a.jsonl"] = nil },
		"/tmp/a.jsonl cannot go along":                       func(l *Load) { l.Files["/tmp/a.jsonl"] = nil },
		"the experiment's files have 2000 KiB, and 1000 fit": func(l *Load) { l.Files["a"] = make([]byte, 2000<<10) },
	} {
		l := loads()["least"]
		change(l)
		if err := l.Write(new(bytes.Buffer)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
