package compat

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/loadgen/endpoint"
	"aiperf.dev/aiperf/schema"
)

// genaiFlag is a flag of genai-perf profile and analyze that is not spelled or
// does not mean the same here; those that do are passed on. Exactly one of
// flag, note and why is set.
type genaiFlag struct {
	names []string
	bare  bool   // takes no value
	many  bool   // takes all words up to the next flag
	flag  string // ours
	note  string // left out, with a word on why that changes nothing
	why   string // refused
}

// genaiFlags follow GenAI-Perf 0.0.16's parser.
var genaiFlags = []genaiFlag{
	{names: []string{"--model", "-m"}, many: true, flag: "--model-names"},
	{names: []string{"--goodput", "-g"}, many: true, flag: "--goodput"},
	{names: []string{"--audio-depths"}, many: true, flag: "--audio-depths"},
	{names: []string{"--audio-sample-rates"}, many: true, flag: "--audio-sample-rates"},
	{names: []string{"--server-metrics-url", "--server-metrics-urls"}, many: true, flag: "--gpu-telemetry"},
	{names: []string{"--session-concurrency"}, flag: "--concurrency"},
	{names: []string{"--num-system-prompts"}, flag: "--num-prefix-prompts"},
	{names: []string{"--system-prompt-length"}, flag: "--prefix-prompt-length"},
	{names: []string{"--generate-plots"}, bare: true, note: "aiperf plot DIR draws them from the result directory"},
	{
		names: []string{"--enable-checkpointing"}, bare: true,
		note: "every plan can be resumed: aiperf run FILE --resume",
	},
	{names: []string{"--checkpoint-dir"}, note: "every plan can be resumed: aiperf run FILE --resume"},
	{names: []string{"--max-threads"}, note: "requests in flight are not bound to threads"},
	{names: []string{"--verbose", "-v"}, bare: true, note: "progress is always shown"},
	{
		names: []string{"--backend"},
		why:   "it chooses a Triton backend; start Triton's OpenAI front end, leave the flag out and add --endpoint-type chat",
	},
	{names: []string{"--grpc-method"}, why: "it is about Triton's gRPC; leave it out and add --endpoint-type chat, or --endpoint-type grpc for a method of your own"},
	{
		names: []string{"--output-tokens-mean-deterministic"}, bare: true,
		why: "write --extra-inputs ignore_eos:true for servers that know it",
	},
	{names: []string{"--file", "-f"}, why: "aiperf config convert FILE converts the file"},
	{names: []string{"--override-config"}, bare: true, why: "aiperf config convert FILE converts the file"},
}

// GenAIWords turns the words after genai-perf into flags of profile. Notes say
// what was left out.
func GenAIWords(words []string) (out, notes []string, err error) {
	analyze := false
	if len(words) > 0 && !strings.HasPrefix(words[0], "-") {
		if words[0] != "profile" && words[0] != "analyze" {
			return nil, nil, diag.New(words[0]+": only profile and analyze can be converted",
				map[string]string{
					"config":               "aiperf config convert FILE converts the file",
					"create-template":      "aiperf config init prints a file to start from",
					"compare":              "aiperf compare A B takes its results",
					"process-export-files": "aiperf process-export-files is the same",
				}[words[0]])
		}
		analyze = words[0] == "analyze"
		words = words[1:]
	}
	g := genai{known: ourFlags()}
	if analyze { // it sweeps concurrency where nothing is said
		g.sweep = map[string]string{}
	}
	for len(words) > 0 && err == nil {
		words, err = g.translate(words)
	}
	if err == nil {
		err = g.finish()
	}
	return g.out, g.notes, err
}

// genai is a translation under way.
type genai struct {
	known      map[string]schema.Option
	out, notes []string
	endpoint   string  // --endpoint-type as given
	window     float64 // ms of a window; 0: requests are counted, and perf_analyzer cuts none
	stability  float64 // percent; 0: not said
	sweep      map[string]string
}

// ourFlags are the settings by --name and -short.
func ourFlags() map[string]schema.Option {
	out := map[string]schema.Option{}
	for _, o := range schema.Options() {
		for _, n := range o.Names {
			out["--"+n] = o
		}
		if o.Short != "" {
			out["-"+o.Short] = o
		}
	}
	return out
}

