package kube

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"aiperf.dev/aiperf/internal/diag"
)

// manifest is an object that can be created.
type manifest interface{ head() *object }

func (o *object) head() *object { return o }

// dry has the API check what it is asked to create, and create nothing.
var dry = url.Values{"dryRun": {"All"}}

// Place creates a load with a token of its own, which then runs. Of a load that could not be
// created whole nothing is left.
func (c *Client) Place(ctx context.Context, l *Load) (err error) {
	all, err := c.manifests(l)
	if err != nil {
		return err
	}
	var made []manifest
	defer func() {
		if err != nil {
			err = errors.Join(err, c.remove(context.WithoutCancel(ctx), made))
		}
	}()
	var coordinator owner
	for _, m := range all {
		var created object
		if err := c.create(ctx, m, nil, &created); err != nil {
			return err
		}
		made = append(made, m)
		if h := m.head(); h.Kind == "Job" && h.Metadata.Labels[labelPart] == coordinatorName {
			coordinator = owner{h.APIVersion, h.Kind, h.Metadata.Name, created.Metadata.UID}
		}
	}
	// what belongs to the load goes with it, whoever removes it
	for _, m := range made {
		h := m.head()
		if h.Metadata.Name == coordinator.Name && h.Kind == coordinator.Kind {
			continue
		}
		change := map[string]any{"metadata": map[string]any{"ownerReferences": []owner{coordinator}}}
		if err := c.ask(ctx, http.MethodPatch, c.at(h.Kind)+"/"+h.Metadata.Name, nil, change, nil); err != nil {
			return err
		}
	}
	return nil
}

// Check has the API check all that Place would create.
func (c *Client) Check(ctx context.Context, l *Load) error {
	all, err := c.manifests(l)
	if err != nil {
		return err
	}
	for _, m := range all {
		if err := c.create(ctx, m, dry, nil); err != nil {
			return err
		}
	}
	return nil
}

// manifests are those of a load in this namespace, its token's Secret first.
func (c *Client) manifests(l *Load) (all []manifest, err error) {
	l.Namespace = c.Namespace
	objects, err := l.objects()
	if err != nil {
		return nil, err
	}
	if l.TokenSecret == "" {
		var token [32]byte
		if _, err := rand.Read(token[:]); err != nil {
			return nil, err
		}
		all = append(all, &secretObject{
			object: l.object("v1", "Secret", l.Name+"-token", ""), Type: "Opaque",
			Data: map[string][]byte{tokenKey: []byte(hex.EncodeToString(token[:]))},
		})
	}
	return append(all, objects...), nil
}

func (c *Client) create(ctx context.Context, m manifest, how url.Values, into any) error {
	h := m.head()
	err := c.ask(ctx, http.MethodPost, c.at(h.Kind), how, m, into)
	if IsThere(err) {
		return &diag.Error{
			Code:    diag.Failed,
			Message: fmt.Sprintf("there is a %s %s in namespace %s already", h.Kind, h.Metadata.Name, c.Namespace),
			Hint:    "--name gives the load another name; aiperf kube delete removes one", Cause: err,
		}
	}
	return err
}

// remove removes objects, the last ones first; what is gone is gone.
func (c *Client) remove(ctx context.Context, all []manifest) (err error) {
	for i := len(all) - 1; i >= 0; i-- {
		h := all[i].head()
		// pods go, too
		how := map[string]string{"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"}
		gone := c.ask(ctx, http.MethodDelete, c.at(h.Kind)+"/"+h.Metadata.Name, nil, how, nil)
		if !IsMissing(gone) {
			err = errors.Join(err, gone)
		}
	}
	return err
}

// ofUs finds everything that was placed.
const ofUs = labelManager + "=" + managerAndName

// parts are the kinds of a load, in the order in which they are created.
var parts = []string{"Secret", "ConfigMap", "Service", "NetworkPolicy", "Job"}

// Delete removes a load, whatever is left of it, and tells whether there was anything.
func (c *Client) Delete(ctx context.Context, name string) (found bool, err error) {
	var all []manifest
	for _, kind := range parts {
		some, err := list[*object](ctx, c, kind, ofUs+","+labelLoad+"="+name, false)
		if err != nil {
			return false, err
		}
		for _, o := range some {
			o.Kind = kind // lists leave it out
			all = append(all, o)
		}
	}
	return len(all) > 0, c.remove(ctx, all)
}

// State is how a load stands.
type State struct {
	Name, Namespace string
	Created         string
	Phase           string // waiting, running, done or failed
	Code            int    // with which the coordinator ended; valid then
	Workers         int
	Running, Over   int    // of the workers
	Why             string // what it waits for, or why it failed; "" for nothing to say

	pod     string // of the coordinator
	started bool   // its container runs, or has run
	ended   bool
	lost    string // why the workers' job has failed
}

