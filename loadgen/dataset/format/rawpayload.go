package format

import (
	"encoding/json"
	"path"
	"strings"

	"aiperf.dev/aiperf/loadgen/dataset/conversation"
	"aiperf.dev/aiperf/loadgen/dataset/files"
)

// rawPayload is a request body per line, sent byte for byte. In a folder each
// file is one conversation whose lines are its turns.
var rawPayload = Format{
	Name: "raw_payload", Doc: "a whole request body; in a folder each file is a conversation",
	Complete: true, Verbatim: true, Streams: true,
	Sampling: "sequential", fits: fitsRawPayload,
	decoder: func(d *draft) decoder { return &rawPayloads{d, map[string]int{}} },
}

func fitsRawPayload(r *files.Record) (bool, string) {
	var list []json.RawMessage
	switch {
	case r.Fields.Has("conversation_id"):
		return false, "it has conversation_id"
	case json.Unmarshal(r.Fields.Value("messages"), &list) != nil || len(list) == 0:
		return false, "it has no list messages"
	}
	return true, "it has messages and nothing of a trace"
}

// rawPayloads knows the conversation of each file of a folder.
type rawPayloads struct {
	*draft
	byFile map[string]int
}

func (r *rawPayloads) read(rec files.Record) error {
	body := rec.Fields.Whole()
	if rec.File == "" {
		return r.add(r.begin("", ""), conversation.Turn{Raw: body, Complete: true})
	}
	i, known := r.byFile[rec.File]
	if !known {
		i = r.begin(strings.TrimSuffix(path.Base(rec.File), path.Ext(rec.File)), "")
		r.byFile[rec.File] = i
	}
	return r.add(i, conversation.Turn{Raw: body, Complete: true})
}