// translate reads the flag in front of words and returns what follows it.
func (g *genai) translate(words []string) ([]string, error) {
	name, value, glued := strings.Cut(words[0], "=")
	words = words[1:]
	if name == "--" {
		return nil, g.passed(words)
	}
	row, here := findGenAI(name)
	option, ours := g.known[name]
	special := slices.Contains([]string{
		"--endpoint-type", "--service-kind", "--fixed-schedule", "--input-file", "--measurement-interval", "-p",
		"--stability-percentage", "-s",
		"--sweep-type", "--sweep-range", "--sweep-list",
	}, name)
	switch {
	case here && row.why != "":
		return nil, diag.New(name+": has no counterpart here", row.why)
	case !strings.HasPrefix(name, "-"):
		return nil, diag.New("unexpected "+name, "it belongs to no flag: names of flags begin with -")
	case !here && !ours && !special:
		return nil, diag.New(name+": neither GenAI-Perf nor aiperf profile has this flag",
			"leave it out, or look for one that does the same: aiperf profile --help")
	}
	var values []string
	bare := row.bare || !here && ours && option.Kind == "bool" || name == "--fixed-schedule"
	switch {
	case glued:
		values = []string{value}
	case name == "--fixed-schedule" && len(words) > 0 && !argv.IsFlag(words[0]): // its own parser wants a word
		values, words = words[:1], words[1:]
	case !bare && (len(words) == 0 || argv.IsFlag(words[0])):
		return nil, diag.New(name+": needs a value", "as in "+name+" VALUE")
	case !bare:
		values, words = words[:1:1], words[1:]
		for row.many && len(words) > 0 && !argv.IsFlag(words[0]) {
			values, words = append(values, words[0]), words[1:]
		}
	}
	if special {
		return words, g.special(name, values)
	}
	g.put(row, name, values)
	return words, nil
}

func findGenAI(name string) (genaiFlag, bool) {
	for _, f := range genaiFlags {
		if slices.Contains(f.names, name) {
			return f, true
		}
	}
	return genaiFlag{}, false
}

func (g *genai) put(row genaiFlag, name string, values []string) {
	switch {
	case row.note != "":
		g.notes = append(g.notes, "genai-perf "+name+" is left out: "+row.note)
		return
	case row.flag == "--model-names":
		values = []string{strings.Join(values, ",")}
	}
	if row.flag != "" {
		name = row.flag
	}
	g.out = append(append(g.out, name), values...)
}

// special are the flags whose values mean something else here.
func (g *genai) special(name string, values []string) error {
	value := strings.Join(values, " ")
	switch name {
	case "--endpoint-type":
		to, known := endpoint.GenAI(value)
		if !known {
			return diag.New("--endpoint-type "+value+": this API is not supported here",
				"use one of "+strings.Join(g.known["--endpoint-type"].Enum, ", "))
		}
		g.endpoint = to
	case "--service-kind":
		if value != "openai" {
			return diag.New("--service-kind "+value+": only openai is supported here",
				"start the server's OpenAI front end, and use --service-kind openai --endpoint-type chat")
		}
	case "--measurement-interval", "-p":
		ms, err := strconv.ParseFloat(value, 64)
		if err != nil || !(ms > 0) || ms > 1e9 {
			return diag.New(name+" "+value+": expected milliseconds above 0", "")
		}
		g.window = 1.2 * ms // which is how long perf_analyzer waits
	case "--stability-percentage", "-s":
		s, err := strconv.ParseFloat(value, 64)
		if err != nil || !(s > 0) || s > anyThree {
			return diag.New(name+" "+value+": expected percent above 0, at most 999", "")
		}
		g.stability = s
	case "--fixed-schedule":
		if !strings.EqualFold(value, "false") {
			g.out = append(g.out, name)
		}
	case "--input-file":
		if strings.HasPrefix(value, "synthetic:") || strings.HasPrefix(value, "payload:") {
			return diag.New("--input-file "+value+": has no counterpart",
				"write a JSONL file, one request a line")
		}
		g.out = append(g.out, name, value)
	default:
		if g.sweep == nil {
			g.sweep = map[string]string{}
		}
		g.sweep[strings.TrimPrefix(name, "--sweep-")] = value
	}
	return nil
}

