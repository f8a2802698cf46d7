package docgen

import (
	"strings"

	"aiperf.dev/aiperf/loadgen/endpoint"
	"aiperf.dev/aiperf/schema/fields"
	"aiperf.dev/aiperf/sinks/aiperf"
)

// Checks is the table of what a verdict rests on: rows of id and meaning.
func Checks(rows [][2]string) string {
	var out [][]string
	for _, r := range rows {
		out = append(out, []string{code(r[0]), r[1]})
	}
	return table([]string{"check", "what is looked at"}, out)
}

// Versions is the table of what the versions of the schema changed.
func Versions(all []fields.Version) string {
	var out [][]string
	for _, v := range all {
		out = append(out, []string{code(v.Name), "", "", v.Doc})
		for _, c := range v.Changes {
			doc := c.Doc
			if c.To != "" {
				doc = "is " + code(c.To) + " now; " + doc
			}
			out = append(out, []string{"", c.Kind.String(), code(c.Path), doc})
		}
	}
	return table([]string{"version", "change", "field", "what it is"}, out)
}

// Words is the table of the words of a mock: URL.
func Words(names, docs []string) string { return named("word", names, docs) }

// Names is the table of the names that a header may hold.
func Names(names, docs []string) string { return named("name", names, docs) }

func named(head string, names, docs []string) string {
	var out [][]string
	for i, n := range names {
		out = append(out, []string{code(n), docs[i]})
	}
	return table([]string{head, "what it says"}, out)
}

// Endpoints is the table of the inference APIs.
func Endpoints(rows []*endpoint.Spec) string {
	var out [][]string
	for _, s := range rows {
		path := "the address as it is given"
		if s.Path != "" {
			path = code(s.Path)
		}
		if s.StreamPath != "" {
			path += ", " + code(s.StreamPath)
		}
		var has []string
		for _, f := range []struct {
			said bool
			word string
		}{
			{s.CanStream, "streams"},
			{s.RPCStreamPath != "", "streams by gRPC"},
			{s.ProducesTokens, "tokens"},
			{s.TakesSystem, "conversations"},
			{s.Takes != 0, s.Takes.String()},
		} {
			if f.said {
				has = append(has, f.word)
			}
		}
		out = append(out, []string{code(s.Type), s.Doc, path, strings.Join(has, ", ")})
	}
	return table([]string{"type", "API", "path", "has"}, out)
}

// Absent is the table of commands that are not here.
func Absent(commands []CLICommand) string {
	var out [][]string
	for _, c := range commands {
		out = append(out, []string{code("aiperf " + c.Name), c.Instead})
	}
	return table([]string{"command", "use instead"}, out)
}

// Variable is an environment variable of AIPerf's.
type Variable struct{ Name, Sets, Read, Why, Told string }

// Variables is the table of those that could change results.
func Variables(vars []Variable) string {
	var out [][]string
	for _, v := range vars {
		here := "refused: " + v.Why
		switch {
		case v.Sets != "":
			here = "honoured: sets " + code(v.Sets)
		case v.Read != "":
			here = "honoured: " + v.Read
		case v.Told != "":
			here = "without effect: " + v.Told
		}
		out = append(out, []string{code(v.Name), here})
	}
	return table([]string{"variable", "here"}, out)
}

// Artifacts is the table of what a run's files say otherwise than AIPerf's.
func Artifacts(ds []aiperf.Difference) string {
	var out [][]string
	for _, d := range ds {
		out = append(out, []string{string(d.Kind), code(d.What), d.Why})
	}
	return table([]string{"kind", "metric, key or file", "why"}, out)
}
