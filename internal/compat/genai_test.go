package compat

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestGenAIWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want, notes string }{
		{"profile -m demo --endpoint-type chat", "--model-names demo --endpoint-type chat", ""},
		{"-m a b --service-kind openai --endpoint-type completions --streaming -u h:1", "--model-names a,b --streaming -u h:1 --endpoint-type completions", ""},
		{"profile -m demo --endpoint-type vision --session-concurrency 4 --num-sessions=8", "--model-names demo --concurrency 4 --num-sessions 8 --endpoint-type chat", ""},
		{"profile -m demo --endpoint-type chat -g request_latency:300 time_to_first_token:50", "--model-names demo --goodput request_latency:300 time_to_first_token:50 --endpoint-type chat", ""},
		{"profile -m demo --endpoint-type chat --generate-plots --max-threads 64", "--model-names demo --endpoint-type chat", "--generate-plots,--max-threads"},
		{"profile -m demo --endpoint-type chat --fixed-schedule True --input-file t.jsonl", "--model-names demo --fixed-schedule --input-file t.jsonl --endpoint-type chat", ""},
		{"analyze -m demo --endpoint-type chat --sweep-type concurrency --sweep-range 1:8", "--model-names demo --endpoint-type chat --concurrency 1,2,4,8", ""},
		{"analyze -m demo --endpoint-type chat --sweep-type request_rate --sweep-range 100:250:50", "--model-names demo --endpoint-type chat --request-rate 100,150,200,250", ""},
		{"analyze -m demo --endpoint-type chat --sweep-type input_sequence_length --sweep-list 100,150", "--model-names demo --endpoint-type chat --isl 100,150", ""},
		{"analyze -m demo --endpoint-type chat --sweep-list 1,3", "--model-names demo --endpoint-type chat --concurrency 1,3", ""},
		{"analyze -m demo --endpoint-type chat", "--model-names demo --endpoint-type chat --concurrency 1,2,4,8,16,32,64,128,256,512,1024", ""},
		{"analyze -m demo --endpoint-type chat --sweep-type batch-size --sweep-range 1:4", "--model-names demo --endpoint-type chat --set sweep.parameters.dataset.prompts.batch_size=[1,2,4]", ""},
		{"analyze -m demo --endpoint-type chat --sweep-type num_dataset_entries --sweep-range 100:300:100", "--model-names demo --endpoint-type chat --set sweep.parameters.dataset.entries=[100,200,300]", ""},
		{"profile -m demo --endpoint-type chat -p 4000", "--model-names demo --endpoint-type chat --benchmark-duration 14.4", "measures three windows"},
		{"profile -m demo --endpoint-type chat -p 4000 -s 999", "--model-names demo --endpoint-type chat --benchmark-duration 14.4", "measures three windows"},
		{"profile -m demo --endpoint-type chat -s 15 -p 4000", "--model-names demo --endpoint-type chat --measurement-interval 4800 --stability-percentage 15", "1.2 times as long in perf_analyzer"},
		{"profile -m demo --endpoint-type chat -s 15 --request-count 20", "--model-names demo --request-count 20 --endpoint-type chat", "cuts no windows where requests are counted"},
		{"profile -m demo --endpoint-type chat -- -v --max-threads=8 -H A:b", "--model-names demo --header A:b --endpoint-type chat", ""},
	} {
		words, notes, err := GenAIWords(strings.Fields(c.in))
		if err != nil {
			t.Errorf("genai-perf %s: %v", c.in, err)
			continue
		}
		if got := strings.Join(words, " "); got != c.want {
			t.Errorf("genai-perf %s\n got %s\nwant %s", c.in, got, c.want)
		}
		for _, n := range strings.Split(c.notes, ",") {
			if !strings.Contains(strings.Join(notes, "\n"), n) {
				t.Errorf("genai-perf %s: no note about %s in %q", c.in, n, notes)
			}
		}
		if c.notes == "" && len(notes) > 0 {
			t.Errorf("genai-perf %s: notes %q", c.in, notes)
		}
	}
}

