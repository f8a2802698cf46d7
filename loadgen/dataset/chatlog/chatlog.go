// Package chatlog turns logs of chats into traces that hold none of their texts:
// lengths, times, and which prompts begin alike.
package chatlog

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"aiperf.dev/aiperf/loadgen/dataset/files"
	"aiperf.dev/aiperf/loadgen/dataset/trace"
	"aiperf.dev/aiperf/loadgen/tokenizer"
)

// anonymous is one line of a chat log: what was new in a request and what was
// answered.
type anonymous struct {
	session  string
	at       *float64 // ms
	messages []Message
	output   string
}

// Message is one text of a conversation.
type Message struct{ Role, Content string }

// Anonymize turns a chat log into rows of lengths and block hashes. Lines are
// {"messages": …, "output": …, "timestamp"?, "session_id"?}; a session's later
// lines hold what is new. render writes messages as the model reads them; the
// texts themselves leave no trace in the rows but equal names of equal
// prefixes, which begin at 0 in the order of appearance. It ends with ctx.
func Anonymize(
	ctx context.Context, path string, tok tokenizer.Tokenizer, block int, render func([]Message) (string, error),
) ([]trace.Row, error) {
	var rows []trace.Row
	var names trace.Names
	histories := map[string][]Message{}
	err := files.Each(path, func(rec files.Record) error {
		if err := context.Cause(ctx); err != nil {
			return err
		}
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
		row := trace.Row{
			Session: line.session, In: int64(len(ids)), Out: int64(max(1, tok.Count(line.output))),
			Blocks: prefixNames(&names, ids, block),
		}
		if err := tokenizer.Err(tok); err != nil {
			return fmt.Errorf("%s: tokenizer %s: %w", rec.Place, tok.Name(), err)
		}
		if line.at != nil {
			row.Timed, row.At = true, files.Scale(1e6, *line.at)
		}
		if line.session != "" {
			histories[line.session] = append(said, Message{"assistant", line.output})
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
func Plainly(list []Message) (string, error) {
	var s strings.Builder
	for _, m := range list {
		s.WriteString(m.Role + "\n" + m.Content + "\n")
	}
	return s.String() + "assistant\n", nil
}
