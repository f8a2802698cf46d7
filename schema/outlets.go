package schema

// OTel is a collector that metrics are sent to while they are measured.
type OTel struct {
	URL      string  `json:"metrics_url,omitempty"`
	Metrics  bool    `json:"stream_metrics_enabled"`
	Timing   bool    `json:"stream_timing_enabled"`
	Resource Members `json:"custom_resource_attributes"`
	Provider string  `json:"gen_ai_provider,omitempty"`
	Semconv  string  `json:"semconv,omitempty"` // 1.41 (""), next
}

// MLflow is a server that results are filed with.
type MLflow struct {
	TrackingURI   string   `json:"tracking_uri,omitempty"`
	Experiment    string   `json:"experiment"`
	RunName       string   `json:"run_name,omitempty"`
	Tags          Members  `json:"tags,omitempty"`
	ParentRunID   string   `json:"parent_run_id,omitempty"`
	ArtifactGlobs []string `json:"artifact_globs,omitempty"`
}

// WandB is a project of Weights & Biases to log the results to.
type WandB struct {
	Project string   `json:"project,omitempty"`
	Entity  string   `json:"entity,omitempty"`
	RunName string   `json:"run_name,omitempty"`
	Tags    []string `json:"tags,omitempty"`
}

// outlets are the addresses to which results go, where secrets may stand.
func (b *Benchmark) outlets() []string { return []string{b.OTel.URL, b.MLflow.TrackingURI} }