func TestGenAIRefusals(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"compare --files a b":                                                               "only profile and analyze",
		"profile -m demo":                                                                   "kserve",
		"profile -m demo --endpoint-type kserve":                                            "--endpoint-type kserve: this API is not supported here",
		"profile -m demo --service-kind triton --endpoint-type chat":                        "--service-kind triton",
		"profile -m demo --endpoint-type chat --backend vllm":                               "--backend: has no counterpart",
		"profile -m demo --endpoint-type chat --no-such 3":                                  "--no-such: neither GenAI-Perf nor aiperf profile has this flag",
		"profile -m demo --endpoint-type chat --measurement-interval soon":                  "expected milliseconds above 0",
		"profile -m demo --endpoint-type chat -s 1000":                                      "-s 1000: expected percent above 0, at most 999",
		"profile -m demo --endpoint-type chat --input-file synthetic:a,b":                   "synthetic:a,b: has no counterpart",
		"profile -m demo --endpoint-type chat -- --shared-memory cuda":                      "--shared-memory",
		"profile -m demo --endpoint-type chat --concurrency":                                "--concurrency: needs a value",
		"analyze -m d --endpoint-type chat --sweep-type layers --sweep-range 1:2":           "layers: GenAI-Perf does not sweep this",
		"analyze -m d --endpoint-type chat --sweep-list 1,2 --sweep-range 1:2":              "are both given",
		"analyze -m d --endpoint-type chat --sweep-type concurrency --sweep-range 8:1":      "expected min:max",
		"analyze -m d --endpoint-type chat --sweep-type concurrency --sweep-range 1:9999:1": "more than 1000 values",
	} {
		words, _, err := GenAIWords(strings.Fields(line))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("genai-perf %s: words %q, error %v, want %q", line, words, err, want)
		}
	}
}

// The file that create-template writes, with a few values changed: what is
// left at GenAI-Perf's default is not said.
const genaiTemplate = `model_names:
  - demo
endpoint:
  model_selection_strategy: round_robin
  backend: tensorrtllm
  custom: ""
  type: chat
  streaming: true
  server_metrics_urls: http://localhost:9400/metrics
  url: localhost:9000
  grpc_method: ""
perf_analyzer:
  path: perf_analyzer
  verbose: false
  stimulus:
    concurrency: 6
  stability_percentage: 999
  measurement:
    mode: request_count
    num: 40
  warmup_request_count: 0
input:
  batch_size: 1
  extra:
  goodput:
    request_latency: 300
  header:
  file:
  num_dataset_entries: 100
  random_seed: 0
  audio:
    batch_size: 1
    length: {mean: 0, stddev: 0}
    format: wav
    depths: [16]
    sample_rates: [16]
    num_channels: 1
  output_tokens: {mean: 64, deterministic: false, stddev: 0}
  synthetic_tokens: {mean: 200, stddev: 0}
  sessions:
    num: 0
    turns: {mean: 1, stddev: 0}
    turn_delay: {mean: 0, ratio: 1.0, stddev: 0}
output:
  artifact_directory: ./artifacts
  profile_export_file: profile_export.json
  generate_plots: false
tokenizer:
  name: builtin
  revision: main
  trust_remote_code: false
`

func TestGenAIFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "genai_perf_config.yaml")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(genaiTemplate)
	words, notes, err := ReadGenAI(file)
	want := "--model-names demo --streaming --url=localhost:9000 --concurrency 6 --request-count=40 --goodput request_latency:300 " +
		"--random-seed=0 --output-tokens-mean=64 --synthetic-input-tokens-mean=200 --tokenizer=builtin --endpoint-type chat"
	if got := strings.ReplaceAll(strings.Join(words, " "), "=", " "); err != nil ||
		got != strings.ReplaceAll(want, "=", " ") || len(notes) > 0 {
		t.Fatalf("words\n%s\nwant\n%s\nnotes %q, error %v", got, want, notes, err)
	}
	write(strings.Replace(genaiTemplate, "mode: request_count\n    num: 40", "mode: interval\n    num: 5000", 1))
	words, notes, err = ReadGenAI(file)
	if got := strings.Join(words, " "); err != nil || !strings.HasSuffix(got, "--benchmark-duration 18") || len(notes) != 1 {
		t.Errorf("an interval of 5 s: %s, notes %q, error %v", got, notes, err)
	}
	for text, want := range map[string]string{
		"model_names: a\nendpoint: {type: chat, colour: red}\n":                                 "genai_perf_config.yaml:2:24: endpoint.colour: unknown key",
		"model_names: a\nperf_analyzer: {measurement: {mode: whenever, num: 5}}\n":              "measurement.mode: expected request_count or interval",
		"model_names: a\nendpoint: {type: chat}\nanalyze: {concurrency: {start: 1}}\n":          "expected min:max",
		"model_names: a\nendpoint: {type: chat}\nperf_analyzer: {stimulus: {request_count: 1}}": "stimulus.request_count: has no counterpart",
		"model_names: a\nendpoint: 3\n":                                                         "endpoint: expected a mapping",
	} {
		write(text)
		if words, _, err := ReadGenAI(file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v, want %s", text, words, err, want)
		}
	}
	write("schemaVersion: \"2.0\"\nbenchmark: {model: a, endpoint: {url: x}}\n")
	if words, _, err := ReadGenAI(file); words != nil || err != nil {
		t.Errorf("AIPerf's file was taken for GenAI-Perf's: %q %v", words, err)
	}
}
