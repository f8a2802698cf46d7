package dataset

import (
	"path"
	"strings"

	"aiperf.dev/aiperf/loadgen/dataset/files"
)

// randomPool draws requests: every conversation takes one record of each file,
// with replacement, and merges them. With a batch size other than 1 it takes
// that many items of each kind out of all records instead.
var randomPool = Format{
	Name: "random_pool", Doc: "one part of a request; conversations draw one part of each file", Sampling: "shuffle",
	Settings: append([]string{"prompt_batch_size", "image_batch_size", "audio_batch_size", "video_batch_size"}, conversational...),
	fits:     fitsRandomPool, read: readRandomPool, finish: drawRandomPool,
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
	parts []Turn
}

func readRandomPool(r *reader, rec files.Record) error {
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
	i, known := r.byID[rec.File]
	if !known {
		i = len(r.pools)
		r.byID[rec.File] = i
		r.pools = append(r.pools, pool{name: name})
	}
	r.pools[i].parts = append(r.pools[i].parts, t)
	return nil
}

// drawRandomPool makes the conversations. Draw (i, p) is the part of pool p in
// conversation i.
func drawRandomPool(r *reader) error {
	n := r.cfg.Entries
	if n == 0 {
		n = DefaultEntries
	}
	stream := r.src.shape("random_pool")
	sizes := []*int{r.cfg.PromptBatchSize, r.cfg.ImageBatchSize, r.cfg.AudioBatchSize, r.cfg.VideoBatchSize}
	for i := range n {
		var t Turn
		if batched(sizes) {
			t = r.batch(i, sizes)
		} else {
			for p := range r.pools {
				parts := r.pools[p].parts
				t.merge(&parts[stream.At(i, p).IntN(len(parts))])
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
func (r *reader) batch(i int, sizes []*int) (t Turn) {
	var all Turn
	for p := range r.pools {
		for k := range r.pools[p].parts {
			all.merge(&r.pools[p].parts[k])
		}
	}
	draw := func(kind, have int, take func(int)) {
		n := 1
		if sizes[kind] != nil {
			n = *sizes[kind]
		}
		rng := r.src.shape("random_pool").At(i, kind)
		for range n {
			if have > 0 {
				take(rng.IntN(have))
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
func (t *Turn) merge(p *Turn) {
	t.Texts = append(t.Texts, p.Texts...)
	t.Passages = append(t.Passages, p.Passages...)
	t.Images, t.Audios, t.Videos = append(t.Images, p.Images...), append(t.Audios, p.Audios...), append(t.Videos, p.Videos...)
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
