package format

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/loadgen/dataset/conversation"
	"aiperf.dev/aiperf/loadgen/dataset/files"
	"aiperf.dev/aiperf/loadgen/dataset/media"
	"aiperf.dev/aiperf/loadgen/dataset/public"
	"aiperf.dev/aiperf/loadgen/dataset/synth"
	"aiperf.dev/aiperf/loadgen/tokenizer"
	"aiperf.dev/aiperf/schema"
)

// Published reads a published data set that stands at a place on this machine.
func Published(
	ctx context.Context, cfg schema.Dataset, tok tokenizer.Tokenizer, src synth.Source, s *public.Set, at public.Place,
) (*Made, error) {
	cfg.Path = cmp.Or(s.Repo, s.Name) // what errors about the whole call it
	if s.Format != "" && s.Corpus != "" && cfg.Prompts.Corpus == "" {
		cfg.Prompts.Corpus = s.Corpus
	}
	r, err := newReader(cfg, tok, src, at.Dir)
	if err != nil {
		return nil, err
	}
	r.strict, r.most = true, cfg.Entries
	if s.Format != "" {
		r.use(named(s.Format))
	} else {
		r.use(columnsOf(s))
	}
	if r.most == 0 && s.Large {
		r.most = conversation.DefaultEntries
		r.note("%s: the first %d records are taken; entries (--num-dataset-entries) takes another number", s.Name,
			r.most)
	}
	if err := r.each(ctx, func(f func(files.Record) error) error { return files.EachOf(at.Files, f) }); err != nil {
		return nil, err
	}
	made := r.made()
	if made.Empty() {
		return nil, fmt.Errorf("%s: no record can be sent (%s left out)",
			s.Name, words.CountOf(r.skipped, "was", "were"))
	}
	origin := cmp.Or(s.Repo, s.Address)
	if at.Commit != "" {
		origin += " at " + at.Commit
	}
	made.Notes = append(made.Notes, fmt.Sprintf("%s: %s, licence: %s", s.Name, origin, cmp.Or(s.License, "not stated")))
	return made, nil
}

// columnsOf is the format of a published set, as its row describes it. Files that users
// have never have it.
func columnsOf(s *public.Set) *Format {
	return &Format{
		Name: "public", Sampling: "sequential",
		fits:    func(*files.Record) (bool, string) { return true, "" },
		decoder: func(d *draft) decoder { return &columns{d, s} },
	}
}

// columns reads records by the names that a set gives its columns.
type columns struct {
	*draft
	set *public.Set
}

func (r *columns) read(rec files.Record) error {
	f, s := rec.Fields, r.set
	f.Pass()
	if ok, err := r.wanted(f); err != nil || !ok {
		return err
	}
	var turns []conversation.Turn
	var err error
	id := ""
	switch {
	case s.Spans:
		id, turns, err = spanTurns(f)
	case s.Pairs:
		turns, err = r.pairs(f)
	default:
		turns, err = r.columnTurns(f)
	}
	if err != nil {
		return err
	}
	if len(turns) == 0 {
		r.skipped++
		return nil
	}
	return r.addAll(r.begin(id, ""), turns)
}

// wanted reports whether the record has the columns' values that were asked for.
func (r *columns) wanted(f *files.Fields) (bool, error) {
	for _, name := range slices.Sorted(maps.Keys(r.cfg.Filters)) {
		column := name
		if r.set.Spans && name == "source_model" {
			column = "models"
		}
		if !f.Has(column) {
			return false, fmt.Errorf("filters.%s: the data set has no such column; its columns are %s", name,
				strings.Join(f.Names(), ", "))
		}
		var list []any
		if json.Unmarshal(f.Value(column), &list) != nil {
			var one any
			if err := json.Unmarshal(f.Value(column), &one); err != nil {
				return false, err
			}
			list = []any{one}
		}
		want := recordedModel(fmt.Sprint(r.cfg.Filters[name]))
		if !slices.ContainsFunc(list, func(v any) bool {
			return strings.EqualFold(recordedModel(fmt.Sprint(v)),
				want)
		}) {
			return false, nil
		}
	}
	return true, nil
}

// recordedModel is a model's name without the provider that served it.
func recordedModel(name string) string {
	for _, provider := range []string{"openai/azure/", "azure/", "aws/", "gcp/"} {
		if len(name) > len(provider) && strings.EqualFold(name[:len(provider)], provider) {
			return name[len(provider):]
		}
	}
	return name
}

