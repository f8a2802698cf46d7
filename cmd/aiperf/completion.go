package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/schema"
)

var completionCommand = command{
	minor: true, name: "completion", usage: "print a completion script for bash, zsh or fish",
	help: `aiperf completion SHELL prints a script that lets the shell complete commands,
flags and the words a flag takes.

  source <(aiperf completion bash)      in ~/.bashrc
  source <(aiperf completion zsh)       in ~/.zshrc, after compinit
  aiperf completion fish | source       in ~/.config/fish/config.fish`,
	run: func(a *app, p *argv.Line) error {
		shells := []string{"bash", "zsh", "fish"}
		if len(p.Words) != 1 {
			return diag.New("completion: for which shell?", "aiperf completion "+strings.Join(shells, ", "))
		}
		script, ok := completionScripts[p.Words[0]]
		if !ok {
			return diag.New(p.Words[0]+" is not one of "+strings.Join(shells, ", "), suggestion(p.Words[0], shells))
		}
		_, err := fmt.Fprint(a.Out, script)
		return err
	},
}

// completionScripts ask the program itself: completeWord is the word in front
// of what was typed so far, the last one being the one to complete.
var completionScripts = map[string]string{
	"bash": `_aiperf() {
  local IFS=$'\n'
  COMPREPLY=($(aiperf ` + completeWord + ` "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o bashdefault -o default -F _aiperf aiperf
`,
	"zsh": `#compdef aiperf
_aiperf() {
  local -a found
  found=("${(@f)$(aiperf ` + completeWord + ` "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "$found" ]]; then compadd -a found; else _files; fi
}
compdef _aiperf aiperf
`,
	"fish": `function __aiperf_complete
  set -l typed (commandline -opc) (commandline -ct)
  set -l found (aiperf ` + completeWord + ` $typed[2..-1] 2>/dev/null)
  if test (count $found) -gt 0
    printf '%s\n' $found
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c aiperf -f -a '(__aiperf_complete)'
`,
}

const completeWord = "__complete"

// complete prints what the last of words may become, a line each; nothing
// leaves the shell to offer files.
func (a *app) complete(words []string) {
	if len(words) == 0 {
		words = []string{""}
	}
	last := words[len(words)-1]
	for _, w := range completions(catalogue(), words) {
		if strings.HasPrefix(w, last) || last == "=" { // bash makes = a word of its own
			fmt.Fprintln(a.Out, w)
		}
	}
}

// completions are the words that may stand where the last of words stands.
func completions(all []command, words []string) []string {
	last := words[len(words)-1]
	if len(words) == 1 {
		var names []string
		for _, c := range all {
			if c.instead == "" && !c.hidden {
				names = append(names, c.name)
			}
		}
		return names
	}
	i := slices.IndexFunc(all, func(c command) bool { return c.name == words[0] })
	if i < 0 {
		return nil
	}
	return all[i].completions(words[1:], last)
}

func (c command) completions(words []string, last string) []string {
	var below []string
	for _, sub := range c.subs {
		name := strings.TrimPrefix(sub.name, c.name+" ")
		if len(words) > 1 && words[0] == name {
			return sub.completions(words[1:], last)
		}
		below = append(below, name)
	}
	if len(c.subs) > 0 {
		return below
	}
	t := argv.NewTable(c.flags, c.accepted())
	before := slices.DeleteFunc(slices.Clone(words[:len(words)-1]), func(w string) bool { return w == "=" })
	if len(before) > 0 {
		if f, ok := t.Find(before[len(before)-1]); ok && f.Takes() {
			return f.Choices()
		}
	}
	if !strings.HasPrefix(last, "-") {
		if c.words != nil {
			return c.words(before)
		}
		return nil
	}
	var out []string
	for _, name := range t.Names {
		if f, _ := t.Find(name); strings.HasPrefix(name, "--") && !f.Hidden() {
			out = append(out, name)
		}
	}
	if name, _, glued := strings.Cut(last, "="); glued {
		out = nil
		f, _ := t.Find(name)
		for _, w := range f.Choices() {
			out = append(out, name+"="+w)
		}
	}
	return out
}

// resultDirs are the result directories below here, finished or not: where experiments and
// AIPerf's command lines put them by default, and in the working directory.
func resultDirs([]string) (out []string) {
	for _, pattern := range []string{"*", "results/*-*", "artifacts/*"} {
		// the pattern is ours
		found, _ := filepath.Glob(filepath.FromSlash(pattern) + string(filepath.Separator) + resultdir.LockName)
		for _, f := range found {
			out = append(out, filepath.Dir(f))
		}
	}
	return out
}

func suggestion(word string, among []string) string {
	if s := schema.Suggest(word, among); s != "" {
		return "did you mean " + s + "?"
	}
	return ""
}
