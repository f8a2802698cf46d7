package kube

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Wants is what Preflight asks for.
type Wants struct {
	Load    Load
	Secrets []string // that have to be there
	// Endpoints are addresses of the servers that the load is for.
	Endpoints []string
}

// Finding is one thing that was looked at.
type Finding struct {
	Stands string
	Text   string
}

// How a finding stands.
const (
	OK      = "ok"
	No      = "no"
	Unknown = "?" // it could not be seen
)

// rights are what whoever places, follows, fetches and removes a load has to be allowed.
var rights = []struct{ verb, group, resource, sub string }{
	{"create", "", "secrets", ""},
	{"create", "", "configmaps", ""},
	{"create", "", "services", ""},
	{"create", "networking.k8s.io", "networkpolicies", ""},
	{"create", "batch", "jobs", ""},
	{"patch", "", "secrets", ""},
	{"patch", "", "configmaps", ""},
	{"patch", "", "services", ""},
	{"patch", "networking.k8s.io", "networkpolicies", ""},
	{"patch", "batch", "jobs", ""},
	{"list", "", "secrets", ""},
	{"list", "", "configmaps", ""},
	{"list", "", "services", ""},
	{"list", "networking.k8s.io", "networkpolicies", ""},
	{"list", "batch", "jobs", ""},
	{"list", "", "pods", ""},
	{"get", "", "pods", "log"},
	{"create", "", "pods", "exec"},
	{"delete", "", "secrets", ""},
	{"delete", "", "configmaps", ""},
	{"delete", "", "services", ""},
	{"delete", "networking.k8s.io", "networkpolicies", ""},
	{"delete", "batch", "jobs", ""},
}

// oldest is the first minor version of Kubernetes 1 in which jobs have a limit for each index
// without anybody switching it on.
const oldest = 29

// Preflight looks at a cluster; it creates nothing.
func (c *Client) Preflight(ctx context.Context, w *Wants) (out []Finding) {
	add := func(stands, format string, args ...any) {
		out = append(out, Finding{stands, fmt.Sprintf(format, args...)})
	}
	var version struct{ Major, Minor, GitVersion string }
	if err := c.ask(ctx, http.MethodGet, "/version", nil, nil, &version); err != nil {
		add(No, "%v", err)
		return out
	}
	minor, err := strconv.Atoi(strings.TrimRight(version.Minor, "+"))
	if stands := OK; err != nil || version.Major != "1" || minor < oldest {
		stands = No
		add(stands, "Kubernetes %s: jobs have no limit for each index before 1.%d", version.GitVersion, oldest)
	} else {
		add(stands, "Kubernetes %s", version.GitVersion)
	}
	switch err := c.ask(ctx, http.MethodGet, "/api/v1/namespaces/"+c.Namespace, nil, nil, nil); {
	case IsMissing(err):
		add(No, "namespace %s does not exist: kubectl create namespace %s", c.Namespace, c.Namespace)
		return out
	case err != nil:
		add(Unknown, "namespace %s: %v", c.Namespace, err)
	default:
		add(OK, "namespace %s exists", c.Namespace)
	}
	c.allowed(ctx, add)
	for _, name := range w.Secrets {
		switch err := c.ask(ctx, http.MethodGet, c.at("Secret")+"/"+name, nil, nil, nil); {
		case IsMissing(err):
			add(No, "Secret %s does not exist", name)
		case err != nil:
			add(Unknown, "Secret %s: %v", name, err)
		default:
			add(OK, "Secret %s exists", name)
		}
	}
	for _, url := range w.Endpoints {
		c.endpoint(ctx, url, add)
	}
	warned := c.Warn
	c.Warn = func(text string) { add(No, "%s", text) }
	if err := c.Check(ctx, &w.Load); err != nil {
		add(No, "%v", err)
	} else {
		add(OK, "the cluster takes the manifests")
	}
	c.Warn = warned
	c.quotas(ctx, &w.Load, add)
	c.nodes(ctx, &w.Load, add)
	return out
}

