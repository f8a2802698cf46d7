package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/seal"
	"aiperf.dev/aiperf/internal/secret"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sinks/bundle"
)

// passphraseVariable holds the passphrase of a key that is encrypted; cosign's own is read, too.
const passphraseVariable = "AIPERF_KEY_PASSPHRASE"

var bundleCommand = command{
	name: "bundle", usage: "seal a result in one file that others can verify and rerun", minor: true,
	words: resultDirs,
	help: `aiperf bundle DIR -o FILE seals a finished result directory: tables, records,
receipts, verdict and experiment, without host names, pod and GPU identifiers
and absolute paths. What was replaced is listed on the screen and in the bundle.

  aiperf bundle results/latest -o result.aiperf
  aiperf bundle results/latest -o result.aiperf --key ~/.ssh/id_ed25519
  aiperf verify result.aiperf --recompute --key id_ed25519.pub
  aiperf rerun result.aiperf -u http://localhost:8000

The same directory gives the same bytes. A key is one of ssh (ed25519) or of
cosign (ECDSA P-256); nothing is looked up in the network. An INVALID result is
sealed as INVALID.`,
	flags: []argv.Switch{
		{Name: "output", Short: "o", Arg: "FILE", Doc: "bundle to write, such as result.aiperf"},
		{Name: "key", Arg: "FILE", Doc: "private key that signs; without one the bundle is unsigned"},
		{
			Name: "passphrase-file", Arg: "FILE",
			Doc: "passphrase of an encrypted key; without it, " + passphraseVariable + " or COSIGN_PASSWORD",
		},
	},
	run: func(a *app, p *argv.Line) error {
		dir, err := onlyFile(p, "aiperf bundle DIR -o FILE")
		if err != nil {
			return err
		}
		out := p.Get("output")
		if out == "" {
			return diag.New("bundle: into which file?", "aiperf bundle "+dir+" -o result.aiperf")
		}
		if _, err := os.Lstat(out); err == nil {
			return diag.New(out+": exists already", "remove it, or name another file")
		}
		opt := bundle.Options{Version: version, Hide: secret.NewMasker(secretsAround()...)}
		if name := p.Get("key"); name != "" {
			if opt.Key, err = privateKey(name, p.Get("passphrase-file")); err != nil {
				return err
			}
		}
		made, err := bundle.Make(dir, out, opt)
		if err != nil {
			return err
		}
		return a.printSealed(dir, out, made, opt.Key)
	},
}

// printSealed says what is in the bundle, what is not, and who signed it.
func (a *app) printSealed(dir, out string, made *bundle.Made, key *seal.PrivateKey) error {
	p := made.Statement.Predicate
	fmt.Fprintf(a.Out, "%s: %s of %s, sealed as %s (%s, %d bytes)\n", out, words.Count(len(p.Runs), "run"), dir, p.Verdict,
		words.Count(len(made.Statement.Subject), "file"), made.Bytes)
	signed := "unsigned: anybody could change it and seal it again (--key FILE signs)"
	if key != nil {
		signed = "signed by the key " + key.ID()
	}
	printTwo(a.Out, "signature", signed)
	for _, r := range made.Redacted {
		printTwo(a.Out, "redacted", fmt.Sprintf("%s: %d, as %s", r.What, r.Words, r.By))
	}
	return nil
}

// secretsAround are the credentials that the environment names: none of them is passed on.
func secretsAround() (found []string) {
	found = secret.Proxies(os.Getenv)
	for _, pair := range os.Environ() {
		if name, value, ok := strings.Cut(pair, "="); ok && secret.Name(name) && secret.Telling(value, true) {
			found = append(found, value)
		}
	}
	return found
}

// privateKey reads the key that signs.
func privateKey(name, passphraseFile string) (*seal.PrivateKey, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, asUsage(err)
	}
	var passphrase []byte
	if passphraseFile != "" {
		if passphrase, err = os.ReadFile(passphraseFile); err != nil {
			return nil, asUsage(err)
		}
		passphrase = []byte(strings.TrimRight(string(passphrase), "\r\n"))
	} else {
		for _, variable := range []string{passphraseVariable, "COSIGN_PASSWORD"} {
			if v := os.Getenv(variable); v != "" && passphrase == nil {
				passphrase = []byte(v)
			}
		}
	}
	key, err := seal.ParsePrivate(b, passphrase)
	if errors.Is(err, seal.ErrPassphrase) {
		return nil, diag.New(name+": the key is encrypted, and its passphrase is not given",
			"--passphrase-file FILE, or the environment variable "+passphraseVariable)
	}
	if err != nil {
		return nil, diag.New(name+": "+err.Error(), "ssh-keygen -t ed25519 makes a key, and so does cosign generate-key-pair")
	}
	return key, nil
}

// publicKey reads the key that a signature is checked with.
func publicKey(name string) (*seal.PublicKey, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, asUsage(err)
	}
	key, err := seal.ParsePublic(b)
	if err != nil {
		return nil, diag.New(name+": "+err.Error(), "the signer's public key: id_ed25519.pub, or cosign.pub")
	}
	return key, nil
}
