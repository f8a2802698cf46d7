package main

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/diag"
)

// item is a question of one's own.
func item(t *testing.T, id, prompt, answer, grader string) string {
	t.Helper()
	b, err := json.Marshal(map[string]string{"id": id, "prompt": prompt, "answer": answer, "grader": grader})
	if err != nil {
		t.Fatal(err)
	}
	return string(b) + "\n"
}

// Whatever questions, answers, code and plug-ins hold, the program says in one line what is
// wrong, or judges what can be judged, and ends. What a captured client or server does is
// internal/capture's TestThingsThatGoWrong and TestSecretsStayOut, more programs that
// misbehave are internal/plugin's, and more of code internal/grade/pycode's.
func TestBadQuestions(t *testing.T) {
	t.Parallel()
	const fence = "```"
	tests, err := json.Marshal(map[string]string{
		"public_test_cases": `[{"input": "", "output": "1"}]`, "private_test_cases": "", "metadata": "{}", "starter_code": "",
	})
	if err != nil {
		t.Fatal(err)
	}
	// answered are questions that the server answers with texts of our choice
	answered := func(grader, truth string, answers ...string) map[string]string {
		files := map[string]string{}
		for i, a := range answers {
			id := string(rune('a' + i))
			files["own.jsonl"] += item(t, id, "Question "+id+"?", truth, grader)
			files["knows.jsonl"] += item(t, id, "Question "+id+"?", a, "exact_match")
		}
		return files
	}
	program := func(lines string) string { return fence + "python\n" + lines + "\n" + fence }
	plugIn := func(command string) map[string]string {
		files := answered("plugin", "1", "1")
		files["aiperf-plugin.yaml"] = "aiperf: 1\nkind: grader\nname: p\nversion: \"1\"\ntimeout: 1\ncommand: [sh, -c, '" + command + "']\n"
		return files
	}
	const hello = `echo "{\"aiperf\": 1, \"kind\": \"grader\", \"name\": \"p\", \"version\": \"1\"}"; `
	plugged := []string{"--accuracy-plugin", ".", "--allow-hooks"}
	for name, c := range map[string]struct {
		files map[string]string
		args  []string // beside those of an own benchmark, unless they name one
		code  diag.Code
		want  string // of stdout and stderr
	}{
		"missing data": {
			args: []string{"--accuracy-benchmark", "gsm8k"}, code: diag.Usage,
			want: `gsm8k: no files of the split test \(openai/gsm8k, main\).*\n.*huggingface.co/datasets/openai/gsm8k \(MIT\).*or name a folder`,
		},
		"missing data that needs an account": {
			args: []string{"--accuracy-benchmark", "gpqa_diamond"}, code: diag.Usage, want: `whose terms must be accepted there first`,
		},
		"wrong columns": {
			files: map[string]string{"data.jsonl": `{"question": "q", "reply": "a"}`},
			args:  []string{"--accuracy-benchmark", "gsm8k", "--accuracy-path", "data.jsonl"}, code: diag.Usage,
			want: `data.jsonl:1: no column answer; there are question, reply`,
		},
		"an item without an answer": {
			files: map[string]string{"own.jsonl": item(t, "a", "Q?", " ", "math")}, code: diag.Usage, want: `own.jsonl:1: the answer is empty`,
		},
		"ids that are not unique": {
			files: map[string]string{"own.jsonl": strings.Repeat(item(t, "a", "Q?", "1", "math"), 2)}, code: diag.Usage,
			want: `own.jsonl:2: the id "a" is also that of \S*own.jsonl:1`,
		},
		"answers of a megabyte": {
			files: answered("math", "42", strings.Repeat("the answer is 7. ", 1<<16), strings.Repeat("x", 1<<20), `\boxed{42}`),
			want:  `right of 2 `,
		},
		"answers on which regular expressions explode": {
			files: answered("multiple_choice", "A", strings.Repeat("answer: ", 1<<15)+"!", strings.Repeat("(A", 1<<15), "B"),
			want:  `right of [123] |none of 3`,
		},
		"numbers on which regular expressions explode": {
			files: answered("lighteval_gsm8k", "#### 42", strings.Repeat("1,", 1<<16)+"x", strings.Repeat("#### ", 1<<15), "#### 42"),
			want:  `right of [123] `,
		},
		"LaTeX that loops": {
			files: answered("lighteval_latex", `$\boxed{42}$`, `\boxed{\def\x{\x\x}\x}`, `\boxed{`+strings.Repeat(`\frac{1}{`, 20_000)+"1",
				`$$`+strings.Repeat(`\left(`, 50_000)+`$$`, `\boxed{`+strings.Repeat("9^", 500)+"9}", `$42$`),
			want: `right of [1-5] `,
		},
		"code that forks, reads files and prints for ever": {
			files: answered("code_execution", string(tests), program("import os\nwhile True: os.fork()"), program("print(open('/etc/passwd').read())"),
				program("while True: print('x' * 1000)"), program("print(1)")),
			args: []string{"--allow-code"}, want: `25 % right of 4|25\.0 % right of 4`,
		},
		"a plug-in that hangs":           {files: plugIn(hello + "cat >/dev/null"), args: plugged, want: `none of 1 answer could be judged: 1 plug-in p: .*did\s+not\s+answer\s+within`},
		"a plug-in that dies":            {files: plugIn(hello + "read -r line; exit 3"), args: plugged, want: `none of 1 answer could be judged: 1 plug-in p: its program\s+ended: exit status 3`},
		"a plug-in that lies":            {files: plugIn(strings.Replace(hello, `"version\": \"1`, `"version\": \"2`, 1) + "cat"), args: plugged, code: diag.Failed, want: `says that it is of version "2"`},
		"a plug-in that floods":          {files: plugIn(hello + "read -r line; yes"), args: plugged, want: `none of 1 answer could be judged: 1 plug-in p: .*not\s+JSON`},
		"a plug-in without a permission": {files: plugIn(hello), args: plugged[:2], code: diag.Usage, want: `--allow-hooks`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for file, text := range c.files {
				write(t, dir, file, text)
			}
			url := "mock:?ttft=0ms&itl=0ms"
			if c.files["knows.jsonl"] != "" {
				url += "&knows=knows.jsonl"
			}
			args := []string{"profile", "-m", "m", "-u", url, "--tokenizer", "builtin", "--console", "ours", "--artifact-dir", "out"}
			if len(c.args) == 0 || c.args[0] != "--accuracy-benchmark" {
				args = append(args, "--accuracy-benchmark", "own", "--accuracy-path", "own.jsonl")
			}
			p := aiperf(t, dir, append(args, c.args...)...)
			p.wants(c.code)
			want := regexp.MustCompile(`(?s)` + strings.ReplaceAll(c.want, " ", `\s+`))
			if said := p.out.String() + p.err.String(); !want.MatchString(said) {
				t.Errorf("want %s in\n%s", c.want, said)
			}
			if c.code != 0 && strings.Count(p.err.String(), "\n") > 6 {
				t.Errorf("not a line and its hint:\n%s", &p.err)
			}
		})
	}
}
