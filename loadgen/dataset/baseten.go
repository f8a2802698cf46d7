package dataset

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"time"

	"aiperf.dev/aiperf/loadgen/dataset/files"
	"aiperf.dev/aiperf/loadgen/dataset/trace"
)

// baseten is a completion that Baseten recorded, a row of a Parquet file: the
// prompt is sent as it was, the output is held to its recorded length.
var baseten = Format{
	Name: "baseten_trace", Doc: "a completion recorded by Baseten: time, prompt, tokens", Trace: true, Block: 64, Complete: true, Sampling: "sequential",
	Settings: append([]string{"omit_kv_hints", "force_min_tokens", "open_loop_replay"}, replaying...),
	fits:     hasAll("timestamp_start_unix_ms", "prompt", "input_tokens", "output_tokens"), read: readBaseten, finish: finishBaseten,
}

func readBaseten(r *reader, rec files.Record) error {
	f := rec.Fields
	lit := &literal{extra: map[string]any{}}
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
	row.Session = sessionOf(f)
	f.Pass()                  // the rest describes how it went then
	row.Out = max(row.Out, 1) // a cancelled request asks for something, too
	if s := r.cfg.Synthesis; s != nil && s.MaxOSL > 0 {
		row.Out = min(row.Out, s.MaxOSL)
	}
	if r.cfg.ForceMinTokens == nil || *r.cfg.ForceMinTokens {
		lit.extra["min_tokens"] = row.Out
	}
	if !r.cfg.OmitKVHints && len(ids) > 0 {
		lit.extra["hash_ids"] = ids
		if block > 0 {
			lit.extra["block_size"] = block
		}
	}
	if len(lit.extra) == 0 {
		lit.extra = nil
	}
	return r.record(rec.Place, row, lit)
}

// sessionOf is the session that the recording names, else the one it guessed.
func sessionOf(f *files.Fields) string {
	for _, name := range []string{"provided_session_id", "poor_man_session_id"} {
		var text string
		var number uint64
		if ok, err := f.Decode(name, &text, ""); ok && err == nil && text != "" {
			return text
		}
		if ok, err := f.Decode(name, &number, ""); ok && err == nil {
			return strconv.FormatUint(number, 10)
		}
	}
	return ""
}

// finishBaseten counts time from the first request. In a closed loop a turn
// comes as long after the answer before it as it did then.
func finishBaseten(r *reader) error {
	if r.trace == nil {
		return errors.New(r.cfg.Path + ": no records")
	}
	rows := r.trace.rows
	first := slices.MinFunc(rows, byTime).At
	open := r.cfg.OpenLoopReplay == nil || *r.cfg.OpenLoopReplay
	ends := map[string]time.Duration{}
	order := make([]int, len(rows))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return byTime(rows[a], rows[b]) })
	for _, i := range order {
		row := &rows[i]
		took := row.Delay
		row.At -= first
		row.Delay = 0
		if row.Session == "" {
			continue
		}
		if end, later := ends[row.Session]; later && !open {
			row.Delay, row.Timed = max(0, row.At-end), false
		}
		ends[row.Session] = row.At + took
	}
	sorted := make([]trace.Row, len(rows))
	literals := make(map[int]*literal, len(rows))
	for k, i := range order {
		sorted[k], literals[k] = rows[i], r.trace.literals[i]
	}
	r.trace.rows, r.trace.literals, r.trace.back = sorted, literals, ""
	return finishTrace(r)
}

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