// passed are the words behind --, which go to perf_analyzer: headers are ours,
// and what only tunes that program is left out.
func (g *genai) passed(words []string) error {
	for len(words) > 0 {
		name, value, glued := strings.Cut(words[0], "=")
		words = words[1:]
		switch name {
		case "-H", "--header":
			if !glued && len(words) > 0 {
				value, words = words[0], words[1:]
			}
			g.out = append(g.out, "--header", value)
		case "-v", "--verbose", "--async":
		case "--max-threads":
			if !glued && len(words) > 0 {
				words = words[1:]
			}
		default:
			return diag.New("-- "+name+": this flag of perf_analyzer has no counterpart here",
				"leave it out, or look for one that does the same: aiperf profile --help")
		}
	}
	return nil
}

// finish adds what several flags say together.
func (g *genai) finish() error {
	if g.endpoint == "" {
		return diag.New("--endpoint-type is missing: GenAI-Perf's default, Triton's kserve, cannot be used here",
			"add --endpoint-type chat for a server with the OpenAI API")
	}
	g.out = append(g.out, "--endpoint-type", g.endpoint)
	g.windows()
	if g.sweep == nil {
		return nil
	}
	kind := strings.ReplaceAll(cmp.Or(g.sweep["type"], "concurrency"), "-", "_")
	sweep, known := genaiSweeps[kind]
	if !known {
		return diag.New("--sweep-type "+g.sweep["type"]+": GenAI-Perf does not sweep this",
			"use one of "+strings.Join(slices.Sorted(maps.Keys(genaiSweeps)), ", "))
	}
	list := g.sweep["list"]
	switch {
	case list != "" && g.sweep["range"] != "":
		return diag.New("--sweep-list and --sweep-range are both given", "keep one of them")
	case list == "":
		values, err := sweepRange(strings.Split(cmp.Or(g.sweep["range"], "1:1024"), ":"))
		if err != nil {
			return err
		}
		list = values
	}
	if sweep.path != "" {
		sweep.flag, list = "--set", "sweep.parameters."+sweep.path+"=["+list+"]"
	}
	g.out = append(g.out, sweep.flag, list)
	return nil
}

// anyThree is GenAI-Perf's stability: at 999 % any three windows agree, but for one that has
// eleven times as much as another.
const anyThree = 999

// windows adds how the load ends where windows say so.
func (g *genai) windows() {
	switch {
	case g.window == 0 && g.stability > 0:
		g.notes = append(g.notes, "genai-perf --stability-percentage is left out: perf_analyzer cuts no windows where requests are counted; --measurement-interval has it cut them")
	case g.window == 0:
	case g.stability == 0 || g.stability == anyThree:
		g.out = append(g.out, "--benchmark-duration", strconv.FormatFloat(3*g.window/1e3, 'g', 12, 64))
		g.notes = append(g.notes, "genai-perf --measurement-interval measures three windows of 1.2 times as long: together they are the duration")
	default:
		g.out = append(g.out, "--measurement-interval", strconv.FormatFloat(g.window, 'g', 12, 64),
			"--stability-percentage", strconv.FormatFloat(g.stability, 'g', 12, 64))
		g.notes = append(g.notes, "genai-perf --measurement-interval is 1.2 times as long in perf_analyzer, and here")
	}
}

// genaiSweeps are what genai-perf analyze sweeps: a flag that takes a list, or the path of an axis.
var genaiSweeps = map[string]struct{ flag, path string }{
	"concurrency":           {flag: "--concurrency"},
	"request_rate":          {flag: "--request-rate"},
	"input_sequence_length": {flag: "--isl"},
	"num_dataset_entries":   {path: "dataset.entries"},
	"batch_size":            {path: "dataset.prompts.batch_size"},
}

// sweepRange is min:max in powers of two, or min:max:step.
func sweepRange(parts []string) (string, error) {
	name := "--sweep-range " + strings.Join(parts, ":")
	bad := diag.New(name+": expected min:max or min:max:step", "--sweep-range 1:16 doubles from 1 to 16, --sweep-range 10:40:10 adds 10")
	var n []int
	for _, p := range parts {
		v, err := strconv.Atoi(p)
		if err != nil || v < 1 {
			return "", bad
		}
		n = append(n, v)
	}
	if len(n) < 2 || len(n) > 3 || n[0] >= n[1] {
		return "", bad
	}
	var values []string
	for v := n[0]; v <= n[1]; {
		if len(values) == 1000 {
			return "", diag.New(name+": more than 1000 values", "take a larger step")
		}
		values = append(values, fmt.Sprint(v))
		if len(n) == 3 {
			v += n[2]
		} else {
			v *= 2
		}
	}
	return strings.Join(values, ","), nil
}
