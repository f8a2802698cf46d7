package schema

import (
	"slices"
	"strconv"
	"strings"

	"aiperf.dev/aiperf/schema/fields"
	"aiperf.dev/aiperf/schema/source"
)

// view is one setting in the cell that it is asked in.
type view struct {
	body    *Benchmark
	dataset *Dataset // that holds the setting, or the first one
	phase   *Phase   // that holds the setting; nil outside of phases
	object  *source.Node
	name    string
	value   *source.Node
	file    bool                           // the experiment is a file, not flags alone
	looked  func(*Dataset) (format string) // what its first records are; "" where that is not known
}

// planView is one setting in the plan.
type planView struct {
	experiment *Experiment
	cells      int
	warm       bool // some cell has a warmup
	object     *source.Node
}

func (v *view) endpoint() *fields.EndpointType { return fields.EndpointNamed(v.body.Endpoint.Type) }
func (v *view) mode() *fields.PhaseType        { return fields.PhaseNamed(v.phase.Type) }

// format is the row of the data set's format; nil where none is named, and where
// the records, which say it then, cannot be looked at.
func (v *view) format() *fields.DatasetFormat {
	name := v.dataset.Format
	if set := fields.PublicSetNamed(v.dataset.Dataset); set != nil {
		name = set.Format
	}
	if name == "" && (v.dataset.Path != "" || len(v.dataset.Records) > 0) {
		name = v.looked(v.dataset)
	}
	return fields.FormatNamed(name)
}

// turns is about how many turns a conversation has; recorded ones may have any number.
func (v *view) turns() float64 {
	if !v.dataset.Made() {
		return 2
	}
	return max(1, v.dataset.Turns.Most())
}

var (
	acts  = lack{}
	onRun = " on a single run (--num-profile-runs makes several)"
)

// of is a need of the endpoint's type; why says what lacks.
func of(name string, has func(*fields.EndpointType) bool, why string) *need {
	return &need{name: name, cell: func(v *view) lack { return lacking(v, has, why) }}
}

func lacking(v *view, has func(*fields.EndpointType) bool, why string) lack {
	if t := v.endpoint(); t != nil && !has(t) {
		return lack{why: " on an endpoint of type " + t.Name + why}
	}
	return lack{}
}

// unless is what lacks where has is not so; must is the same of a setting that cannot be
// followed then.
func unless(has bool, why string) lack {
	if has {
		return acts
	}
	return lack{why: why}
}

func must(has bool, why, hint string) lack {
	if has {
		return acts
	}
	return lack{why: why, hint: hint, hard: true}
}

// never is a need that nothing fills: the setting is taken for AIPerf's sake.
func never(why string) *need {
	return &need{name: "nothing: " + why, cell: func(*view) lack { return lack{why: ": " + why, told: true} }}
}

// ofItsType: the object has a rule for each of its types, in CUE.
var ofItsType = &need{name: "a type that takes it"}

// Of the plan.
var (
	severalRuns = &need{name: "several runs", plan: func(v *planView) lack {
		return unless(v.cells > 1 || v.experiment.MultiRun.NumRuns > 1 || v.experiment.Search != nil, onRun)
	}}
	warmRuns = &need{name: "several runs, with a warmup", plan: func(v *planView) lack {
		if w := severalRuns.plan(v); w != acts {
			return w
		}
		return unless(v.warm, " without a warmup (--warmup-request-count)")
	}}
	severalCells = &need{name: "several cells", plan: func(v *planView) lack {
		return unless(v.cells > 1, " on a single cell (sweep makes several)")
	}}
	severalTrials = &need{name: "several trials", plan: func(v *planView) lack {
		return must(v.experiment.MultiRun.NumRuns > 1, "needs several trials",
			"say how many there are at most: multi_run.num_runs (--num-profile-runs)")
	}}
	severalTrialsOfCells = &need{name: "several cells with several trials", plan: func(v *planView) lack {
		return unless(v.cells > 1 && v.experiment.MultiRun.NumRuns > 1,
			" without several cells that have several trials (--num-profile-runs)")
	}}
	gated = &need{name: "gates", plan: func(v *planView) lack {
		return unless(len(v.experiment.Gates) > 0, " without gates (--gate)")
	}}
	ranged = &need{name: "a range", plan: func(v *planView) lack {
		return unless(v.object.Get("choices") == nil, " on choices: only a range has it")
	}}
)

