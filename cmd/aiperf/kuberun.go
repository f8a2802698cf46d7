package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/launch/kube"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/runner"
)

// kubeRunFlags say how the launcher itself goes on.
var kubeRunFlags = []argv.Switch{
	{Name: "detach", Short: "d", Doc: "place the load, and do not wait for it"},
	{Name: "no-wait", Doc: "the same"},
	{Name: "dry-run", Doc: "print what would be created, and create nothing"},
	{Name: "skip-endpoint-check", Minor: true, Doc: "of AIPerf: the endpoint is not asked from here anyway"},
	{Name: "attach-port", Arg: "PORT", Minor: true, Doc: "of AIPerf: refused, no port is needed"},
}

var kubeProfileCommand = command{
	name: "kube profile", usage: "run an experiment in a Kubernetes cluster, and fetch its results",
	help: `aiperf kube profile FILE places the load, shows what the coordinator says, copies
the results to artifacts/NAME/ (--artifact-dir names another folder) and removes
the load. It ends with the exit code that the run has in the cluster. Ctrl-C leaves
the load there; aiperf kube attach goes on, aiperf kube delete removes it.

  aiperf kube profile big.cue --total-workers 25 --image r/aiperf -n bench
  aiperf run big.cue --workers 25 --on k8s --image r/aiperf      the same`,
	flags: slices.Concat(kubePlaced, kubeWhere, kubeOperator, kubeRunFlags, kubeMeasure), settings: true, files: true,
	often: append(slices.Clone(kubeOften), section{"Then", []string{"detach", "dry-run", "artifact-dir"}}),
	run:   (*app).kubeProfile,
}

// onKube are the words of kube profile for run and profile with --on k8s.
func onKube(args []string) (rest []string, ok bool) {
	for i := 0; i < len(args); i++ {
		switch w := args[i]; {
		case w == "--":
			return append(rest, args[i:]...), ok
		case w == "--on=k8s", w == "--on" && i+1 < len(args) && args[i+1] == "k8s":
			if ok = true; w == "--on" {
				i++
			}
		case w == "--workers" || strings.HasPrefix(w, "--workers="):
			rest = append(rest, "--total-"+w[2:])
		default:
			rest = append(rest, w)
		}
	}
	return rest, ok
}

func (a *app) kubeProfile(p *argv.Line) error {
	if err := withoutOperator(p); err != nil {
		return err
	}
	if p.Has("attach-port") {
		return diag.New("--attach-port: no port is needed here", "leave it out: what the coordinator says comes by the cluster's API")
	}
	var some [3]byte // loads of one experiment stand beside each other
	if _, err := rand.Read(some[:]); err != nil {
		return err
	}
	l, err := a.kubeLoad(p, "-"+hex.EncodeToString(some[:]))
	if err != nil {
		return err
	}
	if p.Has("dry-run") {
		l.Namespace = p.Get("namespace")
		return l.Write(a.Out)
	}
	into := filepath.Join("artifacts", l.Name)
	for _, as := range p.Assigns {
		if as.Path == "benchmark.artifacts.dir" {
			into = as.Value.Text()
		}
	}
	if entries, err := os.ReadDir(into); err == nil && len(entries) > 0 && !p.Has("detach") && !p.Has("no-wait") {
		return diag.New(into+" is not empty", "--artifact-dir names another folder for the results")
	}
	c, err := a.kubeCluster(p)
	if err != nil {
		return err
	}
	if err := c.Place(a.issue, l); err != nil {
		return err
	}
	where := " -n " + c.Namespace
	a.note(fmt.Sprintf("%s: %s and a coordinator are placed in namespace %s", l.Name,
		words.CountOf(l.Workers, "worker", "workers"), c.Namespace))
	if p.Has("detach") || p.Has("no-wait") {
		a.note("aiperf kube attach " + l.Name + where + " shows it, aiperf kube results " + l.Name + where + " fetches what it wrote")
		return nil
	}
	s, err := c.Follow(a.issue, l.Name, a.Out, a.kubeSay)
	if a.issue.Err() != nil {
		a.note("the load goes on: aiperf kube attach " + l.Name + where + "; aiperf kube delete " + l.Name + where + " ends it")
		return exit(diag.Interrupted)
	}
	if err == nil && s.Code != int(diag.Usage) { // else nothing was measured
		err = a.fetchResults(c, l.Name, into)
	}
	if err != nil {
		a.note("the load is left there: aiperf kube logs " + l.Name + where + " tells more, aiperf kube delete " + l.Name + where + " removes it")
		return err
	}
	if _, err := c.Delete(a.hard, l.Name); err != nil {
		return err
	}
	return ended(s)
}