// The phases of a load.
const (
	Waiting = "waiting"
	Running = "running"
	Done    = "done"
	Failed  = "failed"
)

type pod struct {
	object
	Spec   podSpec `json:"spec"`
	Status struct {
		Phase      string      `json:"phase"`
		Reason     string      `json:"reason"`
		Message    string      `json:"message"`
		Conditions []condition `json:"conditions"`
		Containers []struct {
			Name  string `json:"name"`
			State struct {
				Waiting *struct {
					Reason  string `json:"reason"`
					Message string `json:"message"`
				} `json:"waiting"`
				Running    *struct{} `json:"running"`
				Terminated *struct {
					Code   int    `json:"exitCode"`
					Reason string `json:"reason"`
				} `json:"terminated"`
			} `json:"state"`
		} `json:"containerStatuses"`
	} `json:"status"`
}

// waits is what a pod waits for, "" for nothing.
func (p *pod) waits() string {
	for _, c := range p.Status.Conditions {
		if c.Type == "PodScheduled" && c.Status == "False" {
			return c.Reason + ": " + c.Message
		}
	}
	for _, c := range p.Status.Containers {
		if w := c.State.Waiting; w != nil && w.Reason != "ContainerCreating" && w.Reason != "PodInitializing" {
			return w.Reason + ": " + cmp.Or(w.Message, c.Name)
		}
	}
	return ""
}

// List is every load of the namespace, or of all; name is that of one, "" for all.
func (c *Client) List(ctx context.Context, name string, everywhere bool) ([]*State, error) {
	labels := ofUs
	if name != "" {
		labels += "," + labelLoad + "=" + name
	}
	jobs, err := list[*job](ctx, c, "Job", labels, everywhere)
	if err != nil {
		return nil, err
	}
	pods, err := list[*pod](ctx, c, "Pod", labels, everywhere)
	if err != nil {
		return nil, err
	}
	var out []*State
	of := map[[2]string]*State{}
	at := func(m *meta) *State {
		key := [2]string{m.Namespace, m.Labels[labelLoad]}
		if of[key] == nil {
			of[key] = &State{Name: key[1], Namespace: key[0], Created: m.Created, Phase: Waiting}
			out = append(out, of[key])
		}
		return of[key]
	}
	for _, j := range jobs {
		s := at(&j.Metadata)
		if j.Status == nil {
			j.Status = &jobStatus{}
		}
		if j.Metadata.Labels[labelPart] == workerName {
			s.Workers, s.Running, s.Over = j.Spec.Completions, j.Status.Active, j.Status.Succeeded
		}
		for _, cond := range j.Status.Conditions {
			if cond.Type != "Failed" || cond.Status != "True" {
				continue
			}
			if s.Why = cond.Reason + ": " + cond.Message; j.Metadata.Labels[labelPart] == workerName {
				s.lost = s.Why
			} else {
				s.Phase = Failed
			}
		}
		if j.Spec.Suspend {
			s.Why = "its jobs are suspended"
		}
	}
	for _, p := range pods {
		if s := of[[2]string{p.Metadata.Namespace, p.Metadata.Labels[labelLoad]}]; s != nil {
			s.sees(p)
		}
	}
	return out, nil
}

// sees adds what a pod tells.
func (s *State) sees(p *pod) {
	if why := p.waits(); why != "" {
		s.Why = p.Metadata.Name + " waits: " + why
	}
	if p.Metadata.Labels[labelPart] != coordinatorName {
		return
	}
	s.pod = p.Metadata.Name
	for _, c := range p.Status.Containers {
		if c.Name != coordinatorName {
			continue
		}
		if c.State.Running != nil {
			s.Phase, s.started = Running, true
		}
		if end := c.State.Terminated; end != nil {
			s.Phase, s.Code, s.started, s.ended = Done, end.Code, true, true
			if end.Code != 0 {
				s.Phase, s.Why = Failed, fmt.Sprintf("the coordinator ended with %d (%s)", end.Code, end.Reason)
			}
		}
	}
	if p.Status.Phase == "Failed" && !s.ended { // evicted, or its node is gone
		s.Phase, s.ended, s.Code = Failed, true, int(diag.Failed)
		s.Why = p.Metadata.Name + ": " + cmp.Or(p.Status.Message, p.Status.Reason, "its pod failed")
	}
}

// State is how one load stands.
func (c *Client) State(ctx context.Context, name string) (*State, error) {
	all, err := c.List(ctx, name, false)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, Missing(name, c.Namespace)
	}
	return all[0], nil
}

// Missing says that a load does not exist.
func Missing(name, namespace string) error {
	return &diag.Error{
		Code: diag.Failed, Message: fmt.Sprintf("no load named %s in namespace %s", name, namespace),
		Hint: "aiperf kube list -A lists those of all namespaces", Cause: &refusal{http.StatusNotFound, ""},
	}
}
