package schema

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
}
