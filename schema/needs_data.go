package schema

import (
	"slices"
	"strings"

	"aiperf.dev/aiperf/schema/fields"
	"aiperf.dev/aiperf/schema/source"
)

// builtInPictures are the words of images.source; any other is a folder.
var builtInPictures = []string{"noise", "assets"}

// Of data sets.
var (
	unscheduled = &need{name: "a phase that is not a fixed schedule", cell: func(v *view) lack {
		for i := range v.body.Phases {
			if t := fields.PhaseNamed(v.body.Phases[i].Type); t == nil || !t.Timed {
				return acts
			}
		}
		return lack{
			why:  "cannot be combined with a fixed schedule, whose records say their order",
			hint: "drop it, or use --no-fixed-schedule", hard: true,
		}
	}}
	made = &need{name: "synthetic data", cell: func(v *view) lack {
		return unless(v.dataset.Made(), " on requests that are recorded")
	}}
	madeText = &need{name: "synthetic data, and an endpoint type that takes text", cell: func(v *view) lack {
		return first(v, made, textTaken)
	}}
	textTaken = of("an endpoint type that takes text", func(t *fields.EndpointType) bool { return t.Text },
		", which takes no text")
	madeLengths = &need{name: "synthetic data, and an endpoint type that takes text", cell: func(v *view) lack {
		return first(v, made, textTaken, unranked)
	}}
	unranked = of("an endpoint type that does not rank", func(t *fields.EndpointType) bool { return !t.Ranks },
		", whose queries and passages have lengths of their own (rankings)")
	unpaired = &need{name: "no sequence_distribution", cell: func(v *view) lack {
		return unless(len(v.dataset.Prompts.Pairs) == 0,
			" beside sequence_distribution, which says all lengths (--seq-dist)")
	}}
	unsaid = &need{name: "no length in extra", cell: func(v *view) lack {
		for _, m := range v.body.Endpoint.Extra {
			if slices.Contains(lengthMembers, m.Name) {
				return lack{why: " beside extra." + m.Name + ", which says it, too (--extra-inputs)"}
			}
		}
		return acts
	}}
	tokens = of("an endpoint type that answers with tokens",
		func(t *fields.EndpointType) bool { return t.Tokens }, ", which produces no tokens")
	inputLength = &need{
		name: "synthetic data, an endpoint type that takes text, and no sequence_distribution",
		cell: func(v *view) lack { return first(v, madeLengths, unpaired) },
	}
	outputLength = &need{
		name: "an endpoint type that answers with tokens, and no sequence_distribution or length in extra",
		cell: func(v *view) lack {
			if f := v.format(); f != nil && f.Verbatim {
				return lack{why: " on records of the format " + f.Name + ", which are sent as they are"}
			}
			return first(v, tokens, unpaired, unsaid)
		},
	}
	batched = &need{name: "synthetic data, and an endpoint type that takes text", cell: func(v *view) lack {
		if w := pooledOnly(v, "prompt_batch_size"); w != acts {
			return w
		}
		return first(v, textTaken, unranked)
	}}
	cut = &need{name: "text that is written here: synthetic data, or a trace", cell: func(v *view) lack {
		if f := v.format(); !v.dataset.Made() && f != nil && !f.Trace {
			return lack{why: " on records of the format " + f.Name + ", which hold their texts"}
		}
		return first(v, textTaken)
	}}
	spread = &need{
		name: "synthetic data, and no sequence_distribution",
		cell: func(v *view) lack { return first(v, madeLengths, unpaired) },
	}
	spreadStyle = &need{name: "random_range_ratio", cell: func(v *view) lack {
		if v.dataset.Prompts.RandomRange == "" {
			return lack{why: " without random_range_ratio (--random-range-ratio)"}
		}
		return first(v, made)
	}}
	conversing = &need{name: "an endpoint type that takes a history", cell: func(v *view) lack {
		if v.turns() <= 1 {
			return acts
		}
		if t := v.endpoint(); t != nil && !t.System {
			return lack{why: "cannot be combined with an endpoint of type " + t.Name +
				", whose requests hold no history", hint: "use conversations of one turn", hard: true}
		}
		return acts
	}}
	severalTurns = &need{name: "synthetic data with several turns", cell: func(v *view) lack {
		if w := first(v, made); w != acts || v.turns() > 1 {
			return w
		}
		return lack{why: " on conversations of one turn (--conversation-turn-mean makes longer ones)"}
	}}
	delayed = &need{name: "turn_delay, or recorded waits", cell: func(v *view) lack {
		switch {
		case !v.dataset.Made():
			return takenByFormat(v, false)
		case v.dataset.TurnDelay.Most() == 0:
			return lack{why: " without a wait between turns (--conversation-turn-delay-mean)"}
		}
		return first(v, severalTurns)
	}}
	systemPrompt = &need{
		name: "an endpoint type that takes a system prompt, and records that take one",
		cell: func(v *view) lack {
			if w := first(v, systemPlace); w != acts || v.dataset.Made() {
				return w
			}
			return takenByFormat(v, false)
		},
	}
	systemPlace = &need{name: "an endpoint type that takes a system prompt", cell: func(v *view) lack {
		if t := v.endpoint(); t != nil && !t.System {
			return lack{
				why:  "cannot be combined with an endpoint of type " + t.Name + ", which has no place for it",
				hint: "use an endpoint type that takes a system prompt, such as chat", hard: true,
			}
		}
		return acts
	}}
	busted = &need{name: "a text that it is put into", cell: func(v *view) lack {
		if v.dataset.Made() {
			return first(v, textTaken)
		}
		return takenByFormat(v, false)
	}}
	ranking = &need{name: "an endpoint type that ranks", cell: func(v *view) lack {
		if t := v.endpoint(); t != nil && !ranks(t) {
			return lack{
				why:  "cannot be combined with an endpoint of type " + t.Name + ", which ranks nothing",
				hint: "use one of " + strings.Join(fields.EndpointsThat(ranks), ", ") + " (--endpoint-type)",
				hard: true,
			}
		}
		return acts
	}}
	ofFormat = &need{
		name: "records of a format that takes it",
		cell: func(v *view) lack { return takenByFormat(v, false) },
	}
	ofFormatOnly = &need{
		name: "records of a format that takes it",
		cell: func(v *view) lack { return takenByFormat(v, true) },
	}
	imagesTaken = carried("images", "image_batch_size", func(t *fields.EndpointType) bool { return t.Images })
	audioTaken  = carried("audio", "audio_batch_size", func(t *fields.EndpointType) bool { return t.Audio })
	videoTaken  = carried("video", "video_batch_size", func(t *fields.EndpointType) bool { return t.Video })
	fromFolder  = &need{name: "a folder of images as source", cell: func(v *view) lack {
		if w := first(v, counted("images", "--image-batch-size")); w != acts {
			return w
		}
		if from := v.dataset.Images.Source; from == "" || slices.Contains(builtInPictures, from) {
			return lack{why: " without a folder of images (--image-source)"}
		}
		return acts
	}}
	soundTrack = &need{name: "a sound track (channels)", cell: func(v *view) lack {
		return unless(v.dataset.Video.Audio.Channels > 0, " without a sound track (--video-audio-num-channels)")
	}}
	hitRate = &need{name: "hit_rate", cell: func(v *view) lack {
		return unless(v.dataset.Prefix.HitRate > 0, " without hit_rate")
	}}
	resumed = &need{name: "a phase of agentic_replay", cell: func(v *view) lack { return anyPrimed(v) }}
)

