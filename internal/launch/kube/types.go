package kube

// The part of Kubernetes' API that is used here: names and nesting are the API's, and a test
// reads what is made of them with its own types, strictly.

type object struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   meta   `json:"metadata"`
}

type meta struct {
	Name            string            `json:"name,omitempty"`
	Namespace       string            `json:"namespace,omitempty"`
	UID             string            `json:"uid,omitempty"`
	Created         string            `json:"creationTimestamp,omitempty"`
	Labels          map[string]string `json:"labels,omitempty"`
	Annotations     map[string]string `json:"annotations,omitempty"`
	OwnerReferences []owner           `json:"ownerReferences,omitempty"`
}

type owner struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	UID        string `json:"uid"`
}

type configMap struct {
	object
	Data       map[string]string `json:"data,omitempty"`
	BinaryData map[string][]byte `json:"binaryData,omitempty"`
}

type secretObject struct {
	object
	Type string            `json:"type"`
	Data map[string][]byte `json:"data"`
}

type service struct {
	object
	Spec struct {
		ClusterIP string            `json:"clusterIP"`
		NotReady  bool              `json:"publishNotReadyAddresses"`
		Selector  map[string]string `json:"selector"`
		Ports     []servicePort     `json:"ports"`
	} `json:"spec"`
}

type servicePort struct {
	Name string `json:"name"`
	Port int    `json:"port"`
}

type networkPolicy struct {
	object
	Spec struct {
		PodSelector selector      `json:"podSelector"`
		PolicyTypes []string      `json:"policyTypes"`
		Ingress     []ingressRule `json:"ingress"`
	} `json:"spec"`
}

type ingressRule struct {
	From  []peer       `json:"from"`
	Ports []policyPort `json:"ports"`
}

type peer struct {
	PodSelector selector `json:"podSelector"`
}

type policyPort struct {
	Protocol string `json:"protocol"`
	Port     int    `json:"port"`
}

type selector struct {
	MatchLabels map[string]string `json:"matchLabels"`
}

type job struct {
	object
	Spec   jobSpec    `json:"spec"`
	Status *jobStatus `json:"status,omitempty"`
}

type jobSpec struct {
	Suspend                 bool              `json:"suspend,omitempty"`
	CompletionMode          string            `json:"completionMode,omitempty"`
	Completions             int               `json:"completions,omitempty"`
	Parallelism             int               `json:"parallelism,omitempty"`
	BackoffLimit            *int              `json:"backoffLimit,omitempty"`
	BackoffLimitPerIndex    *int              `json:"backoffLimitPerIndex,omitempty"`
	MaxFailedIndexes        *int              `json:"maxFailedIndexes,omitempty"`
	PodReplacementPolicy    string            `json:"podReplacementPolicy,omitempty"`
	PodFailurePolicy        *podFailurePolicy `json:"podFailurePolicy,omitempty"`
	TTLSecondsAfterFinished *int              `json:"ttlSecondsAfterFinished,omitempty"`
	Template                template          `json:"template"`
}

type podFailurePolicy struct {
	Rules []failureRule `json:"rules"`
}

type failureRule struct {
	Action          string           `json:"action"`
	OnPodConditions []onPodCondition `json:"onPodConditions,omitempty"`
}

type onPodCondition struct {
	Type   string `json:"type"`
	Status string `json:"status"`
}

type jobStatus struct {
	Active        int         `json:"active"`
	Succeeded     int         `json:"succeeded"`
	Failed        int         `json:"failed"`
	FailedIndexes string      `json:"failedIndexes"`
	Conditions    []condition `json:"conditions"`
}

type condition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

type template struct {
	Metadata meta    `json:"metadata"`
	Spec     podSpec `json:"spec"`
}

type podSpec struct {
	RestartPolicy      string            `json:"restartPolicy"`
	ServiceAccountName string            `json:"serviceAccountName,omitempty"`
	AutomountToken     bool              `json:"automountServiceAccountToken"`
	ServiceLinks       bool              `json:"enableServiceLinks"`
	ShareProcesses     bool              `json:"shareProcessNamespace,omitempty"`
	GraceSeconds       int               `json:"terminationGracePeriodSeconds"`
	SecurityContext    podSecurity       `json:"securityContext"`
	NodeName           string            `json:"nodeName,omitempty"`
	NodeSelector       map[string]string `json:"nodeSelector,omitempty"`
	Tolerations        []Toleration      `json:"tolerations,omitempty"`
	Affinity           affinity          `json:"affinity"`
	PullSecrets        []named           `json:"imagePullSecrets,omitempty"`
	Containers         []container       `json:"containers"`
	Volumes            []volume          `json:"volumes"`
}

