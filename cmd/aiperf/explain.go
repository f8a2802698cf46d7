package main

var explainCommand = command{
	name: "explain", usage: "print every resolved value and where it came from",
	help: `aiperf explain FILE [PATH…] prints path, value and origin of each setting.

  aiperf explain sweep.cue
  aiperf explain sweep.cue phases endpoint.timeout

The origin is a place in a file, a flag, the environment, or the reason for a
default. Secrets are masked.`,
	flags: []switchFlag{setFlag, lenient}, settings: true,
	run: func(a *app, p *parsed) error {
		if len(p.words) == 0 {
			return &usageError{"which experiment?", "aiperf explain FILE [PATH…]"}
		}
		doc, err := a.load("explain", p.words[0], p)
		if err != nil {
			return err
		}
		return doc.Explain(a.Out, p.words[1:]...)
	},
}
