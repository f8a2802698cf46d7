package main

import (
	"errors"
	"io/fs"
	"os"
	"runtime"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/atomicfile"
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/launch/image"
)

var kubeImageCommand = command{
	name: "kube image", usage: "make a container image of this program, without a daemon",
	help: `aiperf kube image > aiperf.tar writes an image that holds this program and the
certificates that this machine trusts. The same program and certificates give the
same bytes.

  aiperf kube image > aiperf.tar
  docker load -i aiperf.tar          or podman load, ctr image import, skopeo copy
  kind load image-archive aiperf.tar`,
	flags: []argv.Switch{
		{Name: "binary", Arg: "FILE", Doc: "another build of the program, for Linux (default: this one)"},
		{Name: "ca-file", Arg: "FILE", Doc: "certificates in PEM (default: those of this machine)"},
		{Name: "tag", Arg: "NAME", Doc: "what the image is called (default aiperf:VERSION)"},
		{Name: "output", Short: "o", Arg: "FILE", Doc: "write FILE (default: stdout)"},
	},
	run: func(a *app, p *argv.Line) error {
		if len(p.Words) > 0 {
			return diag.New("kube image: unexpected "+p.Words[0], "")
		}
		if p.Get("output") == "" && terminal(a.Out) {
			return diag.New("kube image: an image is nothing for a screen", "aiperf kube image > aiperf.tar")
		}
		m, err := imageOf(p)
		if err != nil {
			return err
		}
		if p.Get("output") == "" {
			return m.Write(a.Out)
		}
		f, err := atomicfile.Create(p.Get("output"))
		if err != nil {
			return written(err)
		}
		defer f.Abort()
		if err := m.Write(f); err != nil {
			return err
		}
		return written(f.Commit())
	},
}

// imageOf reads what goes into an image.
func imageOf(p *argv.Line) (*image.Image, error) {
	m := &image.Image{Name: "aiperf:" + version}
	if p.Has("tag") {
		m.Name = p.Get("tag")
	}
	binary := p.Get("binary")
	if binary == "" {
		if runtime.GOOS != "linux" {
			return nil, diag.New("kube image: this program is for "+runtime.GOOS+", and pods run Linux",
				"GOOS=linux CGO_ENABLED=0 go build -trimpath -o aiperf-linux ./cmd/aiperf, then --binary aiperf-linux")
		}
		var err error
		if binary, err = self(); err != nil {
			return nil, err
		}
	}
	var err error
	if m.Program, err = os.ReadFile(binary); err != nil {
		return nil, diag.New("--binary: "+err.Error(), "")
	}
	m.CAs, err = certificates(p.Get("ca-file"))
	return m, err
}

// certificates are those in a file, else those that this machine trusts, where systems have them.
func certificates(file string) ([]byte, error) {
	if file != "" {
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, diag.New("--ca-file: "+err.Error(), "")
		}
		return b, nil
	}
	for _, usual := range []string{
		"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem",
	} {
		b, err := os.ReadFile(usual)
		if !errors.Is(err, fs.ErrNotExist) {
			return b, err
		}
	}
	return nil, diag.New("kube image: no certificates were found on this machine",
		"--ca-file FILE names those that the program shall trust")
}
