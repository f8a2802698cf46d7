package source

import (
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/secret"
)

// Origin says where a value came from. Source, Flag and Reason are what the program
// decides by; Where and Text are for people.
type Origin struct {
	Source Giver
	Flag   string // ByFlag: the flag's main name, however it was typed; BySet: the path as typed
	Reason Why    // ByDefault: why the value is there
	Where  string // "sweep.cue:14:3", "--isl", "axis isl", "default: no rate is set"
	Path   string // as the file has it, "" for what no file says
	Text   string // what the user wrote, when a step changed it
}

// Giver is who gives a value.
type Giver uint8

const (
	Nobody    Giver = iota // a place on the way to a value
	ByDefault              // the schema, or what follows from other values
	ByFile
	ByEnv
	ByFlag
	BySet
	ByAxis
	ByDerive
)

// Typed reports whether the value stands on the command line.
func (g Giver) Typed() bool { return g == ByFlag || g == BySet }

// Why is why a default is there, as far as something depends on it.
type Why uint8

const (
	Usual      Why = iota // the schema has no other
	Stated                // for people alone: the words say it
	Follows               // from what is given beside it: files of results show it as given
	OfType                // the default of the object's type
	OfProfile             // aiperf profile, which its flags left it open
	OfCommand             // the command, whatever flags there are
	Frame                 // an object that aiperf profile makes for values
	CopiedFrom            // another field's value, which is the one to blame
)

// Because is the origin of a default, with its reason in words.
func Because(r Why, why string) Origin {
	return Origin{Source: ByDefault, Reason: r, Where: "default: " + why}
}

// Usually is the origin of a default that has no reason.
func Usually() Origin { return Origin{Source: ByDefault, Where: "default"} }

// String is the place, and what stood there when a step changed it.
func (o Origin) String() string {
	s := o.Where
	if o.Source == ByAxis {
		s += " (axis)"
	}
	if o.Text != "" {
		s += " (" + Short(secret.URL(o.Text)) + ")"
	}
	return s
}

// Mistake is a single Error as Errors, the form every step returns.
func Mistake(at Origin, path, message, hint string) diag.Errors {
	return diag.Errors{{Path: path, Place: at.Where, Message: message, Hint: hint, Taken: at.Reason == CopiedFrom}}
}
