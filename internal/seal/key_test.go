package seal_test

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"strings"
	"testing"

	"golang.org/x/crypto/nacl/secretbox"
	"golang.org/x/crypto/scrypt"
	"golang.org/x/crypto/ssh"

	"aiperf.dev/aiperf/internal/seal"
)

// pair is a key as its owner has it: the private file, its passphrase and the public file.
type pair struct {
	name                        string
	private, passphrase, public []byte
}

func encoded(t *testing.T, kind string, b []byte) []byte {
	t.Helper()
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: b})
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// pairs are one of each kind.
func pairs(t *testing.T) []pair {
	t.Helper()
	pub, ed, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	line := ssh.MarshalAuthorizedKey(must(ssh.NewPublicKey(pub)))
	ec := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	der := must(x509.MarshalPKCS8PrivateKey(ec))
	cosign := encoded(t, "PUBLIC KEY", must(x509.MarshalPKIXPublicKey(ec.Public())))
	return []pair{
		{"ssh", pem.EncodeToMemory(must(ssh.MarshalPrivateKey(ed, "me"))), nil, line},
		{
			"ssh, encrypted", pem.EncodeToMemory(must(ssh.MarshalPrivateKeyWithPassphrase(ed, "me", []byte("open")))),
			[]byte("open"), line,
		},
		{"PEM", encoded(t, "PRIVATE KEY", der), nil, cosign},
		{"EC", encoded(t, "EC PRIVATE KEY", must(x509.MarshalECPrivateKey(ec))), nil, cosign},
		{"cosign", encoded(t, "ENCRYPTED SIGSTORE PRIVATE KEY", boxed(t, der, "open")), []byte("open"), cosign},
	}
}

// boxed is a key as cosign encrypts it.
func boxed(t *testing.T, der []byte, passphrase string) []byte {
	t.Helper()
	salt, nonce := make([]byte, 32), [24]byte{1}
	key := must(scrypt.Key([]byte(passphrase), salt, 1<<10, 8, 1, 32))
	return must(json.Marshal(map[string]any{
		"kdf":        map[string]any{"name": "scrypt", "params": map[string]int{"N": 1 << 10, "r": 8, "p": 1}, "salt": salt},
		"cipher":     map[string]any{"name": "nacl/secretbox", "nonce": nonce[:]},
		"ciphertext": secretbox.Seal(nil, der, &nonce, (*[32]byte)(key)),
	}))
}

func TestSignatures(t *testing.T) {
	t.Parallel()
	other := must(seal.ParsePublic(pairs(t)[0].public))
	for _, p := range pairs(t) {
		key, err := seal.ParsePrivate(p.private, p.passphrase)
		if err != nil {
			t.Errorf("%s: %v", p.name, err)
			continue
		}
		dir := t.TempDir()
		s := statement(t, dir, some)
		b := packed(t, dir, s, key)
		if !bytes.Equal(b, packed(t, dir, s, key)) {
			t.Errorf("%s: one key gave two signatures", p.name)
		}
		got, err := open(t, b)
		if err != nil {
			t.Fatal(err)
		}
		pub := must(seal.ParsePublic(p.public))
		switch {
		case pub.ID() != key.ID() || got.Signatures[0].KeyID != key.ID():
			t.Errorf("%s: %s signed, %s is its name", p.name, got.Signatures[0].KeyID, pub.ID())
		case !got.SignedBy(pub):
			t.Errorf("%s: its own signature does not hold", p.name)
		case got.SignedBy(other):
			t.Errorf("%s: the signature of another key holds", p.name)
		}
		if len(p.passphrase) == 0 {
			continue
		}
		if _, err := seal.ParsePrivate(p.private, nil); !errors.Is(err, seal.ErrPassphrase) {
			t.Errorf("%s, without its passphrase: %v", p.name, err)
		}
		if _, err := seal.ParsePrivate(p.private, []byte("wrong")); err == nil || err.Error() != "the passphrase does not open the key" {
			t.Errorf("%s, with another passphrase: %v", p.name, err)
		}
	}
}

func TestBadKeys(t *testing.T) {
	t.Parallel()
	p384 := must(ecdsa.GenerateKey(elliptic.P384(), rand.Reader))
	r := must(rsa.GenerateKey(rand.Reader, 2048))
	pkcs8 := func(key crypto.PrivateKey) []byte {
		return encoded(t, "PRIVATE KEY", must(x509.MarshalPKCS8PrivateKey(key)))
	}
	mine := pairs(t)
	greedy := bytes.Replace(boxed(t, nil, "x"), []byte(`"N":1024`), []byte(`"N":1073741824`), 1)
	for _, c := range []struct {
		name, want string
		private    []byte
	}{
		{"a text", "not a key", []byte("hello")},
		{"the public one of ssh", "signing takes the private one", mine[0].public},
		{"the public one of cosign", "signing takes the private one", mine[2].public},
		{"another curve", "does not sign here", pkcs8(p384)},
		{"RSA", "does not sign here", pkcs8(r)},
		{"a certificate", `"CERTIFICATE" is not a kind of key`, encoded(t, "CERTIFICATE", []byte("x"))},
		{"a box that asks for much", "in a way that is not known here", encoded(t, "ENCRYPTED COSIGN PRIVATE KEY", greedy)},
		{"a box without a key", "the encrypted key", encoded(t, "ENCRYPTED COSIGN PRIVATE KEY", []byte("{"))},
		{"a large file", "too large", make([]byte, 1<<20)},
	} {
		if _, err := seal.ParsePrivate(c.private, []byte("x")); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	for _, c := range []struct {
		name, want string
		public     []byte
	}{
		{"a text", "not a public key", []byte("hello")},
		{"the private one", "checking takes the public key", mine[0].private},
		{"two", "more than one key", append(bytes.Clone(mine[0].public), mine[0].public...)},
	} {
		if _, err := seal.ParsePublic(c.public); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}
