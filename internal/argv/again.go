package argv

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"aiperf.dev/aiperf/internal/secret"
	"aiperf.dev/aiperf/schema"
)

// Change is a flag with another value: its name, or "set" with a value "path=…".
type Change struct{ Flag, Value string }

// Again is a command, as Masked has it, with the values of some of its flags changed, so that
// it can be pasted: the results of aiperf run go to a folder of their own, and nothing is
// resumed or replaced. Where no command can be made, because a secret is masked or standard input
// was read, it is the flags alone.
func Again(command string, changes ...Change) string {
	var alone []string
	changed := map[string]bool{}
	paths := pathsOf(schema.Options())
	for _, c := range changes {
		alone = append(alone, "--"+c.Flag+" "+Shell(c.Value))
		path := paths["--"+c.Flag]
		if c.Flag == "set" {
			path, _, _ = strings.Cut(c.Value, "=")
		}
		changed[path] = true
	}
	words, ok := split(command)
	if !ok || len(words) < 2 || words[0] != "aiperf" || slices.Contains(words, "-") ||
		strings.Contains(command, secret.Mask) || strings.Contains(command, secret.Gap) {
		return strings.Join(alone, " ")
	}
	set := func(word string) bool { // another value of what is changed
		path, _, _ := strings.Cut(word, "=")
		return changed[path]
	}
	out := words[:2:2]
	for i := 2; i < len(words); i++ {
		name, given, glued := strings.Cut(words[i], "=")
		path := paths[strings.ReplaceAll(name, "_", "-")]
		next := !glued && i+1 < len(words) && !IsFlag(words[i+1]) // its value is the next word
		switch {
		case path != "" && changed[path], name == "--set" && next && set(words[i+1]):
			if next {
				i++
			}
		case name == "--resume" || name == "--overwrite":
		case path == artifactDir && words[1] == "run" && (glued || next):
			if next {
				i++
				given = words[i]
			}
			out = append(out, "--artifact-dir", Beside(given))
		default:
			out = append(out, words[i])
		}
	}
	for i, w := range out {
		out[i] = Shell(w)
	}
	return strings.Join(append(out, alone...), " ")
}

// artifactDir is the setting for the folder of the results.
const artifactDir = "benchmark.artifacts.dir"

// pathsOf are the settings of flags, by their names with dashes.
func pathsOf(opts []schema.Option) map[string]string {
	paths := map[string]string{}
	for _, o := range opts {
		for _, n := range o.Names {
			paths["--"+n] = o.Path
		}
		if o.Short != "" {
			paths["-"+o.Short] = o.Path
		}
	}
	return paths
}

var numbered = regexp.MustCompile(`-([0-9]{1,3})$`)

// Beside is the name of a folder beside dir: before-2, before-3.
func Beside(dir string) string {
	dir = strings.TrimRight(dir, `/\`)
	if m := numbered.FindStringSubmatchIndex(dir); m != nil {
		n, _ := strconv.Atoi(dir[m[2]:m[3]])
		return dir[:m[2]] + strconv.Itoa(n+1)
	}
	return dir + "-2"
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:=,@%+-]+$`)

// Shell is a word as people type it: in quotes only where it needs them.
func Shell(w string) string {
	if plainWord.MatchString(w) {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}

// split reads what Masked wrote: words, in single quotes or plain.
func split(command string) (out []string, ok bool) {
	word, has := "", false
	for i := 0; i < len(command); i++ {
		switch c := command[i]; c {
		case ' ':
			if has {
				out = append(out, word)
			}
			word, has = "", false
		case '\'':
			end := strings.IndexByte(command[i+1:], '\'')
			if end < 0 {
				return nil, false
			}
			word, has = word+command[i+1:i+1+end], true
			i += end + 1
		case '\\':
			if i++; i == len(command) {
				return nil, false
			}
			word, has = word+command[i:i+1], true
		default:
			word, has = word+command[i:i+1], true
		}
	}
	if has {
		out = append(out, word)
	}
	return out, true
}
