package schema

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/secret"
	"aiperf.dev/aiperf/schema/fields"
)

// Experiment is the envelope: everything around the body that is measured.
// Its JSON form is the resolved document; field names are those of the CUE
// schema, and a test compares the two.
type Experiment struct {
	Name           string               `json:"name,omitempty"`
	RandomSeed     *int64               `json:"random_seed,omitempty"`
	Variables      map[string]any       `json:"variables,omitempty"`
	MultiRun       MultiRun             `json:"multi_run"`
	Gates          []string             `json:"gates,omitempty"`
	Objectives     []string             `json:"objectives,omitempty"`      // one or two; none: throughput and latency
	GatesUndecided string               `json:"gates_undecided,omitempty"` // estimate, pass, fail
	Rules          []string             `json:"rules,omitempty"`           // sets of rules, by name or file
	Compare        *Compare             `json:"compare,omitempty"`
	Search         *Search              `json:"search,omitempty"` // nil: the matrix is measured
	Budget         *Budget              `json:"budget,omitempty"`
	Verdict        map[string]Threshold `json:"verdict,omitempty"`
	Tables         Tables               `json:"tables"`
	NoSweepTable   bool                 `json:"no_sweep_table,omitempty"`
	AllowInvalid   bool                 `json:"allow_invalid,omitempty"` // exit 0 although the measurement is INVALID
	// Raised says why a search does not begin where it was asked to, "" where it does: a load
	// that several workers share has one slot for each of them.
	Raised string `json:"-"`
}

// Compare names the axis whose values are compared, and how.
type Compare struct {
	Axis        string   `json:"axis"`
	Margin      *float64 `json:"margin,omitempty"`
	ShareMargin *float64 `json:"share_margin,omitempty"`
	Metrics     []string `json:"metrics,omitempty"`
	MustDetect  float64  `json:"must_detect,omitempty"`
	Undecided   string   `json:"undecided,omitempty"` // pass, fail
}

// Search looks for the largest load that a server carries within limits.
type Search struct {
	Find       string                `json:"find,omitempty"` // max, min, knee
	Path       string                `json:"path"`           // as written
	Range      []float64             `json:"range"`
	Where      []string              `json:"where,omitempty"` // limits on requests, which every cell has as its SLOs
	Start      *float64              `json:"start,omitempty"` // nil: an end of the range
	Share      float64               `json:"share"`
	Tiers      map[string]SearchTier `json:"tiers,omitempty"` // in place of Where
	Also       []string              `json:"also,omitempty"`
	Resolution float64               `json:"resolution"`
	Budget     SearchBudget          `json:"budget"`
}

// SearchTier is one of several limits that are found from the same probes.
type SearchTier struct {
	Where []string `json:"where"`
	Share *float64 `json:"share,omitempty"` // nil: that of the search
}

// SearchBudget is what a search may cost.
type SearchBudget struct {
	Time   *Duration `json:"time,omitempty"` // of all runs together
	Probes int       `json:"probes"`
}

// Threshold replaces the default limits of one check of the verdict.
type Threshold struct {
	Warn *float64 `json:"warn,omitempty"`
	Fail *float64 `json:"fail,omitempty"`
}

// Tables says which tables are written and how.
type Tables struct {
	Chunks bool `json:"chunks"` // default true
	// parquet, arrow, csv; none said: all, but requests in Parquet and CSV,
	// chunks, metrics and telemetry in Parquet only
	Formats []string `json:"formats,omitempty"`
}

// Budget ends a plan early: no run is started past it.
type Budget struct {
	Time     *Duration `json:"time,omitempty"`
	Requests *int64    `json:"requests,omitempty"`
}

// MultiRun says how often each cell is repeated.
type MultiRun struct {
	NumRuns                 int     `json:"num_runs"`
	CooldownSeconds         float64 `json:"cooldown_seconds"`
	ConfidenceLevel         float64 `json:"confidence_level"`
	SetConsistentSeed       bool    `json:"set_consistent_seed"`
	VarySeedPerTrial        bool    `json:"vary_seed_per_trial"`
	DisableWarmupAfterFirst bool    `json:"disable_warmup_after_first"`
	Seeds                   string  `json:"seeds,omitempty"` // "" leaves it to what else is said

	Sentinel bool `json:"sentinel,omitempty"`

	Convergence *Convergence `json:"convergence,omitempty"` // nil: every trial is run
}

