package grade_test

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"aiperf.dev/aiperf/internal/grade"
)

// truth is that of an item of LiveCodeBench.
func truth(t *testing.T, public, private, metadata string) string {
	t.Helper()
	b, err := json.Marshal(map[string]string{
		"starter_code": "", "public_test_cases": public, "private_test_cases": private, "metadata": metadata,
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func packed(t *testing.T, pickle string) string {
	t.Helper()
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	_, _ = z.Write([]byte(pickle))
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

const (
	tests  = `[{"input": "2", "output": "4", "testtype": "stdin"}]`
	fence  = "```"
	double = "So:\n" + fence + "python\nprint(2 * int(input()))\n" + fence + "\nDone."
)

func TestCode(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("no python3: it belongs to the tests")
		}
		t.Skip("no python3")
	}
	second := `[{"input": "3", "output": "6"}]`
	short := "\x80\x04\x95\x00\x00\x00\x00\x00\x00\x00\x00\x8c" + string(rune(len(second))) + second + "\x94."
	long := "\x80\x03X" + string(rune(len(second))) + "\x00\x00\x00" + second + "q\x00."
	code := func(lines string) string { return fence + "python\n" + lines + "\n" + fence }
	for _, c := range []struct {
		name, answer, truth string
		allow               bool
		want                grade.Outcome
		reason              string
	}{
		{"right", double, truth(t, tests, "", "{}"), true, grade.Right, ""},
		{"wrong", strings.Replace(double, "2 *", "3 *", 1), truth(t, tests, "", ""), true, grade.Wrong, "test 1 of 1: wrong answer"},
		{"last block counts", code("print(1)") + "\nno:\n" + double, truth(t, tests, "", ""), true, grade.Right, ""},
		{"pickled, protocol 4", double, truth(t, tests, packed(t, short), ""), true, grade.Right, ""},
		{"pickled, protocol 3", double, truth(t, tests, packed(t, long), ""), true, grade.Right, ""},
		{"private counts", code("print(4)"), truth(t, tests, packed(t, short), ""), true, grade.Wrong, "test 2 of 2: wrong answer"},
		{"private as JSON", code("print(4)"), truth(t, "", second, ""), true, grade.Wrong, "test 1 of 1: wrong answer"},
		{"function", code("class Solution:\n  def f(self, a): return [a]"), truth(t, `[{"input": "2", "output": "[2]"}]`, "", `{"func_name": "f"}`), true, grade.Right, ""},
		{"not allowed", double, truth(t, tests, "", ""), false, grade.NotJudged, grade.NoPermission},
		{"empty", " ", truth(t, tests, "", ""), true, grade.NotJudged, grade.Empty},
		{"no code", "I cannot.", truth(t, tests, "", ""), true, grade.NotJudged, grade.NotParsed},
		{"cut", fence + "python\nprint(", truth(t, tests, "", ""), true, grade.NotJudged, grade.NotParsed},
		{"no tests", double, truth(t, "[]", "", ""), true, grade.NotJudged, grade.BadTruth},
		{"no JSON", double, "4", true, grade.NotJudged, grade.BadTruth},
		{"a pickle that acts", double, truth(t, tests, packed(t, "cos\nsystem\n(S'true'\ntR."), ""), true, grade.NotJudged, grade.BadTruth},
		{"two texts", double, truth(t, tests, packed(t, "\x80\x04\x8c\x01a\x8c\x01b."), ""), true, grade.NotJudged, grade.BadTruth},
		{"cut pickle", double, truth(t, tests, packed(t, short[:20]), ""), true, grade.NotJudged, grade.BadTruth},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			g, err := grade.Named("code_execution", grade.Options{AllowCode: c.allow})
			if err != nil {
				t.Fatal(err)
			}
			j := g.Grade(c.answer, c.truth)
			if j.Outcome != c.want || j.Reason != c.reason || j.Passed() != (c.want == grade.Right) {
				t.Errorf("%+v, want %s, %q", j, c.want, c.reason)
			}
			if j.Unparsed != (j.Outcome == grade.NotJudged) || j.Expected != "<lcb test cases>" || j.Explanation == "" {
				t.Errorf("AIPerf's fields: %+v", j)
			}
		})
	}
}

// AIPerf's variable for the time of all tests of an answer: past it nothing is known of
// the code.
func TestCodeLimit(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]time.Duration{"": 0, "300": 5 * time.Minute, " 0.5": time.Second / 2} {
		if got, err := grade.CodeLimit(said); err != nil || got != want {
			t.Errorf("%q: %v, %v", said, got, err)
		}
	}
	for _, said := range []string{"0", "-1", "NaN", "Inf", "1e99", "5s", "5 6"} {
		if got, err := grade.CodeLimit(said); err == nil || !strings.Contains(err.Error(), "want seconds above 0, got ") {
			t.Errorf("%q: %v, %v", said, got, err)
		}
	}
	if _, err := exec.LookPath("python3"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("no python3: it belongs to the tests")
		}
		t.Skip("no python3")
	}
	g, err := grade.Named(grade.Code, grade.Options{AllowCode: true, CodeLimit: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if j := g.Grade(double, truth(t, tests, "", "")); j.Outcome != grade.NotJudged || j.Reason != grade.TestsTooLong ||
		!j.Unparsed || j.Passed() {
		t.Errorf("%+v", j)
	}
}

func FuzzPickle(f *testing.F) {
	f.Add([]byte("\x80\x04\x95\x05\x00\x00\x00\x00\x00\x00\x00\x8c\x01a\x94."))
	f.Add([]byte("\x8d\xff\xff\xff\xff\xff\xff\xff\xffa."))
	f.Fuzz(func(t *testing.T, b []byte) {
		if s, err := grade.Pickled(b); err == nil && len(s) > len(b) {
			t.Errorf("%d bytes of %d", len(s), len(b))
		}
	})
}
