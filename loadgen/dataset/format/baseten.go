package format

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/loadgen/dataset/files"
	"aiperf.dev/aiperf/loadgen/dataset/trace"
	"aiperf.dev/aiperf/schema"
)

// baseten is a completion that Baseten recorded, a row of a Parquet file: the
// prompt is sent as it was, the output is held to its recorded length.
var baseten = Format{
	Name: "baseten_trace", Doc: "a completion recorded by Baseten: time, prompt, tokens", Trace: true,
	Block: 64, Complete: true, Sampling: "sequential",
	Settings: append([]string{"omit_kv_hints", "force_min_tokens", "open_loop_replay", "open_loop_strict"},
		replaying...),
	fits:    hasAll("timestamp_start_unix_ms", "prompt", "input_tokens", "output_tokens"),
	decoder: func(d *draft) decoder { return &basetenRows{newTraceRows(d)} },
}

type basetenRows struct{ traceRows }

func (r *basetenRows) read(rec files.Record) error {
	f := rec.Fields
	lit := &literal{}
	var err error
	if lit.text, err = f.Str("prompt"); err != nil {
		return err
	}
	if lit.text == "" {
		return errors.New("prompt: is empty")
	}
	row := trace.Row{Timed: true}
	var ids hashList
	var start int64
	var took float64
	var block int64
	for _, to := range []struct {
		name string
		v    any
		want string
	}{
		{"input_tokens", &row.In, "a whole number of tokens"},
		{"output_tokens", &row.Out, "a whole number of tokens"},
		{"timestamp_start_unix_ms", &start, "a whole number of milliseconds"},
		{"duration_e2e_ms", &took, "a number of milliseconds"},
		{"total_hashes", &ids, "a list of whole numbers"},
		{"block_size", &block, "a whole number"},
	} {
		if _, err := f.Decode(to.name, to.v, to.want); err != nil {
			return err
		}
	}
	if start < 0 || start > files.MaxMillis || !(took >= 0 && took < files.MaxMillis) {
		return errors.New("timestamp_start_unix_ms and duration_e2e_ms: out of range")
	}
	row.At, row.Delay = time.Duration(start)*time.Millisecond, files.Scale(time.Millisecond, took)
	row.Session, lit.guess = sessionOf(f, "provided_session_id"), sessionOf(f, "poor_man_session_id")
	f.Pass()                  // the rest describes how it went then
	row.Out = max(row.Out, 1) // a cancelled request asks for something, too
	if !r.cfg.OmitKVHints && len(ids) > 0 {
		lit.extra = schema.MembersOf("hash_ids", ids)
	}
	if !r.cfg.OmitKVHints && block > 0 {
		lit.extra = lit.extra.With(schema.MembersOf("block_size", block))
	}
	return r.record(rec.Place, row, lit)
}

// sessionOf is the session of a recording by one of its columns.
func sessionOf(f *files.Fields, name string) string {
	var text string
	var number uint64
	if ok, err := f.Decode(name, &text, ""); ok && err == nil {
		return text
	}
	if ok, err := f.Decode(name, &number, ""); ok && err == nil {
		return strconv.FormatUint(number, 10)
	}
	return ""
}

// finish counts time from the first request. In a closed loop a turn
// comes as long after the answer before it as it did then. Requests too long for
// synthesis.max_isl are left out, and are no answers to come after.
func (r *basetenRows) finish() error {
	if len(r.rows) == 0 {
		return errors.New(r.cfg.Path + ": no records")
	}
	var most int64
	if s := r.cfg.Synthesis; s != nil {
		if !one(s.PrefixLenMultiplier) || s.PrefixRootMultiplier > 1 || !one(s.PromptLenMultiplier) {
			return diag.Errorf("synthesis: prompts of the format %s are sent as they were recorded, so their prefixes and lengths stay", r.format.Name).
				Try("output_len_multiplier, max_isl and max_osl change such a trace, and replay_speedup its times")
		}
		most = s.MaxISL
	}
	all := r.rows
	first := slices.MinFunc(all, byTime).At
	open := r.cfg.OpenLoopReplay == nil || *r.cfg.OpenLoopReplay
	guessed := !slices.ContainsFunc(all, func(row trace.Row) bool { return row.Session != "" })
	var order []int
	for i := range all {
		if guessed {
			all[i].Session = r.literals[i].guess
		}
		if most == 0 || all[i].In <= most {
			order = append(order, i)
		}
	}
	if len(order) == 0 {
		return fmt.Errorf("%s: no row has at most %d input tokens (synthesis.max_isl)", r.cfg.Path, most)
	}
	slices.SortStableFunc(order, func(a, b int) int { return byTime(all[a], all[b]) })
	ends := map[string]time.Duration{}
	rows := make([]trace.Row, 0, len(order))
	literals := make(map[int]*literal, len(order))
	for _, i := range order {
		row := all[i]
		took := row.Delay
		row.At, row.Delay = row.At-first, 0
		if row.Session != "" {
			if end, later := ends[row.Session]; later && !open {
				row.Delay, row.Timed = max(0, row.At-end), false
			}
			ends[row.Session] = row.At + took
		}
		literals[len(rows)] = r.literals[i]
		rows = append(rows, row)
	}
	r.rows, r.literals, r.back = rows, literals, ""
	r.apart = open && r.cfg.OpenLoopStrict
	if err := r.traceRows.finish(); err != nil {
		return err
	}
	for i, lit := range literals { // the outputs have their final length now
		if r.cfg.ForceMinTokens == nil || *r.cfg.ForceMinTokens {
			lit.extra = lit.extra.With(schema.MembersOf("min_tokens", r.rows[i].Out))
		}
	}
	return nil
}

// one reports whether a factor changes nothing; 0 stands for none.
func one(v float64) bool { return v == 0 || v == 1 }

func byTime(a, b trace.Row) int { return cmp.Compare(a.At, b.At) }

// sortByTime puts the rows of a trace without literals in the order of time,
// counted from the first.
func sortByTime(t *traceRows) {
	slices.SortStableFunc(t.rows, byTime)
	zero := t.rows[0].At
	for i := range t.rows {
		t.rows[i].At -= zero
	}
	t.back = ""
}
