package seal_test

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"aiperf.dev/aiperf/internal/seal"
)

// statement is one of a directory with these files.
func statement(t *testing.T, dir string, files map[string]string) *seal.Statement {
	t.Helper()
	s := &seal.Statement{Predicate: seal.Predicate{Verdict: "VALID"}}
	for name, text := range files {
		to := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		s.Add(name, digest(text), int64(len(text)))
	}
	return s
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

var some = map[string]string{"manifest.json": "{}", "b/run.json": "[1]", "a.parquet": strings.Repeat("rows", 1000)}

// packed is a bundle of some files, signed by key if there is one.
func packed(t testing.TB, dir string, s *seal.Statement, key *seal.PrivateKey) []byte {
	t.Helper()
	e, err := seal.New(s)
	if err != nil {
		t.Fatal(err)
	}
	if key != nil {
		if err := e.Sign(key); err != nil {
			t.Fatal(err)
		}
	}
	var b bytes.Buffer
	if err := seal.Write(&b, e, dir); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// open reads a bundle from its bytes.
func open(t testing.TB, b []byte) (*seal.Bundle, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "x.aiperf")
	if err := os.WriteFile(file, b, 0o644); err != nil {
		t.Fatal(err)
	}
	return seal.Open(file)
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := statement(t, dir, some)
	b := packed(t, dir, s, nil)
	if again := packed(t, dir, s, nil); !bytes.Equal(b, again) {
		t.Error("one directory gave two bundles")
	}
	got, err := open(t, b)
	if err != nil {
		t.Fatal(err)
	}
	to := t.TempDir()
	if err := got.Unpack(to); err != nil {
		t.Fatal(err)
	}
	for name, want := range some {
		if have, err := os.ReadFile(filepath.Join(to, name)); err != nil || string(have) != want {
			t.Errorf("%s: %q, %v", name, have, err)
		}
	}
	if got.Statement().Predicate.Verdict != "VALID" || got.Signed() {
		t.Errorf("%+v, signed %v", got.Statement().Predicate, got.Signed())
	}
}

// file is an entry of a bundle that is made by hand.
type file struct {
	tar.Header
	text string
}

func plain(name, text string) file {
	return file{tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(text)), Mode: 0o644}, text}
}

