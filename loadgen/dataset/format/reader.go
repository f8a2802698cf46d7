package format

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/loadgen/dataset/conversation"
	"aiperf.dev/aiperf/loadgen/dataset/files"
	"aiperf.dev/aiperf/loadgen/dataset/media"
	"aiperf.dev/aiperf/loadgen/dataset/synth"
	"aiperf.dev/aiperf/loadgen/dataset/trace"
	"aiperf.dev/aiperf/loadgen/tokenizer"
	"aiperf.dev/aiperf/schema"
)

// Reader makes conversations of the records of one file, folder or list. It
// finds the format, hands each record to the format's decoder, and collects
// what is wrong with records and which of their fields have no effect.
type Reader struct {
	draft
	decoder decoder

	records int
	bytes   int  // of the records so far
	enough  int  // bytes after which no more records are read; 0: all are
	most    int  // conversations wanted; 0: all
	cut     bool // not all records were read
	strict  bool // the first wrong record ends the reading: others are like it

	misfit       error // why not all of the first records have the format
	broken       broken
	ignored      map[string]*ignored // by the name of the field
	ignoredOrder []string
}

// Made is what records became.
type Made struct {
	Conversations []conversation.Conversation // those that are played by themselves
	Within        []conversation.Conversation // these and all that they start; nil where none starts others
	Recorded      *Recorded                   // in their place, where they are made when they are played
	Warnings      []string
	Notes         []string
	Doubts        []string // notes that are told before anything is sent
}

// newReader is a reader whose media are seen from base.
func newReader(cfg schema.Dataset, tok tokenizer.Tokenizer, src synth.Source, base string) (*Reader, error) {
	osl, err := synth.NewLengths("prompts.osl", cfg.Prompts.OSL, src.Draws("prompts.osl"), conversation.MaxCount)
	return &Reader{
		draft: draft{
			cfg: cfg, tok: tok, src: src, osl: osl,
			library: media.NewLibrary(base, cfg.MediaRoots, conversation.MaxText),
		},
		ignored: map[string]*ignored{},
	}, err
}

// NewReader is a reader of a file, of a folder, or of inline records. Without a
// tokenizer nothing is counted.
func NewReader(cfg schema.Dataset, tok tokenizer.Tokenizer, src synth.Source) (*Reader, error) {
	base := filepath.Dir(cfg.Path)
	if st, err := os.Stat(cfg.Path); err == nil && st.IsDir() || cfg.Path == "" {
		base = cfg.Path
	}
	r, err := newReader(cfg, tok, src, base)
	if err != nil || cfg.Format == "" {
		return r, err
	}
	f := named(cfg.Format)
	if f == nil {
		return nil, fmt.Errorf("format %q: not known; there are %s", cfg.Format, known())
	}
	r.use(f)
	return r, nil
}

// use has f's decoder read the records.
func (r *Reader) use(f *Format) {
	r.format = f
	r.decoder = f.decoder(&r.draft)
}

// Format is the format of the records; one that is not given is found.
func (r *Reader) Format() (*Format, error) {
	if r.format == nil {
		if err := r.find(r.source); err != nil {
			return nil, err
		}
	}
	return r.format, nil
}

// Look bounds the reading to so many bytes of records and of the media that they name;
// nothing is counted, and rows of a trace are not made conversations. accept, if not
// nil, may refuse a turn.
func (r *Reader) Look(bytes int, accept func(*conversation.Turn) error) {
	r.tok, r.rowsOnly, r.enough, r.accept = nil, true, bytes, accept
}

// Note adds something that a person should know.
func (r *Reader) Note(format string, args ...any) { r.note(format, args...) }

// All reads every record. It ends with ctx.
func (r *Reader) All(ctx context.Context) (*Made, error) {
	if _, err := r.Format(); err != nil {
		return nil, err
	}
	if err := r.each(ctx, r.source); err != nil {
		return nil, err
	}
	return r.made(), nil
}

func (r *Reader) made() *Made {
	return &Made{
		Conversations: r.conversations, Within: r.within, Recorded: r.recorded,
		Warnings: r.warnings(), Notes: r.notes, Doubts: r.allDoubts(),
	}
}

// Empty says that nothing of the records can be played.
func (m *Made) Empty() bool { return m.Recorded == nil && len(m.Conversations) == 0 }

// source hands over the records, of a file or of the experiment itself.
func (r *Reader) source(f func(files.Record) error) error {
	if len(r.cfg.Records) > 0 {
		return files.EachInline(r.cfg.Records, f)
	}
	return files.All(r.cfg.Path, f)
}

// find chooses the format that the first records have.
func (r *Reader) find(each func(func(files.Record) error) error) error {
	sample, err := sampleOf(each)
	if err != nil {
		return err
	}
	if len(sample) == 0 {
		return fmt.Errorf("%s: no records", r.path())
	}
	is, err := detect(sample)
	f := named(is.Format)
	if f == nil {
		return err
	}
	r.use(f)
	r.misfit = err // read on by the format of the first one, every record says what is wrong with it
	return nil
}

