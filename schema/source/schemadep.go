package source

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"cuelang.org/go/mod/modfile"

	"aiperf.dev/aiperf/internal/diag"
)

const (
	// SchemaVersion is the newest version that an experiment may name: this
	// program's. What it changes is a row of the versions in package fields.
	SchemaVersion = "2.1"
	// ModulePath is the schema as a CUE module; its major version is that of
	// SchemaVersion.
	ModulePath = ImportPath + "@v2"
	// ModuleVersion is this program's.
	ModuleVersion = "v" + SchemaVersion + ".0"
)

// newerSchema refuses a module that asks for a newer schema than this program
// has: what it says may mean something else there.
func newerSchema(root string) diag.Errors {
	name := filepath.Join(root, "cue.mod", "module.cue")
	text, err := os.ReadFile(name)
	if err != nil {
		return nil
	}
	mf, err := modfile.ParseNonStrict(text, name)
	if err != nil {
		return nil // the loader says what is wrong with it
	}
	if v := asksNewer(mf); v != "" {
		at := Origin{Where: ShownFile(name)}
		for dep, pos := range depPlaces(name) {
			if isSchema(dep) {
				at = cueOrigin(ShownFile(name), pos)
			}
		}
		return Mistake(at, "", fmt.Sprintf("asks for %s %s, this program has %s", ImportPath, v, ModuleVersion),
			"update aiperf, or ask for the version that it has")
	}
	return nil
}

// asksNewer is the version of the schema that a module file asks for, when this
// program's is older.
func asksNewer(mf *modfile.File) string {
	for path, dep := range mf.Deps {
		if isSchema(path) && newer(dep.Version, ModuleVersion) {
			return dep.Version
		}
	}
	return ""
}

// isSchema reports whether path is that of the schema as a module, of any major
// version.
func isSchema(path string) bool { return strings.HasPrefix(path, ImportPath+"@") }

// newer reports whether version a comes after b; v2.10.0 after v2.9.1.
func newer(a, b string) bool {
	var x, y [3]int
	fmt.Sscanf(a, "v%d.%d.%d", &x[0], &x[1], &x[2]) // what is not a version is 0.0.0
	fmt.Sscanf(b, "v%d.%d.%d", &y[0], &y[1], &y[2])
	for i := range x {
		if x[i] != y[i] {
			return x[i] > y[i]
		}
	}
	return false
}
