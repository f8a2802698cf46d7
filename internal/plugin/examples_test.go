//go:build unix

package plugin_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"aiperf.dev/aiperf/internal/grade"
	"aiperf.dev/aiperf/internal/plugin"
)

// needs skips a test without a program, which CI must have.
func needs(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("no %s: it belongs to the tests", program)
		}
		t.Skip("no " + program)
	}
}

// example starts a plug-in that people copy.
func example(t *testing.T, name string) *plugin.Process {
	t.Helper()
	m, err := plugin.Open(filepath.Join("..", "..", "examples", "plugins", name))
	if err != nil {
		t.Fatal(err)
	}
	needs(t, m.Command[0])
	ctx := context.WithoutCancel(t.Context()) // which ends before the cleanup
	p, err := plugin.Host{Allow: true}.Start(ctx, m)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// Every example is in order, and answers what its kind is asked.
func TestExamples(t *testing.T) {
	t.Parallel()
	found := plugin.Find(filepath.Join("..", "..", "examples", "plugins"))
	if len(found) == 0 {
		t.Error("there is none")
	}
	for _, f := range found {
		t.Run(filepath.Base(f.Path), func(t *testing.T) {
			t.Parallel()
			if f.Err != nil {
				t.Fatal(f.Err)
			}
			needs(t, f.Manifest.Command[0])
			answered, stderr, err := plugin.Host{Allow: true}.Try(t.Context(), f.Manifest)
			if err != nil || stderr != "" || answered != (f.Manifest.Kind.Probe != nil) {
				t.Errorf("answered %t, stderr %q: %v", answered, stderr, err)
			}
		})
	}
}

func TestGraderExample(t *testing.T) {
	t.Parallel()
	g, err := grade.Named(grade.Plugin, grade.Options{Ask: example(t, "close-enough").Call})
	if err != nil {
		t.Fatal(err)
	}
	for answer, want := range map[string]grade.Outcome{
		"about 1600 m": grade.Right, "1,609.344": grade.Right, "1500": grade.Wrong, "a lot": grade.NotJudged,
		"two: first 3, then <b>1609</b> \"&\u2028": grade.Right,
	} {
		if j := g.Grade(answer, "1609"); j.Outcome != want || want == grade.NotJudged && j.Reason == "" {
			t.Errorf("%q: %+v, want %s", answer, j, want)
		}
	}
}
