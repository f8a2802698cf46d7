package runner

import (
	"slices"

	"aiperf.dev/aiperf/internal/secret"
)

// masked is opt with no secret left in what is kept of the command and in what is
// said while it is carried out.
func masked(opt Options, hide *secret.Masker) Options {
	opt.CommandLine = hide.Text(opt.CommandLine)
	opt.Source = []byte(hide.Text(string(opt.Source)))
	opt.Origins = slices.Clone(opt.Origins)
	for i, line := range opt.Origins {
		opt.Origins[i] = hide.Text(line)
	}
	if say := opt.Say; say != nil {
		opt.Say = func(line string) { say(hide.Text(line)) }
	}
	return opt
}
