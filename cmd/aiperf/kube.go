package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/launch/kube"
	"aiperf.dev/aiperf/internal/mockserver"
	"aiperf.dev/aiperf/internal/secret"
	"aiperf.dev/aiperf/runner"
	"aiperf.dev/aiperf/runner/cluster"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/schema/lower"
	"aiperf.dev/aiperf/sweep"
)

// kubeCommand has the verbs of AIPerf's kube that need no operator.
func kubeCommand() command {
	return command{
		minor: true, name: "kube", usage: "send one load from many pods of a Kubernetes cluster",
		help: `aiperf kube profile FILE runs an experiment in a cluster and fetches its files.
aiperf kube generate FILE prints the same as manifests.
aiperf kube preflight checks what that needs there.
aiperf kube list, logs, attach and results look at what runs there; delete and
cleanup remove it.
aiperf kube image makes an image of this program, without a daemon.

  aiperf kube image > aiperf.tar
  aiperf kube profile big.cue --total-workers 25 --image r/aiperf -n bench

aiperf kube WORD --help tells more.`,
		subs: append([]command{
			kubeProfileCommand, kubeGenerateCommand, kubePreflightCommand, kubeListCommand, kubeLogsCommand,
			kubeAttachCommand, kubeResultsCommand, kubeDeleteCommand, kubeCleanupCommand, kubeImageCommand,
			kubeKeepCommand, kubeSendCommand,
		}, absentKube()...),
		run: func(*app, *argv.Line) error { return nil }, // never reached: below asks for a word
	}
}

// absentKube are the verbs of AIPerf's that need its operator, or a server of its own.
func absentKube() (out []command) {
	for _, row := range [][2]string{
		{"cancel", "aiperf kube delete NAME ends a load"},
		{"dashboard", "aiperf kube results NAME, then aiperf report DIR -o page.html"},
		{"debug", "aiperf kube list NAME says what a load waits for, aiperf kube logs NAME what its pods say"},
		{"init", "aiperf config init > my.cue writes an experiment to start from"},
		{"show", "aiperf kube results NAME, then aiperf report DIR"},
		{"shutdown", "aiperf kube delete NAME ends a load"},
		{"sweep", "aiperf kube profile FILE: sweeps and repeated runs are experiments, too"},
		{"validate", "aiperf validate FILE checks an experiment, aiperf kube profile FILE --dry-run prints what would be created"},
	} {
		out = append(out, command{name: "kube " + row[0], hidden: true, instead: row[1]})
	}
	return out
}

// Flags that say which cluster and namespace is meant.
var kubeWhere = []argv.Switch{
	{Name: "kubeconfig", Arg: "FILE", Doc: "which cluster (default: KUBECONFIG, else ~/.kube/config)"},
	{Name: "kube-context", Arg: "NAME", Doc: "which context of it (default: the current one)"},
	{Name: "namespace", Short: "n", Arg: "NAME", Doc: "namespace (default: that of the context)"},
}

