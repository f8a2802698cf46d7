package compat

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"aiperf.dev/aiperf/schema"
)

// genaiKey is a key of genai_perf_config.yaml with the flag of genai-perf that
// means the same. A value that is its default is left out: create-template
// writes all of them.
type genaiKey struct{ path, flag, def string }

var genaiKeys = []genaiKey{
	{"model_name", "--model", ""},
	{"model_names", "--model", ""},
	{"endpoint.model_selection_strategy", "--model-selection-strategy", "round_robin"},
	{"endpoint.backend", "--backend", "tensorrtllm"},
	{"endpoint.custom", "--endpoint", ""},
	{"endpoint.type", "--endpoint-type", ""},
	{"endpoint.service_kind", "--service-kind", ""},
	{"endpoint.streaming", "--streaming", "false"},
	{"endpoint.server_metrics_url", "--server-metrics-url", "http://localhost:9400/metrics"},
	{"endpoint.server_metrics_urls", "--server-metrics-url", "http://localhost:9400/metrics"},
	{"endpoint.url", "--url", ""},
	{"endpoint.grpc_method", "--grpc-method", ""},
	{"perf_analyzer.path", "", "perf_analyzer"},
	{"perf_analyzer.verbose", "--verbose", "false"},
	{"perf_analyzer.stability_percentage", "--stability-percentage", "999"},
	{"perf_analyzer.measurement_interval", "--measurement-interval", ""},
	{"perf_analyzer.warmup_request_count", "--warmup-request-count", "0"},
	{"input.batch_size", "--batch-size-text", "1"},
	{"input.extra", "--extra-inputs", ""},
	{"input.goodput", "--goodput", ""},
	{"input.header", "--header", ""},
	{"input.file", "--input-file", ""},
	{"input.num_dataset_entries", "--num-dataset-entries", "100"},
	{"input.random_seed", "--random-seed", ""},
	{"input.audio.batch_size", "--batch-size-audio", "1"},
	{"input.audio.length.mean", "--audio-length-mean", "0"},
	{"input.audio.length.stddev", "--audio-length-stddev", "0"},
	{"input.audio.format", "--audio-format", "wav"},
	{"input.audio.depths", "--audio-depths", "16"},
	{"input.audio.sample_rates", "--audio-sample-rates", "16"},
	{"input.audio.num_channels", "--audio-num-channels", "1"},
	{"input.image.batch_size", "--batch-size-image", "1"},
	{"input.image.width.mean", "--image-width-mean", "0"},
	{"input.image.width.stddev", "--image-width-stddev", "0"},
	{"input.image.height.mean", "--image-height-mean", "0"},
	{"input.image.height.stddev", "--image-height-stddev", "0"},
	{"input.image.format", "--image-format", "png"},
	{"input.output_tokens.mean", "--output-tokens-mean", ""},
	{"input.output_tokens.deterministic", "--output-tokens-mean-deterministic", "false"},
	{"input.output_tokens.stddev", "--output-tokens-stddev", "0"},
	{"input.synthetic_tokens.mean", "--synthetic-input-tokens-mean", "550"},
	{"input.synthetic_tokens.stddev", "--synthetic-input-tokens-stddev", "0"},
	{"input.prefix_prompt.num", "--num-prefix-prompts", "0"},
	{"input.prefix_prompt.length", "--prefix-prompt-length", "100"},
	{"input.sessions.num", "--num-sessions", "0"},
	{"input.sessions.turns.mean", "--session-turns-mean", "1"},
	{"input.sessions.turns.stddev", "--session-turns-stddev", "0"},
	{"input.sessions.turn_delay.mean", "--session-turn-delay-mean", "0"},
	{"input.sessions.turn_delay.ratio", "--session-delay-ratio", "1.0"},
	{"input.sessions.turn_delay.stddev", "--session-turn-delay-stddev", "0"},
	{"output.artifact_directory", "--artifact-dir", "./artifacts"},
	{"output.checkpoint_directory", "--checkpoint-dir", "./checkpoint"},
	{"output.profile_export_file", "--profile-export-file", "profile_export.json"},
	{"output.generate_plots", "--generate-plots", "false"},
	{"output.enable_checkpointing", "--enable-checkpointing", "false"},
	{"tokenizer.name", "--tokenizer", ""},
	{"tokenizer.revision", "--tokenizer-revision", "main"},
	{"tokenizer.trust_remote_code", "--tokenizer-trust-remote-code", "false"},
}

