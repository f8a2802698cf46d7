package fields

import (
	"slices"
	"strings"

	"aiperf.dev/aiperf/schema/source"
)

var absents = []Absent{
	{
		What:    "search for pages of metrics in a cluster",
		Instead: "name them: --server-metrics http://HOST:PORT/metrics …",
		Paths:   []string{"benchmark.server_metrics.discovery"},
		Shown:   true,
		Idle: map[string]string{
			"benchmark.server_metrics.discovery.mode":            "\"auto\"",
			"benchmark.server_metrics.discovery.timeout_seconds": "30.0",
		},
	},
	{
		What:    "settings of single metrics",
		Instead: "slos and gates hold metrics against limits; every metric is in the tables",
		Paths:   []string{"benchmark.metrics"},
		Shown:   true,
		Idle:    map[string]string{"benchmark.metrics": "{}"},
	},
	{
		What:    "fixed scenarios",
		Instead: "write its settings into a file of your own (aiperf config init > my.cue); that of inferencex-agentx-mvp is type: agentic_replay (--agentic-replay)",
		Paths:   []string{"benchmark.scenario", "benchmark.unsafe_override"},
		Shown:   true,
		Idle: map[string]string{
			"benchmark.unsafe_override": "false",
		},
		Flags: []AbsentFlag{
			{Names: []string{"scenario"}, Path: "benchmark.scenario"},
			{Names: []string{"unsafe-override"}, Path: "benchmark.unsafe_override", Kind: "bool"},
		},
	},
	{
		What:    "LoRA adapters of a model",
		Instead: "give the adapter's name as a model of its own, as the server lists it",
		Paths:   []string{"benchmark.models.items.*.lora"},
	},
	{
		What:    "kinds of input of a model",
		Instead: "leave it out: the dataset says what is sent",
		Paths:   []string{"benchmark.models.items.*.modalities"},
	},
	{
		What:    "a tokenizer for each model",
		Instead: "tokenizer.name (--tokenizer) counts for all models",
		Paths:   []string{"benchmark.models.items.*.tokenizer"},
	},
	{
		What:    "files of yours in the results",
		Instead: "write them into the result directory when the run is over",
		Paths:   []string{"benchmark.artifacts.user_files"},
		Shown:   true,
		Idle: map[string]string{
			"benchmark.artifacts.user_files": "[]",
		},
	},
	{
		What:    "a list of plots in the experiment",
		Instead: "aiperf plot DIR --config FILE draws the plots that AIPerf's plot_config.yaml lists",
		Paths:   []string{"plot"},
	},
	{
		What:    "where parts of AIPerf run",
		Instead: "run the one static binary in a pod or job of your own",
		Paths: []string{
			"benchmark.runtime.service_run_type", "benchmark.runtime.dataset_api_base_url",
			"benchmark.runtime.workers_per_pod", "benchmark.runtime.record_processors_per_pod",
		},
		Shown: true,
		Idle: map[string]string{
			"benchmark.runtime.service_run_type": "\"multiprocessing\"",
		},
	},
	{
		What:    "a least number of workers",
		Instead: "not needed: one process sends everything",
		Paths:   []string{"benchmark.runtime.workers_min"},
	},
	{
		What:    "AIPerf's message bus",
		Instead: "not needed: one process has no message bus",
		Paths:   []string{"benchmark.runtime.communication"},
		Idle:    busIdle,
		Flags: []AbsentFlag{
			{Names: []string{"zmq-dual-bind"}, With: messageBus("dual", "ipc_path", "tcp_host"), Kind: "bool"},
			{
				Names: []string{"zmq-ipc-path"}, Path: "benchmark.runtime.communication.path",
				With: messageBus("ipc"), Default: "/tmp/aiperf",
			},
			{
				Names: []string{"zmq-host"}, Path: "benchmark.runtime.communication.host",
				With: messageBus("tcp"), Default: "127.0.0.1",
			},
		},
	},
	{
		What:    "an API for a running benchmark",
		Instead: "--ui simple prints a line as it goes",
		Paths:   []string{"benchmark.runtime.api_port", "benchmark.runtime.api_host"},
		Flags: []AbsentFlag{
			{Names: []string{"api-port"}, Path: "benchmark.runtime.api_port", Kind: "int"},
			{Names: []string{"api-host"}, Path: "benchmark.runtime.api_host"},
		},
	},
	{
		What:    "figures of AIPerf's own processes",
		Instead: "not needed: the verdict measures the client itself (aiperf checks DIR)",
		Paths:   []string{"benchmark.runtime.stats_interval"},
		Flags: []AbsentFlag{
			{Names: []string{"stats-interval"}, Path: "benchmark.runtime.stats_interval", Kind: "number"},
		},
	},
	{
		What:    "limits of a phase that does not raise its own load, and other names of adaptive_scale's settings",
		Instead: "slos and gates judge a result; adaptive_scale: {control: …, sla: …} raises the load until a limit breaks",
		Paths: []string{
			"benchmark.phases.*.sla",
			"benchmark.phases.*.adaptive_sustain_duration", "benchmark.phases.*.adaptive_assessment_period",
			"benchmark.phases.*.adaptive_min_completed_requests", "benchmark.phases.*.adaptive_control_variable",
			"benchmark.phases.*.adaptive_control_min", "benchmark.phases.*.adaptive_control_max",
			"benchmark.phases.*.adaptive_scale_strategy_type", "benchmark.phases.*.adaptive_scale_step_policy",
			"benchmark.phases.*.adaptive_scale_base_step", "benchmark.phases.*.adaptive_scale_max_step_multiplier",
			"benchmark.phases.*.adaptive_scale_step_percent",
		},
		Shown: true,
		Idle: map[string]string{
			"benchmark.phases.*.sla":                                "[]",
			"benchmark.phases.*.adaptive_min_completed_requests":    "1",
			"benchmark.phases.*.adaptive_control_variable":          "\"concurrency\"",
			"benchmark.phases.*.adaptive_control_min":               "1.0",
			"benchmark.phases.*.adaptive_scale_strategy_type":       "\"ramp_until_fail\"",
			"benchmark.phases.*.adaptive_scale_step_policy":         "\"sla_margin\"",
			"benchmark.phases.*.adaptive_scale_base_step":           "10",
			"benchmark.phases.*.adaptive_scale_max_step_multiplier": "4",
			"benchmark.phases.*.adaptive_scale_step_percent":        "25.0",
		},
	},
	{
		What:    "the load's kind in other words",
		Instead: "type says it: concurrency, poisson, gamma, constant, user_centric, fixed_schedule or agentic_replay",
		Paths:   []string{"benchmark.phases.*.timing_mode"},
	},
	{
		What:    "warming an agentic replay up under load",
		Instead: "leave it out: what comes before each session's moment is sent once (agentic_warmup)",
		Paths:   []string{"benchmark.phases.*.agentic_cache_warmup_duration"},
		Flags: []AbsentFlag{
			{
				Names: []string{"agentic-cache-warmup-duration"}, Path: PhasePath + ".agentic_cache_warmup_duration",
				Kind: "number",
			},
			{ // after 0.13
				Names: []string{"warmup-requests-per-lane"}, Path: PhasePath + ".warmup_requests_per_lane",
				Kind: "int",
			},
		},
	},
	{
		Instead: "random-cd spreads the samples evenly, too",
		Paths:   []string{"sweep.optimization"},
		Words:   []string{"lloyd"},
	},
}