// Flags that say what is placed there.
var kubePlaced = []argv.Switch{
	{Name: "name", Arg: "NAME", Doc: "what the load is called there (default: the experiment's name)"},
	{Name: "image", Arg: "IMAGE", Doc: "image of this program: aiperf kube image makes one"},
	{
		Name: "image-pull-policy", Arg: "WHEN", Words: []string{"Always", "IfNotPresent", "Never"},
		Doc: "when a node fetches it: Always, IfNotPresent or Never",
	},
	{Name: "image-pull-secrets", Arg: "NAME", Many: true, Doc: "Secret with which it is fetched"},
	{Name: "total-workers", Arg: "N", Doc: "pods that share the load (default 10); any number goes"},
	{Name: "ttl-seconds", Arg: "S", Doc: "how long results wait to be fetched, and finished jobs stay (default 300)"},
	{Name: "worker-size", Arg: "CPU,MEMORY", Doc: "what each worker's pod gets (default 1,512Mi)"},
	{Name: "coordinator-size", Arg: "CPU,MEMORY", Doc: "what the coordinator's pod gets (default 2,2Gi)"},
	{Name: "data-claim", Arg: "NAME", Doc: "volume claim that the coordinator reads at " + kube.DataDir},
	{Name: "results-claim", Arg: "NAME", Doc: "volume claim that keeps the results (default: the pod does)"},
	{Name: "node-selector", Arg: "KEY=VALUE", Many: true, Doc: "only nodes with this label; or a JSON object"},
	{Name: "tolerations", Arg: "JSON", Many: true, Doc: "let pods onto nodes with a taint: an object or an array"},
	{Name: "queue-name", Arg: "NAME", Doc: "local queue of Kueue that lets the jobs go"},
	{Name: "priority-class", Arg: "NAME", Doc: "priority of Kueue's"},
	{Name: "labels", Arg: "KEY=VALUE", Many: true, Doc: "label of the pods; or a JSON object"},
	{Name: "annotations", Arg: "KEY=VALUE", Many: true, Doc: "annotation of the pods; or a JSON object"},
	{Name: "env-vars", Arg: "NAME=VALUE", Many: true, Doc: "environment variable, for what is not secret"},
	{Name: "env-from-secrets", Arg: "NAME=SECRET/KEY", Many: true, Doc: "environment variable out of a Secret"},
	{
		Name: "secret-mounts", Arg: "JSON", Many: true,
		Doc: `Secret as files, as in {"name": "ca", "mount_path": "/ca"}`,
	},
	{Name: "service-account", Arg: "NAME", Doc: "service account of the pods, which never get its token"},
	{Name: "nats", Arg: "URL", Doc: "NATS server of the cluster that carries the load's words and records (default: the coordinator)"},
	{Name: "token-secret", Arg: "NAME", Doc: "Secret with the workers' token, key token (default NAME-token)"},
}

// kubeMeasure are the flags of the command in the pod that make sense there.
var kubeMeasure = slices.Concat(
	having(measureFlags, func(f argv.Switch) bool {
		return !slices.Contains([]string{
			"resume", "redo", "dry-run", "junit", "workers", "listen", "nats", "token-file", "output", "on",
		}, f.Name)
	}),
	[]argv.Switch{{Name: "config", Short: "f", Arg: "FILE", Topic: "file", Doc: "experiment file; flags change its values"}},
)

// kubeOperator are flags of AIPerf's that its operator needs.
var kubeOperator = []argv.Switch{
	{Name: "operator", Minor: true, Doc: "of AIPerf: refused, since no operator is involved"},
	{Name: "no-operator", Minor: true, Doc: "of AIPerf: what is always done here"},
}

func withoutOperator(p *argv.Line) error {
	if p.Has("operator") {
		return diag.New("--operator: nothing here needs an operator", "leave it out: plain jobs do the same")
	}
	return nil
}

var kubeGenerateCommand = command{
	name: "kube generate", usage: "print the manifests of a load in a Kubernetes cluster",
	help: `aiperf kube generate FILE prints manifests: a job with the coordinator, an indexed
job with its workers, and what they need to find each other. Nothing is sent, and
no cluster is asked. The token that they share is a Secret of yours, which no
manifest holds:

  aiperf kube generate big.cue --total-workers 25 --image r/aiperf > big.yaml
  openssl rand -hex 32 > token
  kubectl create secret generic big-token --from-file=token
  kubectl apply -f big.yaml
  aiperf kube attach big`,
	flags: slices.Concat(kubePlaced, kubeWhere[2:], kubeOperator, kubeMeasure), settings: true, files: true,
	often: kubeOften,
	run: func(a *app, p *argv.Line) error {
		if err := withoutOperator(p); err != nil {
			return err
		}
		l, err := a.kubeLoad(p, "")
		if err != nil {
			return err
		}
		return l.Write(a.Out)
	},
}

// kubeKeepCommand runs in the coordinator's pod.
var kubeKeepCommand = command{
	name: "kube keep", hidden: true, usage: "hold the coordinator's pod until its results were fetched",
	help:  "aiperf kube keep runs in the coordinator's pod, and holds it for a while after the run.",
	flags: []argv.Switch{{Name: "ttl-seconds", Arg: "S", Doc: "how long after the run (default 300)"}},
	run: func(a *app, p *argv.Line) error {
		seconds := 0
		if err := numberFlag(p, "ttl-seconds", 300, 0, 1<<30, &seconds); err != nil {
			return err
		}
		kube.Keep(a.issue, "/proc", time.Duration(seconds)*time.Second)
		return nil
	},
}