// each reads the records that each hands over, and finishes. It ends with ctx. Of records that
// are wrong it tells the first ones and how many there are.
func (r *Reader) each(ctx context.Context, each func(func(files.Record) error) error) error {
	err := each(func(rec files.Record) error {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		err := r.object(rec)
		if wrong := (*badRecord)(nil); errors.As(err, &wrong) {
			r.broken.add(err)
			return nil
		}
		return err
	})
	if err != nil && !errors.Is(err, errEnough) {
		return r.broken.before(err)
	}
	r.cut = err != nil
	if wrong := cmp.Or(r.broken.err(), r.misfit); wrong != nil {
		return wrong
	}
	if err == nil && r.records == 0 {
		return fmt.Errorf("%s: no records", cmp.Or(r.cfg.Path, "records"))
	}
	if err != nil && r.enough > 0 {
		return nil // what is read of it is sound; the end is not known
	}
	return r.decoder.finish()
}

// object reads one record. Its errors name the place.
func (r *Reader) object(rec files.Record) error {
	if r.most > 0 && len(r.conversations) == r.most {
		return errEnough
	}
	if r.enough > 0 && r.bytes+r.library.Bytes() > r.enough {
		return errEnough
	}
	if r.records++; rec.Bad != nil {
		r.bytes += rec.Size
		return &badRecord{rec.Bad}
	}
	if r.bytes += rec.Size; r.bytes > conversation.MaxText {
		return diag.Errorf("%s: more than %d MiB of records", rec.Place, conversation.MaxText>>20).
			Try(fmt.Sprintf("only JSON lines of %s are read while they are played", Streaming()))
	}
	if r.misfit != nil {
		if err := misfit(r.format, &rec); err != nil {
			return &badRecord{err}
		}
	}
	if err := r.decoder.read(rec); err != nil {
		if ok, why := r.format.fits(&rec); !ok && len(r.conversations) > 0 {
			err = fmt.Errorf("%w (%s, unlike the %s records before it)", err, why, r.format.Name)
		}
		err = fmt.Errorf("%s: %w", rec.Place, err)
		if refused := (*refusedTurn)(nil); errors.As(err, &refused) || tokenizer.Err(r.tok) != nil || r.strict {
			return err // others will be like it
		}
		return &badRecord{err}
	}
	if err := tokenizer.Err(r.tok); err != nil {
		return fmt.Errorf("%s: tokenizer %s: %w", rec.Place, r.tok.Name(), err)
	}
	r.ignore(rec)
	return nil
}

// allDoubts are those with the fields that nothing has read.
func (r *Reader) allDoubts() []string { return append(slices.Clip(r.doubts), r.ignoredFields()...) }

func (r *Reader) warnings() []string {
	if r.skipped == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s: %s and left out", r.cfg.Path,
		words.CountOf(r.skipped, "row cannot be sent", "rows cannot be sent"))}
}

// Handing over: a large file is read while it is played, so the reader keeps
// nothing of a conversation that is whole.

// From has the next conversation be number n; those before it were handed over
// by another reader.
func (r *Reader) From(n int) { r.before = n }

// Add reads one record.
func (r *Reader) Add(rec files.Record) error {
	err := r.object(rec)
	r.bytes = 0 // nothing of it stays
	return err
}

// Joins says that records of one session that follow each other are one
// conversation.
func (r *Reader) Joins() bool {
	_, ok := r.decoder.(joiner)
	return ok
}

// Held is the number of conversations that have begun and were not handed over.
func (r *Reader) Held() int { return len(r.conversations) }

// HandOver removes the first conversation.
func (r *Reader) HandOver() *conversation.Conversation {
	c := r.conversations[0]
	r.conversations = append(r.conversations[:0], r.conversations[1:]...)
	r.before++
	if d, ok := r.decoder.(joiner); ok {
		d.handedOver()
	}
	if r.library.Bytes() > 0 {
		r.library = media.NewLibrary(filepath.Dir(r.cfg.Path), r.cfg.MediaRoots, conversation.MaxText)
	}
	return &c
}

// Trace is a file of recorded load as rows, without its prompts.
type Trace struct {
	Rows   []trace.Row
	Block  int // tokens of one hash
	Format string
	Notes  []string
}

// ReadTrace reads a trace; block replaces its format's block size unless it is
// 0. A file that is not a trace is an error. It ends with ctx.
func ReadTrace(ctx context.Context, path, format string, block int) (*Trace, error) {
	r, err := NewReader(schema.Dataset{Path: path, Format: format, BlockSize: block}, nil, synth.Source{})
	if err != nil {
		return nil, err
	}
	r.rowsOnly = true
	f, err := r.Format()
	if err != nil {
		return nil, err
	}
	notATrace := diag.Errorf("%s: a %s file is not a trace of lengths and prefixes", path,
		f.Name).Try("aiperf dataset inspect shows what it holds")
	if !f.Trace {
		return nil, notATrace
	}
	if err := r.each(ctx, r.source); err != nil {
		return nil, err
	}
	of, ok := r.decoder.(interface{ recording() *traceRows })
	if !ok {
		return nil, notATrace
	}
	t := of.recording()
	return &Trace{t.rows, t.block, f.Name, slices.Concat(r.allDoubts(), r.notes, r.warnings())}, nil
}
