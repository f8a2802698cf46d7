package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/schema/flags"
)

// refusal is a command line that says two loads, or one that cannot be driven.
type refusal struct {
	name, args string
	said       string // how the line begins that refuses it
	hint       string // what is named to mend it; "" where the line says it itself
}

const (
	ofUsers = "--user-centric-rate 2 --num-users 4 --session-turns-mean 3 "
	ofTrace = "--fixed-schedule --input-file trace.jsonl --custom-dataset-type single_turn "
)

var refusals = []refusal{
	{"users with a rate", ofUsers + "--request-count 10 --request-rate 3", "--request-rate: --user-centric-rate and --request-rate say two rates", "keep one"},
	{"users with a pattern", ofUsers + "--request-count 10 --arrival-pattern poisson", "--arrival-pattern: cannot be combined with --user-centric-rate", "drop one"},
	{"users without their number", "--user-centric-rate 2 --session-turns-mean 3 --request-count 10", "--user-centric-rate: benchmark.phases.profiling.users: required by type: user_centric", "--num-users"},
	{"users of one turn", "--user-centric-rate 2 --num-users 4 --request-count 10", "--user-centric-rate: user_centric needs conversations of 2 turns or more", "--conversation-turn-mean 2"},
	{"users without an end", strings.TrimSpace(ofUsers), "benchmark.phases.profiling: no stop condition is given", "add requests, duration or sessions"},
	{"fewer slots than workers", "--workers 4 --concurrency 2", "phase profiling: concurrency 2 is less than one for each of 4 workers", "take at most 2 workers"},
	{"a cell with fewer slots than workers", "--workers 3 --concurrency 2,6", "concurrency 2: phase profiling: concurrency 2 is less than one for each of 3 workers", "take at most 2 workers"},
	{"slots without end", "--concurrency 999999999", "--concurrency: must be at most 1048576, got 999999999", "a connection of its own"},
	{"one header in two cases", "--header X-A:1 --header x-a:2", "--header: x-a is given twice", "case makes no difference"},
	{"an extra input twice in JSON", `--extra-inputs {"a":1,"a":2}`, "--extra-inputs: a is given twice", ""},
	{"an extra input as a pair and in JSON", `--extra-inputs a:1 --extra-inputs {"a":2}`, "--extra-inputs: a is given twice", "keep one"},
	{"extra inputs without bottom", "--extra-inputs " + strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 100), "--extra-inputs: nested deeper than 64 levels", ""},
	{"a number of users alone", "--num-users 4 --request-count 10", "--num-users: needs type: user_centric", "--user-centric-rate"},
	{"fewer sessions than users", ofUsers + "--num-sessions 3", "--num-sessions: must be at least users", "every user holds one conversation"},
	{"fewer requests than users", ofUsers + "--request-count 3", "--request-count: must be at least users", "every user sends one request"},
	{"a rate and a burst", "--request-rate 3 --arrival-pattern concurrency_burst", "--arrival-pattern: concurrency_burst cannot be combined with --request-rate", "constant, poisson or gamma"},
	{"the same by its older name", "--request-rate 3 --request-rate-mode concurrency_burst", "--request-rate-mode: concurrency_burst cannot be combined with --request-rate", "constant, poisson or gamma"},
	{"smoothness of poisson", "--request-rate 3 --arrival-pattern poisson --arrival-smoothness 2", "--arrival-smoothness: needs type: gamma", "gamma"},
	{"smoothness of constant", "--request-rate 3 --arrival-pattern constant --arrival-smoothness 2", "--arrival-smoothness: needs type: gamma", "gamma"},
	{"smoothness of a burst", "--concurrency 2 --arrival-smoothness 2", "--arrival-smoothness: needs type: gamma", "gamma"},
	{"grace without duration", "--benchmark-grace-period 3", "--benchmark-grace-period: needs duration", "add one or drop"},
	{"grace of a warmup that has no end", "--warmup-grace-period 3", "--warmup-grace-period: needs duration", "add one or drop"},
	{"prefill limit of whole answers", "--prefill-concurrency 2 --concurrency 4", "--prefill-concurrency: needs a streaming endpoint", "--streaming"},
	{"prefill limit above concurrency", "--streaming --prefill-concurrency 8 --concurrency 4", "--prefill-concurrency: must not be above concurrency", ""},
	{"prefill limit of a warmup above its concurrency", "--streaming --warmup-request-count 4 --warmup-prefill-concurrency 8 --concurrency 4", "--warmup-prefill-concurrency: must not be above concurrency", ""},
	{"requests and sessions", "--request-count 10 --num-sessions 10", "--num-sessions: cannot be combined with --request-count", "keep one"},
	{"requests and sessions of a warmup", "--warmup-request-count 10 --num-warmup-sessions 10", "--num-warmup-sessions: cannot be combined with --warmup-request-count", "keep one"},
	{"delay of no cancellation", "--request-cancellation-delay 3", "--request-cancellation-delay:", "add rate"},
	{"a schedule without a file", "--fixed-schedule", "--fixed-schedule: fixed_schedule needs a data set with timestamps", "--input-file"},
	{"a start without a schedule", "--fixed-schedule-start-offset 10 --input-file plain.jsonl", "--fixed-schedule-start-offset: needs type: fixed_schedule", "--fixed-schedule"},
	{"an end without a schedule", "--fixed-schedule-end-offset 10 --input-file plain.jsonl", "--fixed-schedule-end-offset: needs type: fixed_schedule", "--fixed-schedule"},
	{"an auto offset without a schedule", "--fixed-schedule-auto-offset --input-file plain.jsonl", "--fixed-schedule-auto-offset: needs type: fixed_schedule", "--fixed-schedule"},
	{"two starts", ofTrace + "--fixed-schedule-auto-offset --fixed-schedule-start-offset 10", "--fixed-schedule-start-offset: cannot be combined with --fixed-schedule-auto-offset", "keep one"},
	{"a start after the end", ofTrace + "--fixed-schedule-start-offset 20 --fixed-schedule-end-offset 10", "--fixed-schedule-start-offset: must not be above end_offset", ""},
	{"a schedule in another order", ofTrace + "--dataset-sampling-strategy random", "--dataset-sampling-strategy: cannot be combined with a fixed schedule", "drop it"},
	{"a schedule and a rate", ofTrace + "--request-rate 3", "--request-rate: cannot be combined with type: fixed_schedule", "--no-fixed-schedule"},
	{"a schedule whose rate is ramped", ofTrace + "--request-rate-ramp-duration 3", "--request-rate-ramp-duration: cannot be combined with type: fixed_schedule", "drop it"},
	{"a schedule that is swept", ofTrace + "--request-rate 1,2", "--request-rate: a list cannot be combined with a fixed schedule", "--no-fixed-schedule"},
	{"a ramp of no rate", "--concurrency 3 --request-rate-ramp-duration 3", "--request-rate-ramp-duration: cannot be combined with type: concurrency", "poisson, gamma or constant"},
	{"two kinds of prefix", "--num-prefix-prompts 2 --prefix-prompt-length 5 --shared-system-prompt-length 9", "cannot be combined with shared_system_length", "keep one kind"},
	{"prefixes and contexts", "--num-prefix-prompts 2 --prefix-prompt-length 5 --user-context-prompt-length 9 --num-dataset-entries 5", "cannot be combined with user_context_length", "keep one kind"},
	{"contexts of nobody", "--user-context-prompt-length 9", "--user-context-prompt-length: needs to know how many contexts there are", "--num-dataset-entries"},
	{"a public set of a format", "--public-dataset sharegpt --custom-dataset-type single_turn --input-file plain.jsonl", "--public-dataset: needs type: public", "type: public"},
	{"a format of no file", "--custom-dataset-type single_turn", "--custom-dataset-type: needs type: file", "--input-file"},
	{"synthesis of no trace", "--input-file plain.jsonl --custom-dataset-type single_turn --synthesis-speedup-ratio 2", "--synthesis-speedup-ratio:", "give a trace"},
	{"rankings elsewhere", "--rankings-passages-mean 3", "--rankings-passages-mean:", "nim_rankings"},
	{"a limit on no metric", "--goodput foo:3", "--goodput: no metric is called foo", ""},
	{"a limit on what is not streamed", "--goodput time_to_first_token:3", "--goodput: time_to_first_token needs a streaming endpoint", "--streaming"},
	{"a gate on no metric", "--gate foo.p99<3", `--gate: "foo.p99<3": unknown metric foo`, ""},
	{"a gate on what is not streamed", "--gate inter_token_latency.p99<3", `--gate: "inter_token_latency.p99<3": inter_token_latency needs a streaming endpoint`, "--streaming"},
	{"shares that make no whole", "--seq-dist 10,20:50;30,40:20", "--seq-dist: the shares make 70 percent, not 100", ""},
	{"a width without a height", "--video-width 10", "--video-width: needs height", "give both or neither"},
	{"telemetry and none", "--no-gpu-telemetry --gpu-telemetry http://localhost:9400/metrics", "--gpu-telemetry: cannot be combined with --no-gpu-telemetry", ""},
	{"metrics of servers and none", "--no-server-metrics --server-metrics http://localhost:9400/metrics", "--server-metrics: cannot be combined with --no-server-metrics", ""},
	{"no requests", "--request-count 0", "--request-count: must be at least 1, got 0", ""},
	{"no slots", "--concurrency 0", "--concurrency: must be at least 1, got 0", ""},
	{"fewer than none", "--concurrency -1", "--concurrency: must be at least 1, got -1", ""},
	{"a rate that is none", "--request-rate nan", "--request-rate:", ""},
	{"a pattern of the schema", "--request-rate 3 --arrival-pattern fixed_schedule", `--arrival-pattern: "fixed_schedule" is not one of concurrency_burst, constant, poisson, gamma`, ""},
	{"a sweep of the schema", "--concurrency 1,2 --sweep-type sobol", `--sweep-type: "sobol" is not one of grid, zip`, ""},
	{"a switch that is neither", "--no-gpu-telemetry=maybe", `--no-gpu-telemetry: expected true or false, got "maybe"`, ""},
	{"an empty batch", "--prompt-batch-size 0", "--prompt-batch-size: must be at least 1, got 0", ""},
	{"a level that is none", "--num-profile-runs 3 --confidence-level 1", "--confidence-level: must be above 0 and below 1, got 1", ""},
	{"half a request", "--request-count 1.5", "--request-count: expected a whole number", ""},
	{"half a session", "--num-sessions 1.5", "--num-sessions: expected a whole number", ""},
	{"two limits on one metric", "--goodput request_latency:3 request_latency:4", "--goodput: request_latency is given twice", "keep one"},
	{"two values of a header", "-H X-A:b -H x-a:c", "-H: x-a is given twice", "keep one"},
	{"two values of an input", "--extra-inputs a:1 --extra-inputs a:2", "--extra-inputs: a is given twice", "keep one"},
	{"the initials of a metric that has no limit", "--goodput tps:3", "--goodput: no metric is called tps", ""},
	{"a metric by both of its names", "--goodput ttft:3 time_to_first_token:4", "--goodput: time_to_first_token is given twice", "keep one"},
	{"a knee of no metric", "--search-recipe concurrency-ramp --degradation-metric-tag itl", "unknown metric itl", ""},
	{"no file", "--config=", "--config: must not be empty", ""},
	{"more tokens than a text has", "--isl 1e20", "--isl: 1e+20 is above the limit of 4194304", ""},
	{"more prompts than memory holds", "--num-dataset-entries 99999999999", "--num-dataset-entries: 99999999999 is above the limit of 4194304", ""},
	{"a search for nothing", "--search-metric request_latency", "--search-metric: needs a setting that is searched", "--search-space concurrency:1,64:int"},
	{"a range upside down", "--search-space concurrency:64,1:int --search-metric request_latency --search-direction minimize --search-max-iterations 5", "--search-space: must be below hi", ""},
	{"a header that cannot be sent", "-H A:x\x01y", `-H: header A: the control character`, ""},
	{"a word behind --", "-- junk", "profile: unexpected junk", "--config"},
	{"a command behind a command", "validate x.yaml", "validate is a separate command", "aiperf validate x.yaml"},
	{"an endless rate", "--request-rate inf", "--request-rate:", ""},
	{"a rate of nothing", "--request-rate 0", "--request-rate: must be above 0, got 0", ""},
}

