package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
)

// A single_turn object is a conversation of one turn:
//
//	{"text": "…", "output_length": 64, "timestamp": 1500}
//
// texts may stand for text, as a list of strings or of {"name", "contents"};
// role, model, system, delay (ms, instead of timestamp) and extra (merged into
// the body) are optional. output_length and max_tokens are the same.

func fitsSingleTurn(f *fields) bool { return f.has("text") || f.has("texts") }

func readSingleTurn(r *reader, f *fields) error {
	t, err := readTurn(f)
	if err != nil {
		return err
	}
	system, err := f.str("system")
	if err != nil {
		return err
	}
	f.used["type"], f.used["session_id"] = true, true
	r.add(r.begin("", system), t)
	return nil
}

// media are the modalities of the same formats that we cannot send.
var media = []string{"image", "images", "audio", "audios", "video", "videos", "image_uuids"}

// readTurn reads the fields that turns have in every format.
func readTurn(f *fields) (t Turn, err error) {
	for _, m := range media {
		if f.has(m) {
			return t, fmt.Errorf("%s: not supported yet", m)
		}
	}
	for _, pair := range [][2]string{{"text", "texts"}, {"timestamp", "delay"}, {"output_length", "max_tokens"}} {
		if err := f.oneOf(pair[0], pair[1]); err != nil {
			return t, err
		}
	}
	var errs [8]error
	t.Texts, errs[0] = readTexts(f)
	t.Role, errs[1] = f.str("role")
	t.Model, errs[2] = f.str("model")
	t.Timestamp, errs[3] = f.millis("timestamp")
	delay, e := f.millis("delay")
	if errs[4] = e; delay != nil {
		t.Delay = *delay
	}
	t.Extra, errs[5] = f.object("extra")
	t.MaxTokens, errs[6] = f.count("output_length")
	if t.MaxTokens == 0 {
		t.MaxTokens, errs[7] = f.count("max_tokens")
	}
	for _, err := range errs {
		if err != nil {
			return t, err
		}
	}
	return t, nil
}

// readTexts is text, or texts flattened.
func readTexts(f *fields) ([]string, error) {
	if f.has("text") {
		text, err := f.str("text")
		if err == nil && text == "" {
			err = errors.New("text: is empty")
		}
		return []string{text}, err
	}
	list, err := f.list("texts")
	if err != nil {
		return nil, err
	}
	var texts []string
	for i, raw := range list {
		some, err := readText(raw)
		if err != nil {
			return nil, fmt.Errorf("texts[%d]: %w", i, err)
		}
		texts = append(texts, some...)
	}
	if len(texts) == 0 {
		return nil, errors.New("no text")
	}
	return texts, nil
}

func readText(raw json.RawMessage) ([]string, error) {
	var text string
	if json.Unmarshal(raw, &text) == nil && raw[0] == '"' {
		return []string{text}, nil
	}
	var named struct {
		Contents []string `json:"contents"`
	}
	if raw[0] != '{' || json.Unmarshal(raw, &named) != nil || len(named.Contents) == 0 {
		return nil, errors.New(`want a string or {"name": …, "contents": [strings]}`)
	}
	return named.Contents, nil
}
