package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/cue/token"
	"cuelang.org/go/mod/modconfig"
	"cuelang.org/go/mod/modfile"
	"cuelang.org/go/mod/modregistry"
	"cuelang.org/go/mod/module"

	"aiperf.dev/aiperf/internal/diag"
)

// Download permits fetching modules that are not in CUE's cache.
type Download struct {
	Via http.RoundTripper   // never nil
	Say func(module string) // told of each module before it is fetched
}

// modules are what the loader finds for a module file's deps: those in CUE's
// cache, where the cue command keeps them, too; and others from a registry, as
// the cue command finds it, when that is permitted. The schema is none of them:
// it is in the program.
type modules struct {
	download *Download // nil: nothing goes over a network
	// open makes the cache, with the registry behind it, when it is needed first.
	open func() (modconfig.CachedRegistry, error)

	mu sync.Mutex // the loader asks from several goroutines
	// failed are the modules that could not be had. The loader makes text of
	// errors; here they keep their parts.
	failed map[module.Version]error
	roots  map[module.Version]string // folders of the modules that were handed out
}

func newModules(d *Download) *modules {
	config := &modconfig.Config{CUERegistry: "none"}
	if d != nil {
		config = &modconfig.Config{Transport: d.Via, ClientType: "aiperf"}
	}
	return &modules{
		download: d, failed: map[module.Version]error{}, roots: map[module.Version]string{},
		open: sync.OnceValues(func() (modconfig.CachedRegistry, error) {
			return modconfig.NewRegistry(config)
		}),
	}
}

var (
	errNotCached   = errors.New("not in the cache of modules")
	errNewerSchema = errors.New("asks for a newer schema")
)

// ModFile is the module file of a module.
func (m *modules) ModFile(ctx context.Context, mv module.Version) (*modfile.File, error) {
	if isSchema(mv.Path()) {
		return modfile.ParseNonStrict([]byte("module: \""+mv.Path()+"\"\nlanguage: version: \""+LanguageVersion+"\"\n"),
			"module.cue")
	}
	mf, err := m.modFile(ctx, mv)
	if err == nil && asksNewer(mf) != "" {
		err = fmt.Errorf("%w: %s, this program has %s", errNewerSchema, asksNewer(mf), ModuleVersion)
	}
	return mf, m.note(mv, err)
}

func (m *modules) modFile(ctx context.Context, mv module.Version) (*modfile.File, error) {
	reg, err := m.open()
	switch {
	case err != nil:
		return nil, err
	case m.download != nil:
		return reg.ModFile(ctx, mv)
	}
	// Offline the cache is only read: its own ModFile would make a lock file for
	// a module that is not there.
	for _, read := range []func() ([]byte, error){
		func() ([]byte, error) {
			loc, err := reg.FetchFromCache(mv)
			if err != nil {
				return nil, err
			}
			return fs.ReadFile(loc.FS, "cue.mod/module.cue")
		},
		func() ([]byte, error) { return os.ReadFile(cached(mv, "mod")) },
	} {
		if text, err := read(); err == nil {
			return modfile.Parse(text, mv.String())
		}
	}
	return nil, errNotCached
}

// Fetch is the folder of a module.
func (m *modules) Fetch(ctx context.Context, mv module.Version) (module.SourceLoc, error) {
	if isSchema(mv.Path()) {
		return module.SourceLoc{}, nil // nothing here: the overlay has it
	}
	loc, err := m.fetch(ctx, mv)
	if err == nil {
		if on, ok := loc.FS.(module.OSRootFS); ok {
			m.mu.Lock()
			m.roots[mv] = on.OSRoot()
			m.mu.Unlock()
		}
	}
	return loc, m.note(mv, err)
}

func (m *modules) fetch(ctx context.Context, mv module.Version) (module.SourceLoc, error) {
	reg, err := m.open()
	if err != nil {
		return module.SourceLoc{}, err
	}
	loc, err := reg.FetchFromCache(mv)
	if !errors.Is(err, modregistry.ErrNotFound) {
		return loc, err
	}
	_, packed := os.Stat(cached(mv, "zip"))
	switch {
	case packed == nil: // it is only unpacked
	case m.download == nil:
		return module.SourceLoc{}, errNotCached
	default:
		m.download.Say(mv.String())
	}
	return reg.Fetch(ctx, mv)
}