// Of models and the endpoint.
var (
	severalModels = &need{name: "several models", cell: func(v *view) lack {
		return unless(len(v.body.Models.Items) > 1, " with one model")
	}}
	weighted = &need{name: "strategy weighted", cell: func(v *view) lack {
		return unless(v.body.Models.Strategy == "weighted", " without strategy: weighted (--model-selection-strategy)")
	}}
	severalURLs = &need{name: "several addresses", cell: func(v *view) lack {
		return unless(len(v.body.Endpoint.URLs) > 1, " with one address")
	}}
	streams = &need{name: "an endpoint type that streams", cell: func(v *view) lack {
		w := lacking(v, func(t *fields.EndpointType) bool { return t.Streams }, ", which does not stream")
		switch t := v.endpoint(); {
		case w == acts || !t.StreamsRPC:
			return w
		case v.anyURL("grpc"):
			return acts
		}
		w.why += " over HTTP"
		return w
	}}
	streaming = &need{name: "streaming", cell: func(v *view) lack {
		return must(v.body.Endpoint.Streaming, "needs a streaming endpoint",
			"set endpoint.streaming: true (--streaming)")
	}}
	legacy = of("an endpoint type that knows max_tokens and max_completion_tokens",
		func(t *fields.EndpointType) bool { return t.LegacyMaxTokens }, "")
	usageAsked = &need{name: "streaming, on an endpoint type that is asked for usage", cell: func(v *view) lack {
		if !v.body.Endpoint.Streaming {
			return lack{why: " without streaming (--streaming)"}
		}
		return lacking(v, func(t *fields.EndpointType) bool { return t.UsageAsked },
			", whose streams are not asked for usage")
	}}
	ofEndpoint = &need{name: "an endpoint type that takes it", cell: func(v *view) lack {
		return lacking(v, func(t *fields.EndpointType) bool { return t.Takes(v.name) }, "")
	}}
	encoded = &need{name: "an endpoint type whose requests have several encodings", cell: func(v *view) lack {
		usual := "application/json"
		if t := v.endpoint(); t != nil && t.Files {
			usual = "multipart/form-data"
		}
		if v.value.Text() == usual {
			return acts // what is sent anyway
		}
		return lacking(v, func(t *fields.EndpointType) bool { return t.Takes(v.name) }, ", whose requests are "+usual)
	}}
	waiting = &need{name: "wait_for_model_timeout", cell: func(v *view) lack {
		return unless(v.body.Endpoint.WaitTimeout > 0, " without wait_for_model_timeout (--wait-for-model-timeout)")
	}}
	secure = &need{name: "an address of https or grpcs", cell: func(v *view) lack {
		return unless(v.anyURL("https") || v.anyURL("grpcs"), " without TLS: no address is https or grpcs")
	}}
	overHTTP = &need{name: "an address that is not gRPC's", cell: func(v *view) lack {
		return unless(slices.ContainsFunc(v.body.Endpoint.URLs,
			func(u string) bool { return !strings.HasPrefix(u, "grpc") }), " on gRPC, which is HTTP/2")
	}}
	keyed = &need{name: "no header that carries a key of its own", cell: func(v *view) lack {
		carries := "Authorization"
		if t := v.endpoint(); t != nil && t.KeyHeader != "" {
			carries = t.KeyHeader
		}
		for _, h := range v.body.Endpoint.Headers {
			if strings.EqualFold(h.Name, carries) {
				return lack{why: " beside the header " + h.Name + ", which takes its place (--header)"}
			}
		}
		return acts
	}}
	called = &need{name: "call", cell: func(v *view) lack {
		return unless(v.object.Get("call") != nil, " without a call: a command has its arguments")
	}}
	templated = &need{
		name: "an endpoint type whose server applies the model's chat template",
		cell: func(v *view) lack {
			if t := v.endpoint(); t != nil && !t.Templated {
				return lack{
					why:  "endpoint type " + t.Name + " gets no chat template",
					hint: "leave it out, or use type chat", hard: true,
				}
			}
			return acts
		},
	}
)

// lengthMembers are how APIs call the length of an answer in a request.
var lengthMembers = []string{"max_tokens", "max_completion_tokens", "max_output_tokens", "max_new_tokens", "n_predict"}

// anyURL tells whether the scheme of some address begins so.
func (v *view) anyURL(scheme string) bool {
	return slices.ContainsFunc(v.body.Endpoint.URLs, func(u string) bool { return strings.HasPrefix(u, scheme) })
}

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

