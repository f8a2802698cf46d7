package main

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"encoding/pem"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/internal/seal"
)

// signer writes a pair of keys that follows from one byte, and gives their names.
func signer(t *testing.T, dir string, from byte) (private, public string) {
	t.Helper()
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{from}, ed25519.SeedSize))
	block, err := ssh.MarshalPrivateKey(key, "")
	if err != nil {
		t.Fatal(err)
	}
	pub, err := ssh.NewPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	private = filepath.Join(dir, "key"+string('a'+from))
	public = private + ".pub"
	for name, text := range map[string][]byte{
		private: pem.EncodeToMemory(block), public: ssh.MarshalAuthorizedKey(pub),
	} {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return private, public
}

// forger has a sealed result unpacked, and one of the same experiment beside it.
type forger struct {
	t          *testing.T
	dir, other string // result directories
	statement  seal.Statement
}

func (f *forger) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// swap takes files from the other result.
func (f *forger) swap(names ...string) {
	f.t.Helper()
	for _, name := range names {
		b, err := os.ReadFile(filepath.Join(f.other, name))
		f.must(err)
		f.must(os.WriteFile(filepath.Join(f.dir, name), b, 0o644))
	}
}

// edit replaces a text of a file, which must be in it.
func (f *forger) edit(name, old, by string) {
	f.t.Helper()
	b, err := os.ReadFile(filepath.Join(f.dir, name))
	f.must(err)
	if !bytes.Contains(b, []byte(old)) {
		f.t.Fatalf("%s does not hold %s", name, old)
	}
	f.must(os.WriteFile(filepath.Join(f.dir, name), bytes.ReplaceAll(b, []byte(old), []byte(by)), 0o644))
}

// pack makes the manifest and the list of files fit what lies there, and seals it anew.
func (f *forger) pack(file, key string) {
	f.t.Helper()
	m, err := resultdir.ReadManifest(f.dir)
	f.must(err)
	kept := m.Files[:0]
	for _, x := range m.Files {
		sum, n, err := resultdir.Digest(filepath.Join(f.dir, x.Path))
		if err != nil {
			continue // it was taken out
		}
		x.SHA256, x.Bytes = sum, n
		kept = append(kept, x)
	}
	m.Files = kept
	f.must(resultdir.WriteJSON(filepath.Join(f.dir, resultdir.ManifestName), m))
	st := f.statement
	st.Subject, st.Predicate.Bytes = nil, nil
	f.must(filepath.WalkDir(f.dir, func(at string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		sum, n, err := resultdir.Digest(at)
		rel, _ := filepath.Rel(f.dir, at)
		st.Add(filepath.ToSlash(rel), sum, n)
		return err
	}))
	e, err := seal.New(&st)
	f.must(err)
	if key != "" {
		b, err := os.ReadFile(key)
		f.must(err)
		k, err := seal.ParsePrivate(b, nil)
		f.must(err)
		f.must(e.Sign(k))
	}
	var out bytes.Buffer
	f.must(seal.Write(&out, e, f.dir))
	f.must(os.WriteFile(file, out.Bytes(), 0o644))
}

