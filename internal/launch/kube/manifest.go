// Package kube places one load in a Kubernetes cluster: a Job with the coordinator, an
// Indexed Job with its workers, and what they need to find and to trust each other. It needs
// no operator and no resource types of its own, and knows nothing of benchmarks: what the
// coordinator runs is a command line and files.
//
// In goes a Load; out come manifests (Write), or a load that runs (Client).
package kube

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"aiperf.dev/aiperf/internal/diag"
)

// Load is what is placed.
type Load struct {
	Name      string // of the load: a DNS label
	Namespace string // "" for the one that kubectl has
	Workers   int

	Command []string          // of the coordinator, without what names the workers and places
	Files   map[string][]byte // what it reads, by path below PlanDir
	// DataClaim is a volume that it reads, at DataDir; ResultsClaim one for what it writes, which
	// outlives the pod. Both are names of claims, or "".
	DataClaim, ResultsClaim string

	Image, PullPolicy   string
	PullSecrets         []string
	TTL                 int // seconds for which results can be fetched and finished jobs stay
	CoordinatorSize     Size
	WorkerSize          Size
	NodeSelector        map[string]string
	Tolerations         []Toleration
	Queue, Priority     string // of Kueue
	Labels, Annotations map[string]string
	Env                 map[string]string
	EnvFromSecrets      map[string]SecretKey // by name of the variable
	SecretMounts        []SecretMount
	ServiceAccount      string
	TokenSecret         string // which holds the token; "" for NAME-token
	NATS                string // address of the server that all of it joins; "": the coordinator is one
}

// Size is what a container asks for, and may have at most.
type Size struct{ CPU, Memory string }

// SecretKey names a value in a Secret.
type SecretKey struct{ Secret, Key string }

// SecretMount is a Secret as files.
type SecretMount struct {
	Name      string `json:"name"`
	MountPath string `json:"mount_path"`
	SubPath   string `json:"sub_path,omitempty"`
}

// Where the coordinator finds things.
const (
	PlanDir    = "/plan"
	DataDir    = "/data"
	ResultsDir = "/results"
	program    = "/aiperf"
	tokenDir   = "/token"
	tokenKey   = "token"
	Port       = 4222
)

// MaxFiles is how many bytes of files fit: the API takes objects of 1 MiB, with all that is
// around them.
const MaxFiles = 1000 << 10

// user is who the program is in a pod: nobody in particular, but not root.
const user = 65532

// The names of containers.
const (
	coordinatorName = "coordinator"
	workerName      = "worker"
	resultsName     = "results"
)

// Labels that find a load.
const (
	labelName      = "app.kubernetes.io/name"
	labelLoad      = "app.kubernetes.io/instance"
	labelPart      = "app.kubernetes.io/component"
	labelManager   = "app.kubernetes.io/managed-by"
	labelQueue     = "kueue.x-k8s.io/queue-name"
	labelPriority  = "kueue.x-k8s.io/priority-class"
	managerAndName = "aiperf"
)

// check refuses a load that Kubernetes would refuse, or that would be another one there.
func (l *Load) check() error {
	if !isLabel(l.Name) || len(l.Name) > 40 {
		return diag.New(fmt.Sprintf("--name: %s is not a name for Kubernetes", l.Name),
			"up to 40 lower-case letters, digits and dashes, as in --name big-run")
	}
	if l.Image == "" {
		return diag.New("--image: which image?", "aiperf kube image > aiperf.tar makes one of this program; push it, and name it here")
	}
	size := 0
	for _, name := range slices.Sorted(maps.Keys(l.Files)) {
		if path.IsAbs(name) || path.Clean(name) != name || strings.HasPrefix(name, "..") {
			return diag.New(name+" cannot go along with the experiment",
				"put it into the experiment's folder, or onto a volume: --data-claim")
		}
		size += len(l.Files[name])
	}
	if size > MaxFiles {
		return diag.New(fmt.Sprintf("the experiment's files have %d KiB, and %d fit into Kubernetes' objects", size>>10, MaxFiles>>10),
			"put the larger ones onto a volume, name them by /data/… in the experiment, and say --data-claim CLAIM")
	}
	return nil
}