// Every combination of settings that says two loads, or one that cannot be
// driven, is refused before anything is sent: exit code 2, one line that begins
// with what was typed, and the way out.
func TestRefusals(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"trace.jsonl": `{"text": "a", "timestamp": 1000}` + "\n" + `{"text": "b", "timestamp": 1250}` + "\n",
		"plain.jsonl": `{"text": "a"}` + "\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range refusals {
		t.Run(c.name, func(t *testing.T) {
			var out, errs bytes.Buffer
			words := append(strings.Fields("profile -m demo -u mock: --tokenizer builtin --artifact-dir out"),
				strings.Fields(c.args)...)
			code := run(t.Context(), t.Context(), words, stdio{strings.NewReader(""), &out, &errs})
			first, rest, _ := strings.Cut(errs.String(), "\n")
			if code != diag.Usage || out.Len() > 0 || !strings.Contains(first, c.said) {
				t.Fatalf("%s\nexit code %d, said %q\nwant %d, %q", c.args, code, first, diag.Usage, c.said)
			}
			if c.hint != "" && (!strings.Contains(rest, "hint: ") || !strings.Contains(rest, c.hint)) {
				t.Errorf("%s\nhint %q, want in it %q", c.args, rest, c.hint)
			}
		})
	}
	if left, err := filepath.Glob("out*"); err != nil || len(left) > 0 {
		t.Errorf("results were made: %v, %v", left, err)
	}
}

