package language

import (
	"regexp"
	"strings"
)

// reason is why a published schema lets a mistake through.
type reason struct {
	said    *regexp.Regexp // the refusal
	cue, js bool           // by whom
	why     string
}

// is reports whether a refusal is of this kind.
func (r reason) is(refusal error) bool {
	return r.said.MatchString(strings.Split(refusal.Error(), "\n")[0])
}

// letThroughBy tells who may let through what is refused here.
func letThroughBy(refusal error) (cue, js bool) {
	for _, r := range letThrough {
		if r.is(refusal) {
			cue, js = cue || r.cue, js || r.js
		}
	}
	return cue, js
}

// letThrough is what aiperf validate refuses and a published schema lets
// through: by what the refusal says, by whom, and why. docs/cue.md has the
// reasons.
var letThrough = []reason{
	{regexp.MustCompile(`not supported yet$`), true, true, "Settings that the schema knows but the program does not support yet: the program says what to do instead."},
	{regexp.MustCompile(`template \{\{|attribute '__|at most 9007199254740991, got 1\.96.*e\+77$`), true, true, "Templates and variables are text until they are filled in."},
	{regexp.MustCompile(`txt-\S*\.yaml:.* must be |txt-\S*\.yaml:.* expected a whole number`), true, true, "Numbers in quotes are text: their bounds are not checked."},
	{regexp.MustCompile(`(gates|objectives)\.\d+: |sweep\.(where|derive)`), true, true, "Expressions are text: gates, objectives, `where` and `derive`."},
	{regexp.MustCompile(`is given twice|tag !!.* is not known|a second document`), true, true, "How YAML is read: keys given twice, tags, a second document."},
	{regexp.MustCompile(`is the same key as|is given in benchmark, too`), true, true, "The same setting given twice: under both spellings of its key, or in `benchmark` and beside it."},
	{regexp.MustCompile(`no metric is called|unknown recipe|is not an axis of the sweep|no member is called|two cells are called|is the name of phase`), true, true, "Names that refer to something defined elsewhere: metrics, checks, phases, cells, axes."},
	{regexp.MustCompile(`is not an address|names no host`), true, true, "What kind of address a URL is."},
	{regexp.MustCompile(`the weights make|the shares make|needs a weight for every|go together|no stop condition is given|does not come after|peaks\.\d+: no distribution is given|needs a streaming endpoint|needs a data set with timestamps|the first phase cannot be|which ranks nothing|needs a setting that is searched$|cannot be combined with type: concurrency$|needs type: (file|public)$|sweep.parameters: (required by type|names no axis)|good requests of one load to be shown|has one value here`), true, true, "Rules about several objects at once, and sums; settings that contradict a type that is only implied; that every phase needs a stop condition, and every sweep an axis (a list in a phase counts as one)."},
	{regexp.MustCompile(`is given \d+ times|got -4$|got number 1\.466`), true, true, "Values on the axes of a sweep: their kind and their words are checked everywhere; kinds within lists and objects, whole numbers, keys, bounds, equal values, and everything in scenarios are checked only in the cells. Otherwise the schema would need every object twice, once with nothing required."},
	{regexp.MustCompile(`(rankings\.\w+|turns): must be at least 1$`), true, true, "Bounds that depend on how a length is written, as in `rankings`; `cue vet` knows them if the key is in snake_case."},
	{regexp.MustCompile(`cannot be combined with|must not be above|must be below|must be at least users|required unless|required by (type|stability)|no distribution is given|needs type|goes with type|required beside|needs (client_cert|client_key|duration|a call)`), false, true, "Rules about several fields of one object: the CUE schema has them, the JSON Schema does not."},
}

// otherWay is what a published schema refuses and aiperf validate takes: the case
// in testdata/alike.txtar, and why. docs/cue.md has the reasons.
var otherWay = map[string]string{
	"sweep-of-type.yaml":    "Beside a sweep over `type` itself, `cue vet` holds the other fields of a phase against the type that the file says, not against those of the cells.",
	"sweep-base-bad.yaml":   "A value that the sweep replaces in every cell, or a distribution that it completes, is held to its field by both schemas, and not looked at by `aiperf validate`.",
	"inf2.yaml":             "`.inf` and `.nan` of YAML have no counterpart in CUE and JSON: write `inf` as text.",
	"null-many.yaml":        "`null` where nothing is said, as AIPerf's files write it, is a value in CUE: `cue vet` refuses it. A schema that allowed it everywhere took `cue vet` 2.7 times as long, and its messages named two kinds for every field; leave the key out.",
	"unused-definition.cue": "`cue vet` looks at the whole package: definitions that nothing uses, and experiments that `-e` does not choose.",
}
