package kube

import (
	"context"
	"fmt"
	"net"
	"net/http"
	neturl "net/url"
	"slices"
	"strconv"
	"strings"
)

// endpoint looks, from outside, whether pods of the load can reach a server. A service of the
// cluster can be looked up; what else a name or an address leads to, pods alone know.
func (c *Client) endpoint(ctx context.Context, url string, add func(stands, format string, args ...any)) {
	if strings.HasPrefix(url, "mock:") {
		add(No, "the built-in server (%s) answers in the coordinator's pod alone", url)
		return
	}
	u, err := neturl.Parse(url)
	if err != nil || u.Hostname() == "" {
		add(No, "%q is not the address of a server", url)
		return
	}
	host, port := u.Hostname(), u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "grpcs": "443"}[u.Scheme]
		if port == "" {
			port = "80"
		}
	}
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
		add(No, "%s is each pod itself, and nothing answers there", host)
		return
	}
	name, namespace, within := c.serviceOf(host)
	if name == "" {
		add(Unknown, "whether pods reach %s cannot be seen from here", host)
		return
	}
	var s struct {
		Spec struct {
			Ports []struct {
				Port int `json:"port"`
			} `json:"ports"`
			Type string `json:"type"`
		} `json:"spec"`
	}
	err = c.ask(ctx, http.MethodGet, "/api/v1/namespaces/"+namespace+"/services/"+name, nil, nil, &s)
	switch {
	case IsMissing(err) && within:
		add(No, "Service %s does not exist in namespace %s", name, namespace)
		return
	case IsMissing(err): // NAME.NAMESPACE, or a name of the world
		add(Unknown, "%s is not a Service of the cluster; whether pods reach it cannot be seen from here", host)
		return
	case err != nil:
		add(Unknown, "Service %s in namespace %s: %v", name, namespace, err)
		return
	}
	var has []string
	for _, p := range s.Spec.Ports {
		has = append(has, strconv.Itoa(p.Port))
	}
	if len(has) > 0 && !slices.Contains(has, port) {
		add(No, "Service %s in namespace %s has port %s, not %s", name, namespace, strings.Join(has, ", "), port)
		return
	}
	if s.Spec.Type == "ExternalName" {
		add(Unknown, "Service %s in namespace %s leads out of the cluster, and where to cannot be seen from here", name, namespace)
		return
	}
	c.ready(ctx, name, namespace, port, add)
}

// serviceOf is the Service that a name of the cluster's DNS means; within: it can be nothing else.
func (c *Client) serviceOf(host string) (name, namespace string, within bool) {
	if net.ParseIP(host) != nil {
		return "", "", false
	}
	parts := strings.Split(strings.TrimSuffix(host, "."), ".")
	if slices.ContainsFunc(parts, func(s string) bool { return !isLabel(s) }) {
		return "", "", false
	}
	switch {
	case len(parts) == 1:
		return parts[0], c.Namespace, true
	case len(parts) == 2:
		return parts[0], parts[1], false
	case parts[2] == "svc":
		return parts[0], parts[1], true
	}
	return "", "", false
}

// ready counts the pods behind a Service.
func (c *Client) ready(
	ctx context.Context, name, namespace, port string, add func(stands, format string, args ...any),
) {
	var slices struct {
		Items []struct {
			Endpoints []struct {
				Addresses  []string `json:"addresses"`
				Conditions struct {
					Ready *bool `json:"ready"` // unknown is ready
				} `json:"conditions"`
			} `json:"endpoints"`
		} `json:"items"`
	}
	query := neturl.Values{"labelSelector": {"kubernetes.io/service-name=" + name}}
	at := "/apis/discovery.k8s.io/v1/namespaces/" + namespace + "/endpointslices"
	who := fmt.Sprintf("Service %s in namespace %s has port %s", name, namespace, port)
	if err := c.ask(ctx, http.MethodGet, at, query, nil, &slices); err != nil {
		add(Unknown, "%s; what is behind it: %v", who, err)
		return
	}
	n := 0
	for _, s := range slices.Items {
		for _, e := range s.Endpoints {
			if e.Conditions.Ready == nil || *e.Conditions.Ready {
				n += len(e.Addresses)
			}
		}
	}
	if n == 0 {
		add(No, "%s, and no pod behind it is ready", who)
		return
	}
	add(OK, "%s; ready addresses behind it: %d; whether network policies let pods through cannot be seen from here", who, n)
}
