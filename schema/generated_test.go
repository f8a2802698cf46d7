package schema

import (
	"bytes"
	"flag"
	"fmt"
	"go/format"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the generated files")

// The tables that stand for the CUE schema at run time are those the schema
// gives.
func TestGenerated(t *testing.T) {
	s, err := compile()
	if err != nil {
		t.Fatal(err)
	}
	opts, leaves := walk(s)
	fresh(t, "flags", "flags_gen.go", "options", "Option", table(opts))
	fresh(t, "fields", "index_gen.go", "leaves", "Leaf", table(leaves))
	fresh(t, "fields", "rules_gen.go", "objectRules", "Rule", table(rulesOfObjects(t)))
}

func fresh(t *testing.T, room, file, name, kind, rows string) {
	t.Helper()
	src, err := format.Source([]byte("// Code generated from the CUE schema by go generate. DO NOT EDIT.\n\npackage " +
		room + "\n\nvar " + name + " = []" + kind + "{\n" + rows + "}\n"))
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(room, file)
	if *update {
		if err := os.WriteFile(file, src, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if have, _ := os.ReadFile(file); !bytes.Equal(have, src) {
		t.Errorf("%s does not follow from the schema; run go generate ./schema", file)
	}
}

// table writes a slice of structs as Go, fields that are zero left out.
func table[T any](rows []T) string {
	var b strings.Builder
	for _, r := range rows {
		b.WriteString("\t{")
		v, sep := reflect.ValueOf(r), ""
		for i := range v.NumField() {
			if f := v.Field(i); !f.IsZero() {
				fmt.Fprintf(&b, "%s%s: %s", sep, v.Type().Field(i).Name, literal(f))
				sep = ", "
			}
		}
		b.WriteString("},\n")
	}
	return b.String()
}

func literal(v reflect.Value) string {
	switch v.Kind() {
	case reflect.String:
		return fmt.Sprintf("%q", v.String())
	case reflect.Bool:
		return fmt.Sprint(v.Bool())
	case reflect.Uint32:
		return fmt.Sprintf("%#x", v.Uint())
	}
	var words []string
	for i := range v.Len() {
		words = append(words, literal(v.Index(i)))
	}
	return "[]string{" + strings.Join(words, ", ") + "}"
}
