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

var flagDifferences = map[string]string{}

var lineDifferences = map[string]string{}

var mistakeDifferences = map[string]string{}