// Convergence says when the trials of a cell are enough.
type Convergence struct {
	Metric    string   `json:"metric"`
	Stat      string   `json:"stat"`                // avg, p50, p90, p95, p99, min, max
	Mode      string   `json:"mode"`                // ci_width, cv, distribution
	Threshold *float64 `json:"threshold,omitempty"` // nil takes the mode's
	MinRuns   int      `json:"min_runs,omitempty"`  // 0 takes five, and two more once it holds
}

// Benchmark is the body: what one cell measures, fully resolved.
type Benchmark struct {
	Models        Models             `json:"models"`
	Endpoint      Endpoint           `json:"endpoint"`
	Server        *Server            `json:"server,omitempty"`
	Datasets      []Dataset          `json:"datasets"`
	Phases        []Phase            `json:"phases"`
	Artifacts     Artifacts          `json:"artifacts"`
	SLOs          map[string]float64 `json:"slos,omitempty"`
	Tokenizer     Tokenizer          `json:"tokenizer"`
	AIPerf        string             `json:"aiperf_semantics,omitempty"` // 0.13 (default), fields.LaterAIPerf
	FailurePolicy string             `json:"failure_policy,omitempty"`   // continue (default), abort
	OnWorkerLoss  string             `json:"on_worker_loss,omitempty"`   // abort (default), continue
	Runtime       Runtime            `json:"runtime"`
	Logging       Logging            `json:"logging"`
	GPUTelemetry  GPUTelemetry       `json:"gpu_telemetry"`
	ServerMetrics ServerMetrics      `json:"server_metrics"`
	Network       NetworkLatency     `json:"network_latency"`
	OTel          OTel               `json:"otel"`
	MLflow        MLflow             `json:"mlflow"`
	WandB         WandB              `json:"wandb"`
	Accuracy      *Accuracy          `json:"accuracy,omitempty"`
}

// GPUTelemetry says which pages of DCGM's exporter are read while requests are sent.
type GPUTelemetry struct {
	Enabled     bool     `json:"enabled"`
	URLs        []string `json:"urls,omitempty"`
	MetricsFile string   `json:"metrics_file,omitempty"` // more fields of DCGM's
	Collector   string   `json:"collector"`              // dcgm
	Mode        string   `json:"mode"`                   // summary, realtime_dashboard
}

// NetworkLatency says whether the round trip to the servers is measured, or given.
type NetworkLatency struct {
	Enabled      bool     `json:"enabled"`
	PingInterval float64  `json:"ping_interval"` // s
	Mean         *float64 `json:"mean_ms,omitempty"`
}

// Measured tells whether connections are made to measure it.
func (n *NetworkLatency) Measured() bool { return n.Enabled && n.Mean == nil }

// ServerMetrics says which pages of metrics are read while requests are sent: those of
// the endpoint's addresses, and URLs.
type ServerMetrics struct {
	Enabled bool     `json:"enabled"`
	URLs    []string `json:"urls,omitempty"`
	Formats []string `json:"formats"` // of AIPerf's files: json, csv, jsonl, parquet
}

// Runtime says how the program shows its progress. Workers and
// RecordProcessors are taken for AIPerf's sake; one process does all.
type Runtime struct {
	UI               string `json:"ui"`                      // dashboard, simple, none
	ServeMetrics     string `json:"serve_metrics,omitempty"` // where progress is a page of metrics
	Workers          int    `json:"workers,omitempty"`
	RecordProcessors int    `json:"record_processors,omitempty"`
}

// Logging is the least severe message that is shown.
type Logging struct {
	Level string `json:"level"` // TRACE … CRITICAL
}

// Models are the names the server is asked for.
type Models struct {
	Strategy string  `json:"strategy"` // round_robin, random, weighted
	Items    []Model `json:"items"`
}

// Model is one of them.
type Model struct {
	Name   string   `json:"name"`
	Weight *float64 `json:"weight,omitempty"`
}

