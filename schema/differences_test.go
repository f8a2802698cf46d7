package schema_test

// What is done otherwise than AIPerf 0.13 does it, row by row, with the reason.
// docs/differences.md is written from these maps.

var fileDifferences = map[string]string{
	"grid_default_type":             "a sweep without a type is a grid; AIPerf refuses although its own schema names grid as the default",
	"grid_into_scalar_distribution": "an axis on the mean of a distribution written as a number works; AIPerf crashes",
	"magic_list_concurrency":        "a list of numbers in a field of a phase is an axis, as AIPerf's documentation says; AIPerf refuses it",
	"magic_list_phase_list_form":    "a list of numbers in a field of a phase is an axis, as AIPerf's documentation says; AIPerf refuses it",
	"magic_list_two_fields":         "a list of numbers in a field of a phase is an axis, as AIPerf's documentation says; AIPerf refuses it",
	"scenarios_dataset_override":    "isl in the dataset of a scenario takes effect; AIPerf keeps the base's prompts.isl and drops the other",
	"yaml_merge_key":                "YAML anchors and merge keys work; AIPerf calls every reused mapping cyclic",
}

// Reasons that several flags share.
const (
	shownDefault = "AIPerf prints no default here; this is the value it then uses"
	usedDefault  = "AIPerf prints a default that it does not use; this is the value it uses"
	noneDefault  = "0 stands for none in AIPerf; here the flag is left out"
	doubleNames  = "may be repeated and takes several words, as AIPerf's examples quote it"
)

var flagDifferences = map[string]string{
	"--url-strategy":                        "session and least_in_flight as well: a session stays with one server, or each request goes to the least busy one",
	"--accuracy-benchmark":                  "also own: questions of a file of one's own",
	"--accuracy-grader":                     "also plugin: a program of one's own",
	"--audio-batch-size":                    usedDefault,
	"--audio-length-mean":                   noneDefault,
	"--concurrency":                         shownDefault,
	"--custom-dataset-type":                 shownDefault,
	"--dataset-sampling-strategy":           shownDefault,
	"--endpoint-type":                       "also llamacpp_completion, ollama_generate and the kserve_… types",
	"--goodput":                             doubleNames + "; takes the names of screens as well: ttft, itl, latency",
	"--image-batch-size":                    usedDefault,
	"--image-format":                        usedDefault,
	"--image-height-mean":                   noneDefault,
	"--image-source":                        "takes a folder as well, as AIPerf's does; the words are in its description",
	"--image-width-mean":                    noneDefault,
	"--mlflow-experiment":                   shownDefault,
	"--network-latency-ping-interval":       shownDefault,
	"--search-initial-points":               shownDefault,
	"--search-planner":                      shownDefault,
	"--optuna-sampler":                      shownDefault,
	"--optuna-terminator":                   shownDefault,
	"--search-percentile-pooling":           shownDefault,
	"--bo-constraint-mode":                  shownDefault,
	"--output-artifact-dir":                 "profile takes artifacts, as AIPerf does; run makes a folder of the name and the time, so the help names no default",
	"--prompt-prefix-length":                noneDefault,
	"--prompt-prefix-pool-size":             noneDefault,
	"--rankings-passages-mean":              usedDefault,
	"--rankings-passages-prompt-token-mean": usedDefault,
	"--rankings-query-prompt-token-mean":    usedDefault,
	"--video-audio-sample-rate":             "in kHz as it is stored; a number above 96 is read as Hz, as in AIPerf",
	"--video-batch-size":                    usedDefault,
	"--video-duration":                      usedDefault,
}

// moreRequests: the request count when none is given.
const moreRequests = "without a bound a concurrency of more than 5 gets 2·concurrency requests, as in AIPerf 0.7; 0.13 takes 10 everywhere"

// eachOnce: the number of requests of an accuracy run.
const eachOnce = "without a bound each question is asked once; AIPerf sends 10 requests, and so grades a part of them, or some of them again"

var lineDifferences = map[string]string{
	"accuracy":                       eachOnce,
	"recipe_ramp":                    moreRequests,
	"sweep_list_of_one":              moreRequests,
	"sweep_osl_and_concurrency_zip3": moreRequests,
	"header_text":                    "the values of headers that are not known to be harmless are masked where a body is shown",
	"header_numeric":                 "a header's value is text; AIPerf turns digits into a number and then refuses it",
}

var mistakeDifferences = map[string]string{
	"yaml_container_anchor_reuse":       "YAML anchors work; AIPerf calls every reused list or mapping cyclic",
	"yaml_dist_percentiles":             "a distribution given by p50 and p99 works, as AIPerf's documentation says; AIPerf 0.13 refuses it",
	"yaml_phase_concurrency_list_magic": "a list of numbers in a field of a phase is an axis, as AIPerf's documentation says; AIPerf refuses it",
	"yaml_multirun_eleven":              "a file may ask for up to 1,000 trials; AIPerf takes ten",
	"yaml_phase_duration_ms":            "durations may be given in ms; AIPerf knows s, m and h only",
	"yaml_sweep_benchmark_prefix":       "a path of the sweep may begin with benchmark, as everywhere else; AIPerf refuses it",
}