// kubeOften are what help shows first.
var kubeOften = []section{
	{"Place", []string{"total-workers", "image", "namespace", "name", "worker-size", "coordinator-size"}},
	{"Secrets and data", []string{"env-from-secrets", "env-vars", "data-claim", "results-claim"}},
	{"Nodes", []string{"node-selector", "tolerations", "queue-name"}},
	{"Change the experiment", []string{"config", "url", "model", "set"}},
}

// kubeLoad is what the command line asks to be placed. more is what its default name ends with.
func (a *app) kubeLoad(p *argv.Line, more string) (*kube.Load, error) {
	l := &kube.Load{
		Namespace: p.Get("namespace"), Image: p.Get("image"), PullPolicy: p.Get("image-pull-policy"),
		PullSecrets: p.Values["image-pull-secrets"], DataClaim: p.Get("data-claim"), ResultsClaim: p.Get("results-claim"),
		Queue: p.Get("queue-name"), Priority: p.Get("priority-class"), ServiceAccount: p.Get("service-account"),
		TokenSecret: p.Get("token-secret"), NATS: p.Get("nats"),
	}
	if l.NATS != "" {
		if err := cluster.NATS(l.NATS); err != nil {
			return nil, err
		}
		if l.TokenSecret == "" {
			return nil, diag.New("--nats: which Secret has the server's token?", "--token-secret NAME, with the key token")
		}
	}
	if err := errors.Join(
		numberFlag(p, "total-workers", 10, 1, maxPods, &l.Workers), numberFlag(p, "ttl-seconds", 300, 0, 1<<30, &l.TTL),
		sizeFlag(p, "worker-size", kube.Size{CPU: "1", Memory: "512Mi"}, &l.WorkerSize),
		sizeFlag(p, "coordinator-size", kube.Size{CPU: "2", Memory: "2Gi"}, &l.CoordinatorSize),
		pairsFlag(p, "node-selector", &l.NodeSelector), pairsFlag(p, "labels", &l.Labels), pairsFlag(p, "annotations", &l.Annotations),
		pairsFlag(p, "env-vars", &l.Env), jsonFlag(p, "tolerations", &l.Tolerations), jsonFlag(p, "secret-mounts", &l.SecretMounts),
		secretsFlag(p, l),
	); err != nil {
		return nil, diag.Of(err)
	}
	for _, as := range p.Assigns { // AIPerf's variables say the same there as here
		if name := as.Origin.Where; as.Origin.Source == schema.ByEnv && l.EnvFromSecrets[name].Secret == "" {
			if l.Env == nil {
				l.Env = map[string]string{}
			}
			l.Env[name] = os.Getenv(name)
		}
	}
	a.sharing = l.Workers
	file, asRun, err := kubeFile(p)
	if err != nil {
		return nil, err
	}
	a.env = func(name string) (string, bool) { // what the pod will have, and nothing else
		if from, ok := l.EnvFromSecrets[name]; ok {
			return "secret-of-" + from.Secret + "-" + from.Key, true
		}
		v, ok := l.Env[name]
		return v, ok
	}
	as := "profile"
	if asRun {
		as = "run"
	}
	doc, plan, err := a.expand(as, file, p, runnable(runner.Data))
	if err != nil {
		return nil, ofPods(err)
	}
	for _, c := range plan.Cells {
		if slices.ContainsFunc(c.Resolved.Benchmark.Endpoint.URLs, mockserver.Named) {
			a.warn("the built-in server (mock:) answers in the coordinator's pod alone, and workers have pods of their own")
			break
		}
	}
	l.Name = cmp.Or(p.Get("name"), kubeName(plan, file, more))
	if err := a.kubeFiles(l, doc, plan, file); err != nil {
		return nil, err
	}
	if err := a.kubeArgs(l, doc, plan, p, as, file); err != nil {
		return nil, err
	}
	return l, runner.Divides(plan, l.Workers)
}

// ofPods is an error whose hints about the environment are those for pods.
func ofPods(err error) error {
	var all diag.Errors
	if one := (*diag.Error)(nil); !errors.As(err, &all) && errors.As(err, &one) {
		all = diag.Errors{one}
	}
	for _, e := range all {
		if name := lower.UnsetError(""); errors.As(e, &name) {
			e.Hint = fmt.Sprintf("pods do not have your shell's: --env-from-secrets %s=SECRET/KEY, or --env-vars %s=VALUE",
				string(name), string(name))
		}
	}
	return err
}

