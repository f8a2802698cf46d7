package dataset

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/loadgen/dataset/files"
	"aiperf.dev/aiperf/loadgen/dataset/media"
	"aiperf.dev/aiperf/loadgen/dataset/public"
	"aiperf.dev/aiperf/loadgen/dataset/synth"
	"aiperf.dev/aiperf/loadgen/dataset/trace"
	"aiperf.dev/aiperf/loadgen/tokenizer"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/schema/fields"
)

// reader collects the conversations of one file or list of records.
type reader struct {
	cfg           schema.Dataset
	src           source
	tok           tokenizer.Tokenizer
	osl           *synth.Lengths
	format        *Format
	conversations []Conversation
	byID          map[string]int      // conversation of a session_id
	ignored       map[string]*ignored // by the name of the field
	ignoredOrder  []string
	broken        broken
	misfit        error // why not all of the first records have the format
	cut           bool  // not all records were read
	bytes         int   // of the records so far
	records       int
	notes         []string
	doubts        []string // to be told before anything is sent

	library  *media.Library
	pools    []pool          // of random_pool
	trace    *traceRows      // of traces
	names    trace.Names     // of their blocks
	room     []int32         // for blocks of rows to come
	modes    map[string]bool // of mooncake_trace: whether the messages of a session are deltas
	chats    []chat          // of bailian_trace
	rounds   []round         // of tracelab
	latest   time.Duration   // time stamp of single_turn
	back     bool            // one is earlier than another before it
	zero     *time.Duration  // time stamp of the first row where rows say date and time
	skipped  int             // rows that cannot be sent
	places   []string        // of dag_jsonl's conversations
	within   []Conversation  // all of them, where some are started by others
	stored   store
	rowsOnly bool              // the rows of a trace are wanted, not its conversations
	before   int               // conversations that were handed over: numbers go on behind them
	past     map[uint64]bool   // hashes of the ids of these; nil where all are held
	enough   int               // bytes after which no more records are read; 0: all are
	accept   func(*Turn) error // refuses turns that cannot be sent; nil takes all

	set  *public.Set // the published set whose columns are read
	most int         // conversations wanted of it; 0: all
}

// newReader is a reader whose media are seen from base.
func newReader(cfg schema.Dataset, tok tokenizer.Tokenizer, src source, base string) (*reader, error) {
	osl, err := synth.NewLengths("prompts.osl", cfg.Prompts.OSL, src.shape("prompts.osl"), maxCount)
	return &reader{
		cfg: cfg, tok: tok, src: src, osl: osl, byID: map[string]int{}, ignored: map[string]*ignored{},
		library: media.NewLibrary(base, cfg.MediaRoots, maxText),
	}, err
}

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
	r, err := fileReader(cfg, tok, src)
	if err != nil {
		return nil, err
	}
	if s, err := openStream(r); err != nil {
		return nil, err
	} else if s != nil {
		ahead := *r // says what a person should know of the beginning
		ahead.tok, ahead.rowsOnly, ahead.enough = nil, true, checked
		if err := ahead.all(ctx); err != nil {
			return nil, err
		}
		return &Set{stored: s, warnings: ahead.warnings(), notes: ahead.notes, doubts: ahead.allDoubts()}, nil
	}
	if n, what := files.Whole(r.cfg.Path); n > maxText {
		return nil, diag.Errorf("%s: %s of %s would be held in memory, %d MiB at most are", r.cfg.Path, what, size(n), maxText>>20).
			Try("write it as JSON lines: those of " + andList(streaming()) + " are read while they are played")
	}
	if err := r.all(ctx); err != nil {
		return nil, err
	}
	if r.stored == nil && len(r.conversations) == 0 {
		return nil, fmt.Errorf("%s: no records", r.cfg.Path)
	}
	return &Set{conversations: r.conversations, within: r.within, stored: r.stored, warnings: r.warnings(), notes: r.notes, doubts: r.allDoubts()}, nil
}

// fileReader is a reader of a file or of inline records.
func fileReader(cfg schema.Dataset, tok tokenizer.Tokenizer, src source) (*reader, error) {
	base := filepath.Dir(cfg.Path)
	if st, err := os.Stat(cfg.Path); err == nil && st.IsDir() || cfg.Path == "" {
		base = cfg.Path
	}
	r, err := newReader(cfg, tok, src, base)
	if err != nil {
		return nil, err
	}
	if cfg.Format != "" {
		if r.format = formatNamed(cfg.Format); r.format == nil {
			return nil, fmt.Errorf("format %q: not known; there are %s", cfg.Format, known())
		}
	}
	return r, nil
}

// all reads every record; a format that is not named is found first.
func (r *reader) all(ctx context.Context) error {
	if err := r.named(); err != nil {
		return err
	}
	return r.each(ctx, r.source)
}

// source hands over the records, of a file or of the experiment itself.
func (r *reader) source(f func(files.Record) error) error {
	if len(r.cfg.Records) > 0 {
		return files.EachInline(r.cfg.Records, f)
	}
	return files.All(r.cfg.Path, f)
}

// named finds the format when nobody has named it.
func (r *reader) named() error {
	if r.format != nil {
		return nil
	}
	return r.find(r.source)
}

// each reads the records that each hands over, and finishes. It ends with ctx. Of records that
// are wrong it tells the first ones and how many there are.
func (r *reader) each(ctx context.Context, each func(func(files.Record) error) error) error {
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
	if r.format.finish != nil {
		return r.format.finish(r)
	}
	return nil
}

