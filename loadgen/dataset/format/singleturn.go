package format

import (
	"time"

	"aiperf.dev/aiperf/loadgen/dataset/files"
)

// A single_turn object is a conversation of one turn:
//
//	{"text": "…", "output_length": 64, "timestamp": 1500}
//
// texts may stand for text, as a list of strings or of {"name", "contents"};
// role, model, system, delay (ms, instead of timestamp) and extra (merged into
// the body) are optional. output_length and max_tokens are the same.

var singleTurn = Format{
	Name: "single_turn", Doc: "a request with its text or media", Sampling: "sequential", Settings: conversational,
	Streams: true,
	fits:    fitsSingleTurn, decoder: func(d *draft) decoder { return &singleTurns{draft: d} },
}

// said are the fields that hold what is asked.
var said = []string{"text", "texts", "image", "images", "audio", "audios", "video", "videos"}

func fitsSingleTurn(r *files.Record) (bool, string) {
	if r.File != "" {
		return false, "a folder of such records is a random_pool"
	}
	return has(said...)(r)
}

// singleTurns remembers the time of the records.
type singleTurns struct {
	*draft
	latest time.Duration
	back   bool // one is earlier than another before it
}

func (r *singleTurns) read(rec files.Record) error {
	f := rec.Fields
	t, err := r.turn(f, "")
	if err != nil {
		return err
	}
	system, err := f.Str("system")
	if err != nil {
		return err
	}
	f.Pass("type", "session_id")
	if at := t.Timestamp; at != nil {
		if *at < r.latest && !r.back {
			r.back = true
			r.doubt("%s: time stamps go back here; by a schedule the records are played in the order of time",
				rec.Place)
		}
		r.latest = max(r.latest, *at)
	}
	return r.add(r.begin("", system), t)
}
