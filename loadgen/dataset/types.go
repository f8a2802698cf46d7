package dataset

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"aiperf.dev/aiperf/loadgen/tokenizer"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/schema/fields"
)

// Type is one place that conversations come from: a row of the catalogue.
type Type struct {
	Name string
	// Made says that the conversations are written here, from lengths, and not
	// read. It is the type where none is said.
	Made bool
	// Takes are the settings of a data set that only some types take.
	Takes []fields.Setting
	// Instead says what to do about settings that the type does not take, by
	// name; without it the setting's own word holds.
	Instead map[string]string

	open func(ctx context.Context, cfg schema.Dataset, tok tokenizer.Tokenizer, src source) (*Set, error)
}

// Types is all places that conversations come from, each in the file that reads
// or writes them.
func Types() []*Type { return []*Type{madeHere(), ofFile(), ofHub(), ofProgram()} }

// noLengths is what to do about shapes where records say what is sent.
var noLengths = map[string]string{"turns": "the records say how many turns there are"}

// typeOf is the row of cfg.
func typeOf(cfg *schema.Dataset) (*Type, error) {
	all := Types()
	i := slices.IndexFunc(all, func(t *Type) bool { return t.Name == cfg.Type || cfg.Type == "" && t.Made })
	if i < 0 {
		var names []string
		for _, t := range all {
			names = append(names, t.Name)
		}
		return nil, fmt.Errorf("type %q: not one of %s", cfg.Type, strings.Join(names, ", "))
	}
	return all[i], nil
}