// isLabel tells whether s is a DNS label.
func isLabel(s string) bool {
	if s == "" || len(s) > 63 || s[0] == '-' || s[len(s)-1] == '-' {
		return false
	}
	return strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

// objects are the manifests of a load, in the order in which they are created. The Secret
// with the token is not one of them.
func (l *Load) objects() ([]manifest, error) {
	if err := l.check(); err != nil {
		return nil, err
	}
	var s service
	s.object = l.object("v1", "Service", l.Name, "")
	s.Spec.ClusterIP, s.Spec.NotReady = "None", true
	s.Spec.Selector = l.selects(coordinatorName)
	s.Spec.Ports = []servicePort{{"workers", Port}}

	var toCoordinator, toWorkers networkPolicy
	toCoordinator.object = l.object("networking.k8s.io/v1", "NetworkPolicy", l.Name+"-coordinator", "")
	toCoordinator.Spec.PodSelector.MatchLabels = l.selects(coordinatorName)
	toCoordinator.Spec.PolicyTypes = []string{"Ingress"}
	toCoordinator.Spec.Ingress = []ingressRule{{
		From: []peer{{selector{l.selects(workerName)}}}, Ports: []policyPort{{"TCP", Port}},
	}}
	toWorkers.object = l.object("networking.k8s.io/v1", "NetworkPolicy", l.Name+"-worker", "")
	toWorkers.Spec.PodSelector.MatchLabels = l.selects(workerName)
	toWorkers.Spec.PolicyTypes = []string{"Ingress"}
	toWorkers.Spec.Ingress = []ingressRule{}

	return []manifest{l.configMap(), &s, &toCoordinator, &toWorkers, l.coordinator(), l.workers()}, nil
}

// configMap holds the files. Its keys are made of their content, since a path may hold what
// a key may not.
func (l *Load) configMap() *configMap {
	m := &configMap{object: l.object("v1", "ConfigMap", l.Name+"-plan", "")}
	for name, text := range l.Files {
		if utf8.Valid(text) {
			m.Data = with(m.Data, keyOf(name), string(text))
		} else {
			m.BinaryData = with(m.BinaryData, keyOf(name), text)
		}
	}
	return m
}

func with[V any](m map[string]V, key string, v V) map[string]V {
	if m == nil {
		m = map[string]V{}
	}
	m[key] = v
	return m
}

// keyOf is the key of a file: its name where that can be one.
func keyOf(name string) string {
	if strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz0123456789-_.") == "" && len(name) < 200 {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:12])
}

// object begins an object of the load; part is that of its pods it belongs to.
func (l *Load) object(version, kind, name, part string) object {
	return object{version, kind, meta{Name: name, Namespace: l.Namespace, Labels: l.labels(part)}}
}

// labels are those of an object.
func (l *Load) labels(part string) map[string]string {
	out := map[string]string{labelName: managerAndName, labelLoad: l.Name, labelManager: managerAndName}
	if part != "" {
		out[labelPart] = part
	}
	return out
}

// selects are the labels that find the pods of one part.
func (l *Load) selects(part string) map[string]string {
	return map[string]string{labelLoad: l.Name, labelPart: part}
}

// job is what both jobs have in common.
func (l *Load) job(part string) *job {
	j := &job{object: l.object("batch/v1", "Job", l.Name+"-"+part, part)}
	for key, value := range map[string]string{labelQueue: l.Queue, labelPriority: l.Priority} {
		if value != "" {
			j.Metadata.Labels[key] = value
		}
	}
	j.Spec.Suspend = l.Queue != "" // Kueue lets it go
	j.Spec.TTLSecondsAfterFinished = &l.TTL
	pod := &j.Spec.Template
	pod.Metadata.Labels, pod.Metadata.Annotations = maps.Clone(l.Labels), l.Annotations
	for key, value := range l.labels(part) { // ours are those that selectors need
		pod.Metadata.Labels = with(pod.Metadata.Labels, key, value)
	}
	s := &pod.Spec
	s.RestartPolicy, s.ServiceAccountName, s.GraceSeconds = "Never", l.ServiceAccount, 60
	s.SecurityContext = podSecurity{true, user, user, user, seccomp{"RuntimeDefault"}}
	s.NodeSelector, s.Tolerations = l.NodeSelector, l.Tolerations
	var apart weighted // from the others of the load, as far as there are nodes
	apart.Weight, apart.Term.TopologyKey = 100, "kubernetes.io/hostname"
	apart.Term.LabelSelector.MatchLabels = map[string]string{labelLoad: l.Name}
	s.Affinity.PodAntiAffinity.Preferred = []weighted{apart}
	for _, name := range l.PullSecrets {
		s.PullSecrets = append(s.PullSecrets, named{name})
	}
	token := l.TokenSecret
	if token == "" {
		token = l.Name + "-token"
	}
	s.Volumes = []volume{
		{Name: "token", Secret: &secretVolume{token, 0o440}},
		{Name: "tmp", EmptyDir: &emptyDir{}},
	}
	for i, m := range l.SecretMounts {
		s.Volumes = append(s.Volumes, volume{Name: "secret-" + strconv.Itoa(i), Secret: &secretVolume{m.Name, 0o440}})
	}
	return j
}

// container runs the program with args.
func (l *Load) container(name string, size Size, args []string) container {
	c := container{
		Name: name, Image: l.Image, ImagePullPolicy: l.PullPolicy, Command: []string{program}, Args: args,
		Mounts: []mount{{Name: "token", Path: tokenDir, ReadOnly: true}, {Name: "tmp", Path: "/tmp"}},
	}
	// what is asked for is what there is at most: then cores may be given to the pod alone
	both := map[string]string{"cpu": size.CPU, "memory": size.Memory}
	c.Resources = resources{both, both}
	c.SecurityContext.ReadOnlyRoot = true
	c.SecurityContext.Capabilities.Drop = []string{"ALL"}
	for _, name := range slices.Sorted(maps.Keys(l.Env)) {
		c.Env = append(c.Env, envVar{Name: name, Value: l.Env[name]})
	}
	c.Env = append(c.Env, envVar{Name: "HOME", Value: "/tmp"},
		envVar{Name: "NODE_NAME", From: &envSource{Field: &fieldRef{"spec.nodeName"}}})
	for i, m := range l.SecretMounts {
		c.Mounts = append(c.Mounts, mount{"secret-" + strconv.Itoa(i), m.MountPath, m.SubPath, true})
	}
	return c
}

// keeperSize is what the container gets that keeps the results.
var keeperSize = Size{"50m", "64Mi"}

// coordinator is the job that runs the experiment. A second container keeps what it wrote
// until it was fetched, or for a while.
func (l *Load) coordinator() *job {
	j := l.job(coordinatorName)
	never := 0
	j.Spec.BackoffLimit = &never // what was sent is not sent twice: somebody has to decide that
	way := []string{"--listen", "0.0.0.0:" + strconv.Itoa(Port)}
	if l.NATS != "" {
		way = []string{"--nats", l.NATS}
	}
	args := append(slices.Clone(l.Command), "--workers", strconv.Itoa(l.Workers), way[0], way[1],
		"--token-file", tokenDir+"/"+tokenKey,
		"--artifact-dir", ResultsDir+"/"+l.Name)
	c := l.container(coordinatorName, l.CoordinatorSize, args)
	for _, name := range slices.Sorted(maps.Keys(l.EnvFromSecrets)) {
		from := l.EnvFromSecrets[name]
		c.Env = append(c.Env, envVar{Name: name, From: &envSource{Secret: &keyRef{from.Secret, from.Key}}})
	}
	c.WorkingDir = PlanDir
	c.Ports = []containerPort{{"workers", Port}}
	results := mount{Name: "results", Path: ResultsDir}
	c.Mounts = append(c.Mounts, mount{Name: "plan", Path: PlanDir, ReadOnly: true}, results)

	s := &j.Spec.Template.Spec
	s.ShareProcesses = true // the second container sees when the first has ended
	keep := l.container(resultsName, keeperSize,
		[]string{"kube", "keep", "--ttl-seconds", strconv.Itoa(l.TTL)})
	keep.Env, keep.Mounts = nil, []mount{{Name: "tmp", Path: "/tmp"}, results}
	var items []keyPath
	for _, name := range slices.Sorted(maps.Keys(l.Files)) {
		items = append(items, keyPath{keyOf(name), name})
	}
	s.Volumes = append(s.Volumes, volume{Name: "plan", ConfigMap: &configMapVolume{l.Name + "-plan", items}})
	if l.DataClaim != "" {
		s.Volumes = append(s.Volumes, volume{Name: "data", Claim: &claim{l.DataClaim, true}})
		c.Mounts = append(c.Mounts, mount{Name: "data", Path: DataDir, ReadOnly: true})
	}
	kept := volume{Name: "results", EmptyDir: &emptyDir{}}
	if l.ResultsClaim != "" {
		kept = volume{Name: "results", Claim: &claim{l.ResultsClaim, false}}
	}
	s.Volumes = append(s.Volumes, kept)
	s.Containers = []container{c, keep}
	return j
}

// patienceOfWorkers is how long a worker waits for the coordinator, in seconds: its pod may
// have to wait for a node.
const patienceOfWorkers = 1800

// workers is the job of the workers, one index each.
func (l *Load) workers() *job {
	j := l.job(workerName)
	again, none := 3, 0
	j.Spec.CompletionMode, j.Spec.Completions, j.Spec.Parallelism = "Indexed", l.Workers, l.Workers
	j.Spec.BackoffLimitPerIndex, j.Spec.MaxFailedIndexes = &again, &none
	j.Spec.PodReplacementPolicy = "Failed" // never two of one index
	j.Spec.PodFailurePolicy = &podFailurePolicy{[]failureRule{
		{Action: "Ignore", OnPodConditions: []onPodCondition{{"DisruptionTarget", "True"}}}, // the node's doing
	}}
	way := []string{"--join", fmt.Sprintf("tls://%s:%d", l.Name, Port)}
	if l.NATS != "" {
		way = []string{"--nats", l.NATS}
	}
	j.Spec.Template.Spec.Containers = []container{l.container(workerName, l.WorkerSize, []string{
		"worker", way[0], way[1], "--token-file", tokenDir + "/" + tokenKey,
		"--wait", strconv.Itoa(patienceOfWorkers),
	})}
	return j
}

// Write prints manifests, the same text for the same load.
func (l *Load) Write(w io.Writer) error {
	objects, err := l.objects()
	if err != nil {
		return err
	}
	enc := yaml.NewEncoder(w)
	enc.SetIndent(2)
	for _, o := range objects {
		b, err := json.Marshal(o)
		if err != nil {
			return err
		}
		var n yaml.Node // JSON is YAML; a node keeps the order
		if err := yaml.Unmarshal(b, &n); err != nil {
			return err
		}
		block(&n)
		if err := enc.Encode(&n); err != nil {
			return err
		}
	}
	return enc.Close()
}

// block turns JSON's flow style into YAML's block style; an empty collection stays.
func block(n *yaml.Node) {
	if n.Style = 0; (n.Kind == yaml.MappingNode || n.Kind == yaml.SequenceNode) && len(n.Content) == 0 {
		n.Style = yaml.FlowStyle
	}
	for _, c := range n.Content {
		block(c)
	}
}
