package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
)

// rawPayload is a request body per line, sent byte for byte. In a folder each
// file is one conversation whose lines are its turns.
var rawPayload = Format{
	Name: "raw_payload", Doc: "a whole request body; in a folder each file is a conversation", Complete: true, Verbatim: true,
	Sampling: "sequential", fits: fitsRawPayload, read: readRawPayload,
}

func fitsRawPayload(r *record) (bool, string) {
	var list []json.RawMessage
	switch {
	case r.fields.has("conversation_id"):
		return false, "it has conversation_id"
	case json.Unmarshal(r.fields.values["messages"], &list) != nil || len(list) == 0:
		return false, "it has no list messages"
	}
	return true, "it has messages and nothing of a trace"
}

func readRawPayload(r *reader, rec record) error {
	body := rec.fields.whole()
	if rec.file == "" {
		return r.add(r.begin("", ""), Turn{Raw: body, Complete: true})
	}
	i, known := r.byID[rec.file]
	if !known {
		i = r.begin(strings.TrimSuffix(path.Base(rec.file), path.Ext(rec.file)), "")
		r.byID[rec.file] = i
	}
	return r.add(i, Turn{Raw: body, Complete: true})
}

// inputsJSON is the inputs.json of an earlier run: the bodies of a session in
// their order.
var inputsJSON = Format{
	Name: "inputs_json", Doc: "a session of an earlier run's inputs.json with its request bodies", Complete: true, Verbatim: true,
	Sampling: "sequential", fits: hasAll("session_id", "payloads"), read: readInputsJSON,
}

func readInputsJSON(r *reader, rec record) error {
	id, err := rec.fields.str("session_id")
	if err != nil {
		return err
	}
	list, err := rec.fields.list("payloads")
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return errors.New("payloads: a session needs at least one body")
	}
	i := r.begin(id, "")
	for k, body := range list {
		if len(body) == 0 || body[0] != '{' {
			return fmt.Errorf("payloads[%d]: want a request body, an object", k)
		}
		if err := r.add(i, Turn{Raw: body, Complete: true}); err != nil {
			return err
		}
	}
	return nil
}