// A command line that should have been refused and is not ends at once: there is no server.
func TestNothingIsMeasuredInProcess(t *testing.T) {
	t.Chdir(t.TempDir())
	var out, errs bytes.Buffer
	words := strings.Fields("profile -m demo -u mock: --tokenizer builtin --artifact-dir out --request-count 1")
	code := run(t.Context(), t.Context(), words, stdio{strings.NewReader(""), &out, &errs})
	if code == diag.OK || !strings.Contains(errs.String(), noServer) {
		t.Errorf("exit code %d, said %q, want %q", code, errs.String(), noServer)
	}
}

// What only FFmpeg can write is refused where there is none, by validate and by run alike.
func TestFormatsThatNeedFFmpeg(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("PATH", t.TempDir())
	const sounds, film = "--audio-length-mean 1 --audio-batch-size 1 ", "--video-width 64 --video-height 64 "
	for _, c := range []struct{ args, said string }{
		{sounds + "--audio-format mp3", "aiperf: --audio-format: mp3 needs FFmpeg, and ffmpeg is not on the PATH"},
		{film + "--video-format mp4", "aiperf: --video-format: mp4 needs FFmpeg, and ffmpeg is not on the PATH"},
		{sounds + "--audio-format wav", ""},
	} {
		for _, command := range []string{"validate x.yaml", "profile -f x.yaml --artifact-dir out"} {
			if c.said == "" && command != "validate x.yaml" {
				continue // nothing to measure here
			}
			experiment := "benchmark: {model: demo, endpoint: {url: \"mock:\", type: chat}, phases: [{name: profiling, type: concurrency, concurrency: 1, requests: 1}]}\n"
			if err := os.WriteFile("x.yaml", []byte(experiment), 0o600); err != nil {
				t.Fatal(err)
			}
			var out, errs bytes.Buffer
			code := run(t.Context(), t.Context(), strings.Fields(command+" --tokenizer builtin "+c.args),
				stdio{strings.NewReader(""), &out, &errs})
			first, rest, _ := strings.Cut(errs.String(), "\n")
			switch {
			case c.said == "" && code != diag.OK:
				t.Errorf("%s %s: exit code %d, %q", command, c.args, code, errs.String())
			case c.said != "" && (code != diag.Usage || first != c.said ||
				!strings.HasPrefix(rest, "  hint: install FFmpeg")):
				t.Errorf("%s %s: exit code %d, said %q", command, c.args, code, errs.String())
			}
		}
	}
}

// --goodput takes for a metric what screens call it.
func TestLimitsHaveTheNamesOfScreens(t *testing.T) {
	t.Parallel()
	for name, tag := range flags.LimitNames {
		if metrics.Suggest(name) != tag {
			t.Errorf("%s is %s for --goodput, %s elsewhere", name, tag, metrics.Suggest(name))
		}
	}
	for _, tag := range []string{metrics.TimeToFirstToken, metrics.InterTokenLatency, metrics.RequestLatency} {
		if short := strings.ToLower(metrics.Series(tag, "")); flags.LimitNames[short] != tag {
			t.Errorf("screens call %s %s, and --goodput does not", tag, short)
		}
	}
}
