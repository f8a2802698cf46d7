package kube

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"aiperf.dev/aiperf/internal/diag"
)

// execConf is a program that says who somebody is.
type execConf struct {
	APIVersion string   `yaml:"apiVersion"`
	Command    string   `yaml:"command"`
	Args       []string `yaml:"args"`
	Env        []struct {
		Name  string `yaml:"name"`
		Value string `yaml:"value"`
	} `yaml:"env"`
	InstallHint string `yaml:"installHint"`
}

// auth says who asks.
type auth struct {
	user *userConf
	pair *tls.Certificate // nil for none

	mu     sync.Mutex
	token  string    // of the program
	expiry time.Time // of what it said; zero: as long as this process
	asked  bool
}

// credential is what such a program prints.
type credential struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Status     struct {
		Token  string    `json:"token"`
		Cert   string    `json:"clientCertificateData"`
		Key    string    `json:"clientKeyData"`
		Expiry time.Time `json:"expirationTimestamp"`
	} `json:"status"`
}

// sign adds to a request who asks.
func (a *auth) sign(ctx context.Context, h http.Header) error {
	u := a.user
	token := u.Token
	switch {
	case u.TokenFile != "": // it may change while this program runs
		b, err := os.ReadFile(u.TokenFile)
		if err != nil {
			return diag.New("kubeconfig: "+err.Error(), "")
		}
		token = strings.TrimSpace(string(b))
	case u.Exec != nil:
		var err error
		if token, err = a.ask(ctx); err != nil {
			return err
		}
	}
	switch {
	case token != "":
		h.Set("Authorization", "Bearer "+token)
	case u.Username != "":
		r := http.Request{Header: h}
		r.SetBasicAuth(u.Username, u.Password)
	}
	if u.As != "" {
		h.Set("Impersonate-User", u.As)
		for _, g := range u.AsGroups {
			h.Add("Impersonate-Group", g)
		}
	}
	return nil
}

// certificate is what TLS shows the server.
func (a *auth) certificate(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.pair == nil {
		return &tls.Certificate{}, nil
	}
	return a.pair, nil
}

// early is how long before its end a credential is not used any more.
const early = 30 * time.Second

// ask runs the program, unless what it said before still holds.
func (a *auth) ask(ctx context.Context) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.asked && (a.expiry.IsZero() || time.Until(a.expiry) > early) {
		return a.token, nil
	}
	e := a.user.Exec
	info, err := json.Marshal(map[string]any{
		"apiVersion": e.APIVersion, "kind": "ExecCredential", "spec": map[string]any{"interactive": false},
	})
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, e.Command, e.Args...)
	cmd.Env = append(os.Environ(), "KUBERNETES_EXEC_INFO="+string(info))
	for _, v := range e.Env {
		cmd.Env = append(cmd.Env, v.Name+"="+v.Value)
	}
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		line, _, _ := strings.Cut(strings.TrimSpace(said.String()), "\n")
		if line != "" {
			err = fmt.Errorf("%w: %s", err, line)
		}
		return "", diag.New("kubeconfig: "+e.Command+": "+err.Error(), strings.TrimSpace(e.InstallHint))
	}
	var c credential
	if err := json.Unmarshal(out, &c); err != nil || c.Kind != "ExecCredential" || c.APIVersion != e.APIVersion {
		return "", diag.New("kubeconfig: "+e.Command+" did not print an ExecCredential of "+e.APIVersion, "")
	}
	if c.Status.Cert != "" {
		pair, err := tls.X509KeyPair([]byte(c.Status.Cert), []byte(c.Status.Key))
		if err != nil {
			return "", diag.New("kubeconfig: "+e.Command+": "+err.Error(), "")
		}
		a.pair = &pair
	}
	a.token, a.expiry, a.asked = c.Status.Token, c.Status.Expiry, true
	return a.token, nil
}
