package main

import (
	"bytes"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/glossary"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/schema"
)

// printed is what a part of the help prints on a screen of width columns.
func printed(width int, print func(helpText)) []string {
	var b bytes.Buffer
	print(helpText{&b, width})
	return strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
}

// Help fits the screen: 40 lines for the commands that measure, and no line is longer
// than the terminal is wide.
func TestHelpFits(t *testing.T) {
	t.Parallel()
	for _, c := range catalogue() {
		if c.instead != "" {
			continue
		}
		for _, width := range []int{helpWidth, mostHelp} {
			short := printed(width, func(h helpText) { h.screen(c) })
			if c.settings && len(short) > 40 {
				t.Errorf("aiperf %s --help has %d lines at %d columns, want at most 40", c.name, len(short), width)
			}
			for _, l := range slices.Concat(short, printed(width, func(h helpText) { h.everything(c) })) {
				if words.Width(l) > width && strings.Contains(strings.TrimSpace(l), " ") {
					t.Errorf("aiperf %s, %d columns: %q has %d", c.name, width, l, words.Width(l))
				}
			}
		}
	}
}

// Every command that takes settings counts the same ones.
func TestOneCountOfSettings(t *testing.T) {
	t.Parallel()
	want := fmt.Sprintf("--help-all lists all %d settings.", len(shownSettings()))
	for _, c := range catalogue() {
		if said := printed(helpWidth, func(h helpText) { h.screen(c) }); c.settings && !slices.Contains(said, want) {
			t.Errorf("aiperf %s --help has no line %q", c.name, want)
		}
	}
}

// Every flag has a topic that lists it, and help knows it by its own name.
func TestEveryFlagIsFound(t *testing.T) {
	t.Parallel()
	c := profileCommand
	byTopic := map[string]string{}
	for _, topic := range topics() {
		byTopic[topic.Name] = strings.Join(printed(helpWidth, func(h helpText) { h.topic(c, topic) }), "\n") + "\n"
	}
	found := func(name, topic string) {
		t.Helper()
		if byTopic[topic] == "" {
			t.Errorf("--%s: topic %q is not one of help's", name, topic)
		} else if !strings.Contains(byTopic[topic], "--"+name) {
			t.Errorf("--%s is not listed under its topic, %s", name, topic)
		}
		var b bytes.Buffer
		if err := (helpText{&b, helpWidth}).word(c, "--"+name); err != nil || !strings.Contains(b.String(), "--"+name) {
			t.Errorf("--help %s does not show it: %v", name, err)
		}
	}
	for _, command := range []command{runCommand, profileCommand} {
		c = command
		for _, f := range command.flags {
			if command.name == "profile" || f.Name != "config" {
				found(f.Name, f.Topic)
			}
		}
	}
	if len(c.options()) < 200 {
		t.Fatalf("%d settings", len(c.options()))
	}
	for _, o := range c.options() {
		for _, n := range o.Names {
			found(n, o.Topic())
		}
	}
	all := strings.Join(printed(helpWidth, func(h helpText) { h.everything(c) }), "\n")
	for _, o := range schema.Options() {
		if _, gone := absent(o.Names[0]); gone && strings.Contains(all, "--"+o.Names[0]+" ") {
			t.Errorf("--%s has no effect and is in the help", o.Names[0])
		}
	}
}

// Help knows each word of the glossary, each check and each metric, and for a word that
// it does not know names the nearest ones.
func TestHelpKnowsWords(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"term", "check", "metric"} {
		k, _ := glossary.Find(kind)
		for _, name := range k.Names() {
			var b bytes.Buffer
			if err := (helpText{&b, helpWidth}).word(profileCommand, name); err != nil || b.Len() == 0 {
				t.Errorf("--help %s: %v", name, err)
			}
		}
	}
	for word, near := range map[string]string{
		"stedy": "steady", "concurency": "concurrency", "coalesed": "coalesced",
		"xyzzyq": "names the topics",
	} {
		err := helpText{&bytes.Buffer{}, helpWidth}.word(profileCommand, word)
		if err == nil || !strings.Contains(diag.Of(err).Hint, near) {
			t.Errorf("--help %s: %v, want a hint at %s", word, err, near)
		}
	}
}

// A word is found as a word, in the plural and by the beginning of a flag, and nowhere inside of other words.
func TestHelpFindsWholeWords(t *testing.T) {
	t.Parallel()
	for word, c := range map[string]struct{ has, not string }{
		"gain":          {"throughput", "--redo"},          // against, again
		"shown":         {"likely", "--name"},              // in a description, beside a word of a screen
		"run":           {"--num-profile-runs", "--prune"}, // as in prune
		"concur":        {"--concurrency", "--isl"},
		"warm-up":       {"--warmup-duration", "--isl"},
		"misses so far": {"goodput", "Flags"},
	} {
		var b bytes.Buffer
		err := helpText{&b, helpWidth}.word(profileCommand, word)
		if said := b.String(); err != nil || !strings.Contains(said, c.has) || strings.Contains(said, c.not+" ") {
			t.Errorf("aiperf help %s: %v, want %s and not %s in\n%s", word, err, c.has, c.not, said)
		}
	}
}

// A build says what it knows of itself and admits what it does not.
func TestBuildLines(t *testing.T) {
	t.Parallel()
	set := func(version string, pairs ...string) *debug.BuildInfo {
		info := &debug.BuildInfo{Main: debug.Module{Version: version}}
		for i := 0; i < len(pairs); i += 2 {
			info.Settings = append(info.Settings, debug.BuildSetting{Key: pairs[i], Value: pairs[i+1]})
		}
		return info
	}
	for _, c := range []struct {
		info            *debug.BuildInfo
		version, commit string
	}{
		{nil, "devel", "unknown: built without version control information"},
		{set("(devel)"), "devel", "unknown: built without version control information"},
		{set("v1.2.3"), "v1.2.3", "unknown: built without version control information"},
		{set("", "vcs.revision", "0123456789abcdef", "vcs.time", "2026-01-02T03:04:05Z", "vcs.modified", "true"), "devel-0123456789ab", "0123456789abcdef, 2026-01-02T03:04:05Z, with uncommitted changes"},
	} {
		got := buildLines(c.info)
		if got[0][1] != c.version || got[1][1] != c.commit {
			t.Errorf("%v, want version %q and commit %q", got, c.version, c.commit)
		}
	}
}
