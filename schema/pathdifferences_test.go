package schema

// pathDifferences are the fields of AIPerf's configuration that ours lacks,
// bounds otherwise or gives another default, with the reason. A row that ends
// in a star speaks for all paths that begin so.
var pathDifferences = map[string]string{
	"benchmark.endpoint.timeout":                          "0 seconds for a request is refused: it would fail every request at once, or mean no limit at all",
	"dist(LogNormalDistribution).mean":                    "one field for all shapes: a mean of 0 is allowed for a normal shape, and the median keeps it above 0 for a log-normal one",
	"dist(MultimodalDistribution).peaks[].mean":           "one field for all shapes: a mean of 0 is allowed for a normal shape, and the median keeps it above 0 for a log-normal one",
	"dist(NormalDistribution).stddev":                     "filled in beside a mean without a median, since one object holds every shape",
	"dist(MultimodalDistribution).peaks[].stddev":         "filled in beside a mean without a median, since one object holds every shape",
	"dist(MultimodalDistribution).peaks[].type":           "a mixture inside a mixture is refused: it is one mixture with the weights multiplied",
	"dist(MultimodalDistribution).peaks[].peaks*":         "a mixture inside a mixture is refused: it is one mixture with the weights multiplied",
	"benchmark.phases[].adaptive_scale.control.variable":  "users cannot be raised while they talk: concurrency does",
	"benchmark.phases.adaptive_scale.control.variable":    "as above",
	"benchmark.warmup.adaptive_scale.control.variable":    "as above",
	"benchmark.profiling.adaptive_scale.control.variable": "as above",
	"multi_run.convergence.min_runs":                      "without it five usable trials and two more, so that intervals hold what they claim; said, it is AIPerf's minimum",
	"multi_run.num_runs":                                  "up to 1,000 trials in a file; the flag takes ten, as AIPerf's",
	"schema_version":                                      "without it the file is written for this program's version; 2.0 is an older one",
	"sweep.optimization":                                  "documented as random-cd when nothing is said, while the cells that AIPerf makes then are not spread: ours are those cells",
	"sweep.type":                                          "one definition for all kinds of sweep; its default is grid, each kind of AIPerf's has its own name as default",
}