// Of phases and of what stands beside them.
var (
	cancelling = &need{name: "a rate of cancellation above 0", cell: func(v *view) lack {
		return unless(v.phase.Cancellation != nil && v.phase.Cancellation.Rate > 0,
			" without a rate above 0 (--request-cancellation-rate)")
	}}
	timeWindows = &need{name: "mode: time_windows", cell: func(v *view) lack {
		return unless(v.phase.Stability != nil && !v.phase.Stability.ByCount(), " with mode: count_windows")
	}}
	countWindows = &need{name: "mode: count_windows", cell: func(v *view) lack {
		return unless(v.phase.Stability != nil && v.phase.Stability.ByCount(), " with mode: time_windows")
	}}
	stepsByMargin = &need{name: "step_policy: sla_margin", cell: func(v *view) lack {
		return unless(v.phase.AdaptiveScale != nil && v.phase.AdaptiveScale.Strategy.StepPolicy != FixedPercentStep,
			" with step_policy: fixed_percent_step")
	}}
	stepsByPercent = &need{name: "step_policy: fixed_percent_step", cell: func(v *view) lack {
		return unless(v.phase.AdaptiveScale != nil && v.phase.AdaptiveScale.Strategy.StepPolicy == FixedPercentStep,
			" with step_policy: sla_margin")
	}}
	warmedUp = &need{name: "a warmup, where the target is one of it", cell: func(v *view) lack {
		return unless(warmsUp(v.body) || !strings.HasPrefix(v.value.Text(), "warmup"),
			" without a warmup (--warmup-request-count)")
	}}
	modelsTokenizer = &need{name: "a model's tokenizer", cell: func(v *view) lack {
		return unless(v.body.Tokenizer.Name != "builtin", " on the built-in tokenizer")
	}}
	scraped = &need{name: "server metrics that are read", cell: func(v *view) lack {
		return unless(v.body.ServerMetrics.Enabled, " while server metrics are not read (enabled: false)")
	}}
	collected = &need{name: "a collector's address", cell: func(v *view) lack {
		return unless(v.body.OTel.URL != "", " without a collector to send to (--otel-url)")
	}}
	filedMLflow = &need{name: "an MLflow server's address", cell: func(v *view) lack {
		return unless(v.body.MLflow.TrackingURI != "", " without an MLflow server (--mlflow-tracking-uri)")
	}}
	notQuestionsAlone = &need{name: "requests other than questions with known answers", cell: func(v *view) lack {
		return unless(!v.body.Accuracy.Alone(), " where the questions are the whole load (--accuracy-mode alone)")
	}}
	questionsAmong = &need{name: "questions among other requests", cell: func(v *view) lack {
		return unless(v.body.Accuracy.Mixed(), " where the questions are the whole load (--accuracy-mode mixed)")
	}}
	judgedByProgram = &need{name: "a grader that asks it", cell: func(v *view) lack {
		a := v.body.Accuracy // the items of a file of one's own may each name their grader
		return unless(a.Grader == graderPlugin || a.Grader == "" && a.Benchmark == OwnBenchmark,
			" without grader: plugin (--accuracy-grader plugin)")
	}}
	filedWandB = &need{name: "a project of Weights & Biases", cell: func(v *view) lack {
		return unless(v.body.WandB.Project != "", " without a project (--wandb-project)")
	}}
	pinged = &need{name: "a round trip that is measured", cell: func(v *view) lack {
		return unless(v.body.Network.Measured(), " while no round trip is measured (--network-latency-automatic)")
	}}
	primed = &need{name: "a phase of agentic_replay", cell: anyPrimed}
	capped = &need{name: "arrivals by a clock, and a limit", cell: func(v *view) lack {
		switch t := v.mode(); {
		case t != nil && t.Closed:
			return lack{why: " in a closed loop (type: " + t.Name +
				"), where nothing arrives while all slots are taken"}
		case v.phase.Concurrency == 0 && v.phase.InFlight == 0 && v.phase.PrefillConcurrency == 0:
			return lack{why: " without a limit (concurrency, in_flight or prefill_concurrency)"}
		}
		return acts
	}}
	binding = &need{name: "a number below concurrency", cell: func(v *view) lack {
		most := v.phase.Concurrency
		if f := v.format(); f == nil && !v.dataset.Made() || f != nil &&
			f.Trees || most == 0 || v.phase.InFlight < most {
			return acts // a session of a tree may have several requests in flight
		}
		return lack{why: " at or above concurrency (" + strconv.Itoa(most) + "), which is reached first"}
	}}
	cutShort = &need{name: "requests, and conversations of several turns", cell: func(v *view) lack {
		switch {
		case v.phase.Requests == 0:
			return lack{why: " without requests (--request-count)"}
		case v.turns() <= 1:
			return lack{why: " on conversations of one turn"}
		}
		return acts
	}}
)

// anyPrimed: only one mode goes on from the middle of a session, and its warmup
// belongs to it.
func anyPrimed(v *view) lack {
	for i := range v.body.Phases {
		if t := fields.PhaseNamed(v.body.Phases[i].Type); t != nil && t.Primed {
			return acts
		}
	}
	return lack{why: " without a phase of type agentic_replay (--agentic-replay)"}
}

// limited: only a limit can grow.
func limited(limit string) *need {
	return &need{name: limit, cell: func(v *view) lack {
		if n := v.object.Get(limit); n != nil && n.Origin.Source != source.ByDefault {
			return acts
		}
		return lack{why: " without " + limit}
	}}
}

// Of results.
var (
	recordFile = &need{name: "records", cell: func(v *view) lack {
		return unless(len(v.body.Artifacts.Records) > 0, " without the file of records (--export-level records)")
	}}
	plotted = &need{name: "auto_plot", cell: func(v *view) lack {
		return unless(v.body.Artifacts.AutoPlot, " without auto_plot (--auto-plot)")
	}}
)