// ended is the exit code of the coordinator, as that of this program.
func ended(s *kube.State) error {
	if s.Code == 0 {
		return nil
	}
	for _, m := range diag.Meanings() {
		if int(m.Code) == s.Code {
			return exit(m.Code)
		}
	}
	return &diag.Error{Code: diag.Failed, Message: s.Why}
}

// kubeCluster is what the command line names.
func (a *app) kubeCluster(p *argv.Line) (*kube.Client, error) {
	c, err := kube.Open(p.Get("kubeconfig"), p.Get("kube-context"), p.Get("namespace"))
	if err != nil {
		return nil, err
	}
	c.Warn = func(text string) { a.warn("the cluster warns: " + text) }
	return c, nil
}

func (a *app) kubeSay(line string) { a.note(line) }

func (a *app) fetchResults(c *kube.Client, name, into string) error {
	n, err := c.Fetch(a.hard, name, into)
	if err != nil {
		return err
	}
	if n == 0 {
		a.note("the coordinator has written no results")
		return nil
	}
	a.note(fmt.Sprintf("the results are in %s: %s", into, words.CountOf(n, "file", "files")))
	return nil
}

// kubeLoadNamed is the load that the command line names: the newest where it names none.
func (a *app) kubeLoadNamed(c *kube.Client, p *argv.Line) (string, error) {
	if len(p.Words) > 1 {
		return "", diag.New("one load at a time, got "+strings.Join(p.Words, " "), "")
	}
	if len(p.Words) == 1 {
		return p.Words[0], nil
	}
	all, err := c.List(a.issue, "", false)
	if err != nil {
		return "", err
	}
	if len(all) == 0 {
		return "", &diag.Error{Code: diag.Failed, Message: "no loads in namespace " + c.Namespace, Hint: "aiperf kube list -A lists those of all namespaces"}
	}
	newest := slices.MaxFunc(all, func(a, b *kube.State) int { return strings.Compare(a.Created, b.Created) })
	a.note("the newest load is " + newest.Name)
	return newest.Name, nil
}

// onLoad is a command about one load.
func onLoad(do func(a *app, c *kube.Client, name string, p *argv.Line) error) func(*app, *argv.Line) error {
	return func(a *app, p *argv.Line) error {
		c, err := a.kubeCluster(p)
		if err != nil {
			return err
		}
		name, err := a.kubeLoadNamed(c, p)
		if err != nil {
			return err
		}
		err = do(a, c, name, p)
		if kube.IsMissing(err) && p.Has("ignore-not-found") {
			return nil
		}
		return err
	}
}

var ignoreMissing = argv.Switch{Name: "ignore-not-found", Doc: "exit with 0 if the load does not exist"}

var kubeLogsCommand = command{
	name: "kube logs", usage: "print what a load's pods say",
	help: `aiperf kube logs [NAME] prints what the coordinator of a load says, and then what its
workers say; without NAME those of the newest one.`,
	flags: append(slices.Clone(kubeWhere),
		argv.Switch{Name: "follow", Short: "f", Doc: "go on until the coordinator has ended; the coordinator's only"},
		argv.Switch{Name: "tail", Arg: "N", Doc: "only the last N lines of each"},
		argv.Switch{Name: "output", Short: "o", Arg: "DIR", Doc: "write DIR/POD.log instead"},
		ignoreMissing),
	run: onLoad(func(a *app, c *kube.Client, name string, p *argv.Line) error {
		tail := -1
		if err := numberFlag(p, "tail", -1, 0, 1<<30, &tail); err != nil {
			return err
		}
		if p.Has("follow") {
			_, err := c.Follow(a.issue, name, a.Out, a.kubeSay)
			return err
		}
		pods, err := c.Pods(a.issue, name)
		if err != nil {
			return err
		}
		if dir := p.Get("output"); dir != "" {
			return a.saveLogs(c, pods, tail, dir)
		}
		for _, pod := range pods {
			fmt.Fprintf(a.Out, "== %s\n", pod)
			if err := c.Log(a.issue, pod, tail, a.Out); err != nil {
				fmt.Fprintf(a.Out, "(%v)\n", err) // it may not have started
			}
		}
		return nil
	}),
}

func (a *app) saveLogs(c *kube.Client, pods []string, tail int, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, pod := range pods {
		f, err := os.Create(filepath.Join(dir, pod+".log"))
		if err != nil {
			return err
		}
		if err := errors.Join(c.Log(a.issue, pod, tail, f), f.Close()); err != nil {
			a.warn(pod + ": " + err.Error())
		}
	}
	return nil
}

var kubeAttachCommand = command{
	name: "kube attach", usage: "show a load until it has ended",
	help: `aiperf kube attach [NAME] shows what the coordinator says until it has ended, and ends
with its exit code. Ctrl-C leaves the load as it is.`,
	flags: append(slices.Clone(kubeWhere), ignoreMissing),
	run: onLoad(func(a *app, c *kube.Client, name string, p *argv.Line) error {
		s, err := c.Follow(a.issue, name, a.Out, a.kubeSay)
		if a.issue.Err() != nil {
			return exit(diag.Interrupted)
		}
		if err != nil {
			return err
		}
		return ended(s)
	}),
}

