// Package k8stest holds the manifests of internal/launch/kube to Kubernetes' own rules: its
// servers' code reads them, strictly, fills in what they leave out, and validates them, and the
// controller of pod security judges their pods. It is a module of its own, since that code is
// large; make k8s-test runs it, and builds the servers from here.
package k8stest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/batch"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/apis/core/validation"
	"k8s.io/kubernetes/pkg/apis/networking"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/networking/install"
	"k8s.io/kubernetes/pkg/registry/batch/job"
	"k8s.io/kubernetes/pkg/registry/core/configmap"
	"k8s.io/kubernetes/pkg/registry/networking/networkpolicy"
)

func TestManifests(t *testing.T) {
	files, err := filepath.Glob("../kube/testdata/*.yaml")
	if err != nil || len(files) < 2 {
		t.Fatalf("%v: %v", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for r := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text))); ; n++ {
			doc, err := r.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			taken(t, filepath.Base(file), doc)
		}
		if n != 6 {
			t.Errorf("%s: %d manifests, want 6", file, n)
		}
	}
}

// taken wants a manifest to be taken.
func taken(t *testing.T, file string, doc []byte) {
	t.Helper()
	strict := serializer.NewCodecFactory(legacyscheme.Scheme, serializer.EnableStrict)
	o, kind, err := strict.UniversalDecoder().Decode(doc, nil, nil)
	if err != nil {
		t.Errorf("%s: %v\n%s", file, err, doc)
		return
	}
	m, err := meta.Accessor(o)
	if err != nil {
		t.Fatal(err)
	}
	if m.GetNamespace() == "" {
		m.SetNamespace("bench")
	}
	m.SetUID("0123")
	ctx := request.WithRequestInfo(context.Background(), &request.RequestInfo{
		IsResourceRequest: true, Verb: "create", APIGroup: kind.Group, APIVersion: kind.Version,
	})
	var bad field.ErrorList
	var warned []string
	switch o := o.(type) {
	case *batch.Job:
		job.Strategy.PrepareForCreate(ctx, o)
		bad, warned = job.Strategy.Validate(ctx, o), job.Strategy.WarningsOnCreate(ctx, o)
		restricted(t, file, doc)
	case *core.ConfigMap:
		configmap.Strategy.PrepareForCreate(ctx, o)
		bad, warned = configmap.Strategy.Validate(ctx, o), configmap.Strategy.WarningsOnCreate(ctx, o)
	case *networking.NetworkPolicy:
		networkpolicy.Strategy.PrepareForCreate(ctx, o)
		bad, warned = networkpolicy.Strategy.Validate(ctx, o), networkpolicy.Strategy.WarningsOnCreate(ctx, o)
	case *core.Service:
		o.Spec.ClusterIPs = []string{o.Spec.ClusterIP} // as the server does
		bad = validation.ValidateServiceCreate(o)
	default:
		t.Errorf("%s: a %T", file, o)
	}
	for _, e := range bad {
		t.Errorf("%s: %s: %v", file, m.GetName(), e)
	}
	for _, w := range warned {
		t.Errorf("%s: %s: warned of %s", file, m.GetName(), w)
	}
}

// restricted has the controller of pod security judge the pods of a job, at its highest level.
func restricted(t *testing.T, file string, doc []byte) {
	t.Helper()
	var j batchv1.Job
	if err := yaml.Unmarshal(doc, &j); err != nil {
		t.Fatal(err)
	}
	judge, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	level := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	pod := &j.Spec.Template
	for _, r := range judge.EvaluatePod(level, &pod.ObjectMeta, &pod.Spec) {
		if !r.Allowed {
			t.Errorf("%s: %s: %s: %s", file, j.Name, r.ForbiddenReason, r.ForbiddenDetail)
		}
	}
	rooted := pod.Spec.DeepCopy() // the judge does say no
	rooted.SecurityContext = &corev1.PodSecurityContext{}
	if policy.AggregateCheckResults(judge.EvaluatePod(level, &pod.ObjectMeta, rooted)).Allowed {
		t.Error("a pod that may run as root is allowed")
	}
}
