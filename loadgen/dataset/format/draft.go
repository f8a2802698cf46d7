package format

import (
	"fmt"

	"aiperf.dev/aiperf/loadgen/dataset/conversation"
	"aiperf.dev/aiperf/loadgen/dataset/files"
	"aiperf.dev/aiperf/loadgen/dataset/media"
	"aiperf.dev/aiperf/loadgen/dataset/synth"
	"aiperf.dev/aiperf/loadgen/tokenizer"
	"aiperf.dev/aiperf/schema"
)

// draft is the set that a decoder writes: what the decoders of all formats share.
type draft struct {
	cfg     schema.Dataset
	src     synth.Source
	tok     tokenizer.Tokenizer
	osl     *synth.Lengths
	library *media.Library
	format  *Format

	conversations []conversation.Conversation
	within        []conversation.Conversation // all of them, where some are started by others
	recorded      *Recorded                   // in their place, where they are made when they are played
	before        int                         // conversations that were handed over: numbers go on behind them
	skipped       int                         // records that cannot be sent
	notes         []string
	doubts        []string // notes that are told before anything is sent

	rowsOnly bool                           // the rows of a trace are wanted, not its conversations
	accept   func(*conversation.Turn) error // refuses turns that cannot be sent; nil accepts all
}

// finish is for decoders that have nothing left to do.
func (*draft) finish() error { return nil }

// begin starts a conversation and says which one it is.
func (d *draft) begin(id, system string) int {
	i := len(d.conversations)
	if id == "" {
		id = conversation.SessionID(d.before + i)
	}
	d.conversations = append(d.conversations, conversation.Conversation{
		ID: id, System: conversation.JoinSystem(d.cfg.SystemPrompt, system),
	})
	return i
}

// add appends a turn to conversation i. Where the turn is silent, the dataset's
// settings hold.
func (d *draft) add(i int, t conversation.Turn) error {
	c := &d.conversations[i]
	if d.accept != nil {
		if err := d.accept(&t); err != nil {
			return &refusedTurn{err}
		}
	}
	if t.MaxTokens == 0 {
		n, err := d.osl.At(d.before+i, len(c.Turns))
		if err != nil {
			return err
		}
		t.MaxTokens = int64(n)
	}
	if ratio := d.cfg.TurnDelayRatio; ratio != 0 {
		t.Delay = files.Scale(t.Delay, ratio)
	}
	t.ISL = conversation.CountTexts(d.tok, t.Words())
	c.Turns = append(c.Turns, t)
	return nil
}

// addAll appends the turns to conversation i.
func (d *draft) addAll(i int, turns []conversation.Turn) error {
	for _, t := range turns {
		if err := d.add(i, t); err != nil {
			return err
		}
	}
	return nil
}

// note keeps something a person should know.
func (d *draft) note(format string, args ...any) {
	d.notes = append(d.notes, fmt.Sprintf(format, args...))
}

// doubt keeps something a person should know before anything is sent.
func (d *draft) doubt(format string, args ...any) {
	d.doubts = append(d.doubts, fmt.Sprintf(format, args...))
}
