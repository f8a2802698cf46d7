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

// is tells whether a refusal is of this kind.
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
	{regexp.MustCompile(`not supported yet$`), true, true, "A setting that is known and not built: the schema has it, the program says what to do instead."},
	{regexp.MustCompile(`template \{\{|attribute '__|at most 9007199254740991, got 1\.96.*e\+77$`), true, true, "Templates and variables are text until they are filled in."},
	{regexp.MustCompile(`txt-\S*\.yaml:.* must be |txt-\S*\.yaml:.* expected a whole number`), true, true, "Numbers in quotes are text: their bounds are not looked at."},
	{regexp.MustCompile(`(gates|objectives)\.\d+: |sweep\.(where|derive)`), true, true, "Expressions are text: gates, objectives, `where` and `derive`."},
	{regexp.MustCompile(`is given twice|tag !!.* is not known|a second document`), true, true, "Matters of reading YAML: keys given twice, tags, a second document."},
	{regexp.MustCompile(`is the same key as|is given in benchmark, too`), true, true, "Both spellings of one key; a setting that stands in `benchmark` and beside it."},
	{regexp.MustCompile(`no metric is called|is not an axis of the sweep|no member is called|two cells are called|is the name of phase`), true, true, "Names that are said elsewhere: metrics, checks, phases by name, cells, axes."},
	{regexp.MustCompile(`is not an address|names no host`), true, true, "What kind of address a URL is."},
	{regexp.MustCompile(`the weights make|the shares make|needs a weight for every|go together|no stop condition is given|does not come after|peaks\.\d+: no distribution is given|needs a streaming endpoint|needs a data set with timestamps|the first phase cannot be|which ranks nothing|does not go with type: concurrency$|needs type: (file|public)$|sweep.parameters: (required by type|names no axis)`), true, true, "Rules over several objects, and sums; what does not go with a type that nobody said; that every phase must have an end, and a sweep an axis, which a list in a phase is, too."},
	{regexp.MustCompile(`the value .* is there|got -4$|got number 1\.466`), true, true, "What a sweep lays over the body: the kind of a value and words on an axis are looked at everywhere; kinds within lists and objects, whole numbers, keys, bounds and equal values, and all of scenarios, only in the cells. Every object of the schema would have to stand in it twice, the second time with nothing required."},
	{regexp.MustCompile(`(rankings\.\w+|turns): must be at least 1$`), true, true, "Bounds that depend on the shape of a length, as in `rankings`; `cue vet` knows them where the key is in snake_case."},
	{regexp.MustCompile(`cannot be combined with|must not be above|must be below|must be at least users|required unless|required by type|no distribution is given|does not go with|needs type|goes with type|required beside|needs (client_cert|client_key|duration|a call)`), false, true, "Rules that tie fields of one object together: CUE can say them, JSON Schema is not asked to."},
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
