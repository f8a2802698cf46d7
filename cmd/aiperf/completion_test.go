package main

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/diag"
)

// completionCases are command lines as typed so far and a word that must be
// offered; a ! in front says it must not.
var completionCases = []struct{ typed, want string }{
	{"pro", "profile"},
	{"", "run"},
	{"", "!service"}, // not here
	{"profile --conc", "--concurrency"},
	{"profile --conc", "!--streaming"},
	{"profile --no-gpu", "--no-gpu-telemetry"},
	{"profile -m demo --dr", "--dry-run"},
	{"profile --endpoint-type ", "embeddings"},
	{"profile --endpoint_type ch", "chat"},
	{"profile --endpoint-type ch", "!completions"},
	{"profile --arrival-pattern po", "poisson"},
	{"profile --output ", "json"},
	{"config e", "expand"},
	{"config expand --fo", "--format"},
	{"config expand x.yaml --format y", "yaml"},
	{"config init --templ", "--template"},
	{"explain metric time_to_fi", "time_to_first_token"},
	{"explain check dri", "drift"},
	{"completion --", "!--concurrency"},
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	for _, c := range completionCases {
		p := aiperf(t, ".", append([]string{completeWord}, strings.Split(c.typed, " ")...)...)
		p.wants(0)
		offers(t, c.typed, c.want, strings.Fields(p.out.String()))
	}
	p := aiperf(t, ".", completeWord, "profile", "--endpoint-type=ch")
	p.wants(0)
	offers(t, "--endpoint-type=ch", "--endpoint-type=chat", strings.Fields(p.out.String()))
	p = aiperf(t, ".", "completion", "bassh")
	p.wants(diag.Usage)
	if !strings.Contains(p.err.String(), "did you mean bash?") {
		t.Errorf("completion bassh: %s", &p.err)
	}
}

// TestCompletionInShells loads the scripts into the shells there are.
func TestCompletionInShells(t *testing.T) {
	t.Parallel()
	if bash, err := exec.LookPath("bash"); err == nil {
		for _, c := range completionCases {
			words := strings.Split("aiperf "+c.typed, " ")
			script := fmt.Sprintf("source <(aiperf completion bash); COMP_WORDS=(%s); COMP_CWORD=%d; _aiperf; printf '%%s\\n' \"${COMPREPLY[@]}\"",
				quoted(words), len(words)-1)
			out, err := exec.Command(bash, "-c", script).CombinedOutput()
			if err != nil {
				t.Errorf("bash: %v\n%s", err, out)
			}
			offers(t, "bash: "+c.typed, c.want, strings.Fields(string(out)))
		}
	}
	if zsh, err := exec.LookPath("zsh"); err == nil { // what would be on the screen is taken at the last step
		const offered = `compdef() { : }; compadd() { print -l -- $found }; _files() { print files }; source <(aiperf completion zsh); words=(%s); CURRENT=$#words; _aiperf`
		for _, c := range completionCases {
			out, err := exec.Command(zsh, "-f", "-c",
				fmt.Sprintf(offered, quoted(strings.Split("aiperf "+c.typed, " ")))).CombinedOutput()
			if err != nil {
				t.Errorf("zsh: %v\n%s", err, out)
			}
			offers(t, "zsh: "+c.typed, c.want, strings.Fields(string(out)))
		}
	}
	if fish, err := exec.LookPath("fish"); err == nil {
		for _, c := range append(completionCases, struct{ typed, want string }{"plot --format ", "!script_test.go"},
			struct{ typed, want string }{"run script_te", "script_test.go"}) {
			out, err := exec.Command(fish, "--no-config", "-c",
				fmt.Sprintf("aiperf completion fish | source; complete -C 'aiperf %s'", c.typed)).CombinedOutput()
			if err != nil {
				t.Errorf("fish: %v\n%s", err, out)
			}
			offers(t, "fish: "+c.typed, c.want, strings.Fields(string(out)))
		}
	}
}

func quoted(words []string) string { return "'" + strings.Join(words, "' '") + "'" }

func offers(t *testing.T, typed, want string, got []string) {
	t.Helper()
	word, not := strings.CutPrefix(want, "!")
	found := strings.Contains(" "+strings.Join(got, " ")+" ", " "+word+" ")
	if found == not {
		t.Errorf("%q: %s among %q: %v", typed, word, got, found)
	}
}