// Endpoint is where requests go and in which shape.
type Endpoint struct {
	Label              string    `json:"label,omitempty"` // from a labelled axis; not part of a cell's identity
	URLs               []string  `json:"urls"`
	URLStrategy        string    `json:"url_strategy"`
	Path               string    `json:"path,omitempty"`
	Type               string    `json:"type"`
	Streaming          bool      `json:"streaming"`
	Timeout            float64   `json:"timeout"`                       // seconds for one request
	UnreachableTimeout *Duration `json:"unreachable_timeout,omitempty"` // without a connection; 10 s
	// without a sign of life while requests are under way; 600 s, 0 for never
	StallTimeout        *Duration `json:"stall_timeout,omitempty"`
	APIKey              string    `json:"api_key,omitempty"`
	Headers             Headers   `json:"headers"`
	Extra               Members   `json:"extra"`            // merged into every request body
	ConnectionReuse     string    `json:"connection_reuse"` // pooled, never, sticky-user-sessions
	UseLegacyMaxTokens  bool      `json:"use_legacy_max_tokens"`
	UseServerTokenCount bool      `json:"use_server_token_count"`
	Insecure            bool      `json:"insecure,omitempty"`
	CAFile              string    `json:"ca_file,omitempty"`
	ClientCert          string    `json:"client_cert,omitempty"`
	ClientKey           string    `json:"client_key,omitempty"`
	HTTP                int       `json:"http,omitempty"`  // 1 (default) or 2
	Proxy               string    `json:"proxy,omitempty"` // "" none, "env"
	SourceAddresses     []string  `json:"source_addresses,omitempty"`

	Template             *BodyTemplate `json:"template,omitempty"`
	Plugin               string        `json:"plugin,omitempty"` // the folder of the program that speaks the API
	RPC                  *RPC          `json:"rpc,omitempty"`
	DownloadVideoContent bool          `json:"download_video_content,omitempty"`
	RequestContentType   string        `json:"request_content_type,omitempty"`
	PerChunkUsage        bool          `json:"per_chunk_usage,omitempty"`
	SessionHeader        string        `json:"session_header,omitempty"`

	Flip *Flip `json:"flip,omitempty"`

	ResetKVCache   *ResetKVCache   `json:"reset_kv_cache,omitempty"`
	ServerProfiler *ServerProfiler `json:"server_profiler,omitempty"`
	WaitWorkers    int             `json:"wait_for_workers,omitempty"`

	WaitTimeout  float64 `json:"wait_for_model_timeout"`  // seconds; 0 does not wait
	WaitInterval float64 `json:"wait_for_model_interval"` // seconds
	WaitMode     string  `json:"wait_for_model_mode"`     // models, inference, both

	// Hide masks what the environment says in its addresses and its flip; nobody writes it.
	Hide *secret.Masker `json:"-"`
}

// Flip brings the server into the state that is measured: by a call or by a command.
type Flip struct {
	Call    string   `json:"call,omitempty"` // a path of the endpoint's servers, or an address
	Method  string   `json:"method"`
	Headers Headers  `json:"headers"`
	Body    Members  `json:"body,omitempty"`
	Command []string `json:"command,omitempty"`
	Timeout float64  `json:"timeout"` // seconds
}

// Flips is what the endpoint's flip does, without what a person may not see.
func (e *Endpoint) Flips() string {
	if e.Flip.Call != "" {
		return e.Flip.Method + " " + e.Hide.Text(secret.URL(e.Flip.Call))
	}
	return e.Hide.Text(strings.Join(e.Flip.Command, " "))
}

// BodyTemplate is an API of the user's own: the Jinja template of the body and
// the JMESPath of the text in the answer.
type BodyTemplate struct {
	Body          string `json:"body"`
	ResponseField string `json:"response_field"`
}

// RPC is a method that a gRPC server describes by reflection: the Jinja template
// of its message and the JMESPaths of the text and of the end.
type RPC struct {
	Method string `json:"method"`
	Body   string `json:"body"`
	Text   string `json:"text"`
	Done   string `json:"done,omitempty"`
}

