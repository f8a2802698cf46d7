package format

import (
	"path"
	"strings"

	"aiperf.dev/aiperf/loadgen/dataset/conversation"
	"aiperf.dev/aiperf/loadgen/dataset/files"
)

// randomPool draws requests: every conversation takes one record of each file,
// with replacement, and merges them. With a batch size other than 1 it takes
// that many items of each kind out of all records instead.
var randomPool = Format{
	Name: "random_pool", Doc: "one part of a request; conversations draw one part of each file", Sampling: "shuffle",
	Settings: append([]string{"prompt_batch_size", "image_batch_size", "audio_batch_size", "video_batch_size"},
		conversational...),
	fits:    fitsRandomPool,
	decoder: func(d *draft) decoder { return &pools{draft: d, byFile: map[string]int{}} },
}

func fitsRandomPool(r *files.Record) (bool, string) {
	if r.File == "" {
		return false, "a file of such records is a single_turn file; say format random_pool to draw from it"
	}
	if ok, _ := singleTurn.fits(&files.Record{Fields: r.Fields}); !ok {
		return false, "it has no text, image, audio or video"
	}
	return true, "it is a folder of texts or media"
}

// pool is the parts of one file.
type pool struct {
	name  string
	parts []conversation.Turn
}

// pools are the files that conversations draw from.
type pools struct {
	*draft
	list   []pool
	byFile map[string]int
}

func (r *pools) read(rec files.Record) error {
	for _, name := range []string{"timestamp", "delay"} {
		if rec.Fields.Has(name) {
			rec.Fields.Ignored(name) // reported as ignored
		}
	}
	name := strings.TrimSuffix(path.Base(rec.File), path.Ext(rec.File))
	t, err := r.turn(rec.Fields, name)
	if err != nil {
		return err
	}
	rec.Fields.Pass("type", "session_id")
	t.Timestamp, t.Delay = nil, 0
	i, known := r.byFile[rec.File]
	if !known {
		i = len(r.list)
		r.byFile[rec.File] = i
		r.list = append(r.list, pool{name: name})
	}
	r.list[i].parts = append(r.list[i].parts, t)
	return nil
}

// finish makes the conversations. Draw (i, p) is the part of pool p in
// conversation i.
func (r *pools) finish() error {
	n := r.cfg.Entries
	if n == 0 {
		n = conversation.DefaultEntries
	}
	stream := r.src.Draws("random_pool")
	sizes := []*int{r.cfg.PromptBatchSize, r.cfg.ImageBatchSize, r.cfg.AudioBatchSize, r.cfg.VideoBatchSize}
	for i := range n {
		var t conversation.Turn
		if batched(sizes) {
			t = r.batch(i, sizes)
		} else {
			for p := range r.list {
				parts := r.list[p].parts
				merge(&t, &parts[stream.At(i, p).IntN(len(parts))])
			}
		}
		if err := r.add(r.begin("", ""), t); err != nil {
			return err
		}
	}
	return nil
}

func batched(sizes []*int) bool {
	for _, s := range sizes {
		if s != nil && *s != 1 {
			return true
		}
	}
	return false
}

// batch draws so many of each kind, each on its own; a kind that nobody gave
// a size for is drawn once.
func (r *pools) batch(i int, sizes []*int) (t conversation.Turn) {
	var all conversation.Turn
	for p := range r.list {
		for k := range r.list[p].parts {
			merge(&all, &r.list[p].parts[k])
		}
	}
	draw := func(kind, have int, add func(int)) {
		n := 1
		if sizes[kind] != nil {
			n = *sizes[kind]
		}
		rng := r.src.Draws("random_pool").At(i, kind)
		for range n {
			if have > 0 {
				add(rng.IntN(have))
			}
		}
	}
	draw(0, len(all.Texts), func(k int) { t.Texts = append(t.Texts, all.Texts[k]) })
	draw(1, len(all.Images), func(k int) { t.Images = append(t.Images, all.Images[k]) })
	draw(2, len(all.Audios), func(k int) { t.Audios = append(t.Audios, all.Audios[k]) })
	draw(3, len(all.Videos), func(k int) { t.Videos = append(t.Videos, all.Videos[k]) })
	return t
}

// merge adds what p holds to t.
func merge(t, p *conversation.Turn) {
	t.Texts = append(t.Texts, p.Texts...)
	t.Passages = append(t.Passages, p.Passages...)
	t.Images, t.Audios, t.Videos = append(t.Images, p.Images...), append(t.Audios, p.Audios...),
		append(t.Videos, p.Videos...)
	for _, s := range []struct{ to, from *string }{{&t.Query, &p.Query}, {&t.Role, &p.Role}, {&t.Model, &p.Model}} {
		if *s.from != "" {
			*s.to = *s.from
		}
	}
	if p.MaxTokens > 0 {
		t.MaxTokens = p.MaxTokens
	}
	if p.Extra != nil {
		t.Extra = p.Extra
	}
}