type named struct {
	Name string `json:"name"`
}

// Toleration lets pods onto nodes with a taint.
type Toleration struct {
	Key      string `json:"key,omitempty"`
	Operator string `json:"operator,omitempty"`
	Value    string `json:"value,omitempty"`
	Effect   string `json:"effect,omitempty"`
	Seconds  *int64 `json:"tolerationSeconds,omitempty"`
}

type podSecurity struct {
	RunAsNonRoot bool    `json:"runAsNonRoot"`
	RunAsUser    int     `json:"runAsUser"`
	RunAsGroup   int     `json:"runAsGroup"`
	FSGroup      int     `json:"fsGroup"`
	Seccomp      seccomp `json:"seccompProfile"`
}

type seccomp struct {
	Type string `json:"type"`
}

type affinity struct {
	PodAntiAffinity struct {
		Preferred []weighted `json:"preferredDuringSchedulingIgnoredDuringExecution"`
	} `json:"podAntiAffinity"`
}

type weighted struct {
	Weight int `json:"weight"`
	Term   struct {
		LabelSelector selector `json:"labelSelector"`
		TopologyKey   string   `json:"topologyKey"`
	} `json:"podAffinityTerm"`
}

type container struct {
	Name            string            `json:"name"`
	Image           string            `json:"image"`
	ImagePullPolicy string            `json:"imagePullPolicy,omitempty"`
	Command         []string          `json:"command"`
	Args            []string          `json:"args"`
	WorkingDir      string            `json:"workingDir,omitempty"`
	Env             []envVar          `json:"env,omitempty"`
	Ports           []containerPort   `json:"ports,omitempty"`
	Resources       resources         `json:"resources"`
	SecurityContext containerSecurity `json:"securityContext"`
	Mounts          []mount           `json:"volumeMounts"`
}

type envVar struct {
	Name  string     `json:"name"`
	Value string     `json:"value,omitempty"`
	From  *envSource `json:"valueFrom,omitempty"`
}

type envSource struct {
	Secret *keyRef   `json:"secretKeyRef,omitempty"`
	Field  *fieldRef `json:"fieldRef,omitempty"`
}

type keyRef struct {
	Name string `json:"name"`
	Key  string `json:"key"`
}

type fieldRef struct {
	Path string `json:"fieldPath"`
}

type containerPort struct {
	Name string `json:"name"`
	Port int    `json:"containerPort"`
}

type resources struct {
	Requests map[string]string `json:"requests"`
	Limits   map[string]string `json:"limits"`
}

type containerSecurity struct {
	Escalation   bool `json:"allowPrivilegeEscalation"`
	ReadOnlyRoot bool `json:"readOnlyRootFilesystem"`
	Capabilities struct {
		Drop []string `json:"drop"`
	} `json:"capabilities"`
}

type mount struct {
	Name     string `json:"name"`
	Path     string `json:"mountPath"`
	SubPath  string `json:"subPath,omitempty"`
	ReadOnly bool   `json:"readOnly,omitempty"`
}

type volume struct {
	Name      string           `json:"name"`
	ConfigMap *configMapVolume `json:"configMap,omitempty"`
	Secret    *secretVolume    `json:"secret,omitempty"`
	EmptyDir  *emptyDir        `json:"emptyDir,omitempty"`
	Claim     *claim           `json:"persistentVolumeClaim,omitempty"`
}

type configMapVolume struct {
	Name  string    `json:"name"`
	Items []keyPath `json:"items"`
}

type keyPath struct {
	Key  string `json:"key"`
	Path string `json:"path"`
}

type secretVolume struct {
	Name string `json:"secretName"`
	Mode int    `json:"defaultMode"`
}

type emptyDir struct {
	SizeLimit string `json:"sizeLimit,omitempty"`
}

type claim struct {
	Name     string `json:"claimName"`
	ReadOnly bool   `json:"readOnly,omitempty"`
}
