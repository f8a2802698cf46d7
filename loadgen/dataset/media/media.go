// Package media reads and makes images, sounds and videos: files and addresses
// that a dataset names, noise and pictures for synthetic prompts. What comes
// out is encoded once, ready for a request body.
package media

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"aiperf.dev/aiperf/internal/diag"
)

// Item is one image, sound or video: an address that the server is to read, or
// bytes in base64 with their format (png, wav, mp4).
type Item struct {
	URL, Base64, Format string
	Length              time.Duration // of a sound, 0 when it is not known
}

// maxFile bounds one media file, in bytes.
const maxFile = 256 << 20

// Library reads the media files that a dataset names. Paths are seen from the
// dataset's folder and stay inside it, or inside one of the other roots. Each
// file is read once. It is safe for concurrent use.
type Library struct {
	base  string
	roots []string
	mu    sync.Mutex
	known map[string]Item
	bytes int
	limit int
}

// NewLibrary serves the folder base and allows roots beside it; limit bounds
// what is held in memory, in bytes.
func NewLibrary(base string, roots []string, limit int) *Library {
	l := &Library{base: base, known: map[string]Item{}, limit: limit}
	for _, r := range append([]string{base}, roots...) {
		if real, err := real(r); err == nil {
			l.roots = append(l.roots, real)
		}
	}
	return l
}

func real(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}

// Load is what ref names: an http(s) address, a data: address, "wav,<base64>"
// as AIPerf writes sounds, or a file. kind is image, audio or video.
func (l *Library) Load(kind, ref string) (Item, error) {
	switch {
	case ref == "":
		return Item{}, errors.New("is empty")
	case strings.HasPrefix(ref, "http://"), strings.HasPrefix(ref, "https://"):
		return Item{URL: ref}, nil
	case strings.HasPrefix(ref, "data:"):
		return dataAddress(kind, ref)
	}
	if format, b64, ok := strings.Cut(ref, ","); ok && len(format) <= 5 &&
		kind == "audio" && !strings.ContainsAny(format, "/. ") {
		return encoded(format, b64)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if it, ok := l.known[ref]; ok {
		return it, nil
	}
	it, err := l.file(kind, ref)
	if err == nil {
		l.known[ref] = it
	}
	return it, err
}

// Bytes is how much the files take that were read.
func (l *Library) Bytes() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bytes
}

func dataAddress(kind, ref string) (Item, error) {
	head, b64, ok := strings.Cut(strings.TrimPrefix(ref, "data:"), ",")
	typ, rest, _ := strings.Cut(head, ";")
	if !ok || !strings.Contains(rest, "base64") {
		return Item{}, errors.New("a data: address without base64")
	}
	family, format, _ := strings.Cut(typ, "/")
	if family != kind {
		return Item{}, fmt.Errorf("a data: address of type %q where %s is wanted", clip(typ), kind)
	}
	if f, ok := formats[typ]; ok {
		format = f
	}
	it, err := encoded(format, b64)
	if err != nil || kind != "image" || !hasKind(format, "image/") {
		return it, err
	}
	b, _ := base64.StdEncoding.DecodeString(b64)
	if is := sniff(b, ""); !hasKind(is, "image/") {
		return Item{}, diag.Errorf("a data: address of type %q that is not an image", clip(typ)).
			Try("was it encoded whole? png, jpeg, gif, webp and bmp are known by their first bytes")
	} else if cutOff(is, b) {
		return Item{}, diag.Errorf("the %s of a data: address ends too early, after %d bytes", strings.ToUpper(is),
			len(b)).
			Try("was it copied completely?")
	}
	return it, nil
}

func encoded(format, b64 string) (Item, error) {
	b, err := base64.StdEncoding.DecodeString(b64)
	if err != nil || len(b) == 0 {
		return Item{}, errors.New("its base64 cannot be decoded")
	}
	return Item{Base64: b64, Format: format, Length: lengthOf(b, format)}, nil
}

