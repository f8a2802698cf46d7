package dataset

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/loadgen/dataset/files"
	"aiperf.dev/aiperf/schema"
)

// A single_turn object is a conversation of one turn:
//
//	{"text": "…", "output_length": 64, "timestamp": 1500}
//
// texts may stand for text, as a list of strings or of {"name", "contents"};
// role, model, system, delay (ms, instead of timestamp) and extra (merged into
// the body) are optional. output_length and max_tokens are the same.

var singleTurn = Format{
	Name: "single_turn", Doc: "a request with its text or media", Sampling: "sequential", Settings: conversational, Streams: true,
	fits: fitsSingleTurn, read: readSingleTurn,
}

// said are the fields that hold what is asked.
var said = []string{"text", "texts", "image", "images", "audio", "audios", "video", "videos"}

func fitsSingleTurn(r *files.Record) (bool, string) {
	if r.File != "" {
		return false, "a folder of such records is a random_pool"
	}
	return has(said...)(r)
}

func readSingleTurn(r *reader, rec files.Record) error {
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
			r.doubt("%s: time stamps go back here; by a schedule the records are played in the order of time", rec.Place)
		}
		r.latest = max(r.latest, *at)
	}
	return r.add(r.begin("", system), t)
}

// turn reads the fields that turns have in every format. Texts without a name
// of their own are called name.
func (r *reader) turn(f *files.Fields, name string) (t Turn, err error) {
	for _, pair := range [][2]string{
		{"text", "texts"}, {"image", "images"}, {"audio", "audios"}, {"video", "videos"}, {"timestamp", "delay"}, {"output_length", "max_tokens"},
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
	t.Extra, errs[5] = f.Object("extra")
	t.MaxTokens, errs[6] = f.Count("output_length")
	if t.MaxTokens == 0 {
		t.MaxTokens, errs[7] = f.Count("max_tokens")
	}
	t.Images, errs[8] = r.media(f, "image")
	t.Audios, errs[9] = r.media(f, "audio")
	t.Videos, errs[10] = r.media(f, "video")
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
func readTexts(f *files.Fields, name string, t *Turn) error {
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
func (r *reader) media(f *files.Fields, kind string) (out []Media, err error) {
	list, err := items(f, kind, kind+"s", "")
	if err != nil {
		return nil, err
	}
	for i, n := range list {
		if n.content == "" && n.uuid == "" && f.Has("image_uuids") {
			out = append(out, Media{})
			continue
		}
		it, err := r.library.Load(kind, n.content)
		if err != nil {
			return nil, fmt.Errorf("%s %d: %w", kind, i+1, err)
		}
		m := asMedia(it)
		m.UUID = n.uuid
		out = append(out, m)
	}
	return out, nil
}

// readUUIDs gives the images their names in the server's cache.
func readUUIDs(f *files.Fields, t *Turn) error {
	var uuids []string
	said, err := f.Decode("image_uuids", &uuids, "a list of names")
	if err != nil || !said {
		return err
	}
	if len(t.Images) == 0 {
		t.Images = make([]Media, len(uuids))
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

// A multi_turn object is a conversation, or more turns of an earlier one with
// the same session_id:
//
//	{"session_id": "a", "turns": [{"text": "…"}, {"text": "…", "delay": 800}]}
//
// Turns have the fields of single_turn. A first turn of role system becomes
// the conversation's system prompt, as does a "system" field.

var multiTurn = Format{
	Name: "multi_turn", Doc: "a conversation with its turns", Sampling: "sequential", Settings: conversational, Streams: true, joins: true,
	fits: has("turns"), read: readMultiTurn,
}

func readMultiTurn(r *reader, rec files.Record) error {
	f := rec.Fields
	id, err := f.Str("session_id")
	if err != nil {
		return err
	}
	system, err := f.Str("system")
	if err != nil {
		return err
	}
	f.Pass("type")
	list, err := f.List("turns")
	if err != nil {
		return err
	}
	turns := make([]Turn, len(list))
	for i, raw := range list {
		tf, err := files.New(raw)
		if err == nil {
			turns[i], err = r.turn(tf, "")
		}
		if err != nil {
			return fmt.Errorf("turns[%d]: %w", i, err)
		}
		for _, name := range tf.Unused() {
			f.Set("turns[]."+name, nil) // reported with the object's own
		}
	}
	return r.join(id, system, turns)
}

// join adds the turns to the conversation called id, or to a new one.
func (r *reader) join(id, system string, turns []Turn) error {
	i, known := r.byID[id]
	if !known && len(turns) > 0 && isSystem(&turns[0]) {
		system = joinSystem(system, turns[0].Texts[0])
		turns = turns[1:]
	}
	if err := r.goesOn(id); err != nil {
		return err
	}
	if len(turns) == 0 {
		return errors.New("turns: a conversation needs at least one turn of the user")
	}
	if known && system != "" {
		return fmt.Errorf("session %q: the system prompt belongs to its first line", id)
	}
	if !known {
		i = r.begin(id, system)
	}
	if id != "" {
		r.byID[id] = i
	}
	for _, t := range turns {
		if err := r.add(i, t); err != nil {
			return err
		}
	}
	return nil
}

// isSystem tells a turn that is nothing but a system prompt.
func isSystem(t *Turn) bool {
	return t.Role == "system" && len(t.Texts) == 1 && t.Timestamp == nil && t.Delay == 0 && len(t.Extra) == 0
}

// table is a format of its own: a CSV or Parquet file, or records, whose
// fields are called by other names. columns says which is which.
var table = Format{
	Name: "table", Doc: "a row of a CSV or Parquet file, with columns that say where text and lengths stand", Sampling: "sequential", Streams: true,
	Settings: append([]string{"columns"}, conversational...), fits: fitsTable, read: readTable,
}

// textColumns are the names under which published tables keep their prompts.
var textColumns = []string{"text", "prompt", "question", "instruction", "problem", "input", "query", "content"}

func fitsTable(r *files.Record) (bool, string) {
	for _, name := range textColumns {
		var s string
		if raw := r.Fields.Value(name); raw != nil && json.Unmarshal(raw, &s) == nil {
			return true, "it has the column " + name
		}
	}
	return false, "it has no column " + orList(textColumns)
}

// readTable gives the columns the names that single_turn knows.
func readTable(r *reader, rec files.Record) error {
	f := rec.Fields
	for ours, theirs := range r.cfg.Columns {
		if !f.Has(theirs) {
			return fmt.Errorf("columns.%s: there is no column %s; there are %s", ours, theirs, strings.Join(f.Names(), ", "))
		}
		f.Rename(theirs, ours)
	}
	if !f.Has("text") && !f.Has("texts") {
		for _, name := range textColumns {
			if f.Has(name) {
				f.Rename(name, "text")
				break
			}
		}
	}
	return readSingleTurn(r, rec)
}

// Line is a conversation as a line of a multi_turn file that reads back to the
// same conversation. One that this format has no words for, such as a whole
// body or recorded messages, is an error.
func Line(c *Conversation) ([]byte, error) {
	type turn struct {
		Texts     []any          `json:"texts,omitempty"`
		Images    []string       `json:"images,omitempty"`
		Audios    []string       `json:"audios,omitempty"`
		Videos    []string       `json:"videos,omitempty"`
		Role      string         `json:"role,omitempty"`
		Model     string         `json:"model,omitempty"`
		Output    int64          `json:"output_length,omitempty"`
		Timestamp *float64       `json:"timestamp,omitempty"`
		Delay     float64        `json:"delay,omitempty"`
		Extra     map[string]any `json:"extra,omitempty"`
	}
	line := struct {
		ID     string `json:"session_id"`
		System string `json:"system,omitempty"`
		Turns  []turn `json:"turns"`
	}{ID: c.ID, System: c.System}
	for i := range c.Turns {
		t := &c.Turns[i]
		w := turn{Role: t.Role, Model: t.Model, Output: t.MaxTokens, Delay: float64(t.Delay) / 1e6, Extra: t.Extra}
		if t.Timestamp != nil {
			ms := float64(*t.Timestamp) / 1e6
			w.Timestamp = &ms
		}
		if t.Query != "" {
			w.Texts = append(w.Texts, map[string]any{"name": "query", "contents": []string{t.Query}})
		}
		if len(t.Passages) > 0 {
			w.Texts = append(w.Texts, map[string]any{"name": "passages", "contents": t.Passages})
		}
		for _, text := range t.Texts {
			w.Texts = append(w.Texts, text)
		}
		for _, kind := range []struct {
			to   *[]string
			from []Media
		}{{&w.Images, t.Images}, {&w.Audios, t.Audios}, {&w.Videos, t.Videos}} {
			for i := range kind.from {
				*kind.to = append(*kind.to, kind.from[i].Address())
			}
		}
		line.Turns = append(line.Turns, w)
	}
	b, err := json.Marshal(line)
	if err == nil {
		err = readsBack(b, c)
	}
	return b, err
}

// readsBack tells whether line says all that c is.
func readsBack(line []byte, c *Conversation) error {
	r, err := newReader(schema.Dataset{}, nil, source{}, "")
	if err != nil {
		return err
	}
	f, err := files.New(line)
	if err == nil {
		err = readMultiTurn(r, files.Record{Fields: f})
	}
	if err != nil {
		return fmt.Errorf("conversation %s: %w", c.ID, err)
	}
	want := *c
	want.Opening, want.Turns = 0, slices.Clone(c.Turns)
	for i := range want.Turns {
		t := &want.Turns[i]
		t.ISL = 0 // counted when it is read
		for _, list := range []*[]Media{&t.Images, &t.Audios, &t.Videos} {
			*list = slices.Clone(*list)
			for k := range *list {
				(*list)[k].Length = 0 // known of media that were made here only
			}
		}
	}
	is, err1 := json.Marshal(&r.conversations[0])
	was, err2 := json.Marshal(&want)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	if !bytes.Equal(is, was) {
		return diag.Errorf("conversation %s: a multi_turn file has no words for all of it", c.ID).Try("texts, media, output lengths, times and extra are written; whole bodies, recorded messages, tools and a user's context are not")
	}
	return nil
}
