package cluster

import (
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/diag"
)

// newToken is a secret of 256 bits, as it is written into a file.
func newToken() (string, error) {
	var secret [32]byte
	_, err := rand.Read(secret[:])
	return hex.EncodeToString(secret[:]), err
}

// TokenIn is the token in a file, which is made if it is missing.
func TokenIn(file string) (string, error) {
	b, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		token, err := newToken()
		if err == nil {
			err = os.WriteFile(file, []byte(token+"\n"), 0o600)
		}
		return token, ofFile(err)
	}
	token := strings.TrimSpace(string(b))
	if err == nil && len(token) < leastToken {
		err = diag.New(fmt.Sprintf("--token-file: %s has fewer than %d characters", file, leastToken),
			"name a file that does not exist: it is made, with a good token")
	}
	return token, ofFile(err)
}

// ofFile is an error about the token's file with the flag that names it.
func ofFile(err error) error {
	var at *fs.PathError
	if !errors.As(err, &at) {
		return err
	}
	return diag.New("--token-file: "+err.Error(), "")
}

// leastToken is how many characters a token has at least.
const leastToken = 16

// addressOf is where workers of other machines join a coordinator that listens at host.
func addressOf(host string, port int) string {
	scheme := "tls"
	if private(host) {
		scheme = "nats"
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		var err error
		if host, err = os.Hostname(); err != nil {
			host = "THIS_HOST"
		}
	}
	return scheme + "://" + net.JoinHostPort(host, strconv.Itoa(port))
}

// keyOf is the key that a coordinator shows who knows its token. Both sides make it of the
// token, so that a worker knows whom it speaks to, and no certificate is carried around.
func keyOf(token string) (ed25519.PrivateKey, error) {
	seed, err := hkdf.Key(sha256.New, []byte(token), nil, "aiperf coordinator", ed25519.SeedSize)
	if err != nil {
		return nil, err
	}
	return ed25519.NewKeyFromSeed(seed), nil
}

// serverTLS is how a coordinator shows that key.
func serverTLS(token string) (*tls.Config, error) {
	key, err := keyOf(token)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	cert := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: "aiperf"},
		NotBefore: now.AddDate(0, 0, -1), NotAfter: now.AddDate(1, 0, 0),
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, cert, key.Public(), key)
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion:   tls.VersionTLS13,
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
	}, nil
}

// errStranger is a coordinator that does not know the token.
var errStranger = errors.New("who answers there does not know the token")

// clientTLS takes that key and no other.
func clientTLS(token string) (*tls.Config, error) {
	key, err := keyOf(token)
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		// names and authorities say nothing here: the key below is the whole proof
		InsecureSkipVerify: true,
		VerifyConnection: func(s tls.ConnectionState) error {
			want, ok := key.Public().(ed25519.PublicKey)
			if !ok || len(s.PeerCertificates) == 0 || !want.Equal(s.PeerCertificates[0].PublicKey) {
				return errStranger
			}
			return nil
		},
	}, nil
}

// private tells whether an address can be reached from this machine alone.
func private(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