func warmsUp(b *Benchmark) bool {
	return slices.ContainsFunc(b.Phases, func(p Phase) bool { return p.Kind == "warmup" })
}

// Closed tells whether no clock says when the phase sends.
func (p Phase) Closed() bool {
	t := fields.PhaseNamed(p.Type)
	return t != nil && t.Closed
}

func ranks(t *fields.EndpointType) bool { return t.Ranks }

// first is the first of needs that is not filled.
func first(v *view, needs ...*need) lack {
	for _, n := range needs {
		if w := n.cell(v); w != acts {
			return w
		}
	}
	return acts
}

// takenByFormat asks the rows of the formats whether they take the setting. Where
// the records say their format themselves, nothing is known before they are read.
func takenByFormat(v *view, strict bool) lack {
	taking := fields.FormatsTaking(v.name)
	switch f := v.format(); {
	case v.dataset.Made() && v.file:
		return lack{why: " without " + recordsOf(taking)}
	case v.dataset.Made():
		return lack{why: " without " + recordsOf(taking) + " (--input-file)"}
	case f != nil && !f.Takes(v.name):
		why := " on records of the format " + f.Name
		if !strict {
			return lack{why: why}
		}
		return lack{why: noEffect + why, hard: true, hint: takingHint(taking)}
	case f == nil && v.dataset.Dataset != "" && !slices.ContainsFunc(taking,
		func(f *fields.DatasetFormat) bool { return !f.Trace }):
		return lack{why: " on records of the published set " + v.dataset.Dataset}
	}
	return acts
}

