package flags

import "slices"

// Topic is a word that people ask help for. The groups are the headings of the
// schema, which are AIPerf's; each belongs to one topic.
type Topic struct {
	Name, Doc string
	groups    []string
}

// Topics of the settings, in the order in which help names them.
func Topics() []Topic {
	return []Topic{
		{"server", "address, API, key, headers, TLS, timeouts", []string{"Endpoint"}},
		{
			"load", "rate, concurrency, when to stop, cancellation",
			[]string{"Load Generator", "User-Centric Rate", "Request Cancellation"},
		},
		{"warmup", "load before the measured one", []string{"Warmup"}},
		{"prompts", "lengths and texts of synthetic prompts, shared prefixes", []string{
			"Prompt", "Cache Bust",
			"Prefix Prompt", "Input Sequence Length (ISL)", "Output Sequence Length (OSL)",
		}},
		{
			"data", "files, published data sets, conversations, the seed",
			[]string{"Input", "Conversation Input", "Rankings"},
		},
		{"media", "images, sounds and videos in requests", []string{"Audio Input", "Image Input", "Video Input"}},
		{"replay", "recorded traffic: its times and its changes", []string{"Fixed Schedule", "Synthesis"}},
		{"tokens", "who counts tokens", []string{"Tokenizer"}},
		{"limits", "which requests are good, and gates", []string{"Goodput"}},
		{"accuracy", "questions with known answers, as the load or among its requests", []string{"Accuracy"}},
		{"trials", "sweeps, repeated runs, searches, budgets", []string{"Multi-Run"}},
		{"results", "files, tables, charts, the console, exit codes", []string{"Output", "HTTP Trace", "UI"}},
		{
			"program", "messages of the program, and what it collects beside the load",
			[]string{"Service", "Workers", "Server Metrics", "GPU Telemetry", "Network Latency"},
		},
	}
}

// Topic is the topic of the flag: that of its group.
func (o Option) Topic() string {
	topics := Topics()
	if i := slices.IndexFunc(topics, func(t Topic) bool { return slices.Contains(t.groups, o.Group) }); i >= 0 {
		return topics[i].Name
	}
	return ""
}