// Dataset is where conversations come from.
type Dataset struct {
	Name           string            `json:"name"`
	Type           string            `json:"type"` // a row of loadgen/dataset's types
	Entries        int               `json:"entries,omitempty"`
	Prompts        Prompts           `json:"prompts"`
	Turns          *Shape            `json:"turns,omitempty"`
	TurnDelay      *Shape            `json:"turn_delay,omitempty"` // ms
	TurnDelayRatio float64           `json:"turn_delay_ratio,omitempty"`
	Prefix         *Prefix           `json:"prefix_prompts,omitempty"`
	Sampling       string            `json:"sampling,omitempty"` // sequential, random, shuffle
	RandomSeed     *int64            `json:"random_seed,omitempty"`
	SystemPrompt   string            `json:"system_prompt,omitempty"`
	SystemFile     string            `json:"system_prompt_file,omitempty"`
	Path           string            `json:"path,omitempty"`
	Format         string            `json:"format,omitempty"` // single_turn, multi_turn, …
	Records        []json.RawMessage `json:"records,omitempty"`
	Plugin         string            `json:"plugin,omitempty"` // the folder of the program that writes records

	// A published set: its name, the part of it, what its records must have,
	// the repository in place of the name's, and a folder that holds a copy.
	Dataset       string         `json:"dataset,omitempty"`
	HFSubset      string         `json:"hf_subset,omitempty"`
	Filters       map[string]any `json:"filters,omitempty"`
	HFWekaDataset string         `json:"hf_weka_dataset,omitempty"`
	Folder        string         `json:"folder,omitempty"`

	Rankings   *Rankings         `json:"rankings,omitempty"`
	Images     *Images           `json:"images,omitempty"`
	Audio      *Audio            `json:"audio,omitempty"`
	Video      *Video            `json:"video,omitempty"`
	Columns    map[string]string `json:"columns,omitempty"` // of tables: our name → the file's
	MediaRoots []string          `json:"media_roots,omitempty"`
	BlockSize  int               `json:"block_size,omitempty"` // tokens of one hash of a trace
	Synthesis  *Synthesis        `json:"synthesis,omitempty"`

	// How a recorded trace is played.
	TraceSessionSampleRatio  *float64 `json:"trace_session_sample_ratio,omitempty"`
	InterTurnDelayCapSeconds *float64 `json:"inter_turn_delay_cap_seconds,omitempty"`
	MaxIdleGapCapSeconds     *float64 `json:"max_idle_gap_cap_seconds,omitempty"`
	TraceIdleGapCapSeconds   *float64 `json:"trace_idle_gap_cap_seconds,omitempty"`
	// GapsStay: the replay shortens the gaps of TraceIdleGapCapSeconds, which stay in the recording. It
	// follows from Benchmark.AIPerf.
	GapsStay          bool    `json:"-"`
	ReplaySpeedup     float64 `json:"replay_speedup,omitempty"`
	OpenLoopReplay    *bool   `json:"open_loop_replay,omitempty"` // nil: true
	OpenLoopStrict    bool    `json:"open_loop_strict,omitempty"`
	OmitKVHints       bool    `json:"omit_kv_hints,omitempty"`
	ForceMinTokens    *bool   `json:"force_min_tokens,omitempty"` // nil: true
	IgnoreTraceDelays bool    `json:"ignore_trace_delays,omitempty"`
	UseThinkTimeOnly  bool    `json:"use_think_time_only,omitempty"`
	MaxContextLength  int64   `json:"max_context_length,omitempty"`

	PromptBatchSize *int `json:"prompt_batch_size,omitempty"`
	ImageBatchSize  *int `json:"image_batch_size,omitempty"`
	AudioBatchSize  *int `json:"audio_batch_size,omitempty"`
	VideoBatchSize  *int `json:"video_batch_size,omitempty"`

	CacheBust *CacheBust `json:"cache_bust,omitempty"` // of files; of synthetic text it stands in prompts
}

// Made tells whether the conversations are written here, not recorded.
func (d *Dataset) Made() bool { return fields.DatasetMade(d.Type) }

// LimitsOutput tells whether the settings give each turn a longest answer.
func (d *Dataset) LimitsOutput() bool { return d.Prompts.OSL != nil || len(d.Prompts.Pairs) > 0 }

