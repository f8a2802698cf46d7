// Package image writes a container image that holds one program and the certificates that it
// trusts, and nothing else. Nothing but bytes goes in: no daemon, no registry, no clock, so
// that the same bytes give the same image.
package image

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"

	"aiperf.dev/aiperf/internal/diag"
)

// Image is what goes in.
type Image struct {
	Name    string // with its tag, as in aiperf:1.0
	Program []byte // a Linux program that needs no libraries
	CAs     []byte // certificates in PEM
}

// Where the program and the certificates are. Go's crypto/x509 looks there by itself.
const (
	programPath = "aiperf"
	casPath     = "etc/ssl/certs/ca-certificates.crt"
)

// user is who runs the program, unless a pod says otherwise: not root.
const user = "65532:65532"

// Write writes the image as a tar archive that docker load, podman load, ctr image import,
// kind load image-archive and skopeo take: an OCI layout, with the index of docker save.
func (m *Image) Write(w io.Writer) error {
	arch, err := architecture(m.Program)
	if err != nil {
		return err
	}
	var layer bytes.Buffer
	if err := files(&layer, []file{
		{"etc/", nil, 0o755},
		{"etc/ssl/", nil, 0o755},
		{"etc/ssl/certs/", nil, 0o755},
		{casPath, m.CAs, 0o644},
		{programPath, m.Program, 0o755},
	}); err != nil {
		return err
	}
	config := packed(map[string]any{
		"architecture": arch, "os": "linux",
		"config": map[string]any{"Entrypoint": []string{"/" + programPath}, "User": user, "WorkingDir": "/"},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{digest(layer.Bytes())}},
	})
	manifest := packed(map[string]any{
		"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
		"config": described("application/vnd.oci.image.config.v1+json", config),
		"layers": []any{described("application/vnd.oci.image.layer.v1.tar", layer.Bytes())},
	})
	entry := described("application/vnd.oci.image.manifest.v1+json", manifest)
	entry["annotations"] = map[string]string{
		"io.containerd.image.name": m.Name, "org.opencontainers.image.ref.name": m.Name,
	}
	blob := func(b []byte) string { return "blobs/sha256/" + digest(b)[len("sha256:"):] }
	return files(w, []file{
		{"blobs/", nil, 0o755},
		{"blobs/sha256/", nil, 0o755},
		{blob(config), config, 0o644},
		{blob(layer.Bytes()), layer.Bytes(), 0o644},
		{blob(manifest), manifest, 0o644},
		{"index.json", packed(map[string]any{"schemaVersion": 2, "manifests": []any{entry}}), 0o644},
		{"manifest.json", packed([]any{map[string]any{
			"Config": blob(config), "RepoTags": []string{m.Name}, "Layers": []string{blob(layer.Bytes())},
		}}), 0o644},
		{"oci-layout", packed(map[string]any{"imageLayoutVersion": "1.0.0"}), 0o644},
	})
}

// file is one entry of an archive; a name that ends with a slash is a folder.
type file struct {
	name string
	data []byte
	mode int64
}

// files writes an archive in which nothing depends on when and by whom it is written.
func files(w io.Writer, all []file) error {
	t := tar.NewWriter(w)
	for _, f := range all {
		h := &tar.Header{
			Typeflag: tar.TypeReg, Name: f.name, Size: int64(len(f.data)), Mode: f.mode, Format: tar.FormatUSTAR,
		}
		if f.name[len(f.name)-1] == '/' {
			h.Typeflag = tar.TypeDir
		}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		if _, err := t.Write(f.data); err != nil {
			return err
		}
	}
	return t.Close()
}

// packed is v as JSON, with the keys of its maps in order.
func packed(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // texts, numbers, lists and maps of them
	}
	return b
}

func described(kind string, b []byte) map[string]any {
	return map[string]any{"mediaType": kind, "digest": digest(b), "size": len(b)}
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// architecture is that of a program, which has to run where nothing else is.
func architecture(program []byte) (string, error) {
	e, err := elf.NewFile(bytes.NewReader(program))
	if err != nil {
		return "", diag.New("this is not a program for Linux: "+err.Error(),
			"GOOS=linux CGO_ENABLED=0 go build -trimpath makes one; --binary names it")
	}
	for _, p := range e.Progs {
		if p.Type == elf.PT_INTERP {
			return "", diag.New("this program needs libraries, and the image has none",
				"CGO_ENABLED=0 go build -trimpath makes one that needs none; --binary names it")
		}
	}
	arch, ok := map[elf.Machine]string{elf.EM_X86_64: "amd64", elf.EM_AARCH64: "arm64"}[e.Machine]
	if !ok {
		return "", diag.New(fmt.Sprintf("this program is for %v, and images are made for amd64 and arm64", e.Machine), "")
	}
	return arch, nil
}