const busPath = "benchmark.runtime.communication."

// busIdle are AIPerf's defaults of a message bus.
var busIdle = map[string]string{
	busPath + "path":                         "\"/tmp/aiperf\"",
	busPath + "host":                         "\"127.0.0.1\"",
	busPath + "ipc_path":                     "\"/tmp/aiperf\"",
	busPath + "tcp_host":                     "\"0.0.0.0\"",
	busPath + "records_port":                 "5557",
	busPath + "credit_router_port":           "5564",
	busPath + "control_port":                 "5667",
	busPath + "credit_return_push_pull_port": "5669",
	busPath + "event_bus_proxy":              "{\"frontend_port\": 5663, \"backend_port\": 5664}",
	busPath + "dataset_manager_proxy":        "{\"frontend_port\": 5661, \"backend_port\": 5662}",
	busPath + "raw_inference_proxy":          "{\"frontend_port\": 5665, \"backend_port\": 5666}",
}

// messageBus is what AIPerf shows of a bus of a kind: its type, the fields of
// its own and, where it reaches over the network, its ports.
func messageBus(kind string, own ...string) map[string]any {
	out := map[string]any{busPath + "type": kind}
	for path, js := range busIdle {
		name := strings.TrimPrefix(path, busPath)
		if v, err := source.JsonValue(js); err == nil && (slices.Contains(own, name) || kind != "ipc" &&
			(strings.HasSuffix(name, "_port") || strings.HasSuffix(name, "_proxy"))) {
			out[path] = v
		}
	}
	return out
}