// spanTurns are the calls of a recorded session; between two lies the time that
// lay between them then.
func spanTurns(f *files.Fields) (id string, turns []conversation.Turn, err error) {
	if id, err = f.Str("session_id"); err != nil || id == "" {
		return "", nil, errors.New("session_id: missing")
	}
	calls, err := public.Calls(f.Value("spans"))
	for i, c := range calls {
		since := c.Start.Sub(calls[0].Start)
		t := conversation.Turn{
			MaxTokens: c.Out, Complete: true, Messages: c.Messages, Tools: c.Tools,
			Timestamp: &since,
		}
		if i > 0 {
			t.Delay = max(0, c.Start.Sub(calls[i-1].End))
		}
		turns = append(turns, t)
	}
	return id, turns, err
}

// columnTurns are the prompts of a record with its media on the first of them.
func (r *columns) columnTurns(f *files.Fields) ([]conversation.Turn, error) {
	prompts, err := r.prompts(f)
	if err != nil || len(prompts) == 0 {
		return nil, err
	}
	var first conversation.Turn
	for _, m := range []struct {
		kind, column string
		to           *[]conversation.Media
	}{
		{"image", r.set.Image, &first.Images},
		{"audio", r.set.Audio, &first.Audios},
		{"video", r.set.Video, &first.Videos},
	} {
		if m.column == "" {
			continue
		}
		it, ok, err := r.cell(m.kind, f.Value(m.column))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.column, err)
		}
		if ok {
			*m.to = append(*m.to, it)
		}
	}
	if a := first.Audios; r.set.Say != "" &&
		(len(a) == 0 || r.set.Longest > 0 && a[0].Length.Seconds() > r.set.Longest) {
		return nil, nil
	}
	first.Texts = prompts[:1]
	turns := []conversation.Turn{first}
	for _, p := range prompts[1:] {
		turns = append(turns, conversation.Turn{Texts: []string{p}})
	}
	return turns, nil
}

// prompts are the texts of a record's turns; none when its text is empty.
func (r *columns) prompts(f *files.Fields) ([]string, error) {
	s := r.set
	var out []string
	switch {
	case s.Say != "":
		out = []string{s.Say}
	case s.Talk != "":
		out = []string{firstOfUser(f.Value(s.Talk), s.Content)}
	case s.Template != "":
		text, err := fill(s.Template, f)
		if err != nil {
			return nil, err
		}
		out = []string{text}
	default:
		if !f.Has(s.Prompt) {
			return nil, fmt.Errorf("the file has no column %s; it has %s", s.Prompt, strings.Join(f.Names(), ", "))
		}
		if out = textsOf(f.Value(s.Prompt)); len(out) == 0 {
			return nil, fmt.Errorf("%s: want a text or a list of texts", s.Prompt)
		}
		out = out[:min(len(out), max(1, s.Turns))]
	}
	if s.Choices != "" {
		out[0] = withChoices(out[0], f.Value(s.Choices))
	}
	if strings.TrimSpace(out[0]) == "" {
		return nil, nil
	}
	return slices.DeleteFunc(out, func(p string) bool { return strings.TrimSpace(p) == "" }), nil
}

// textsOf is a text, or the texts of a list.
func textsOf(raw json.RawMessage) []string {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		return []string{one}
	}
	var list []string
	if json.Unmarshal(raw, &list) != nil {
		return nil
	}
	return list
}

// fill puts columns in the place of {column}.
func fill(template string, f *files.Fields) (string, error) {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(template, "{")
		out.WriteString(before)
		if !found {
			return out.String(), nil
		}
		name, after, _ := strings.Cut(rest, "}")
		text := textsOf(f.Value(name))
		if len(text) != 1 {
			return "", fmt.Errorf("there is no text %s; the texts are %s", name, strings.Join(f.Names(), ", "))
		}
		out.WriteString(text[0])
		template = after
	}
}

// withChoices appends named choices, as "A.first B.second".
func withChoices(text string, raw json.RawMessage) string {
	var choices map[string]*string
	if json.Unmarshal(raw, &choices) != nil {
		return text
	}
	for _, k := range slices.Sorted(maps.Keys(choices)) {
		if v := choices[k]; v != nil && *v != "" {
			text += " " + k + "." + *v
		}
	}
	return strings.TrimSpace(text)
}

// saidBy is a message of a list: who said it and, under several names, what.
type saidBy struct {
	who    string
	fields map[string]json.RawMessage
}

