package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/loadgen/dataset/files"
	"aiperf.dev/aiperf/loadgen/dataset/trace"
	"aiperf.dev/aiperf/loadgen/tokenizer"
	"aiperf.dev/aiperf/schema"
)

// Trace is a file of recorded load as rows, without its prompts.
type Trace struct {
	Rows   []trace.Row
	Block  int // tokens of one hash
	Format string
	Notes  []string
}

// ReadTrace reads a trace; block replaces its format's block size unless it is
// 0. A file that is no trace is an error.
func ReadTrace(path, format string, block int) (*Trace, error) {
	r := &reader{cfg: schema.Dataset{Path: path, BlockSize: block}, byID: map[string]int{}, ignored: map[string]string{}, rowsOnly: true}
	if format != "" {
		if r.format = formatNamed(format); r.format == nil {
			return nil, fmt.Errorf("format %q: not known; there are %s", format, known())
		}
	}
	if err := r.named(); err != nil {
		return nil, err
	}
	if !r.format.Trace {
		return nil, diag.Errorf("%s: a %s file is no trace", path, r.format.Name).Try("aiperf dataset inspect says what it holds")
	}
	if err := r.all(); err != nil {
		return nil, err
	}
	if r.trace == nil {
		return nil, diag.Errorf("%s: a %s file is no trace", path, r.format.Name).Try("aiperf dataset inspect says what it holds")
	}
	return &Trace{r.trace.rows, r.trace.block, r.format.Name, append(r.notes, r.warnings()...)}, nil
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
	return r.all()
}

// Mooncake is a row as a line of a mooncake_trace file.
func Mooncake(r *trace.Row) ([]byte, error) {
	line := struct {
		Timestamp *float64 `json:"timestamp,omitempty"`
		Session   string   `json:"session_id,omitempty"`
		Delay     *float64 `json:"delay,omitempty"`
		In        int64    `json:"input_length"`
		Out       int64    `json:"output_length,omitempty"`
		Blocks    []int32  `json:"hash_ids,omitempty"`
	}{Session: r.Session, In: r.In, Out: r.Out, Blocks: r.Blocks}
	if r.Timed {
		ms := float64(r.At) / 1e6
		line.Timestamp = &ms
	}
	if r.Delay > 0 && !r.Timed {
		ms := float64(r.Delay) / 1e6
		line.Delay = &ms
	}
	return json.Marshal(line)
}

// anonymous is one line of a chat log: what was new in a request and what was
// answered.
type anonymous struct {
	session  string
	at       *float64 // ms
	messages []message
	output   string
}

type message struct{ Role, Content string }

// Anonymize turns a chat log into rows of lengths and block hashes. Lines are
// {"messages": …, "output": …, "timestamp"?, "session_id"?}; a session's later
// lines hold what is new. render writes messages as the model reads them; the
// texts themselves leave no trace in the rows but equal names of equal
// prefixes, which begin at 0 in the order of appearance.
func Anonymize(path string, tok tokenizer.Tokenizer, block int, render func([]message) (string, error)) ([]trace.Row, error) {
	var rows []trace.Row
	var names trace.Names
	histories := map[string][]message{}
	err := files.Each(path, func(rec files.Record) error {
		line, err := readLog(rec.Fields)
		if err != nil {
			return fmt.Errorf("%s: %w", rec.Place, err)
		}
		said := append(slices.Clone(histories[line.session]), line.messages...)
		text, err := render(said)
		if err != nil {
			return fmt.Errorf("%s: %w", rec.Place, err)
		}
		ids := tok.Encode(nil, text)
		row := trace.Row{Session: line.session, In: int64(len(ids)), Out: int64(max(1, tok.Count(line.output))), Blocks: prefixNames(&names, ids, block)}
		if line.at != nil {
			row.Timed, row.At = true, files.Scale(1e6, *line.at)
		}
		if line.session != "" {
			histories[line.session] = append(said, message{"assistant", line.output})
		}
		rows = append(rows, row)
		return nil
	})
	return rows, err
}

func readLog(f *files.Fields) (a anonymous, err error) {
	if a.session, err = f.Str("session_id"); err != nil {
		return a, err
	}
	if a.output, err = f.Str("output"); err != nil {
		return a, err
	}
	var at float64
	if said, err := f.Decode("timestamp", &at, "a number of milliseconds"); err != nil {
		return a, err
	} else if said {
		if at < 0 || at > files.MaxMillis {
			return a, fmt.Errorf("timestamp: %g ms is out of range", at)
		}
		a.at = &at
	}
	if _, err = f.Decode("messages", &a.messages, "a list of messages whose content is text"); err != nil {
		return a, err
	}
	if len(a.messages) == 0 {
		return a, errors.New("messages: missing")
	}
	return a, nil
}

// prefixNames names each block after itself and all before it.
func prefixNames(names *trace.Names, ids []int, block int) []int32 {
	h := fnv.New64a()
	var out []int32
	for part := range slices.Chunk(ids, block) {
		for _, id := range part {
			h.Write(strconv.AppendInt(nil, int64(id), 10))
			h.Write([]byte{' '})
		}
		out = append(out, names.Of(h.Sum64()))
	}
	return out
}

// Plainly writes messages without a template: role, line end, text, line end.
func Plainly(list []message) (string, error) {
	var s strings.Builder
	for _, m := range list {
		s.WriteString(m.Role + "\n" + m.Content + "\n")
	}
	return s.String() + "assistant\n", nil
}
