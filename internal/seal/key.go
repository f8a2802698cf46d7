package seal

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"

	"golang.org/x/crypto/nacl/secretbox"
	"golang.org/x/crypto/scrypt"
	"golang.org/x/crypto/ssh"
)

// Two kinds of key sign: ed25519 as ssh-keygen makes it, and ECDSA on P-256 as cosign and
// openssl make it. The bytes that are signed are the same for both, and no key is looked up
// anywhere.

// PublicKey checks signatures.
type PublicKey struct{ key crypto.PublicKey }

// PrivateKey makes them.
type PrivateKey struct {
	PublicKey
	signer crypto.Signer
}

// ErrPassphrase is the error of a key that is encrypted when no passphrase is given.
var ErrPassphrase = errors.New("the key is encrypted")

// errWrongPassphrase is that of a passphrase that does not open a key.
var errWrongPassphrase = errors.New("the passphrase does not open the key")

// maxKey bounds a key file, in bytes.
const maxKey = 64 << 10

// ParsePrivate reads a key file. passphrase is empty where none is given.
func ParsePrivate(file, passphrase []byte) (*PrivateKey, error) {
	if len(file) > maxKey {
		return nil, errors.New("too large to be a key")
	}
	block, _ := pem.Decode(file)
	if block == nil {
		if _, _, _, _, err := ssh.ParseAuthorizedKey(file); err == nil {
			return nil, errors.New("a public key: signing takes the private one")
		}
		return nil, errors.New("not a key: neither of ssh nor in PEM")
	}
	key, err := privateOf(block, file, passphrase)
	if err != nil {
		return nil, err
	}
	if p, ok := key.(*ed25519.PrivateKey); ok {
		key = *p
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, unusable(key)
	}
	pub, err := publicOf(signer.Public())
	if err != nil {
		return nil, err
	}
	return &PrivateKey{*pub, signer}, nil
}

// privateOf is the key in a PEM block.
func privateOf(block *pem.Block, file, passphrase []byte) (any, error) {
	switch block.Type {
	case "OPENSSH PRIVATE KEY":
		key, err := ssh.ParseRawPrivateKey(file)
		if missing := (*ssh.PassphraseMissingError)(nil); !errors.As(err, &missing) {
			return key, err
		}
		if len(passphrase) == 0 {
			return nil, ErrPassphrase
		}
		key, err = ssh.ParseRawPrivateKeyWithPassphrase(file, passphrase)
		if errors.Is(err, x509.IncorrectPasswordError) {
			return nil, errWrongPassphrase
		}
		return key, err
	case "ENCRYPTED SIGSTORE PRIVATE KEY", "ENCRYPTED COSIGN PRIVATE KEY":
		if len(passphrase) == 0 {
			return nil, ErrPassphrase
		}
		der, err := unboxed(block.Bytes, passphrase)
		if err != nil {
			return nil, err
		}
		return x509.ParsePKCS8PrivateKey(der)
	case "PRIVATE KEY":
		return x509.ParsePKCS8PrivateKey(block.Bytes)
	case "EC PRIVATE KEY":
		return x509.ParseECPrivateKey(block.Bytes)
	case "PUBLIC KEY":
		return nil, errors.New("a public key: signing takes the private one")
	}
	return nil, fmt.Errorf("%q is not a kind of key that signs here: ed25519 of ssh, or ECDSA P-256 of cosign",
		block.Type)
}

// box is how cosign keeps a key: https://github.com/sigstore/cosign, specification of its
// encrypted keys.
type box struct {
	KDF struct {
		Name   string `json:"name"`
		Params struct{ N, R, P int }
		Salt   []byte `json:"salt"`
	} `json:"kdf"`
	Cipher struct {
		Name  string `json:"name"`
		Nonce []byte `json:"nonce"`
	} `json:"cipher"`
	Ciphertext []byte `json:"ciphertext"`
}

// maxScrypt bounds what a key file may ask for: 1 GiB of memory would be 2²⁰ × 8 × 128 bytes.
const maxScrypt = 1 << 18