// maxPods is how many workers are asked for at most.
const maxPods = 10_000

// kubeFile is the experiment's file, "" for flags, and whether it stands where run has it.
func kubeFile(p *argv.Line) (file string, asRun bool, err error) {
	switch config := p.Get("config"); {
	case len(p.Words) > 1, len(p.Words) == 1 && config != "":
		return "", false, diag.New("one experiment at a time, got "+strings.Join(append(slices.Clone(p.Words), config), " "), "")
	case len(p.Words) == 1:
		return p.Words[0], true, nil
	default:
		return config, false, nil
	}
}

// kubeName is a name for a load of that plan.
func kubeName(plan *sweep.Plan, file, more string) string {
	stem := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	name := strings.ToLower(cmp.Or(plan.Name, stem, "aiperf"))
	name = strings.Trim(strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || '0' <= r && r <= '9' {
			return r
		}
		return '-'
	}, name), "-")
	name = strings.Trim(name[:min(len(name), 40-len(more))], "-")
	return cmp.Or(name, "aiperf") + more
}

// kubeFiles adds the experiment and the files of requests that it names.
func (a *app) kubeFiles(l *kube.Load, doc *schema.Document, plan *sweep.Plan, file string) error {
	l.Files = map[string][]byte{}
	if text, _ := doc.Copy(); text != nil {
		if a.hide.Own(string(text)) != string(text) {
			return diag.New(file+": holds a secret, and manifests hold none",
				"write ${NAME} in its place, and say --env-from-secrets NAME=SECRET/KEY")
		}
		l.Files[planFile(doc, file)] = text
	}
	for _, c := range plan.Cells {
		for _, d := range c.Resolved.Benchmark.Datasets {
			for _, name := range []string{d.Path, d.SystemFile} {
				if err := addFile(l, file, name); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// planFile is what the experiment's file is called in the pod.
func planFile(doc *schema.Document, file string) string {
	_, ending := doc.Copy()
	stem := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	if stem = strings.Trim(stem, "."); stem == "" {
		stem = "experiment"
	}
	return stem + ending
}

// addFile adds a file of requests.
func addFile(l *kube.Load, experiment, name string) error {
	if name == "" || l.Files[name] != nil || strings.HasPrefix(name, kube.DataDir+"/") && l.DataClaim != "" {
		return nil
	}
	at := runner.Beside(experiment, name)
	st, err := os.Stat(at)
	switch {
	case err != nil:
		return diag.New(err.Error(), "a file on a volume is named by /data/…, with --data-claim CLAIM")
	case !st.Mode().IsRegular():
		return diag.New(name+": is not a file, and cannot go along with the experiment",
			"put it onto a volume, name it by /data/…, and say --data-claim CLAIM")
	case st.Size() > kube.MaxFiles:
		return diag.New(fmt.Sprintf("%s: %d KiB do not fit into Kubernetes' objects, which take %d", name, st.Size()>>10, kube.MaxFiles>>10),
			"put it onto a volume, name it by /data/… in the experiment, and say --data-claim CLAIM")
	}
	text, err := os.ReadFile(at)
	l.Files[name] = text
	return err
}

// kubeArgs is the command that the pod runs.
func (a *app) kubeArgs(
	l *kube.Load, doc *schema.Document, plan *sweep.Plan, p *argv.Line, as, file string,
) error {
	own := slices.Concat(kubePlaced, kubeWhere, kubeOperator, kubeMeasure, kubeRunFlags)
	parts := file != "" && !strings.HasSuffix(planFile(doc, file), filepath.Ext(file)) // the whole of a CUE package
	words := placedWords(p, own, parts)
	if err := a.noSecret(as, words); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(l.Env)) {
		if secret.Name(name) && secret.Telling(l.Env[name], true) {
			return diag.New("--env-vars: "+name+" looks like a secret, and manifests hold none",
				"--env-from-secrets "+name+"=SECRET/KEY takes it out of a Secret")
		}
	}
	l.Command = []string{as}
	switch {
	case file == "":
	case as == "run":
		l.Command = append(l.Command, planFile(doc, file))
	default:
		l.Command = append(l.Command, "--config", planFile(doc, file))
	}
	l.Command = append(l.Command, words...)
	return nil
}
