package hub

import (
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/atomicfile"
	"aiperf.dev/aiperf/internal/diag"
)

// Fetcher puts files of the hub into the local cache.
type Fetcher struct {
	Endpoint string       // https://huggingface.co
	Token    string       // for gated repositories; never sent to another host
	Client   *http.Client // nil: a usual one
	Say      func(string) // told what is fetched, a line each; nil: nobody listens
	// Pause is how long a busy or broken hub is left alone before the second
	// attempt; it doubles.
	Pause time.Duration
}

// FromEnvironment is a Fetcher as Hugging Face's own tools would be set up:
// HF_ENDPOINT, HF_TOKEN, else the token file that their login writes.
func FromEnvironment() *Fetcher {
	f := &Fetcher{Endpoint: "https://huggingface.co", Token: os.Getenv("HF_TOKEN"), Pause: time.Second}
	if e := os.Getenv("HF_ENDPOINT"); e != "" {
		f.Endpoint = strings.TrimRight(e, "/")
	}
	if f.Token == "" {
		if b, err := os.ReadFile(tokenFile()); err == nil {
			f.Token = strings.TrimSpace(string(b))
		}
	}
	return f
}

func tokenFile() string {
	if p := os.Getenv("HF_TOKEN_PATH"); p != "" {
		return p
	}
	if dir := os.Getenv("HF_HOME"); dir != "" {
		return filepath.Join(dir, "token")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".cache", "huggingface", "token")
}

// File is a file of a repository with what its bytes must be.
type File struct {
	Path   string
	Size   int64
	SHA256 string // of large files
	Blob   string // of others: git's name, SHA-1 over "blob <size>\0" and the bytes
}

// Listing is what a repository holds at a commit.
type Listing struct {
	Commit string
	Files  []File
}

// maxListing bounds the hub's answer about a repository, in bytes.
const maxListing = 64 << 20

// List asks what the repository holds at its revision.
func (f *Fetcher) List(ctx context.Context, r Repo) (Listing, error) {
	var out Listing
	if err := r.check(); err != nil {
		return out, err
	}
	if Offline() {
		return out, diag.Errorf("HF_HUB_OFFLINE is set: the hub is not asked").Try("unset it")
	}
	revision := r.Revision
	if revision == "" {
		revision = main
	}
	res, err := f.get(ctx, f.Endpoint+"/api/"+r.Kind+"/"+r.Name+"/revision/"+url.PathEscape(revision)+"?blobs=true", 0,
		r)
	if err != nil {
		return out, err
	}
	defer res.Body.Close()
	var answer struct {
		SHA      string
		Siblings []struct {
			Name string `json:"rfilename"`
			Size int64
			Blob string `json:"blobId"`
			LFS  *struct {
				SHA256 string
				Size   int64
			}
		}
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, maxListing)).Decode(&answer); err != nil {
		return out, fmt.Errorf("%s: the hub's answer is not its usual JSON: %w", r, err)
	}
	if !commits.MatchString(answer.SHA) {
		return out, fmt.Errorf("%s: the hub names no commit", r)
	}
	out.Commit = answer.SHA
	for _, s := range answer.Siblings {
		file := File{Path: s.Name, Size: s.Size, Blob: s.Blob}
		if s.LFS != nil {
			file.SHA256, file.Size = s.LFS.SHA256, s.LFS.Size
		}
		if !filepath.IsLocal(filepath.FromSlash(s.Name)) || strings.ContainsAny(s.Name, "\\\x00") {
			return out, fmt.Errorf("%s: the hub names a file outside the repository", r)
		}
		out.Files = append(out.Files, file)
	}
	return out, nil
}

// incomplete ends the names of files that are not whole yet.
const incomplete = ".incomplete"

// Get brings one file into the cache and says where it is. What an earlier
// attempt left is continued; a file is taken only when its size and checksum
// are what the listing says.
func (f *Fetcher) Get(ctx context.Context, r Repo, commit string, file File) (string, error) {
	folders := Folders()
	if len(folders) == 0 {
		return "", diag.Errorf("no folder for a cache").Try("set HF_HOME")
	}
	dir := r.Folder(folders[0])
	at := filepath.Join(dir, "snapshots", commit, filepath.FromSlash(file.Path))
	if st, err := os.Stat(at); err == nil && st.Mode().IsRegular() && st.Size() == file.Size {
		return at, nil
	}
	name := file.SHA256
	if name == "" {
		name = file.Blob
	}
	if !isHex(name) {
		return "", fmt.Errorf("%s: %s: the hub gives no checksum", r, file.Path)
	}
	blob := filepath.Join(dir, "blobs", name)
	if err := os.MkdirAll(filepath.Dir(blob), 0o755); err != nil {
		return "", err
	}
	if _, err := os.Stat(blob); err != nil {
		if err := f.blob(ctx, r, commit, file, blob); err != nil {
			return "", err
		}
	}
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		return "", err
	}
	return at, link(blob, at)
}

func isHex(s string) bool {
	_, err := hex.DecodeString(s)
	return err == nil && (len(s) == 40 || len(s) == 64)
}

// link makes at the file blob: a relative link as Hugging Face's tools make
// it, a second name where links are not to be had.
func link(blob, at string) error {
	_ = os.Remove(at)
	rel, err := filepath.Rel(filepath.Dir(at), blob)
	if err == nil {
		err = os.Symlink(rel, at)
	}
	if err != nil {
		err = os.Link(blob, at)
	}
	return err
}

