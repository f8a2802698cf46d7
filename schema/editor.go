package schema

const (
	vendorDir  = "cue.mod/pkg/" + importPath
	moduleFile = "module: \"local.invalid/experiments@v0\"\nlanguage: version: \"v0.17.0\"\n"
)
