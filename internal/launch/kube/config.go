package kube

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"aiperf.dev/aiperf/internal/diag"
)

// kubeconfig is the file that kubectl reads, as far as it is read here.
type kubeconfig struct {
	Current  string `yaml:"current-context"`
	Clusters []struct {
		Name    string      `yaml:"name"`
		Cluster clusterConf `yaml:"cluster"`
	} `yaml:"clusters"`
	Users []struct {
		Name string   `yaml:"name"`
		User userConf `yaml:"user"`
	} `yaml:"users"`
	Contexts []struct {
		Name    string      `yaml:"name"`
		Context contextConf `yaml:"context"`
	} `yaml:"contexts"`
}

type clusterConf struct {
	Server     string `yaml:"server"`
	CA         string `yaml:"certificate-authority"`
	CAData     string `yaml:"certificate-authority-data"`
	Insecure   bool   `yaml:"insecure-skip-tls-verify"`
	ServerName string `yaml:"tls-server-name"`
	Proxy      string `yaml:"proxy-url"`
}

type userConf struct {
	Cert         string         `yaml:"client-certificate"`
	CertData     string         `yaml:"client-certificate-data"`
	Key          string         `yaml:"client-key"`
	KeyData      string         `yaml:"client-key-data"`
	Token        string         `yaml:"token"`
	TokenFile    string         `yaml:"tokenFile"`
	Username     string         `yaml:"username"`
	Password     string         `yaml:"password"`
	As           string         `yaml:"as"`
	AsGroups     []string       `yaml:"as-groups"`
	AuthProvider map[string]any `yaml:"auth-provider"`
	Exec         *execConf      `yaml:"exec"`
}

type contextConf struct {
	Cluster   string `yaml:"cluster"`
	User      string `yaml:"user"`
	Namespace string `yaml:"namespace"`
}

// Where a pod finds its own cluster.
const (
	inClusterDir = "/var/run/secrets/kubernetes.io/serviceaccount"
	inClusterEnv = "KUBERNETES_SERVICE_HOST"
)

// maxConfig bounds a kubeconfig, in bytes.
const maxConfig = 4 << 20

// Open is the cluster that kubectl would speak to: of the file, else of KUBECONFIG, else of
// ~/.kube/config, else of the pod that this program is in. context and namespace are those
// of the file where they are "".
func Open(file, context, namespace string) (*Client, error) {
	files := []string{file}
	if file == "" {
		files = filepath.SplitList(os.Getenv("KUBECONFIG"))
	}
	named := len(files) > 0
	if home, err := os.UserHomeDir(); !named && err == nil {
		files = []string{filepath.Join(home, ".kube", "config")}
	}
	var all kubeconfig
	found := false
	for _, name := range files {
		if name == "" {
			continue
		}
		one, err := readConfig(name)
		if errors.Is(err, fs.ErrNotExist) && (!named || len(files) > 1) {
			continue
		}
		if err != nil {
			return nil, err
		}
		found = true
		all.add(one)
	}
	switch {
	case found:
		return all.open(context, namespace)
	case os.Getenv(inClusterEnv) != "":
		return inCluster(namespace)
	}
	return nil, diag.New("no kubeconfig was found: it says which cluster is meant",
		"--kubeconfig FILE names it, or the variable KUBECONFIG; else it is ~/.kube/config")
}

// readConfig reads one file. Files that it names are beside it.
func readConfig(name string) (*kubeconfig, error) {
	at, err := os.Stat(name)
	if err == nil && at.Size() > maxConfig {
		err = errors.New("is too large")
	}
	var text []byte
	if err == nil {
		text, err = os.ReadFile(name)
	}
	var c kubeconfig
	if err == nil {
		err = yaml.Unmarshal(text, &c)
	}
	if err != nil {
		what := err
		if at := (*fs.PathError)(nil); errors.As(err, &at) { // the name is said already
			what = at.Err
		}
		hint := ""
		if errors.Is(err, fs.ErrNotExist) {
			hint = "--kubeconfig FILE names another one, or the variable KUBECONFIG; without both it is ~/.kube/config"
		}
		return nil, &diag.Error{Message: "kubeconfig " + name + ": " + what.Error(), Hint: hint, Cause: err}
	}
	beside := func(path *string) {
		if *path != "" && !filepath.IsAbs(*path) {
			*path = filepath.Join(filepath.Dir(name), *path)
		}
	}
	for i := range c.Clusters {
		beside(&c.Clusters[i].Cluster.CA)
	}
	for i := range c.Users {
		u := &c.Users[i].User
		beside(&u.Cert)
		beside(&u.Key)
		beside(&u.TokenFile)
		if u.Exec != nil && strings.ContainsRune(u.Exec.Command, filepath.Separator) {
			beside(&u.Exec.Command)
		}
	}
	return &c, nil
}

