package transport

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
)

// tlsConfig is what all TLS targets share.
func tlsConfig(cfg *Config) (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: cfg.Insecure} //nolint:gosec // asked for by the user and marked in the results
	if cfg.CAFile != "" {
		pem, err := os.ReadFile(cfg.CAFile)
		if err != nil {
			return nil, fmt.Errorf("CA file: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("CA file %s: no certificate in it; it must be PEM", cfg.CAFile)
		}
	}
	switch {
	case cfg.ClientCert == "" && cfg.ClientKey == "":
	case cfg.ClientCert == "" || cfg.ClientKey == "":
		return nil, fmt.Errorf("client certificate: certificate and key go together; give both files")
	default:
		pair, err := tls.LoadX509KeyPair(cfg.ClientCert, cfg.ClientKey)
		if err != nil {
			return nil, fmt.Errorf("client certificate %s: %w", cfg.ClientCert, err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
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

// atEdge tells whether the bytes so far end with a record.
func (r *recordEdge) atEdge() bool { return r.got == 0 }
