package dataset

import (
	"context"
	"fmt"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/loadgen/dataset/conversation"
	"aiperf.dev/aiperf/loadgen/dataset/files"
	"aiperf.dev/aiperf/loadgen/dataset/format"
	"aiperf.dev/aiperf/loadgen/dataset/synth"
	"aiperf.dev/aiperf/loadgen/tokenizer"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/schema/fields"
)

func ofFile() *Type {
	return &Type{
		Name: "file", open: load, Instead: noLengths,
		Takes: []fields.Setting{
			{Name: "path", Needed: "name the file (--input-file), or write its records", Or: []string{"records"}},
			{Name: "records"},
			{Name: "format", Only: "use type: file with path or records (--input-file)"},
		},
	}
}

// load reads the conversations of a file or of inline records.
func load(ctx context.Context, cfg schema.Dataset, tok tokenizer.Tokenizer, src source) (*Set, error) {
	r, err := format.NewReader(cfg, tok, src.Source)
	if err != nil {
		return nil, err
	}
	if s, err := openStream(cfg, r, tok, src.Source); err != nil {
		return nil, err
	} else if s != nil {
		return s.set(ctx, r)
	}
	if n, what := files.Whole(cfg.Path); n > conversation.MaxText {
		return nil, diag.Errorf("%s: %s of %s would be needed in memory, more than the limit of %d MiB",
			cfg.Path, what, size(n), conversation.MaxText>>20).
			Try("write it as JSON lines: those of " + format.Streaming() + " are read while they are played")
	}
	made, err := r.All(ctx)
	if err != nil {
		return nil, err
	}
	if made.Empty() {
		return nil, fmt.Errorf("%s: no records", cfg.Path)
	}
	return setOf(made), nil
}

// setOf is a set of what records became.
func setOf(m *format.Made) *Set {
	s := &Set{conversations: m.Conversations, within: m.Within, warnings: m.Warnings, notes: m.Notes, doubts: m.Doubts}
	if m.Recorded != nil {
		s.stored = m.Recorded
	}
	return s
}

// checked bounds what Check reads of a file, in bytes of records and of the
// media they name.
const checked = 8 << 20

// Check refuses a file, folder or list of records that cannot be played, as
// Open would, without making the conversations: nothing is counted, and only
// the first 8 MiB are read, which is a fraction of a second. Nearly every file
// is smaller. What is wrong further on is found when the set is opened: to open
// it here would count all its tokens twice, or keep every set of a matrix in
// memory at once. accept, if not nil, may refuse a turn: its error gets the place
// of the record.
func Check(cfg schema.Dataset, accept func(*Turn) error) error {
	only := schema.Dataset{
		Type: cfg.Type, Path: cfg.Path, Format: cfg.Format, Records: cfg.Records, Columns: cfg.Columns,
		MediaRoots: cfg.MediaRoots, BlockSize: cfg.BlockSize,
	}
	r, err := format.NewReader(only, nil, synth.Source{})
	if err != nil {
		return err
	}
	r.Look(checked, accept)
	_, err = r.All(context.Background()) // it is over in no time
	return err
}