// ModuleVersions is asked by what changes module files, which nothing here does.
func (m *modules) ModuleVersions(context.Context, string) ([]string, error) { return nil, nil }

// note remembers what could not be had, and passes it on.
func (m *modules) note(mv module.Version, err error) error {
	if err != nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.failed[mv] = err
	}
	return err
}

// cached is a file about a module in CUE's cache.
func cached(mv module.Version, kind string) string {
	dir := os.Getenv("CUE_CACHE_DIR")
	if dir == "" {
		home, err := os.UserCacheDir()
		if err != nil {
			return ""
		}
		dir = filepath.Join(home, "cue")
	}
	path, err := module.EscapePath(mv.BasePath())
	version, err2 := module.EscapeVersion(mv.Version())
	if err != nil || err2 != nil {
		return ""
	}
	return filepath.Join(dir, "mod", "download", filepath.FromSlash(path), "@v", version+"."+kind)
}

// mistakes are the modules that could not be had, each where the module file of
// root names it.
func (m *modules) mistakes(root string) (out diag.Errors) {
	m.mu.Lock()
	defer m.mu.Unlock()
	file := filepath.Join(root, "cue.mod", "module.cue")
	places := depPlaces(file)
	for _, mv := range slices.SortedFunc(maps.Keys(m.failed),
		func(a, b module.Version) int { return cmp.Compare(a.String(), b.String()) }) {
		at := Origin{Where: ShownFile(file)}
		if p, ok := places[mv.Path()]; ok {
			at.Where = fmt.Sprintf("%s:%d:%d", at.Where, p.Line(), p.Column())
		}
		err := m.failed[mv]
		message, hint := Clip(strings.Join(strings.Fields(err.Error()), " ")),
			"set $CUE_CACHE_DIR to the folder of the module cache"
		switch {
		case errors.Is(err, errNotCached):
			hint = "--allow-download fetches it, as does cue mod tidy; or copy its packages below cue.mod/pkg"
		case errors.Is(err, errNewerSchema):
			hint = "update aiperf"
		case errors.Is(err, modregistry.ErrNotFound):
			message, hint = "the registry has no such module", "set $CUE_REGISTRY to the registry"
		case m.download != nil:
			message, hint = "cannot be fetched: "+message,
				"set $CUE_REGISTRY to the registry; cue login stores its credentials"
		}
		out = append(out, Mistake(at, "", mv.String()+": "+message, hint)...)
	}
	return out
}

// depPlaces are where a module file names what it depends on.
func depPlaces(name string) map[string]token.Pos {
	out := map[string]token.Pos{}
	f, err := parser.ParseFile(name, nil)
	if err != nil {
		return out
	}
	ast.Walk(f, func(n ast.Node) bool {
		if field, ok := n.(*ast.Field); ok {
			if label, _, err := ast.LabelName(field.Label); err == nil && strings.Contains(label, "@") {
				out[label] = field.Pos()
			}
		}
		return true
	}, nil)
	return out
}

// What a registry may send: more than a module of experiments has, and less
// than fills a disk.
const (
	maxAnswer  = 64 << 20
	answerTime = 2 * time.Minute
)

// Network is the way to a registry until ctx ends. An answer is bounded in size
// and time.
func Network(ctx context.Context) http.RoundTripper {
	base := http.DefaultTransport.(*http.Transport).Clone()
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		within, cancel := context.WithTimeout(r.Context(), answerTime)
		stop := context.AfterFunc(ctx, cancel)
		end := func() { stop(); cancel() }
		res, err := base.RoundTrip(r.WithContext(within))
		if err != nil {
			end()
			return nil, err
		}
		res.Body = &boundedBody{ReadCloser: res.Body, left: maxAnswer, end: end}
		return res, nil
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// boundedBody is an answer of a registry.
type boundedBody struct {
	io.ReadCloser
	left int64
	end  func()
}

func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, fmt.Errorf("the answer is larger than %d MB", maxAnswer>>20)
	}
	return n, err
}

func (b *boundedBody) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}
