package sinks

import (
	"encoding/json"
	"fmt"
	"iter"
	"path/filepath"
)

// WriteInputs writes inputs.json: every conversation of the dataset with the
// bodies of its requests, as they go on the wire.
func WriteInputs(dir string, sessions iter.Seq2[string, []json.RawMessage]) (FileInfo, error) {
	const name = "inputs.json"
	a, err := createArtifact(dir, name)
	if err != nil {
		return FileInfo{}, err
	}
	defer a.f.Abort()
	rows := int64(0)
	sep := "{\n  \"data\": [\n    "
	for id, payloads := range sessions {
		if payloads == nil {
			payloads = []json.RawMessage{}
		}
		b, err := indentedAt(object{}.with("session_id", id).with("payloads", payloads), "    ")
		if err != nil {
			return FileInfo{}, fmt.Errorf("write %s: session %s: %w", filepath.Join(dir, name), id, err)
		}
		if _, err := a.Write(append([]byte(sep), b...)); err != nil {
			return FileInfo{}, err
		}
		sep = ",\n    "
		rows++
	}
	end := "\n  ]\n}"
	if rows == 0 {
		end = "{\n  \"data\": []\n}"
	}
	if _, err := a.Write([]byte(end)); err != nil {
		return FileInfo{}, err
	}
	return a.commit("inputs", "", rows)
}