// Whatever somebody changes who can make all digests fit, and has no key, is found twice: by the
// signature, and without any key by what does not follow any more.
func TestTamperings(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	experiment := `
benchmark:
  model: m
  endpoint: {type: chat, url: 'mock:?ttft=1ms&itl=1ms&osl=4', streaming: true}
  tokenizer: {name: builtin}
  dataset: {type: synthetic, prompts: {isl: 16, osl: 4}}
  phases: {type: concurrency, requests: 12, concurrency: 2}
multi_run: {num_runs: 2}
allow_invalid: true
verdict: {clock: {warn: -1, fail: -1}}
`
	if err := os.WriteFile(filepath.Join(root, "x.yaml"), []byte(experiment), 0o644); err != nil {
		t.Fatal(err)
	}
	mine, public := signer(t, root, 1)
	theirs, _ := signer(t, root, 2)
	for _, name := range []string{"a", "b"} {
		aiperf(t, root, "run", "x.yaml", "--artifact-dir", name).wants(diag.OK, diag.Invalid)
		aiperf(t, root, "bundle", name, "-o", name+".aiperf", "--key", mine).wants(diag.OK)
		aiperf(t, root, "verify", name+".aiperf", "--recompute", "--key", public, "--unpack", name+".out").
			wants(diag.OK, diag.Invalid)
	}
	for _, c := range []struct {
		name   string
		forge  func(*forger)
		key    string // that it is signed with
		finds  string // in what verify says without any key, a regular expression
		opaque bool   // only the signature shows it
	}{
		{
			name: "nothing, and no signature", forge: func(*forger) {}, opaque: true,
		},
		{
			name: "nothing, and another key", forge: func(*forger) {}, key: theirs, opaque: true,
		},
		{
			name: "records of another run", forge: func(f *forger) { f.swap("records.tar.zst") },
			finds: `cells\s+wrong: do not follow from the records`,
		},
		{
			name: "figures of another run", forge: func(f *forger) { f.swap("metrics.parquet") },
			finds: `figures\s+wrong: do not follow from the records`,
		},
		{
			name: "a figure of the statement", forge: func(f *forger) {
				cells := f.statement.Predicate.Cells
				figure := cells[0].Figures["output_tps"]
				figure.Value *= 1.1
				cells[0].Figures["output_tps"] = figure
			}, finds: `statement\s+wrong: .*\n(?:.*\n)*\s+cells: stated`,
		},
		{
			name: "the table of cells", forge: func(f *forger) {
				f.swap("cells.parquet")
				b, err := os.ReadFile(filepath.Join(f.dir, "..", "b.statement"))
				f.must(err)
				var other seal.Statement
				f.must(json.Unmarshal(b, &other))
				f.statement.Predicate.Cells = other.Predicate.Cells
			}, finds: `cells\s+wrong: do not follow from the records`,
		},
		{
			name: "the verdict", forge: func(f *forger) {
				if f.statement.Predicate.Verdict != "INVALID" {
					t.Fatalf("sealed as %s, want INVALID", f.statement.Predicate.Verdict)
				}
				f.edit(resultdir.ManifestName, `"verdict": "INVALID"`, `"verdict": "VALID"`)
				f.statement.Predicate.Verdict = "VALID"
			}, finds: `verdict\s+wrong: does not follow from the evidence`,
		},
		{
			name: "the receipts", forge: func(f *forger) { f.swap(resultdir.ReceiptName) },
			finds: `(?s)receipt.json: run .*by\s+the\s+tables`,
		},
		{
			name: "no records", forge: func(f *forger) { f.must(os.Remove(filepath.Join(f.dir, "records.tar.zst"))) },
			finds: `cells\s+wrong: it holds no records`,
		},
		{
			name: "the plan", forge: func(f *forger) { f.edit(resultdir.LockName, `"concurrency": 2`, `"concurrency": 8`) },
			finds: `concurrency.asked is 2, and by\s+the\s+tables 8`,
		},
		{
			name: "the experiment as resolved", forge: func(f *forger) {
				f.edit(resultdir.ResolvedName, `"concurrency": 2`, `"concurrency": 8`)
			}, finds: `cell 0 of resolved.json is not\s+that\s+of\s+plan.lock.json`,
		},
		{
			name: "the list of what was redacted", forge: func(f *forger) {
				f.edit("redaction.json", `"words": `, `"words": 7`)
			}, finds: `redacted: stated`,
		},
		{
			name: "a digest of an input", forge: func(f *forger) {
				f.statement.Predicate.Inputs[0].SHA256 = strings.Repeat("0", 64)
			}, finds: `inputs: stated`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			f := &forger{t: t, dir: filepath.Join(dir, "x"), other: filepath.Join(root, "b.out")}
			f.must(os.CopyFS(f.dir, os.DirFS(filepath.Join(root, "a.out"))))
			a, err := seal.Open(filepath.Join(root, "a.aiperf"))
			f.must(err)
			f.statement = *a.Statement()
			b, err := seal.Open(filepath.Join(root, "b.aiperf"))
			f.must(err)
			text, err := json.Marshal(b.Statement())
			f.must(err)
			f.must(os.WriteFile(filepath.Join(dir, "b.statement"), text, 0o644))
			c.forge(f)
			f.pack(filepath.Join(dir, "x.aiperf"), c.key)
			signed := aiperf(t, dir, "verify", "x.aiperf", "--key", public)
			signed.wants(diag.Failed)
			if !strings.Contains(signed.out.String(), "wrong: ") || !strings.Contains(signed.out.String(), "does NOT hold") {
				t.Errorf("with the signer's key:\n%s", signed.out.String())
			}
			open := aiperf(t, dir, "verify", "x.aiperf", "--recompute")
			if c.opaque {
				open.wants(diag.OK, diag.Invalid)
				return
			}
			open.wants(diag.Failed)
			if !regexp.MustCompile(c.finds).MatchString(open.out.String()) {
				t.Errorf("without a key, want %s:\n%s", c.finds, open.out.String())
			}
		})
	}
	t.Run("the statement of another bundle", func(t *testing.T) {
		t.Parallel()
		a, err := seal.Open(filepath.Join(root, "a.aiperf"))
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(t.TempDir(), "x")
		if err := os.CopyFS(dir, os.DirFS(filepath.Join(root, "b.out"))); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := seal.Write(&out, a.Envelope, dir); err == nil {
			if err := os.WriteFile(filepath.Join(dir, "x.aiperf"), out.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
			got := aiperf(t, dir, "verify", "x.aiperf", "--key", public)
			got.wants(diag.Failed)
			if !strings.Contains(got.err.String(), "is not the file that was sealed") {
				t.Errorf("%s%s", got.out.String(), got.err.String())
			}
		}
	})
}
