package aiperf

import (
	"encoding/json"
	"fmt"
	"iter"
	"path/filepath"

	"aiperf.dev/aiperf/sinks"
)

// WriteInputs writes inputs.json: every conversation of the dataset with the
// bodies of its requests, each without the turns before it, whose answers are the
// server's.
func WriteInputs(dir string, sessions iter.Seq2[string, []json.RawMessage]) (sinks.FileInfo, error) {
	const name = "inputs.json"
	a, err := sinks.CreateArtifact(dir, name)
	if err != nil {
		return sinks.FileInfo{}, err
	}
	defer a.Abort()
	rows := int64(0)
	sep := "{\n  \"data\": [\n    "
	for id, payloads := range sessions {
		if payloads == nil {
			payloads = []json.RawMessage{}
		}
		b, err := indentedAt(object{}.with("session_id", id).with("payloads", payloads), "    ")
		if err != nil {
			return sinks.FileInfo{}, fmt.Errorf("write %s: session %s: %w", filepath.Join(dir, name), id, err)
		}
		if _, err := a.Write(append([]byte(sep), b...)); err != nil {
			return sinks.FileInfo{}, err
		}
		sep = ",\n    "
		rows++
	}
	end := "\n  ]\n}"
	if rows == 0 {
		end = "{\n  \"data\": []\n}"
	}
	if _, err := a.Write([]byte(end)); err != nil {
		return sinks.FileInfo{}, err
	}
	return a.Commit("inputs", "", rows)
}