// add lays a further file below c: of two entries of one name the first counts.
func (c *kubeconfig) add(o *kubeconfig) {
	c.Current = cmp.Or(c.Current, o.Current)
	c.Clusters = append(c.Clusters, o.Clusters...)
	c.Users = append(c.Users, o.Users...)
	c.Contexts = append(c.Contexts, o.Contexts...)
}

// open is the cluster of a context.
func (c *kubeconfig) open(context, namespace string) (*Client, error) {
	var names []string
	for _, x := range c.Contexts {
		names = append(names, x.Name)
	}
	name := cmp.Or(context, c.Current)
	i := slices.Index(names, name)
	if i < 0 {
		hint := "the file has no contexts"
		if len(names) > 0 {
			hint = "--kube-context names one of " + strings.Join(names, ", ")
		}
		if name == "" {
			return nil, diag.New("kubeconfig: no context is current", hint)
		}
		return nil, diag.New("kubeconfig: no context "+name, hint)
	}
	x := c.Contexts[i].Context
	var cl *clusterConf
	for i := len(c.Clusters) - 1; i >= 0; i-- {
		if c.Clusters[i].Name == x.Cluster {
			cl = &c.Clusters[i].Cluster
		}
	}
	if cl == nil || cl.Server == "" {
		return nil, diag.New(fmt.Sprintf("kubeconfig: context %s names the cluster %q, which has no server", name, x.Cluster), "")
	}
	user := userConf{}
	for i := len(c.Users) - 1; i >= 0; i-- {
		if c.Users[i].Name == x.User {
			user = c.Users[i].User
		}
	}
	if user.AuthProvider != nil {
		return nil, diag.New("kubeconfig: user "+x.User+" has an auth-provider, which kubectl does not take any more either",
			"use an exec credential plugin")
	}
	return newClient(cl, &user, cmp.Or(namespace, x.Namespace, "default"))
}

// inCluster is the cluster of the pod that this program is in.
func inCluster(namespace string) (*Client, error) {
	if namespace == "" {
		own, _ := os.ReadFile(filepath.Join(inClusterDir, "namespace")) // else the default
		namespace = cmp.Or(strings.TrimSpace(string(own)), "default")
	}
	host := os.Getenv(inClusterEnv)
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return newClient(&clusterConf{
		Server: "https://" + host + ":" + cmp.Or(os.Getenv("KUBERNETES_SERVICE_PORT"), "443"),
		CA:     filepath.Join(inClusterDir, "ca.crt"),
	}, &userConf{TokenFile: filepath.Join(inClusterDir, "token")}, namespace)
}

// newClient speaks to a cluster as a user.
func newClient(cl *clusterConf, user *userConf, namespace string) (*Client, error) {
	base, err := url.Parse(strings.TrimSuffix(cl.Server, "/"))
	if err != nil || base.Host == "" || base.Scheme != "https" && base.Scheme != "http" {
		return nil, diag.New(fmt.Sprintf("kubeconfig: server %q is not an address", cl.Server), "as in https://10.0.0.1:6443")
	}
	conf := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: cl.ServerName, InsecureSkipVerify: cl.Insecure}
	ca, err := data(cl.CAData, cl.CA)
	if err != nil {
		return nil, err
	}
	if len(ca) > 0 {
		conf.RootCAs = x509.NewCertPool()
		if !conf.RootCAs.AppendCertsFromPEM(ca) {
			return nil, diag.New("kubeconfig: certificate-authority holds no certificates", "")
		}
	}
	cert, err1 := data(user.CertData, user.Cert)
	key, err2 := data(user.KeyData, user.Key)
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	a := &auth{user: user}
	if len(cert) > 0 {
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			return nil, diag.New("kubeconfig: client-certificate: "+err.Error(), "")
		}
		a.pair = &pair
	}
	conf.GetClientCertificate = a.certificate
	t := &http.Transport{TLSClientConfig: conf, Proxy: http.ProxyFromEnvironment}
	if cl.Proxy != "" {
		via, err := url.Parse(cl.Proxy)
		if err != nil {
			return nil, diag.New("kubeconfig: proxy-url is not an address", "")
		}
		t.Proxy = http.ProxyURL(via)
	}
	return &Client{base: base, http: &http.Client{Transport: t}, auth: a, Namespace: namespace}, nil
}

// data is what stands in the file itself, or in the file that it names.
func data(inline, file string) ([]byte, error) {
	if inline != "" {
		b, err := base64.StdEncoding.DecodeString(inline)
		if err != nil {
			return nil, diag.New("kubeconfig: "+err.Error(), "")
		}
		return b, nil
	}
	if file == "" {
		return nil, nil
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, diag.New("kubeconfig: "+err.Error(), "")
	}
	return b, nil
}