// recordsOf is what records of some formats are called.
func recordsOf(formats []*fields.DatasetFormat) string {
	if slices.ContainsFunc(formats, func(f *fields.DatasetFormat) bool { return !f.Trace }) {
		return "a file of records"
	}
	return "a trace"
}

func takingHint(formats []*fields.DatasetFormat) string {
	var names []string
	for _, f := range formats[:min(len(formats), 4)] {
		names = append(names, f.Name)
	}
	return "drop it, or give " + recordsOf(formats) + " that takes it, such as " + strings.Join(names, ", ") +
		" (--custom-dataset-type)"
}

// pooledOnly: a file's records are put together only where they are a pool.
func pooledOnly(v *view, field string) lack {
	if v.dataset.Made() {
		return acts
	}
	f := v.format()
	switch {
	case f == nil && v.dataset.Dataset == "":
		return acts // the records say what they are
	case f.Takes(field):
		return lack{why: "is " + field + " for records of a pool", hint: "use dataset." + field, hard: true}
	}
	return lack{
		why:  "combines records of a pool, and these are not from a pool",
		hint: "drop it, or use --custom-dataset-type random_pool", hard: true,
	}
}

// carried: media are made beside synthetic text, and not every API takes them.
func carried(kind, pool string, takes func(*fields.EndpointType) bool) *need {
	return &need{name: "synthetic data, and an endpoint type that takes " + kind, cell: func(v *view) lack {
		if n := v.value.Get("batch_size"); n != nil && n.Origin.Source != source.ByDefault {
			if w := pooledOnly(v, pool); w != acts {
				return w
			}
		}
		if w := first(v, made); w != acts {
			return w
		}
		n := v.value.Get("batch_size")
		if t := v.endpoint(); t != nil && !takes(t) && n != nil && source.NumberOf(n.Value) > 0 {
			return lack{
				why:  " on an endpoint of type " + t.Name + ", which has no place for " + kind,
				hint: strings.Join(fields.EndpointsThat(takes), ", ") + " take " + kind,
			}
		}
		return acts
	}}
}

// counted: how media look matters where there are some.
func counted(kind, flag string) *need {
	return &need{name: "batch_size", cell: func(v *view) lack {
		if n := v.object.Get("batch_size"); n != nil && source.NumberOf(n.Value) > 0 {
			return acts
		}
		return lack{why: " without " + kind + " (" + flag + ")"}
	}}
}

// halfOf: prefixes need a number and a length.
func halfOf(other, flag string) *need {
	return &need{name: other, cell: func(v *view) lack {
		return unless(v.object.Get(other) != nil, " without "+other+" ("+flag+")")
	}}
}