// genaiBlocks are mappings that are read as a whole.
var genaiBlocks = []string{
	"input.goodput", "input.extra", "perf_analyzer.stimulus", "perf_analyzer.measurement",
	"analyze",
}

// isGenAI tells GenAI-Perf's file from AIPerf's: both have endpoint and
// tokenizer, but only AIPerf's stands in a benchmark or names models.
func isGenAI(root *yaml.Node) bool {
	keys := map[string]bool{}
	for i := 0; i+1 < len(root.Content); i += 2 {
		keys[root.Content[i].Value] = true
	}
	ours := keys["benchmark"] || keys["model"] || keys["models"] || keys["phases"]
	return root.Kind == yaml.MappingNode && !ours &&
		(keys["model_name"] || keys["model_names"] || keys["perf_analyzer"])
}

// genaiFile is the file as flags of profile, by way of genai-perf's own.
func genaiFile(file string, root *yaml.Node) (words, notes []string, err error) {
	f := genaiReader{file: file}
	f.walk("", root)
	if f.bad != nil {
		return nil, nil, f.bad
	}
	return GenAIWords(f.words)
}

type genaiReader struct {
	file  string
	words []string
	bad   schema.Errors
}

func (f *genaiReader) mistake(n *yaml.Node, path, message, hint string) {
	f.bad = append(f.bad, &schema.Error{
		Path: path, Place: fmt.Sprintf("%s:%d:%d", f.file, n.Line, n.Column),
		Message: message, Hint: hint,
	})
}

func (f *genaiReader) walk(path string, n *yaml.Node) {
	if n.Kind != yaml.MappingNode {
		f.mistake(n, path, "expected a mapping", "")
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		at := strings.TrimPrefix(path+"."+key.Value, ".")
		k := slices.IndexFunc(genaiKeys, func(k genaiKey) bool { return k.path == at })
		switch {
		case value.Tag == "!!null" || value.Kind == yaml.ScalarNode && value.Value == "":
		case slices.Contains(genaiBlocks, at) && (value.Kind == yaml.MappingNode || k < 0):
			f.block(at, value)
		case k >= 0:
			f.value(genaiKeys[k], value)
		case slices.ContainsFunc(genaiKeys, func(k genaiKey) bool { return strings.HasPrefix(k.path, at+".") }):
			f.walk(at, value)
		default:
			f.mistake(key, at, "unknown key of genai-perf, or one without a counterpart", "remove it")
		}
	}
}

// value adds the flag of a key, unless it says the default.
func (f *genaiReader) value(k genaiKey, n *yaml.Node) {
	items := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		items = n.Content
	}
	var words []string
	for _, it := range items {
		for _, w := range strings.Split(it.Value, ",") {
			words = append(words, strings.TrimSpace(w))
		}
	}
	text := strings.Join(words, ",")
	if strings.EqualFold(text, k.def) || k.flag == "" || text == "" {
		return
	}
	row, _ := findGenAI(k.flag)
	option := ourFlags()[k.flag]
	switch {
	case row.bare || option.Kind == "bool":
		if strings.EqualFold(text, "true") {
			f.words = append(f.words, k.flag)
		}
	case k.flag == "--header" || k.flag == "--extra-inputs":
		for _, it := range items {
			f.words = append(f.words, k.flag, it.Value)
		}
	case row.many:
		f.words = append(append(f.words, k.flag), words...)
	default:
		f.words = append(f.words, k.flag+"="+text)
	}
}