// Prompts are the shapes of synthetic text, in tokens.
type Prompts struct {
	ISL       *Shape `json:"isl,omitempty"`
	OSL       *Shape `json:"osl,omitempty"`
	BatchSize int    `json:"batch_size,omitempty"`
	BlockSize int    `json:"block_size,omitempty"`

	Corpus       string       `json:"corpus,omitempty"`      // sonnet, coding, random
	CorpusFile   string       `json:"corpus_file,omitempty"` // ours: a text file to cut prompts from
	CacheBust    *CacheBust   `json:"cache_bust,omitempty"`
	Pairs        []LengthPair `json:"sequence_distribution,omitempty"`
	RandomRange  string       `json:"random_range_ratio,omitempty"`
	RandomCorpus string       `json:"random_corpus_style,omitempty"`
}

// Prefix is text shared between conversations, in tokens.
type Prefix struct {
	PoolSize           int `json:"pool_size,omitempty"`
	Length             int `json:"length,omitempty"`
	SharedSystemLength int `json:"shared_system_length,omitempty"`
	UserContextLength  int `json:"user_context_length,omitempty"`
	// HitRate is ours: the share of prompt tokens that a server's prefix cache
	// is to know already, in whole blocks of BlockSize tokens.
	HitRate   float64 `json:"hit_rate,omitempty"`
	BlockSize int     `json:"block_size,omitempty"`
}

// Shape is a distribution. Which fields are set names its kind, in the order
// of EXPERIMENT's reference: peaks, points, p50/p99, median, stddev, value, mean.
type Shape struct {
	Type   string   `json:"type,omitempty"`
	Value  *float64 `json:"value,omitempty"`
	Mean   *float64 `json:"mean,omitempty"`
	StdDev *float64 `json:"stddev,omitempty"`
	Median *float64 `json:"median,omitempty"`
	P50    *float64 `json:"p50,omitempty"`
	P99    *float64 `json:"p99,omitempty"`
	Min    *float64 `json:"min,omitempty"`
	Max    *float64 `json:"max,omitempty"`
	Peaks  []Shape  `json:"peaks,omitempty"`
	Points []Point  `json:"points,omitempty"`
	Weight *float64 `json:"weight,omitempty"`
}

// Point is one value of an empirical distribution.
type Point struct {
	Value  float64  `json:"value"`
	Weight *float64 `json:"weight,omitempty"`
}

// LengthPair is one part of a mixture of input and output lengths. The
// probabilities are relative weights.
type LengthPair struct {
	ISL         Shape    `json:"isl"`
	ISLStdDev   *float64 `json:"isl_stddev,omitempty"`
	OSL         Shape    `json:"osl"`
	OSLStdDev   *float64 `json:"osl_stddev,omitempty"`
	Probability float64  `json:"probability"`
}

// CacheBust is where a text is put that no other request has.
type CacheBust struct {
	Target string `json:"target,omitempty"` // none, system_prefix, …
}

// Rankings are the shapes of what a reranker is asked.
type Rankings struct {
	Passages      *Shape `json:"passages,omitempty"`
	PassageTokens *Shape `json:"passage_tokens,omitempty"`
	QueryTokens   *Shape `json:"query_tokens,omitempty"`
}

// Images are the synthetic images of a turn.
type Images struct {
	BatchSize      int    `json:"batch_size,omitempty"`
	Width          *Shape `json:"width,omitempty"`  // pixels
	Height         *Shape `json:"height,omitempty"` // pixels
	Format         string `json:"format,omitempty"` // png, jpeg, random
	Source         string `json:"source,omitempty"` // noise, assets, a folder
	SourceSampling string `json:"source_sampling,omitempty"`
}

// Audio are the synthetic sounds of a turn.
type Audio struct {
	BatchSize   int       `json:"batch_size,omitempty"`
	Length      *Shape    `json:"length,omitempty"` // s
	Format      string    `json:"format,omitempty"` // wav, mp3
	SampleRates []float64 `json:"sample_rates,omitempty"`
	Depths      []int     `json:"depths,omitempty"` // bits
	Channels    int       `json:"channels,omitempty"`
}

// Video are the synthetic videos of a turn.
type Video struct {
	BatchSize int        `json:"batch_size,omitempty"`
	Duration  float64    `json:"duration,omitempty"` // s
	FPS       int        `json:"fps,omitempty"`
	Width     int        `json:"width,omitempty"`
	Height    int        `json:"height,omitempty"`
	Format    string     `json:"format,omitempty"` // mp4, webm
	Codec     string     `json:"codec,omitempty"`
	SynthType string     `json:"synth_type,omitempty"` // moving_shapes, grid_clock, noise
	Audio     VideoAudio `json:"audio"`
}

