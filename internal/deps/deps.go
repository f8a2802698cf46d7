// Package deps keeps modules in go.mod until their packages are written.
package deps

import (
	_ "cuelang.org/go/cue/cuecontext"
	_ "cuelang.org/go/cue/load"
	_ "cuelang.org/go/encoding/jsonschema"
	_ "cuelang.org/go/encoding/yaml"
	_ "cuelang.org/go/mod/modconfig"
	_ "github.com/HdrHistogram/hdrhistogram-go"
	_ "github.com/apache/arrow/go/v17/arrow"
	_ "github.com/apache/arrow/go/v17/arrow/array"
	_ "github.com/apache/arrow/go/v17/arrow/ipc"
	_ "github.com/apache/arrow/go/v17/arrow/memory"
	_ "github.com/dlclark/regexp2"
	_ "github.com/expr-lang/expr"
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/nikolalohinski/gonja/v2"
	_ "github.com/parquet-go/parquet-go"
	_ "github.com/pkoukk/tiktoken-go"
	_ "github.com/rogpeppe/go-internal/testscript"
	_ "github.com/urfave/cli/v3"
	_ "go.uber.org/goleak"
	_ "golang.org/x/sys/unix"
	_ "golang.org/x/text/unicode/norm"
	_ "gopkg.in/yaml.v3"
)
