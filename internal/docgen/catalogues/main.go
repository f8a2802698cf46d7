// Command catalogues writes the generated half of the schema: the enums and
// facts that follow from the Go catalogues. It takes the schema's folder and is
// run by go generate ./schema, before the tables that follow from the CUE.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"aiperf.dev/aiperf/internal/docgen"
)

func main() {
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "catalogues:", err)
		os.Exit(1)
	}
}

func write(dir string) error {
	c := docgen.FromGo()
	facts, err := c.Facts()
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "fields", "catalogue_gen.go"), facts, 0o644); err != nil {
		return err
	}
	for name, rules := range c.Files() {
		file := filepath.Join(dir, name)
		have, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if have, err = docgen.WithRules(have, rules); err != nil {
			return err
		}
		if err := os.WriteFile(file, have, 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, "catalogue_gen.cue"), c.Enums(), 0o644)
}