// VideoAudio is the sound track of a video.
type VideoAudio struct {
	SampleRate float64 `json:"sample_rate,omitempty"` // kHz
	Channels   int     `json:"channels,omitempty"`    // 0: none
	Codec      string  `json:"codec,omitempty"`
	Depth      int     `json:"depth,omitempty"` // bits
}

// Synthesis changes a recorded trace before it is played; 0 leaves as it is.
type Synthesis struct {
	SpeedupRatio         float64 `json:"speedup_ratio,omitempty"`
	PrefixLenMultiplier  float64 `json:"prefix_len_multiplier,omitempty"`
	PrefixRootMultiplier int     `json:"prefix_root_multiplier,omitempty"`
	PromptLenMultiplier  float64 `json:"prompt_len_multiplier,omitempty"`
	// OutputLenMultiplier of 0 asks for one token each.
	OutputLenMultiplier *float64 `json:"output_len_multiplier,omitempty"`
	MaxISL              int64    `json:"max_isl,omitempty"`
	MaxOSL              int64    `json:"max_osl,omitempty"`
	AllowDatasetWrap    bool     `json:"allow_dataset_wrap,omitempty"` // of agentic_replay
}

// Artifacts says where results go and in which detail.
type Artifacts struct {
	Exporters []string `json:"exporters,omitempty"` // folders of programs that are given the results
	Metrics   []string `json:"metrics,omitempty"`   // folders of programs that make metrics of requests
	Dir       string   `json:"dir"`
	AIPerf    *bool    `json:"aiperf,omitempty"` // its files are written; nil: the command decides
	Prefix    string   `json:"prefix,omitempty"`
	Summary   Exports  `json:"summary"` // json; empty: no summary JSON
	Records   Exports  `json:"records"` // jsonl; empty: none

	Raw             bool      `json:"raw"`
	Trace           bool      `json:"trace"`
	ShowTraceTiming bool      `json:"show_trace_timing"`
	SliceDuration   *Duration `json:"slice_duration,omitempty"`
	Outputs         bool      `json:"export_outputs_json"`
	AutoPlot        bool      `json:"auto_plot"`
	PlotRequired    bool      `json:"plot_required"`
}

// MaxSlices bounds the timeslices of one run: each holds its own statistics.
const MaxSlices = 10_000

// Tokenizer counts client-side tokens.
type Tokenizer struct {
	Name     string `json:"name,omitempty"` // "": the model's own, else built-in with a warning
	Revision string `json:"revision"`
	// TrustRemoteCode is for files that AIPerf reads, too: this program runs no code of a tokenizer.
	TrustRemoteCode bool `json:"trust_remote_code,omitempty"`
	// ApplyChatTemplate counts prompts inside the chat template of the model.
	ApplyChatTemplate bool `json:"apply_chat_template,omitempty"`
}

// Duration is a span in seconds; +Inf is written "inf".
type Duration float64

// Inf is a duration without end.
var Inf = Duration(math.Inf(1))

// Go is d as a time.Duration; infinite becomes the largest one.
func (d Duration) Go() time.Duration {
	if s := float64(d) * 1e9; s < math.MaxInt64 {
		return time.Duration(math.Round(s)) // 2.01 s are 2,010,000,000 ns
	}
	return math.MaxInt64
}

// MarshalJSON writes seconds, or "inf".
func (d Duration) MarshalJSON() ([]byte, error) {
	if math.IsInf(float64(d), 1) {
		return []byte(`"inf"`), nil
	}
	return strconv.AppendFloat(nil, float64(d), 'g', -1, 64), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (d *Duration) UnmarshalJSON(b []byte) error {
	if string(b) == `"inf"` {
		*d = Inf
		return nil
	}
	f, err := strconv.ParseFloat(string(b), 64)
	*d = Duration(f)
	return err
}

// Seconds is a pointer to s seconds, for literals.
func Seconds(s float64) *Duration { d := Duration(s); return &d }