var kubeResultsCommand = command{
	name: "kube results", usage: "copy the results of a load",
	help: `aiperf kube results [NAME] copies what a load wrote to artifacts/NAME/. Its pod holds
them for --ttl-seconds after the run, which kube profile and kube generate take.`,
	flags: append(slices.Clone(kubeWhere),
		argv.Switch{Name: "output", Short: "o", Arg: "DIR", Doc: "copy to DIR"},
		argv.Switch{Name: "from-pods", Minor: true, Doc: "of AIPerf: what is always done here"},
		argv.Switch{Name: "all", Short: "a", Minor: true, Doc: "of AIPerf: what is always done here"}),
	run: onLoad(func(a *app, c *kube.Client, name string, p *argv.Line) error {
		into := filepath.Join("artifacts", name)
		if p.Has("output") {
			into = p.Get("output")
		}
		return a.fetchResults(c, name, into)
	}),
}

var kubeListCommand = command{
	name: "kube list", usage: "list the loads of a cluster, and how they stand",
	help: `aiperf kube list [NAME] lists loads: waiting, running, done or failed, with the workers
that run, and what a load waits for.`,
	flags: append(slices.Clone(kubeWhere),
		argv.Switch{Name: "all-namespaces", Short: "A", Doc: "of all namespaces"},
		argv.Switch{Name: "running", Doc: "only those that run or wait"},
		argv.Switch{Name: "completed", Doc: "only those that are done"},
		argv.Switch{Name: "failed", Doc: "only those that failed"}),
	run: func(a *app, p *argv.Line) error {
		c, err := a.kubeCluster(p)
		if err != nil {
			return err
		}
		all, err := c.List(a.issue, strings.Join(p.Words, " "), p.Has("all-namespaces"))
		if err != nil {
			return err
		}
		rows := [][]string{{"NAMESPACE", "NAME", "PHASE", "WORKERS", "CREATED", ""}}
		for _, s := range all {
			if !shownPhase(p, s.Phase) {
				continue
			}
			rows = append(rows, []string{
				s.Namespace, s.Name, s.Phase, fmt.Sprintf("%d of %d", s.Running, s.Workers), s.Created, words.Clean(s.Why),
			})
		}
		if len(rows) == 1 {
			a.note("no loads")
			return nil
		}
		printRows(a.Out, rows)
		return nil
	},
}

// shownPhase tells whether the flags of kube list ask for a phase.
func shownPhase(p *argv.Line, phase string) bool {
	asked := false
	for flag, phases := range map[string][]string{
		"running": {kube.Running, kube.Waiting}, "completed": {kube.Done}, "failed": {kube.Failed},
	} {
		if asked = asked || p.Has(flag); p.Has(flag) && slices.Contains(phases, phase) {
			return true
		}
	}
	return !asked
}

// printRows prints columns that fit their widest word.
func printRows(w interface{ Write([]byte) (int, error) }, rows [][]string) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], len(cell))
		}
	}
	for _, row := range rows {
		line := ""
		for i, cell := range row {
			line += fmt.Sprintf("%-*s  ", widths[i], cell)
		}
		fmt.Fprintln(w, strings.TrimRight(line, " "))
	}
}

// forced is AIPerf's flag against a question that nobody asks here.
var forced = argv.Switch{Name: "force", Short: "f", Minor: true, Doc: "of AIPerf: nothing is asked here anyway"}

var kubeDeleteCommand = command{
	name: "kube delete", usage: "remove a load, whatever it does",
	help:  "aiperf kube delete NAME removes a load and all that belongs to it. What runs ends.",
	flags: append(slices.Clone(kubeWhere), forced, ignoreMissing),
	run: func(a *app, p *argv.Line) error {
		if len(p.Words) != 1 {
			return diag.New("kube delete: which load?", "aiperf kube list names them")
		}
		c, err := a.kubeCluster(p)
		if err != nil {
			return err
		}
		found, err := c.Delete(a.issue, p.Words[0])
		if err != nil {
			return err
		}
		if !found && !p.Has("ignore-not-found") {
			return kube.Missing(p.Words[0], c.Namespace)
		}
		return nil
	},
}

