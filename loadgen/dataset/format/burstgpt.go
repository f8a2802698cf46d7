package format

import (
	"aiperf.dev/aiperf/loadgen/dataset/files"
)

// burstGPT records arrivals and lengths, and nothing of what was said.
var burstGPT = Format{
	Name: "burst_gpt_trace", Doc: "a row of BurstGPT's CSV files: time in s, request and response tokens", Trace: true,
	Block:    512,
	Sampling: "sequential", Settings: replaying, fits: hasAll("Timestamp", "Request tokens", "Response tokens"),
	decoder: func(d *draft) decoder { return &burstRows{newTraceRows(d)} },
}

type burstRows struct{ traceRows }

func (r *burstRows) read(rec files.Record) error {
	row, err := r.row(rec.Fields, "Request tokens", "Response tokens", "")
	if err != nil {
		return err
	}
	rec.Fields.Pass("Model", "Total tokens", "Log Type", "Session ID", "Elapsed time", "Timestamp")
	if row.In < 1 || row.Out < 1 {
		r.skipped++ // a failed request of the recorded service
		return nil
	}
	if row.At, row.Timed, err = rec.Fields.Seconds("Timestamp"); err != nil {
		return err
	}
	return r.record(rec.Place, row, nil)
}