// formats are the names of media types in files and requests.
var formats = map[string]string{
	"image/png": "png", "image/jpeg": "jpeg", "image/jpg": "jpeg", "image/gif": "gif", "image/webp": "webp",
	"image/bmp": "bmp",
	"audio/wav": "wav", "audio/wave": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3",
	"audio/flac": "flac",
	"audio/ogg":  "ogg", "application/ogg": "ogg", "audio/mp4": "m4a", "audio/aiff": "aiff",
	"video/mp4": "mp4", "video/webm": "webm", "video/quicktime": "mov", "video/avi": "avi", "video/x-msvideo": "avi",
	"video/x-matroska": "mkv",
}

func (l *Library) file(kind, ref string) (Item, error) {
	path := strings.TrimPrefix(ref, "file://")
	if !filepath.IsAbs(path) {
		path = filepath.Join(l.base, path)
	}
	whole, err := real(path)
	if err != nil {
		return Item{}, fmt.Errorf("%s: %w", clip(ref), reason(err))
	}
	if !l.inside(whole) {
		return Item{}, diag.Errorf("%s: lies outside the dataset's folder", clip(ref)).
			Try("move it there, or allow its folder with media_roots")
	}
	b, err := read(whole)
	if err != nil {
		return Item{}, fmt.Errorf("%s: %w", clip(ref), reason(err))
	}
	it, err := OfBytes(kind, b, whole)
	if err != nil {
		return Item{}, fmt.Errorf("%s: %w", clip(ref), err)
	}
	if l.bytes += len(b) * 4 / 3; l.bytes > l.limit {
		return Item{}, diag.Errorf("%s: media of more than %d MiB", clip(ref), l.limit>>20).
			Try("give addresses instead of files")
	}
	return it, nil
}

// OfBytes is an image, sound or video that came as bytes; name tells apart
// formats that begin alike. kind is image, audio or video.
func OfBytes(kind string, b []byte, name string) (Item, error) {
	format := sniff(b, name)
	if !hasKind(format, kind+"/") {
		return Item{}, fmt.Errorf("is no %s", kind)
	}
	if cutOff(format, b) {
		return Item{}, diag.Errorf("the %s ends too early, after %d bytes", strings.ToUpper(format), len(b)).
			Try("was it copied completely?")
	}
	return Item{Base64: base64.StdEncoding.EncodeToString(b), Format: format, Length: lengthOf(b, format)}, nil
}

func (l *Library) inside(path string) bool {
	for _, root := range l.roots {
		if rel, err := filepath.Rel(root, path); err == nil && rel != ".." &&
			!strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
			return true
		}
	}
	return false
}

func read(path string) ([]byte, error) {
	st, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !st.Mode().IsRegular():
		return nil, errors.New("is no file")
	case st.Size() > maxFile:
		return nil, fmt.Errorf("larger than %d MiB", maxFile>>20)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxFile))
}

// sniff is the format of a file by its first bytes, else by its name.
func sniff(b []byte, path string) string {
	switch {
	case bytes.HasPrefix(b, []byte("fLaC")):
		return "flac"
	case bytes.HasPrefix(b, []byte("ID3")), len(b) > 1 && b[0] == 0xff && b[1]&0xe0 == 0xe0:
		return "mp3"
	case len(b) > 11 && string(b[4:8]) == "ftyp" && bytes.HasPrefix(b[8:], []byte("qt")):
		return "mov"
	case bytes.HasPrefix(b, []byte("\x1a\x45\xdf\xa3")) && strings.HasSuffix(path, ".mkv"):
		return "mkv"
	}
	typ, _, _ := strings.Cut(http.DetectContentType(b), ";")
	format := formats[typ]
	if format == "mp4" && strings.HasSuffix(path, ".m4a") {
		return "m4a"
	}
	return format
}

// hasKind reports whether some media type of that family has the format.
func hasKind(format, family string) bool {
	for typ, f := range formats {
		if f == format && (strings.HasPrefix(typ, family) || family == "audio/" && typ == "application/ogg") {
			return true
		}
	}
	return false
}

// reason leaves out the path, which the caller names as the user wrote it.
func reason(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

func clip(s string) string {
	if len(s) > 80 {
		return s[:77] + "..."
	}
	return s
}
