package format

import (
	"errors"
	"fmt"

	"aiperf.dev/aiperf/loadgen/dataset/conversation"
	"aiperf.dev/aiperf/loadgen/dataset/files"
)

// inputsJSON is the inputs.json of an earlier run: the bodies of a session in
// their order.
var inputsJSON = Format{
	Name: "inputs_json", Doc: "a session of an earlier run's inputs.json with its request bodies", Complete: true,
	Verbatim: true,
	Sampling: "sequential", fits: hasAll("session_id", "payloads"),
	decoder: func(d *draft) decoder { return pastInputs{d} },
}

// pastInputs are the sessions of an earlier run.
type pastInputs struct{ *draft }

func (d pastInputs) read(rec files.Record) error {
	id, err := rec.Fields.Str("session_id")
	if err != nil {
		return err
	}
	list, err := rec.Fields.List("payloads")
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return errors.New("payloads: a session needs at least one body")
	}
	i := d.begin(id, "")
	for k, body := range list {
		if len(body) == 0 || body[0] != '{' {
			return fmt.Errorf("payloads[%d]: want a request body, an object", k)
		}
		if err := d.add(i, conversation.Turn{Raw: body, Complete: true}); err != nil {
			return err
		}
	}
	return nil
}
