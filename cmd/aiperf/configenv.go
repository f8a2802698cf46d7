package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/compat"
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/words"
)

var envCommand = command{
	name: "config env", usage: "say what AIPerf's environment variables do here",
	help: `aiperf config env says of each AIPERF_ variable of this environment what it does
here: what it sets, why it is refused, or that it has no effect.

  AIPERF_HTTP_SSL_VERIFY=false aiperf config env
  aiperf config env --all     every one that means something here, set or not`,
	flags: []argv.Switch{{Name: "all", Doc: "list all that mean something here"}},
	run: func(a *app, p *argv.Line) error {
		if len(p.Words) > 0 {
			return diag.New("config env: unexpected "+words.Clip(p.Words[0], 80), "it takes no words")
		}
		if p.Has("all") {
			for _, v := range compat.Variables() {
				fmt.Fprintf(a.Out, "%s: %s\n", v.Name, v.Here())
			}
			return nil
		}
		environ := slices.DeleteFunc(os.Environ(), func(s string) bool { return !strings.HasPrefix(s, "AIPERF_") })
		if slices.Sort(environ); len(environ) == 0 {
			fmt.Fprintln(a.Out, "no AIPERF_ variable is set; --all lists those that mean something")
		}
		var refused error
		for _, entry := range environ {
			name, _, _ := strings.Cut(entry, "=")
			assigns, told, ignored, err := compat.Environment([]string{entry})
			switch {
			case err != nil:
				refused = err
				fmt.Fprintln(a.Out, diag.Of(err).Message)
			case len(assigns) > 0:
				fmt.Fprintf(a.Out, "%s: sets %s\n", name, assigns[0].Path)
			case len(told) > 0:
				fmt.Fprintln(a.Out, told[0])
			case len(ignored) > 0:
				fmt.Fprintln(a.Out, name+" has no effect here")
			default:
				fmt.Fprintln(a.Out, name+": as it would be without it, or read where it is needed")
			}
		}
		return refused
	},
}
