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