// blob fetches the bytes of a file to path.
func (f *Fetcher) blob(ctx context.Context, r Repo, commit string, file File, path string) error {
	part := path + incomplete
	for try := 0; ; try++ {
		err := f.part(ctx, r, commit, file, part)
		if err == nil {
			break
		}
		var final *refused
		if errors.As(err, &final) || ctx.Err() != nil || try == 4 {
			return err
		}
		f.say("%s: %v; continued", file.Path, err)
		select {
		case <-time.After(f.Pause << try):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if err := verify(part, file); err != nil {
		_ = os.Remove(part)
		return fmt.Errorf("%s: %s: %w", r, file.Path, err)
	}
	return os.Rename(part, path)
}

// part appends to what is there of a file until it is whole.
func (f *Fetcher) part(ctx context.Context, r Repo, commit string, file File, part string) error {
	out, err := os.OpenFile(part, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer out.Close()
	st, err := out.Stat()
	if err != nil {
		return err
	}
	have := st.Size()
	if have > file.Size {
		have = 0
	}
	if have == file.Size && have > 0 {
		return nil
	}
	res, err := f.get(ctx, f.resolve(r, commit, file.Path), have, r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusPartialContent && st.Size() > 0 {
		if err := out.Truncate(0); err != nil {
			return err
		}
		have = 0
	}
	f.say("%s: %s of %s", r.Name, file.Path, size(file.Size))
	n, err := io.Copy(out, io.LimitReader(res.Body, file.Size-have+1))
	if err == nil && have+n != file.Size {
		err = fmt.Errorf("%d of %d bytes came", have+n, file.Size)
	}
	if err != nil {
		return err
	}
	return out.Sync()
}

func (f *Fetcher) resolve(r Repo, commit, name string) string {
	prefix := "/"
	if r.Kind != "models" {
		prefix += r.Kind + "/"
	}
	parts := strings.Split(name, "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return f.Endpoint + prefix + r.Name + "/resolve/" + commit + "/" + path.Join(parts...)
}

// refused is an answer that another attempt would not change.
type refused struct{ error }

func (r *refused) Unwrap() error { return r.error }

func (f *Fetcher) get(ctx context.Context, address string, from int64, r Repo) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", "aiperf")
	if f.Token != "" { // net/http leaves it out when another host is asked on the way
		req.Header.Set("Authorization", "Bearer "+f.Token)
	}
	if from > 0 {
		req.Header.Set("Range", "bytes="+strconv.FormatInt(from, 10)+"-")
	}
	client := f.Client
	if client == nil {
		client = &http.Client{Transport: &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			ResponseHeaderTimeout: time.Minute,
		}}
	}
	res, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%s: the hub cannot be reached: %w", r, err)
	}
	if res.StatusCode == http.StatusOK || res.StatusCode == http.StatusPartialContent {
		return res, nil
	}
	res.Body.Close()
	switch res.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		return nil, &refused{diag.Errorf("%s: access is gated or the repository does not exist (HTTP %d)", r,
			res.StatusCode).Try("accept its terms on the hub and set HF_TOKEN")}
	case http.StatusNotFound:
		return nil, &refused{fmt.Errorf("%s: not on the hub (HTTP 404)", r)}
	}
	if res.StatusCode < 500 && res.StatusCode != http.StatusTooManyRequests {
		return nil, &refused{fmt.Errorf("%s: the hub answers HTTP %d", r, res.StatusCode)}
	}
	return nil, fmt.Errorf("%s: the hub answers HTTP %d", r, res.StatusCode)
}

// verify holds a file against its listing.
func verify(path string, file File) error {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	var h hash.Hash
	want := file.SHA256
	if want != "" {
		h = sha256.New()
	} else {
		want = file.Blob
		h = sha1.New() // git's name of the bytes
		fmt.Fprintf(h, "blob %d\x00", file.Size)
	}
	if _, err := io.Copy(h, in); err != nil {
		return err
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != want {
		return fmt.Errorf("its checksum is %s and not %s; it was removed", got, want)
	}
	return nil
}

// Plain brings a file that is not on the hub to path, whole or not at all.
func (f *Fetcher) Plain(ctx context.Context, address, path string) error {
	if Offline() {
		return diag.Errorf("HF_HUB_OFFLINE is set: nothing is fetched").Try("unset it")
	}
	bare := *f
	bare.Token = "" // it is the hub's
	res, err := bare.get(ctx, address, 0, Repo{Name: address})
	if err != nil {
		return err
	}
	defer res.Body.Close()
	f.say("%s", address)
	b, err := io.ReadAll(io.LimitReader(res.Body, maxListing+1))
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", address, err)
	case len(b) > maxListing:
		return fmt.Errorf("%s: larger than %s", address, size(maxListing))
	case res.ContentLength >= 0 && int64(len(b)) != res.ContentLength:
		return fmt.Errorf("%s: %d of %d bytes came", address, len(b), res.ContentLength)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return atomicfile.Write(path, b)
}

// Finish files the revision under its name, once its files are there.
func (f *Fetcher) Finish(r Repo, commit string) error {
	revision := r.Revision
	if revision == "" {
		revision = main
	}
	if revision == commit || len(Folders()) == 0 {
		return nil
	}
	ref := filepath.Join(r.Folder(Folders()[0]), "refs", filepath.FromSlash(revision))
	if err := os.MkdirAll(filepath.Dir(ref), 0o755); err != nil {
		return err
	}
	return atomicfile.Write(ref, []byte(commit))
}

func (f *Fetcher) say(format string, args ...any) {
	if f.Say != nil {
		f.Say(fmt.Sprintf(format, args...))
	}
}

func size(n int64) string {
	if n < 10<<20 {
		return fmt.Sprintf("%d KB", (n+999)/1000)
	}
	return fmt.Sprintf("%d MB", n/1000000)
}
