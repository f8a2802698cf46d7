package dataset

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"aiperf.dev/aiperf/loadgen/tokenizer"
	"aiperf.dev/aiperf/schema"
)

// format is one way to write conversations down, one JSON object per line of a
// file or per inline record.
type format struct {
	name string
	// fits says whether an object with these fields looks like this format.
	fits func(f *fields) bool
	// read adds what the object says to the reader's conversations.
	read func(r *reader, f *fields) error
}

// formats are tried in this order when none is named.
var formats = []format{
	{"multi_turn", fitsMultiTurn, readMultiTurn},
	{"single_turn", fitsSingleTurn, readSingleTurn},
}

// Formats lists the names of the known formats.
func Formats() []string {
	names := make([]string, len(formats))
	for i, f := range formats {
		names[i] = f.name
	}
	return names
}

// reader collects the conversations of one file or list of records.
type reader struct {
	cfg           schema.Dataset
	tok           tokenizer.Tokenizer
	osl           *lengths
	format        *format
	conversations []Conversation
	byID          map[string]int    // conversation of a session_id
	ignored       map[string]string // unknown field → where it was first seen
	ignoredOrder  []string
	bytes         int
}

// load reads the conversations of a file or of inline records.
func load(cfg schema.Dataset, tok tokenizer.Tokenizer, src source) (*Set, error) {
	osl, err := newLengths("prompts.osl", cfg.Prompts.OSL, src, maxCount)
	if err != nil {
		return nil, err
	}
	r := &reader{cfg: cfg, tok: tok, osl: osl, byID: map[string]int{}, ignored: map[string]string{}}
	if cfg.Format != "" {
		if r.format = formatNamed(cfg.Format); r.format == nil {
			return nil, fmt.Errorf("format %q: not supported yet; known: %s", cfg.Format, strings.Join(Formats(), ", "))
		}
	}
	if len(cfg.Records) > 0 {
		err = r.records(cfg.Records)
	} else {
		err = r.file(cfg.Path)
	}
	if err = cmp.Or(err, osl.check()); err != nil {
		return nil, err
	}
	return &Set{conversations: r.conversations, warnings: r.warnings()}, nil
}

func formatNamed(name string) *format {
	for i := range formats {
		if formats[i].name == name {
			return &formats[i]
		}
	}
	return nil
}

func (r *reader) records(list []any) error {
	for i, v := range list {
		place := fmt.Sprintf("records[%d]", i)
		line, err := json.Marshal(v)
		if err != nil {
			return fmt.Errorf("%s: not plain data: %w", place, err)
		}
		if err := r.object(place, line); err != nil {
			return err
		}
	}
	return nil
}

// object reads one line or record. Its errors name the place.
func (r *reader) object(place string, line []byte) error {
	if r.bytes += len(line); r.bytes > maxText {
		return fmt.Errorf("%s: more than %d MiB of records", place, maxText>>20)
	}
	f, err := newFields(line)
	if err != nil {
		return fmt.Errorf("%s: %w", place, err)
	}
	if r.format == nil {
		if r.format, err = infer(f); err != nil {
			return fmt.Errorf("%s: %w", place, err)
		}
	}
	if err := r.format.read(r, f); err != nil {
		return fmt.Errorf("%s: %w", place, err)
	}
	for _, name := range f.unused() {
		if _, seen := r.ignored[name]; !seen {
			r.ignored[name] = place
			r.ignoredOrder = append(r.ignoredOrder, name)
		}
	}
	return nil
}

// infer finds the format of the first object; a "type" that names one decides.
func infer(f *fields) (*format, error) {
	if name, err := f.str("type"); err == nil {
		if known := formatNamed(name); known != nil {
			return known, nil
		}
	}
	for i := range formats {
		if formats[i].fits(f) {
			return &formats[i], nil
		}
	}
	return nil, fmt.Errorf("fields %s fit no known format (%s); hint: single_turn has \"text\", multi_turn has \"turns\"",
		strings.Join(f.names(), ", "), strings.Join(Formats(), ", "))
}

func (r *reader) warnings() []string {
	var out []string
	for _, name := range r.ignoredOrder {
		out = append(out, fmt.Sprintf("%s: field %q is ignored", r.ignored[name], name))
	}
	return out
}

// add takes one more turn of conversation i, giving it what the dataset's
// settings say where the turn itself says nothing.
func (r *reader) add(i int, t Turn) {
	c := &r.conversations[i]
	if t.MaxTokens == 0 {
		t.MaxTokens = int64(r.osl.next())
	}
	if ratio := r.cfg.TurnDelayRatio; ratio != 0 {
		t.Delay = scale(t.Delay, ratio)
	}
	t.ISL = countTexts(r.tok, t.Texts)
	c.Turns = append(c.Turns, t)
}

// begin starts a conversation and says which one it is.
func (r *reader) begin(id, system string) int {
	i := len(r.conversations)
	if id == "" {
		id = sessionID(i)
	}
	r.conversations = append(r.conversations, Conversation{ID: id, System: joinSystem(r.cfg.SystemPrompt, system)})
	return i
}

// countTexts is the ISL of a turn: its texts joined with one space, encoded
// once. A set without a tokenizer is not counted.
func countTexts(tok tokenizer.Tokenizer, texts []string) int64 {
	if tok == nil {
		return 0
	}
	if len(texts) == 1 {
		return int64(tok.Count(texts[0]))
	}
	return int64(tok.Count(strings.Join(texts, " ")))
}