var kubeCleanupCommand = command{
	name: "kube cleanup", usage: "remove the loads that are over",
	help: `aiperf kube cleanup removes the loads of a namespace that are done or have failed, with
the results that their pods hold.`,
	flags: append(slices.Clone(kubeWhere), forced,
		argv.Switch{Name: "all", Short: "a", Doc: "those that run, too"},
		argv.Switch{Name: "dry-run", Doc: "name them, and remove nothing"}),
	run: func(a *app, p *argv.Line) error {
		c, err := a.kubeCluster(p)
		if err != nil {
			return err
		}
		all, err := c.List(a.issue, "", false)
		if err != nil {
			return err
		}
		for _, s := range all {
			if !p.Has("all") && s.Phase != kube.Done && s.Phase != kube.Failed {
				continue
			}
			fmt.Fprintf(a.Out, "%s (%s)\n", s.Name, s.Phase)
			if p.Has("dry-run") {
				continue
			}
			if _, err := c.Delete(a.issue, s.Name); err != nil {
				return err
			}
		}
		return nil
	},
}

// kubeSendCommand runs in the coordinator's pod.
var kubeSendCommand = command{
	name: "kube send", hidden: true, usage: "write results as an archive",
	help: "aiperf kube send DIR runs in the coordinator's pod, for aiperf kube results.",
	run: func(a *app, p *argv.Line) error {
		if len(p.Words) != 1 {
			return diag.New("kube send: which folder?", "")
		}
		return kube.Send(a.Out, p.Words[0])
	},
}

// endpointsOf are the servers of the experiment that the command line names.
func (a *app) endpointsOf(p *argv.Line) (urls []string, err error) {
	if len(p.Words) > 1 {
		return nil, diag.New("one experiment at a time, got "+strings.Join(p.Words, " "), "")
	}
	a.env = func(name string) (string, bool) { // what pods have is not known here
		return cmp.Or(os.Getenv(name), "of-the-pods"), true
	}
	_, plan, err := a.expand("run", p.Words[0], p, runnable(runner.Data))
	if err != nil {
		return nil, err
	}
	for _, c := range plan.Cells {
		for _, url := range c.Resolved.Benchmark.Endpoint.URLs {
			if !slices.Contains(urls, url) {
				urls = append(urls, url)
			}
		}
	}
	return urls, nil
}

var kubePreflightCommand = command{
	name: "kube preflight", usage: "check that a cluster can take a load",
	help: `aiperf kube preflight [FILE] checks what a load needs: the cluster's version,
what you may do there, quotas, nodes, whether the cluster takes the manifests (it
is asked to check them, and creates nothing), and whether the server of the
experiment FILE is a Service with pods that are ready. A server outside the
cluster cannot be looked at from here.`,
	flags: append(slices.Clone(kubeWhere),
		argv.Switch{Name: "workers", Short: "w", Arg: "N", Doc: "pods of workers (default 10)"},
		argv.Switch{Name: "image", Short: "i", Arg: "IMAGE", Doc: "image, for rules of the cluster about images"},
		argv.Switch{Name: "worker-size", Arg: "CPU,MEMORY", Doc: "what each worker's pod gets (default 1,512Mi)"},
		argv.Switch{Name: "secrets", Arg: "NAME", Many: true, Doc: "Secret that must exist"},
		argv.Switch{Name: "image-pull-secrets", Arg: "NAME", Many: true, Doc: "the same"},
		argv.Switch{Name: "node-selector", Arg: "KEY=VALUE", Many: true, Doc: "only nodes with this label"},
		argv.Switch{
			Name: "endpoint-url", Short: "e", Arg: "URL", Many: true,
			Doc: "server that the load is for: a Service of the cluster is looked up",
		}),
	run: func(a *app, p *argv.Line) error {
		w := kube.Wants{Secrets: append(slices.Clone(p.Values["secrets"]), p.Values["image-pull-secrets"]...)}
		w.Load = kube.Load{
			Name: "aiperf-preflight", Image: "aiperf", CoordinatorSize: kube.Size{CPU: "2", Memory: "2Gi"},
			Command: []string{"version"},
		}
		if p.Has("image") {
			w.Load.Image = p.Get("image")
		}
		if w.Endpoints = p.Values["endpoint-url"]; len(p.Words) > 0 {
			urls, err := a.endpointsOf(p)
			if err != nil {
				return err
			}
			w.Endpoints = append(w.Endpoints, urls...)
		}
		if err := errors.Join(
			numberFlag(p, "workers", 10, 1, maxPods, &w.Load.Workers),
			sizeFlag(p, "worker-size", kube.Size{CPU: "1", Memory: "512Mi"}, &w.Load.WorkerSize),
			pairsFlag(p, "node-selector", &w.Load.NodeSelector),
		); err != nil {
			return diag.Of(err)
		}
		c, err := a.kubeCluster(p)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(a.issue, time.Minute)
		defer cancel()
		bad := 0
		for _, f := range c.Preflight(ctx, &w) {
			fmt.Fprintf(a.Out, "%-5s %s\n", f.Stands, words.Clean(f.Text))
			if f.Stands == kube.No {
				bad++
			}
		}
		if bad > 0 {
			return exit(diag.Failed)
		}
		return nil
	},
}
