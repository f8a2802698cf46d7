package format

import (
	"encoding/json"
	"errors"
	"time"

	"aiperf.dev/aiperf/loadgen/dataset/files"
	"aiperf.dev/aiperf/loadgen/dataset/trace"
)

// dynamo is an event of NVIDIA Dynamo's request trace
// (dynamo.request.trace.v1), bare or as its file sinks wrap it. Only the ends
// of requests are played; tool events are passed over.
var dynamo = Format{
	Name: "dynamo_trace", Doc: "an event of NVIDIA Dynamo's request trace", Trace: true, Block: 64, Complete: true,
	Sampling: "sequential", Settings: replaying, fits: fitsDynamo,
	decoder: func(d *draft) decoder { return &dynamoRows{newTraceRows(d)} },
}

const dynamoSchema = "dynamo.request.trace.v1"

// dynamoEvent is the part of an event that a replay needs.
type dynamoEvent struct {
	Schema    string
	EventType string `json:"event_type"`
	UnixMS    int64  `json:"event_time_unix_ms"`
	Agent     *struct {
		SessionID string `json:"session_id"`
	} `json:"agent_context"`
	Request *struct {
		InputTokens  int64   `json:"input_tokens"`
		OutputTokens int64   `json:"output_tokens"`
		ReceivedMS   int64   `json:"request_received_ms"`
		TotalMS      float64 `json:"total_time_ms"`
		Replay       *struct {
			Block  int      `json:"trace_block_size"`
			Length int64    `json:"input_length"`
			Hashes hashList `json:"input_sequence_hashes"`
		}
	}
}

func dynamoEventOf(f *files.Fields) (e dynamoEvent, err error) {
	var whole json.RawMessage
	if f.Has("event") && !f.Has("schema") {
		whole = f.Value("event")
	} else {
		whole = f.Whole()
	}
	f.Pass()
	err = json.Unmarshal(whole, &e)
	return e, err
}

func fitsDynamo(r *files.Record) (bool, string) {
	if !r.Fields.Has("schema") && !r.Fields.Has("event") {
		return false, "it has no schema"
	}
	probe := r.Fields.Probe()
	e, err := dynamoEventOf(probe)
	if err != nil || e.Schema != dynamoSchema {
		return false, "its schema is not " + dynamoSchema
	}
	return true, "its schema is " + dynamoSchema
}

type dynamoRows struct{ traceRows }

func (r *dynamoRows) read(rec files.Record) error {
	e, err := dynamoEventOf(rec.Fields)
	if err != nil {
		return err
	}
	if e.EventType != "request_end" || e.Request == nil {
		return nil
	}
	q := e.Request
	row := trace.Row{
		In: q.InputTokens, Out: q.OutputTokens, Timed: true,
		At: time.Duration(q.ReceivedMS) * time.Millisecond,
	}
	if q.ReceivedMS == 0 {
		row.At = time.Duration(e.UnixMS)*time.Millisecond - files.Scale(time.Millisecond, q.TotalMS)
	}
	if e.Agent != nil {
		row.Session = e.Agent.SessionID
	}
	if p := q.Replay; p != nil {
		if p.Block < 1 {
			return errors.New("request.replay.trace_block_size: want a number of tokens")
		}
		if len(r.rows) == 0 && r.cfg.BlockSize == 0 {
			r.block = p.Block
		}
		row.In, row.Blocks = p.Length, r.blocks(p.Hashes)
	}
	return r.record(rec.Place, row, nil)
}

// finish counts time from the first request: events stand in the order
// in which requests ended.
func (r *dynamoRows) finish() error {
	if len(r.rows) == 0 {
		return errors.New(r.cfg.Path + ": no request has ended in this trace")
	}
	sortByTime(&r.traceRows)
	return r.traceRows.finish()
}
