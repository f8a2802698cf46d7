package transport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"aiperf.dev/aiperf/internal/diag"
)

// tlsConfig is what all TLS targets share. Its errors name the setting of the endpoint.
func tlsConfig(cfg *Config) (*tls.Config, error) {
	// asked for by the user and marked in the results
	c := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: cfg.Insecure} //nolint:gosec
	if cfg.CAFile != "" {
		pem, err := os.ReadFile(cfg.CAFile)
		if err != nil {
			return nil, badFile("ca_file", "CA file", cfg.CAFile, err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, badFile("ca_file", "CA file", cfg.CAFile, errors.New("no certificate in it"))
		}
	}
	switch {
	case cfg.ClientCert == "" && cfg.ClientKey == "":
		return c, nil
	case cfg.ClientCert == "" || cfg.ClientKey == "":
		return nil, &diag.Error{
			Path: "endpoint.client_cert", Message: "a client certificate and its key go together",
			Hint: "give both files",
		}
	}
	cert, err := os.ReadFile(cfg.ClientCert)
	if err != nil {
		return nil, badFile("client_cert", "client certificate", cfg.ClientCert, err)
	}
	key, err := os.ReadFile(cfg.ClientKey)
	if err != nil {
		return nil, badFile("client_key", "key of the client certificate", cfg.ClientKey, err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, badFile("client_cert", "client certificate", cfg.ClientCert,
			fmt.Errorf("it does not work with the key in %s: %w", cfg.ClientKey, err))
	}
	c.Certificates = []tls.Certificate{pair}
	return c, nil
}

// badFile refuses a file that a setting of the endpoint names.
func badFile(setting, what, name string, err error) error {
	var path *fs.PathError
	hint := "a file in PEM form: it begins with -----BEGIN"
	if errors.As(err, &path) {
		err, hint = path.Err, "paths are seen from the working directory"
	}
	return &diag.Error{Path: "endpoint." + setting, Message: fmt.Sprintf("%s %s: %v", what, name, err), Hint: hint}
}

// noticing is a copy of shared that tells t when the server asks for a client
// certificate and there is none to give. The one that was given is sent, though it be of
// another authority than those the server lists: the server says what is wrong with it.
func (t *target) noticing(shared *tls.Config) *tls.Config {
	c := shared.Clone()
	c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		if len(shared.Certificates) > 0 {
			return &shared.Certificates[0], nil
		}
		t.asked.Store(true)
		return &tls.Certificate{}, nil // none: many servers take it when they have it, and do without
	}
	return c
}

// handshakeFailed marks err as one of a handshake with t.
func (t *target) handshakeFailed(err error) error { return &handshakeError{err, t.asked.Load()} }

// noticed is err of net/http, which makes handshakes itself and does not mark their errors.
func (t *target) noticed(err error) error {
	if t.asked.Load() && isAlert(err, alertHandshake, alertBad) {
		return t.handshakeFailed(err)
	}
	return err
}

// SpeaksTLS reports whether the first target of cfg, a plain http:// address, is a
// port where TLS is spoken.
func SpeaksTLS(ctx context.Context, cfg Config) bool { //nolint:gocritic // as Reach
	address, plain := strings.CutPrefix(cfg.Targets[0], "http://")
	if !plain {
		return false
	}
	cfg.Targets, cfg.Insecure = []string{"https://" + address}, true
	err := Reach(ctx, cfg)
	var noTLS tls.RecordHeaderError
	return err == nil || isTLS(err) && !errors.As(err, &noTLS) && !errors.Is(err, errNoHandshake)
}

// TLS is how targets are spoken to over TLS, for those who ask them something
// outside the measurement.
func (cfg *Config) TLS() (*tls.Config, error) { return tlsConfig(cfg) }

// recordEdge follows the lengths of TLS records through a byte stream.
type recordEdge struct {
	head [5]byte // type, version, length
	got  int     // bytes of head seen
	left int     // bytes of the record to come
}

// feed takes the next bytes, split anywhere.
func (r *recordEdge) feed(b []byte) {
	for len(b) > 0 {
		if r.got < len(r.head) {
			n := copy(r.head[r.got:], b)
			r.got += n
			b = b[n:]
			if r.got < len(r.head) {
				return
			}
			r.left = int(r.head[3])<<8 | int(r.head[4])
		}
		n := min(r.left, len(b))
		r.left -= n
		b = b[n:]
		if r.left == 0 {
			r.got = 0
		}
	}
}

// atEdge reports whether the bytes so far end with a record.
func (r *recordEdge) atEdge() bool { return r.got == 0 }