func byHand(t testing.TB, files ...file) []byte {
	t.Helper()
	var b bytes.Buffer
	z, err := zstd.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(z)
	for _, f := range files {
		if err := w.WriteHeader(&f.Header); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(f.text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// sealOf is the first entry of a bundle that lists these files, changed by change.
func sealOf(t testing.TB, change func(*seal.Statement), files ...file) file {
	t.Helper()
	s := &seal.Statement{
		Type: seal.StatementType, PredicateType: seal.PredicateType,
		Predicate: seal.Predicate{Format: seal.Format, Bytes: map[string]int64{}},
	}
	for _, f := range files {
		s.Subject = append(s.Subject, seal.Subject{Name: f.Name, Digest: seal.Digest{SHA256: digest(f.text)}})
		s.Predicate.Bytes[f.Name] = int64(len(f.text))
	}
	if change != nil {
		change(s)
	}
	payload, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]any{
		"payloadType": "application/vnd.in-toto+json", "payload": base64.StdEncoding.EncodeToString(payload),
		"signatures": []any{},
	})
	if err != nil {
		t.Fatal(err)
	}
	return plain(seal.Name, string(text))
}

// Nothing of such a file is read further than to what is wrong with it, and nothing is written.
func TestBadBundles(t *testing.T) {
	t.Parallel()
	a, b := plain("a.json", "{}"), plain("b.json", "[]")
	as := func(name string, kind byte, link string) file {
		return file{tar.Header{Typeflag: kind, Name: name, Linkname: link, Mode: 0o644}, ""}
	}
	sound := byHand(t, sealOf(t, nil, a, b), a, b)
	if _, err := open(t, sound); err != nil {
		t.Fatal(err)
	}
	changed := slices.Clone(sound)
	changed[len(changed)/2] ^= 1
	bomb := plain("a.json", strings.Repeat("\x00", 64<<20))
	for _, c := range []struct {
		name  string
		bytes []byte
		want  string
	}{
		{"nothing", nil, "not a bundle of aiperf: the file is empty"},
		{"one byte", []byte("x"), "not a bundle of aiperf"},
		{"a beginning of one", sound[:3], "not a bundle of aiperf"},
		{"a text", []byte("hello, this is a text and no archive"), "not a bundle of aiperf"},
		{"an archive of something else", byHand(t, a, b), `not a bundle of aiperf: it begins with "a.json" and not with seal.json`},
		{"cut off", sound[:len(sound)-8], "cut off: its end is missing"},
		{"cut off early", sound[:20], "cut off: its end is missing"},
		{"a changed byte", changed, ""},
		{"a path up", byHand(t, sealOf(t, nil, plain("../a", ""))), `"../a" is not a name that a file of a bundle may have`},
		{"a path up in the archive", byHand(t, sealOf(t, nil, a), plain("../a.json", "{}")), `"../a.json" is not a name`},
		{"an absolute path", byHand(t, sealOf(t, nil, plain("/etc/a", ""))), `"/etc/a" is not a name`},
		{"a path of Windows", byHand(t, sealOf(t, nil, plain(`c:\a`, ""))), `"c:\\a" is not a name`},
		{"a link", byHand(t, sealOf(t, nil, a), as("a.json", tar.TypeSymlink, "/etc/passwd")), `"a.json" is not a plain file`},
		{"a hard link", byHand(t, sealOf(t, nil, a), as("a.json", tar.TypeLink, "seal.json")), `"a.json" is not a plain file`},
		{"a device", byHand(t, sealOf(t, nil, a), as("a.json", tar.TypeChar, "")), `"a.json" is not a plain file`},
		{"twice in the archive", byHand(t, sealOf(t, nil, a, b), a, a, b), `"a.json" is in it twice, or not in its list`},
		{"twice in the list", byHand(t, sealOf(t, nil, a, a), a, a), `2 files and 1 sizes`},
		{"the seal again", byHand(t, sealOf(t, nil, a), a, plain(seal.Name, "{}")), `"seal.json" is in it and not in its list`},
		{"a file more", byHand(t, sealOf(t, nil, a), a, b), `"b.json" is in it and not in its list`},
		{"a file less", byHand(t, sealOf(t, nil, a, b), b), `a.json is in its list and not in it`},
		{"the last file less", byHand(t, sealOf(t, nil, a, b), a), `b.json is in its list and not in it`},
		{"another file", byHand(t, sealOf(t, nil, a), plain("a.json", "[]")), "a.json is not the file that was sealed"},
		{"a longer file", byHand(t, sealOf(t, nil, a), plain("a.json", "{} ")), "a.json has 3 bytes, and 2 by its list"},
		{"a bomb", byHand(t, sealOf(t, nil, bomb), bomb), "67108864 bytes of files in a bundle of"},
		{"a bomb behind its list", byHand(t, sealOf(t, nil, a), a, bomb), `"a.json" is in it and not in its list`},
		{"an endless size", byHand(t, sealOf(t, func(s *seal.Statement) {
			s.Predicate.Bytes["a.json"] = 1 << 60
		}, a), a), "that is refused, unread"},
		{"a negative size", byHand(t, sealOf(t, func(s *seal.Statement) {
			s.Predicate.Bytes["a.json"] = -1
		}, a), a), `the size of "a.json" is not stated`},
		{"another version", byHand(t, sealOf(t, func(s *seal.Statement) {
			s.Predicate.Format = "aiperf.bundle/9"
		}, a), a), `unknown format "aiperf.bundle/9"; this program reads "aiperf.bundle/1"`},
		{"another predicate", byHand(t, sealOf(t, func(s *seal.Statement) {
			s.PredicateType = "https://slsa.dev/provenance/v1"
		}, a), a), `unknown predicate "https://slsa.dev/provenance/v1"`},
		{"another statement", byHand(t, sealOf(t, func(s *seal.Statement) { s.Type = "x" }, a), a), `unknown statement "x"`},
		{"nothing listed", byHand(t, sealOf(t, nil)), "lists no file"},
		{"no digest", byHand(t, sealOf(t, func(s *seal.Statement) { s.Subject[0].Digest.SHA256 = "" }, a), a), `"a.json" has no SHA-256`},
		{"no JSON", byHand(t, plain(seal.Name, "{")), "seal.json: unexpected end of JSON input"},
		{"another payload", byHand(t, plain(seal.Name, `{"payloadType":"x"}`)), `unknown payload "x"`},
	} {
		got, err := open(t, c.bytes)
		if err == nil {
			t.Errorf("%s: no error, %+v", c.name, got)
			continue
		}
		if !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %q, want %q in one line", c.name, err, c.want)
		}
	}
}

// Whatever one byte of a bundle is changed to, it is found, or changed nothing that is read.
func TestEveryByteCounts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := statement(t, dir, some)
	sound := packed(t, dir, s, nil)
	want, err := open(t, sound)
	if err != nil {
		t.Fatal(err)
	}
	for i := range sound {
		b := slices.Clone(sound)
		b[i] ^= 0x40
		got, err := open(t, b)
		if err == nil && got.Payload != want.Payload {
			t.Errorf("byte %d of %d: changed the statement, and it is taken for sound", i, len(sound))
		}
	}
}

func FuzzOpen(f *testing.F) {
	a, b := plain("a.json", "{}"), plain("b/c.json", "[]")
	sound := byHand(f, sealOf(f, nil, a, b), a, b)
	f.Add(sound)
	f.Add(sound[:len(sound)/2])
	f.Add(byHand(f, a))
	f.Add([]byte("\x28\xb5\x2f\xfd"))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := open(t, b)
		if err != nil {
			return
		}
		to := t.TempDir()
		if err := got.Unpack(to); err != nil {
			t.Errorf("opened, and not unpacked: %v", err)
		}
		for _, s := range got.Statement().Subject {
			text, err := os.ReadFile(filepath.Join(to, s.Name))
			if err != nil || digest(string(text)) != s.Digest.SHA256 {
				t.Errorf("%s: %v", s.Name, err)
			}
		}
	})
}
