package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/diag"
)

var versionCommand = command{
	minor: true, name: "version", usage: "print the version, the commit and the platform",
	help: `aiperf version prints which build this is: version, commit, Go and platform.
aiperf --version prints the version alone.`,
	run: func(a *app, p *argv.Line) error {
		if len(p.Words) > 0 {
			return diag.New("version: unexpected "+p.Words[0], "aiperf version takes no words")
		}
		info, _ := debug.ReadBuildInfo()
		for _, l := range buildLines(info) {
			fmt.Fprintf(a.Out, "%-8s %s\n", l[0], l[1])
		}
		return nil
	},
}

// buildLines is what a build knows of itself: of one without version control it says so.
func buildLines(info *debug.BuildInfo) [][2]string {
	settings := map[string]string{}
	if info != nil {
		for _, s := range info.Settings {
			settings[s.Key] = s.Value
		}
	}
	commit := "unknown: built without version control information"
	if revision := settings["vcs.revision"]; revision != "" {
		commit = revision
		if at := settings["vcs.time"]; at != "" {
			commit += ", " + at
		}
		if settings["vcs.modified"] == "true" {
			commit += ", with uncommitted changes"
		}
	}
	return [][2]string{
		{"aiperf", versionOf(info)},
		{"commit", commit},
		{"go", runtime.Version()},
		{"platform", runtime.GOOS + "/" + runtime.GOARCH},
	}
}

// versionOf is the module's version when installed from one, the commit when built from
// a checkout, and devel where the build knows neither.
func versionOf(info *debug.BuildInfo) string {
	if info == nil {
		return "devel"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return "devel-" + s.Value[:min(12, len(s.Value))]
		}
	}
	return "devel"
}

// version is that of this program.
var version = func() string {
	info, _ := debug.ReadBuildInfo()
	return versionOf(info)
}()