// block reads the mappings that are more than values by name.
func (f *genaiReader) block(path string, n *yaml.Node) {
	pairs := map[string]*yaml.Node{}
	var names []string
	for i := 0; i+1 < len(n.Content) && n.Kind == yaml.MappingNode; i += 2 {
		pairs[n.Content[i].Value] = n.Content[i+1]
		names = append(names, n.Content[i].Value)
	}
	switch path {
	case "input.goodput":
		f.words = append(f.words, "--goodput")
		for _, name := range names {
			f.words = append(f.words, name+":"+pairs[name].Value)
		}
	case "input.extra":
		for _, name := range names {
			f.words = append(f.words, "--extra-inputs", name+":"+pairs[name].Value)
		}
	case "perf_analyzer.stimulus":
		f.stimulus(n, names, pairs)
	case "perf_analyzer.measurement":
		mode, num := "request_count", ""
		if m := pairs["mode"]; m != nil && m.Value != "" {
			mode = m.Value
		}
		if m := pairs["num"]; m != nil && m.Tag != "!!null" {
			num = m.Value
		}
		switch {
		case strings.EqualFold(mode, "interval"):
			const usual = "10000" // ms
			if num == "" || num == "0" {
				num = usual
			}
			f.words = append(f.words, "--measurement-interval="+num)
		case !strings.EqualFold(mode, "request_count"):
			f.mistake(pairs["mode"], path+".mode", "expected request_count or interval", "")
		case num != "" && num != "0":
			f.words = append(f.words, "--request-count="+num)
		}
	case "analyze":
		f.analyze(n, names, pairs)
	}
}

func (f *genaiReader) stimulus(n *yaml.Node, names []string, pairs map[string]*yaml.Node) {
	if n.Kind == yaml.ScalarNode {
		names = []string{n.Value}
	}
	for _, name := range names {
		switch name {
		case "fixed_schedule":
			f.words = append(f.words, "--fixed-schedule")
		case "concurrency", "request_rate", "session_concurrency":
			if pairs[name] == nil {
				f.mistake(n, "perf_analyzer.stimulus."+name, "needs a value", "")
				continue
			}
			f.words = append(f.words, "--"+strings.ReplaceAll(name, "_", "-")+"="+pairs[name].Value)
		default:
			f.mistake(n, "perf_analyzer.stimulus."+name, "has no counterpart",
				"concurrency, request_rate, session_concurrency or fixed_schedule")
		}
	}
}

// analyze reads one swept parameter: start, stop and step.
func (f *genaiReader) analyze(n *yaml.Node, names []string, pairs map[string]*yaml.Node) {
	for i, name := range names {
		if i > 0 {
			f.mistake(n, "analyze."+name, "one parameter can be converted", "write sweep.parameters in the new file")
			return
		}
		bounds := map[string]string{}
		for k := 0; k+1 < len(pairs[name].Content); k += 2 {
			bounds[pairs[name].Content[k].Value] = pairs[name].Content[k+1].Value
		}
		span := bounds["start"] + ":" + bounds["stop"]
		if s := bounds["step"]; s != "" {
			span += ":" + s
		}
		f.words = append(f.words, "--sweep-type="+name, "--sweep-range="+span)
	}
}

// ReadGenAI reads a genai_perf_config.yaml as the words of a command line; nil
// for any other file, which schema.Load will speak about.
func ReadGenAI(file string) (words, notes []string, err error) {
	ext := strings.ToLower(filepath.Ext(file))
	if ext != ".yaml" && ext != ".yml" {
		return nil, nil, nil
	}
	st, err := os.Stat(file)
	if err != nil || !st.Mode().IsRegular() || st.Size() > 4<<20 {
		return nil, nil, nil //nolint:nilerr // loading the file says what is wrong with it
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, nil, nil //nolint:nilerr // the same
	}
	var doc yaml.Node
	if yaml.Unmarshal(text, &doc) != nil || len(doc.Content) == 0 || !isGenAI(doc.Content[0]) {
		return nil, nil, nil
	}
	return genaiFile(file, doc.Content[0])
}