// find takes the format that the first records have.
func (r *reader) find(each func(func(files.Record) error) error) error {
	sample, err := sampleOf(each)
	if err != nil {
		return err
	}
	if len(sample) == 0 {
		return fmt.Errorf("%s: no records", r.path())
	}
	is, err := detect(sample)
	if r.format = formatNamed(is.Format); r.format == nil {
		return err
	}
	r.misfit = err // read on by the format of the first one, every record says what is wrong with it
	return nil
}

// object reads one record. Its errors name the place.
func (r *reader) object(rec files.Record) error {
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
	if r.bytes += rec.Size; r.bytes > maxText {
		return diag.Errorf("%s: more than %d MiB of records", rec.Place, maxText>>20).Try(fmt.Sprintf("only JSON lines of %s are read while they are played", andList(streaming())))
	}
	if r.misfit != nil {
		if err := misfit(r.format, &rec); err != nil {
			return &badRecord{err}
		}
	}
	if err := r.format.read(r, rec); err != nil {
		if ok, why := r.format.fits(&rec); !ok && len(r.conversations) > 0 {
			err = fmt.Errorf("%w (%s, unlike the %s records before it)", err, why, r.format.Name)
		}
		err = fmt.Errorf("%s: %w", rec.Place, err)
		if refused := (*refusedTurn)(nil); errors.As(err, &refused) || tokenizer.Err(r.tok) != nil || r.set != nil {
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

// note keeps something a person should know.
func (r *reader) note(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

// doubt keeps something a person should know before anything is sent.
func (r *reader) doubt(format string, args ...any) {
	r.doubts = append(r.doubts, fmt.Sprintf(format, args...))
}

// allDoubts are those with the fields that nothing has read.
func (r *reader) allDoubts() []string { return append(slices.Clip(r.doubts), r.ignoredFields()...) }

func (r *reader) warnings() []string {
	var out []string
	if r.skipped > 0 {
		out = append(out, fmt.Sprintf("%s: %s and left out", r.cfg.Path, words.CountOf(r.skipped, "row cannot be sent", "rows cannot be sent")))
	}
	return out
}

// add takes one more turn of conversation i, giving it what the dataset's
// settings say where the turn itself says nothing.
func (r *reader) add(i int, t Turn) error {
	c := &r.conversations[i]
	if r.accept != nil {
		if err := r.accept(&t); err != nil {
			return &refusedTurn{err}
		}
	}
	if t.MaxTokens == 0 {
		n, err := r.osl.At(r.before+i, len(c.Turns))
		if err != nil {
			return err
		}
		t.MaxTokens = int64(n)
	}
	if ratio := r.cfg.TurnDelayRatio; ratio != 0 {
		t.Delay = files.Scale(t.Delay, ratio)
	}
	t.ISL = countTexts(r.tok, t.words())
	c.Turns = append(c.Turns, t)
	return nil
}

// begin starts a conversation and says which one it is.
func (r *reader) begin(id, system string) int {
	i := len(r.conversations)
	if id == "" {
		id = sessionID(r.before + i)
	}
	r.conversations = append(r.conversations, Conversation{ID: id, System: joinSystem(r.cfg.SystemPrompt, system)})
	return i
}

// countTexts is the ISL of a turn: its texts joined with one space, encoded
// once. A set without a tokenizer is not counted.
func countTexts(tok tokenizer.Tokenizer, texts []string) int64 {
	if tok == nil || len(texts) == 0 {
		return 0
	}
	if len(texts) == 1 {
		return int64(tok.Count(texts[0]))
	}
	return int64(tok.Count(strings.Join(texts, " ")))
}

// Trace is a file of recorded load as rows, without its prompts.
type Trace struct {
	Rows   []trace.Row
	Block  int // tokens of one hash
	Format string
	Notes  []string
}

// ReadTrace reads a trace; block replaces its format's block size unless it is
// 0. A file that is no trace is an error. It ends with ctx.
func ReadTrace(ctx context.Context, path, format string, block int) (*Trace, error) {
	r := &reader{cfg: schema.Dataset{Path: path, BlockSize: block}, byID: map[string]int{}, ignored: map[string]*ignored{}, rowsOnly: true}
	if format != "" {
		if r.format = formatNamed(format); r.format == nil {
			return nil, fmt.Errorf("format %q: not known; there are %s", format, known())
		}
	}
	if err := r.named(); err != nil {
		return nil, err
	}
	if !r.format.Trace {
		return nil, diag.Errorf("%s: a %s file is no trace of lengths and prefixes", path, r.format.Name).Try("aiperf dataset inspect says what it holds")
	}
	if err := r.all(ctx); err != nil {
		return nil, err
	}
	if r.trace == nil {
		return nil, diag.Errorf("%s: a %s file is no trace of lengths and prefixes", path, r.format.Name).Try("aiperf dataset inspect says what it holds")
	}
	return &Trace{r.trace.rows, r.trace.block, r.format.Name, slices.Concat(r.allDoubts(), r.notes, r.warnings())}, nil
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
	only := schema.Dataset{Type: cfg.Type, Path: cfg.Path, Format: cfg.Format, Records: cfg.Records, Columns: cfg.Columns, MediaRoots: cfg.MediaRoots, BlockSize: cfg.BlockSize}
	r, err := fileReader(only, nil, source{})
	if err != nil {
		return err
	}
	r.rowsOnly, r.enough, r.accept = true, checked, accept
	return r.all(context.Background()) // it is over in no time
}