// messagesOf reads a list of messages; each may stand in a list of its own.
func messagesOf(raw json.RawMessage) (out []saidBy) {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return nil
	}
	for _, e := range list {
		var inner []json.RawMessage
		if json.Unmarshal(e, &inner) == nil {
			if len(inner) == 0 {
				continue
			}
			e = inner[0]
		}
		m := saidBy{}
		if json.Unmarshal(e, &m.fields) != nil || len(m.fields) == 0 {
			continue
		}
		for _, name := range []string{"role", "from"} {
			if t := textsOf(m.fields[name]); len(t) == 1 && m.who == "" {
				m.who = strings.ToLower(t[0])
			}
		}
		out = append(out, m)
	}
	return out
}

// text is what was said, without the marks that stand for images.
func (m saidBy) text(content string) string {
	t := textsOf(m.fields[content])
	if len(t) != 1 {
		return ""
	}
	return strings.TrimSpace(strings.ReplaceAll(t[0], "<image>", ""))
}

// firstOfUser is the first message of the user, or of anybody where nobody is
// named.
func firstOfUser(raw json.RawMessage, content string) string {
	list := messagesOf(raw)
	for _, m := range list {
		if m.who == "user" || m.who == "human" {
			return m.text(content)
		}
	}
	if len(list) == 0 {
		return ""
	}
	return list[0].text(content)
}

// What a pair of prompt and answer may be long, in tokens: the bounds of vLLM's
// benchmark.
const (
	shortest, longestPrompt, longestPair = 4, 1024, 2048
)

// pairs are the turns of a conversation whose answers are known: every prompt
// with the answer behind it. A conversation is left out as a whole when one of
// its pairs is too short or too long.
func (r *columns) pairs(f *files.Fields) (turns []conversation.Turn, err error) {
	if r.tok == nil {
		return nil, errors.New("its answers need a tokenizer to be counted")
	}
	list := messagesOf(f.Value(r.set.Talk))
	named := slices.ContainsFunc(list, func(m saidBy) bool { return m.who == "human" || m.who == "gpt" })
	if named {
		list = slices.DeleteFunc(list, func(m saidBy) bool { return m.who != "human" && m.who != "gpt" })
	} else {
		list = list[:min(2, len(list))]
	}
	for i := 0; i+1 < len(list); i++ {
		if named && (list[i].who != "human" || list[i+1].who != "gpt") {
			continue
		}
		prompt, answer := textsOf(list[i].fields[r.set.Content]), textsOf(list[i+1].fields[r.set.Content])
		i++
		if len(prompt) != 1 || len(answer) != 1 || prompt[0] == "" || answer[0] == "" {
			continue
		}
		in, out := r.tok.Count(prompt[0]), r.tok.Count(answer[0])
		if in < shortest || in > longestPrompt || in+out > longestPair || out < shortest && r.osl == nil {
			return nil, nil
		}
		turns = append(turns, conversation.Turn{Texts: prompt, MaxTokens: int64(out)})
	}
	return turns, nil
}

// cell is an image, sound or video of a table: bytes with a name, an address, a
// path, or the first of a list of those.
func (r *columns) cell(kind string, raw json.RawMessage) (m conversation.Media, ok bool, err error) {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil {
		if len(list) == 0 {
			return m, false, nil
		}
		raw = list[0]
	}
	var ref string
	if raw == nil || json.Unmarshal(raw, &ref) == nil && ref == "" {
		return m, false, nil
	}
	var it media.Item
	if ref != "" {
		it, err = r.library.Load(kind, ref)
		return conversation.OfItem(it), err == nil, err
	}
	var object struct {
		Bytes json.RawMessage
		Path  *string
	}
	if err := json.Unmarshal(raw, &object); err != nil {
		return m, false, fmt.Errorf("want bytes, a path or an address of %s", kind)
	}
	name := ""
	if object.Path != nil {
		name = *object.Path
	}
	b, err := cellBytes(object.Bytes)
	switch {
	case err != nil:
		return m, false, err
	case len(b) == 0 && name != "":
		it, err = r.library.Load(kind, name)
	case len(b) == 0:
		return m, false, nil
	default:
		it, err = media.OfBytes(kind, b, name)
	}
	return conversation.OfItem(it), err == nil, err
}

// cellBytes are bytes as tables hold them: as text, or in base64.
func cellBytes(raw json.RawMessage) ([]byte, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return []byte(text), nil
	}
	var object map[string]string
	if json.Unmarshal(raw, &object) != nil {
		return nil, errors.New("bytes: neither text nor base64")
	}
	return base64.StdEncoding.DecodeString(object[files.Encoded])
}
