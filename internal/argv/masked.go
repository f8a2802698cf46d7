package argv

import (
	"strconv"
	"strings"

	"aiperf.dev/aiperf/internal/secret"
	"aiperf.dev/aiperf/schema"
)

// Masked is the command as typed, secrets masked: keys, the values of
// headers, what an address holds besides the place, whatever a key of a
// payload or a path names as a credential.
func Masked(command string, args []string, opts []schema.Option) string {
	byName := map[string]*schema.Option{}
	for i := range opts {
		for _, n := range opts[i].Names {
			byName["--"+n] = &opts[i]
		}
		byName["-"+opts[i].Short] = &opts[i]
	}
	out := []string{"aiperf", command}
	var flag *schema.Option // the one whose values stand here
	for _, w := range args[min(2, len(args)):] {
		if !IsFlag(w) {
			out = append(out, quote(shown(flag, w)))
			continue
		}
		name, value, glued := strings.Cut(w, "=")
		if flag = byName[strings.ReplaceAll(name, "_", "-")]; glued {
			w = name + "=" + shown(flag, value)
		}
		out = append(out, quote(w))
	}
	return strings.Join(out, " ")
}

// shown is a value of flag (nil for one that is no setting) as it may be kept.
func shown(flag *schema.Option, value string) string {
	switch {
	case flag != nil && flag.Secret:
		return secret.Mask
	case flag != nil && flag.Do == "header":
		name, _, _ := strings.Cut(value, ":")
		return name + ":" + secret.Mask
	}
	sep := "=" // --set path=value
	if flag != nil && flag.Do == "extra" {
		sep = ":"
	}
	key, rest, _ := strings.Cut(value, sep)
	if _, err := strconv.ParseFloat(rest, 64); err != nil && rest != "" && !strings.ContainsAny(key, "/?{ ") &&
		secret.Name(key) {
		return key + sep + secret.Mask
	}
	return secret.Shapes(secret.URL(value))
}

// quote makes a word that a shell reads back as it was. As AIPerf shows command
// lines, names of flags and numbers stand plain and all else in quotes.
func quote(w string) string {
	if name, value, glued := strings.Cut(w, "="); glued && strings.HasPrefix(name, "--") {
		return name + "=" + quote(value)
	}
	_, err := strconv.ParseFloat(w, 64)
	if err == nil || len(w) > 1 && w[0] == '-' && !strings.ContainsAny(w, " \t\n'\"\\$&|;<>()*?[]{}~`!#") {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}
