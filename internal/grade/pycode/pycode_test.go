package pycode_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"aiperf.dev/aiperf/internal/grade/pycode"
)

func needPython(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("no python3: it belongs to the tests")
		}
		t.Skip("no python3")
	}
}

func TestRun(t *testing.T) {
	t.Parallel()
	needPython(t)
	secret := filepath.Join(t.TempDir(), "secret.txt")
	if err := os.WriteFile(secret, []byte("42"), 0o600); err != nil {
		t.Fatal(err)
	}
	sum := []pycode.Test{{"1 2", "3"}, {"10 20", "30"}}
	for _, c := range []struct {
		name, code, function string
		tests                []pycode.Test
		want                 string // what the failure says; "" for none
	}{
		{"right", "print(sum(map(int, input().split())))", "", sum, ""},
		{"main guard", "def main():\n  print(sum(map(int, input().split())))\nif __name__ == '__main__':\n  main()", "", sum, ""},
		{"decimals", "print('3.0'); print(' 1e0 2.50')", "", []pycode.Test{{"", "3\n1 2.5"}}, ""},
		{"star imports", "print(gcd(12, 18), Counter('aab')['a'])", "", []pycode.Test{{"", "6 2"}}, ""},
		{"second is wrong", "print(3)", "", sum, "test 2 of 2: wrong answer"},
		{"more lines", "print(3); print(4)", "", sum, "test 1 of 2: wrong answer: another number of lines"},
		{"exits", "print(3); exit()", "", sum[:1], ""},
		{"raises", "raise ValueError('no')", "", sum, "test 1 of 2: ended with ValueError: no"},
		{"syntax", "print(", "", sum, "ended with SyntaxError"},
		{"function", "def add(a, b):\n  print('noise')\n  return a + b", "add", []pycode.Test{{"[1]\n[2]", "[1, 2]"}}, ""},
		{"method", "class Solution:\n  def add(self, a, b): return (a, b)", "add", []pycode.Test{{"1\n\"x\"", "[1.0, \"x\"]"}}, ""},
		{"no method, and a function of the libraries", "class Solution:\n  def plus(self, a, b): return a + b", "add", []pycode.Test{{"1\n2", "3"}}, "ended with AttributeError"},
		{"a tuple", "def pair(a): return (a, [a])", "pair", []pycode.Test{{"1", "[1, [1]]"}}, ""},
		{"a tuple inside", "def pair(a): return [(a, a)]", "pair", []pycode.Test{{"1", "[[1, 1]]"}}, "wrong answer"},
		{"keys of another kind", "def table(a): return {a: a}", "table", []pycode.Test{{"1", `{"1": 1}`}}, "wrong answer"},
		{"wrong value", "def add(a, b): return a - b", "add", []pycode.Test{{"1\n2", "3"}}, "wrong answer"},
		{"no function", "x = 1", "total", []pycode.Test{{"1\n2", "3"}}, "ended with KeyError: 'total'"},
		{"exits early", "exit()", "add", []pycode.Test{{"1\n2", "3"}}, "gave no result"},
		{"loops", "while True: pass", "", sum, "took too long"},
		{"sleeps", "import time; time.sleep(100)", "", sum, "took too long"},
		{"prints for ever", "while True: print('x' * 1000)", "", sum, "printed too much"},
		{"eats memory", "x = bytearray(10 << 30)", "", sum, "ended with MemoryError"},
		{"fills the disk", "f = open('big', 'wb')\nwhile True: f.write(b'x' * (1 << 20)); f.flush()", "", sum, "ended with OSError"},
		{"forks", "import os\nwhile True: os.fork()", "", sum, "ended with PermissionError: os.fork is not allowed"},
		{"starts a program", "import subprocess; subprocess.run(['true'])", "", sum, "ended with PermissionError: subprocess.Popen is not allowed"},
		{"shell", "import os; os.system('true')", "", sum, "ended with PermissionError: os.system is not allowed"},
		{"reads a file", "print(open('" + secret + "').read())", "", sum, "ended with PermissionError: open"},
		{"lists a folder", "import os; print(os.listdir('/'))", "", sum, "ended with PermissionError: os.listdir is not allowed"},
		{"reads its own", "open('x', 'w').write('3'); print(open('x').read())", "", sum[:1], ""},
		{"connects", "import socket; socket.create_connection(('127.0.0.1', 9))", "", sum, "ended with PermissionError: socket."},
		{"environment", "import os; print(sorted(os.environ))", "", []pycode.Test{{"", "['HOME', 'LANG', 'PYTHONHASHSEED', 'TMPDIR']"}}, ""},
		{"recursion", "def f(n): return 0 if n == 0 else 1 + f(n - 1)\nprint(f(20000))", "", []pycode.Test{{"", "20000"}}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			j := pycode.Job{
				Code: c.code, Function: c.function, Tests: c.tests, Each: 20 * time.Second, All: 60 * time.Second,
			}
			if c.want == "took too long" {
				j.Each = 500 * time.Millisecond
			}
			got, err := pycode.Run(t.Context(), j)
			if err != nil {
				t.Fatal(err)
			}
			if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// Where the system allows no namespaces, a process group and limits are left.
func TestInAGroupOnly(t *testing.T) {
	t.Parallel()
	needPython(t)
	for code, want := range map[string]string{
		"print(3)":                      "",
		"while True: pass":              "test 1 of 1: took too long",
		"while True: print('x' * 1000)": "test 1 of 1: printed too much",
		"import os; os.fork()":          "test 1 of 1: ended with PermissionError: os.fork is not allowed",
	} {
		j := pycode.Job{Code: code, Tests: []pycode.Test{{"", "3"}}, Each: 20 * time.Second, All: time.Minute}
		if strings.Contains(want, "long") {
			j.Each = 500 * time.Millisecond
		}
		got, err := pycode.Run(t.Context(), pycode.GroupOnly(j))
		if err != nil || got != want {
			t.Errorf("%q: %q, %v; want %q", code, got, err, want)
		}
	}
}

// All tests together have a limit of their own. That it is reached says nothing about the code.
func TestAllTogether(t *testing.T) {
	t.Parallel()
	needPython(t)
	got, err := pycode.Run(t.Context(), pycode.Job{
		Code: "import time; time.sleep(100)", Tests: []pycode.Test{{"", ""}}, Each: time.Minute, All: 300 * time.Millisecond,
	})
	if !errors.Is(err, pycode.ErrTogether) || got != "" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestNoInterpreter(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	j := pycode.Job{Code: "print(1)", Tests: []pycode.Test{{"", "1"}}, Each: time.Second, All: time.Second}
	_, err := pycode.Run(t.Context(), j)
	if !errors.Is(err, pycode.ErrNoInterpreter) {
		t.Errorf("%v", err)
	}
}
