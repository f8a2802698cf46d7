package flags

import (
	"strings"

	"aiperf.dev/aiperf/internal/suggest"
	"aiperf.dev/aiperf/schema/fields"
	"aiperf.dev/aiperf/schema/lower"
	"aiperf.dev/aiperf/schema/source"
)

// absentOptions are the absent flags as the command line sees them.
func absentOptions() (out []Option) {
	for _, row := range fields.Absents() {
		for _, f := range row.Flags {
			o := Option{
				Names: f.Names, Neg: f.Neg, Kind: f.Kind, Default: f.Default, Many: f.Many, Words: f.Words, Bare: f.Alone,
				Doc: upperFirst(row.What) + ".", Group: "Not here", Unsupported: true, Instead: row.Instead,
			}
			if o.Kind == "" {
				o.Kind = "string"
			}
			out = append(out, o)
		}
	}
	return out
}

func upperFirst(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// absentFlag is what an absent flag asks for: nothing where its words say what
// is so anyway.
func (o Option) absentFlag(at source.Origin, words []string) []lower.Assignment {
	said := strings.Join(words, ",")
	off := o.Kind == "bool" && (len(words) == 1 && fields.Coerce(words[0], true) == false || strings.TrimLeft(at.Where, "-") == o.Neg)
	if off || o.Default != "" && suggest.Fold(said) == suggest.Fold(o.Default) {
		return nil
	}
	return []lower.Assignment{{Absent: o.Instead, Origin: at}}
}