// allowed asks for each right.
func (c *Client) allowed(ctx context.Context, add func(stands, format string, args ...any)) {
	var lacks []string
	for _, r := range rights {
		review := map[string]any{
			"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
			"spec": map[string]any{"resourceAttributes": map[string]string{
				"namespace": c.Namespace, "verb": r.verb, "group": r.group, "resource": r.resource, "subresource": r.sub,
			}},
		}
		var answer struct {
			Status struct {
				Allowed bool `json:"allowed"`
			} `json:"status"`
		}
		err := c.ask(ctx, http.MethodPost, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", nil, review, &answer)
		if err != nil {
			add(Unknown, "what you may do: %v", err)
			return
		}
		if !answer.Status.Allowed {
			lacks = append(lacks, r.verb+" "+strings.TrimSuffix(r.resource+"/"+r.sub, "/"))
		}
	}
	if len(lacks) > 0 {
		add(No, "you may not %s", strings.Join(lacks, ", "))
		return
	}
	add(OK, "you may place, follow, fetch and remove loads")
}

// quotas compares what is left of the namespace's quotas with what the load takes.
func (c *Client) quotas(ctx context.Context, l *Load, add func(stands, format string, args ...any)) {
	type quota struct {
		Metadata meta `json:"metadata"`
		Status   struct {
			Hard map[string]string `json:"hard"`
			Used map[string]string `json:"used"`
		} `json:"status"`
	}
	var all struct {
		Items []quota `json:"items"`
	}
	at := "/api/v1/namespaces/" + c.Namespace + "/resourcequotas"
	if err := c.ask(ctx, http.MethodGet, at, nil, nil, &all); err != nil {
		add(Unknown, "quotas: %v", err)
		return
	}
	n := float64(l.Workers)
	cpu := n*amount(l.WorkerSize.CPU) + amount(l.CoordinatorSize.CPU) + amount(keeperSize.CPU)
	memory := n*amount(l.WorkerSize.Memory) + amount(l.CoordinatorSize.Memory) + amount(keeperSize.Memory)
	needs := map[string]float64{
		"pods": n + 1, "count/pods": n + 1, "count/jobs.batch": 2, "cpu": cpu, "requests.cpu": cpu, "limits.cpu": cpu,
		"memory": memory, "requests.memory": memory, "limits.memory": memory,
	}
	for _, q := range all.Items {
		for _, what := range slices.Sorted(maps.Keys(q.Status.Hard)) {
			left := amount(q.Status.Hard[what]) - amount(q.Status.Used[what])
			if need, counts := needs[what]; counts && need > left {
				add(No, "quota %s: %s has %s left of %s, and the load takes %s", q.Metadata.Name, what, short(left),
					q.Status.Hard[what], short(need))
			} else if counts {
				add(OK, "quota %s: %s has room", q.Metadata.Name, what)
			}
		}
	}
}

// ports are how many connections of its own Linux gives one address to one server.
const ports = 60999 - 32768 + 1

// nodes says how many nodes there are for the pods.
func (c *Client) nodes(ctx context.Context, l *Load, add func(stands, format string, args ...any)) {
	type node struct {
		Metadata meta `json:"metadata"`
		Spec     struct {
			Unschedulable bool `json:"unschedulable"`
		} `json:"spec"`
		Status struct {
			Allocatable map[string]string `json:"allocatable"`
		} `json:"status"`
	}
	var all struct {
		Items []node `json:"items"`
	}
	if err := c.ask(ctx, http.MethodGet, "/api/v1/nodes", nil, nil, &all); err != nil {
		add(Unknown, "nodes: %v", err)
		return
	}
	fit, fitting := 0, 0
	for _, n := range all.Items {
		other := n.Spec.Unschedulable
		for key, value := range l.NodeSelector {
			other = other || n.Metadata.Labels[key] != value
		}
		if other {
			continue
		}
		fit++
		fitting += int(min(amount(n.Status.Allocatable["cpu"])/amount(l.WorkerSize.CPU),
			amount(n.Status.Allocatable["memory"])/amount(l.WorkerSize.Memory)))
	}
	if fit == 0 || fitting < l.Workers {
		add(No, "%d nodes take pods of these, with room for %d workers when they are empty", fit, fitting)
		return
	}
	add(OK, "%d nodes take pods of these, with room for %d workers when they are empty", fit, fitting)
	add(OK, "each of %d pods can hold some %d connections to one server inside the cluster; to one outside, those of a node share them",
		l.Workers, ports)
}

var quantity = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?)(m|[kMGTPE]i?|Ki)?$`)

// IsQuantity tells whether s is an amount of a resource, such as 500m or 1Gi.
func IsQuantity(s string) bool { return quantity.MatchString(s) }

// amount is a quantity as a number; 0 for what is none.
func amount(s string) float64 {
	m := quantity.FindStringSubmatch(s)
	if m == nil {
		return 0
	}
	n, _ := strconv.ParseFloat(m[1], 64) // it matches
	unit := map[string]float64{
		"": 1, "m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18,
		"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40, "Pi": 1 << 50, "Ei": 1 << 60,
	}[m[2]]
	return n * unit
}

// short is an amount that people read.
func short(n float64) string {
	if n >= 1<<20 {
		return strconv.FormatFloat(n/(1<<30), 'f', 1, 64) + "Gi"
	}
	return strconv.FormatFloat(n, 'g', 4, 64)
}