// unboxed is the key in a box that the passphrase opens.
func unboxed(b, passphrase []byte) ([]byte, error) {
	var x box
	if err := json.Unmarshal(b, &x); err != nil {
		return nil, fmt.Errorf("the encrypted key: %w", err)
	}
	p := x.KDF.Params
	if x.KDF.Name != "scrypt" || x.Cipher.Name != "nacl/secretbox" || len(x.Cipher.Nonce) != 24 ||
		p.N < 2 || p.N > maxScrypt || p.R < 1 || p.R > 16 || p.P < 1 || p.P > 16 {
		return nil, fmt.Errorf("the key is encrypted by %q and %q in a way that is not known here", x.KDF.Name,
			x.Cipher.Name)
	}
	derived, err := scrypt.Key(passphrase, x.KDF.Salt, p.N, p.R, p.P, 32)
	if err != nil {
		return nil, fmt.Errorf("the encrypted key: %w", err)
	}
	plain, ok := secretbox.Open(nil, x.Ciphertext, (*[24]byte)(x.Cipher.Nonce), (*[32]byte)(derived))
	if !ok {
		return nil, errWrongPassphrase
	}
	return plain, nil
}

// ParsePublic reads the public key of a signer: a line of ssh, or PEM.
func ParsePublic(file []byte) (*PublicKey, error) {
	if len(file) > maxKey {
		return nil, errors.New("too large to be a key")
	}
	if block, _ := pem.Decode(file); block != nil {
		if block.Type != "PUBLIC KEY" {
			return nil, fmt.Errorf("%q: checking takes the public key", block.Type)
		}
		key, err := x509.ParsePKIXPublicKey(block.Bytes)
		if err != nil {
			return nil, err
		}
		return publicOf(key)
	}
	key, _, _, rest, err := ssh.ParseAuthorizedKey(file)
	if err != nil {
		return nil, errors.New("not a public key: neither a line of ssh nor in PEM")
	}
	if len(bytes.TrimSpace(rest)) > 0 {
		return nil, errors.New("more than one key")
	}
	inner, ok := key.(ssh.CryptoPublicKey)
	if !ok {
		return nil, unusable(key)
	}
	return publicOf(inner.CryptoPublicKey())
}

// publicOf takes the two kinds of key that are known here.
func publicOf(key crypto.PublicKey) (*PublicKey, error) {
	switch k := key.(type) {
	case ed25519.PublicKey:
		return &PublicKey{k}, nil
	case *ecdsa.PublicKey:
		if k.Curve == elliptic.P256() {
			return &PublicKey{k}, nil
		}
	}
	return nil, unusable(key)
}

func unusable(key any) error {
	return fmt.Errorf("a key of the kind %T does not sign here: ed25519 of ssh does, and ECDSA P-256 of cosign", key)
}

// ID names the key: of ed25519 as ssh-keygen -l does, of ECDSA the SHA-256 of its DER form.
func (k *PublicKey) ID() string {
	if e, ok := k.key.(ed25519.PublicKey); ok {
		if pub, err := ssh.NewPublicKey(e); err == nil {
			return ssh.FingerprintSHA256(pub)
		}
	}
	der, err := x509.MarshalPKIXPublicKey(k.key)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:])
}

func (k *PublicKey) verify(text, sig []byte) bool {
	switch key := k.key.(type) {
	case ed25519.PublicKey:
		return ed25519.Verify(key, text, sig)
	case *ecdsa.PublicKey:
		sum := sha256.Sum256(text)
		return ecdsa.VerifyASN1(key, sum[:], sig)
	}
	return false
}

// sign draws nothing: of one text a key has one signature (RFC 8032, RFC 6979), so that a
// bundle is the same file each time.
func (k *PrivateKey) sign(text []byte) ([]byte, error) {
	if _, ok := k.key.(ed25519.PublicKey); ok {
		return k.signer.Sign(nil, text, crypto.Hash(0))
	}
	sum := sha256.Sum256(text)
	return k.signer.Sign(nil, sum[:], crypto.SHA256)
}
