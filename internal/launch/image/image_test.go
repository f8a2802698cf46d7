package image

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"encoding/binary"
	"encoding/json"
	"io"
	"strings"
	"testing"
)

// program is the head of a program for Linux, and what follows it.
func program(t *testing.T, machine elf.Machine, parts ...elf.ProgType) []byte {
	t.Helper()
	h := elf.Header64{
		Ident: [elf.EI_NIDENT]byte{
			0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT),
		},
		Type: uint16(elf.ET_EXEC), Machine: uint16(machine), Version: uint32(elf.EV_CURRENT),
		Phoff: 64, Ehsize: 64, Phentsize: 56, Phnum: uint16(len(parts)), Shentsize: 64,
	}
	var b bytes.Buffer
	if err := binary.Write(&b, binary.LittleEndian, h); err != nil {
		t.Fatal(err)
	}
	for _, kind := range parts {
		if err := binary.Write(&b, binary.LittleEndian, elf.Prog64{Type: uint32(kind)}); err != nil {
			t.Fatal(err)
		}
	}
	return append(b.Bytes(), "and the rest of it"...)
}

func TestTwoImagesAreEqual(t *testing.T) {
	t.Parallel()
	m := &Image{Name: "aiperf:1", Program: program(t, elf.EM_AARCH64, elf.PT_LOAD), CAs: []byte("certificates")}
	var one, two bytes.Buffer
	if err := m.Write(&one); err != nil {
		t.Fatal(err)
	}
	if err := m.Write(&two); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(one.Bytes(), two.Bytes()) {
		t.Fatal("two images of the same bytes differ")
	}
	m.CAs = []byte("others")
	two.Reset()
	if err := m.Write(&two); err != nil || bytes.Equal(one.Bytes(), two.Bytes()) {
		t.Fatalf("images of other bytes are equal, or %v", err)
	}
}

// What the index says leads, digest by digest, to the program.
func TestTheIndexLeadsToTheProgram(t *testing.T) {
	t.Parallel()
	m := &Image{Name: "aiperf:1", Program: program(t, elf.EM_AARCH64, elf.PT_LOAD), CAs: []byte("certificates")}
	var out bytes.Buffer
	if err := m.Write(&out); err != nil {
		t.Fatal(err)
	}
	have := untar(t, out.Bytes())
	type ref struct {
		Digest string `json:"digest"`
		Size   int    `json:"size"`
	}
	blob := func(r ref) []byte {
		b := have["blobs/sha256/"+strings.TrimPrefix(r.Digest, "sha256:")]
		if len(b) != r.Size || digest(b) != r.Digest {
			t.Fatalf("%+v: %d bytes of digest %s", r, len(b), digest(b))
		}
		return b
	}
	var index struct{ Manifests []ref }
	var manifest struct {
		Config ref
		Layers []ref
	}
	var config struct {
		Architecture, OS string
		Config           struct {
			User       string
			Entrypoint []string
		}
		Rootfs struct {
			DiffIDs []string `json:"diff_ids"`
		}
	}
	read(t, have["index.json"], &index)
	read(t, blob(index.Manifests[0]), &manifest)
	read(t, blob(manifest.Config), &config)
	layer := blob(manifest.Layers[0])
	files := untar(t, layer)
	if !bytes.Equal(files["aiperf"], m.Program) || string(files[casPath]) != "certificates" {
		t.Errorf("the layer holds %d files, and not what went in", len(files))
	}
	if config.Architecture != "arm64" || config.OS != "linux" || config.Config.User != user ||
		config.Config.Entrypoint[0] != "/aiperf" || config.Rootfs.DiffIDs[0] != digest(layer) {
		t.Errorf("config: %+v", config)
	}
	var saved []struct {
		Config   string
		RepoTags []string
		Layers   []string
	}
	read(t, have["manifest.json"], &saved)
	if have[saved[0].Config] == nil || !bytes.Equal(have[saved[0].Layers[0]], layer) || saved[0].RepoTags[0] != "aiperf:1" {
		t.Errorf("manifest.json: %+v", saved)
	}
}

func TestOtherProgramsAreRefused(t *testing.T) {
	t.Parallel()
	for why, b := range map[string][]byte{
		"needs libraries":         program(t, elf.EM_X86_64, elf.PT_INTERP),
		"is for EM_RISCV":         program(t, elf.EM_RISCV, elf.PT_LOAD),
		"not a program for Linux": []byte("#!/bin/sh\n" + strings.Repeat(" ", 100)),
	} {
		if err := (&Image{Program: b}).Write(io.Discard); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", why, err)
		}
	}
}

func read(t *testing.T, b []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(b, v); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
}

func untar(t *testing.T, b []byte) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for r := tar.NewReader(bytes.NewReader(b)); ; {
		h, err := r.Next()
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			if out[h.Name], err = io.ReadAll(r); err != nil {
				t.Fatal(err)
			}
		}
		if !h.ModTime.Equal(h.ModTime.Truncate(0)) || h.ModTime.Unix() != 0 || h.Uid != 0 || h.Gid != 0 {
			t.Errorf("%s: %v, %d, %d", h.Name, h.ModTime, h.Uid, h.Gid)
		}
	}
}
