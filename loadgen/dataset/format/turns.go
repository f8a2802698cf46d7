package format

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	"aiperf.dev/aiperf/loadgen/dataset/conversation"
	"aiperf.dev/aiperf/loadgen/dataset/files"
)

// turn reads the fields that turns have in every format. Texts without a name
// of their own are called name.
func (d *draft) turn(f *files.Fields, name string) (t conversation.Turn, err error) {
	for _, pair := range [][2]string{
		{"text", "texts"},
		{"image", "images"},
		{"audio", "audios"},
		{"video", "videos"},
		{"timestamp", "delay"},
		{"output_length", "max_tokens"},
	} {
		if err := f.OneOf(pair[0], pair[1]); err != nil {
			return t, err
		}
	}
	var errs [12]error
	errs[0] = readTexts(f, name, &t)
	t.Role, errs[1] = f.Str("role")
	t.Model, errs[2] = f.Str("model")
	t.Timestamp, errs[3] = f.Millis("timestamp")
	delay, e := f.Millis("delay")
	if errs[4] = e; delay != nil {
		t.Delay = *delay
	}
	_, errs[5] = f.Decode("extra", &t.Extra, "an object")
	t.MaxTokens, errs[6] = f.Count("output_length")
	if t.MaxTokens == 0 {
		t.MaxTokens, errs[7] = f.Count("max_tokens")
	}
	t.Images, errs[8] = d.media(f, "image")
	t.Audios, errs[9] = d.media(f, "audio")
	t.Videos, errs[10] = d.media(f, "video")
	errs[11] = readUUIDs(f, &t)
	for _, err := range errs {
		if err != nil {
			return t, err
		}
	}
	if len(t.Texts)+len(t.Passages)+len(t.Images)+len(t.Audios)+len(t.Videos) == 0 && t.Query == "" {
		return t, errors.New("no text, image, audio or video")
	}
	return t, nil
}

// items is the strings of a field or of its plural, each with its name.
func items(f *files.Fields, one, many, name string) (list []item, err error) {
	if f.Has(one) {
		s, err := f.Str(one)
		if err == nil && s == "" {
			err = fmt.Errorf("%s: is empty", one)
		}
		return []item{{name, s, ""}}, err
	}
	raws, err := f.List(many)
	if err != nil {
		return nil, err
	}
	for i, raw := range raws {
		some, err := readNamed(raw, name)
		if err != nil {
			return nil, fmt.Errorf("%s[%d]: %w", many, i, err)
		}
		list = append(list, some...)
	}
	return list, nil
}

type item struct{ name, content, uuid string }

// readNamed is a string, or the contents of {"name": …, "contents": […]}.
func readNamed(raw json.RawMessage, name string) (list []item, err error) {
	var text string
	if json.Unmarshal(raw, &text) == nil && raw[0] == '"' {
		return []item{{name, text, ""}}, nil
	}
	var object struct {
		Name     string   `json:"name"`
		Contents []string `json:"contents"`
		UUIDs    []string `json:"uuids"`
	}
	if raw[0] != '{' || json.Unmarshal(raw, &object) != nil || len(object.Contents) == 0 {
		return nil, errors.New(`want a string or {"name": …, "contents": [strings]}`)
	}
	for i, c := range object.Contents {
		n := item{cmp.Or(object.Name, name), c, ""}
		if i < len(object.UUIDs) {
			n.uuid = object.UUIDs[i]
		}
		list = append(list, n)
	}
	return list, nil
}

// readTexts files texts by their names: query and passages are a reranker's.
func readTexts(f *files.Fields, name string, t *conversation.Turn) error {
	list, err := items(f, "text", "texts", name)
	if err != nil {
		return err
	}
	for _, n := range list {
		switch n.name {
		case "query", "queries":
			t.Query = n.content
		case "passage", "passages":
			t.Passages = append(t.Passages, n.content)
		default:
			t.Texts = append(t.Texts, n.content)
		}
	}
	return nil
}

// media reads the images, sounds or videos of a turn.
func (d *draft) media(f *files.Fields, kind string) (out []conversation.Media, err error) {
	list, err := items(f, kind, kind+"s", "")
	if err != nil {
		return nil, err
	}
	for i, n := range list {
		if n.content == "" && n.uuid == "" && f.Has("image_uuids") {
			out = append(out, conversation.Media{})
			continue
		}
		it, err := d.library.Load(kind, n.content)
		if err != nil {
			return nil, fmt.Errorf("%s %d: %w", kind, i+1, err)
		}
		m := conversation.OfItem(it)
		m.UUID = n.uuid
		out = append(out, m)
	}
	return out, nil
}

// readUUIDs gives the images their names in the server's cache.
func readUUIDs(f *files.Fields, t *conversation.Turn) error {
	var uuids []string
	said, err := f.Decode("image_uuids", &uuids, "a list of names")
	if err != nil || !said {
		return err
	}
	if len(t.Images) == 0 {
		t.Images = make([]conversation.Media, len(uuids))
	}
	if len(uuids) != len(t.Images) {
		return fmt.Errorf("image_uuids: %d names for %d images", len(uuids), len(t.Images))
	}
	for i, u := range uuids {
		if u == "" {
			return fmt.Errorf("image_uuids[%d]: is empty", i)
		}
		t.Images[i].UUID = u
	}
	return nil
}
