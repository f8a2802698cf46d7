package kubetest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
)

// pod is the processes of a pod.
type pod struct {
	c         *Cluster
	name      string
	path, job string            // of the objects
	dirs      map[string]string // of what is mounted, by the path in the pod

	mu   sync.Mutex
	log  bytes.Buffer // of the first container, with stamps
	cmds []*exec.Cmd
	wait sync.WaitGroup
}

// given counts the ports that clusters of this process were given.
var given atomic.Int64

// freePort is a port where nobody listens, below those that systems give out by themselves.
func freePort(t testing.TB) int {
	t.Helper()
	for range 1000 {
		port := 20000 + (os.Getpid()+int(given.Add(1)))%12000
		if l, err := net.Listen("tcp", fmt.Sprintf(":%d", port)); err == nil {
			l.Close()
			return port
		}
	}
	t.Fatal("no port is free")
	return 0
}

// begin starts the pods of a job. The caller holds the lock.
func (c *Cluster) begin(path string, o map[string]any) {
	var j batch.Job
	b, err := json.Marshal(o)
	if err == nil {
		err = json.Unmarshal(b, &j)
	}
	if err != nil {
		c.t.Errorf("a job: %v", err)
		return
	}
	n := 1
	if j.Spec.Completions != nil {
		n = int(*j.Spec.Completions)
	}
	for k := range n {
		c.startPod(path, &j, k, 0)
	}
}

// startPod starts pod k of a job, for the try-th time. The caller holds the lock.
func (c *Cluster) startPod(job string, j *batch.Job, k, try int) {
	spec := &j.Spec.Template.Spec
	p := &pod{c: c, name: fmt.Sprintf("%s-%d-%d", j.Name, k, try), job: job, dirs: map[string]string{}}
	p.path = strings.Replace(strings.Replace(filepath.Dir(job), "/apis/batch/v1", "/api/v1", 1), "/jobs", "/pods", 1) + "/" + p.name
	c.put(p.path, map[string]any{
		"metadata": map[string]any{"name": p.name, "namespace": "bench", "labels": anyMap(j.Spec.Template.Labels)},
		"status":   map[string]any{"phase": "Running"},
	})
	c.pods[p.name] = p
	if c.program == "" {
		return
	}
	for i := range spec.Containers {
		if err := p.start(spec, &spec.Containers[i], k, i == 0, func(code int) {
			c.ended(job, j, p, k, try, code)
		}); err != nil {
			c.t.Errorf("%s: %v", p.name, err)
			return
		}
	}
	p.stands(spec.Containers[0].Name, map[string]any{"running": map[string]any{}})
}

func anyMap(m map[string]string) map[string]any {
	out := map[string]any{}
	for k, v := range m {
		out[k] = v
	}
	return out
}

// stands says how the first container is. The caller holds the cluster's lock.
func (p *pod) stands(container string, state map[string]any) {
	if o := p.c.objects[p.path]; o != nil {
		o["status"] = map[string]any{
			"phase": "Running", "containerStatuses": []any{map[string]any{"name": container, "state": state}},
		}
	}
}

// ended notes the end of a pod's first container, and starts an index that failed again.
func (c *Cluster) ended(job string, j *batch.Job, p *pod, k, try, code int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p.stands(j.Spec.Template.Spec.Containers[0].Name, map[string]any{"terminated": map[string]any{"exitCode": code}})
	if c.objects[job] == nil || code == 0 || j.Spec.BackoffLimitPerIndex == nil {
		return
	}
	if try < int(*j.Spec.BackoffLimitPerIndex) {
		c.startPod(job, j, k, try+1)
		return
	}
	c.objects[job]["status"] = map[string]any{"conditions": []any{map[string]any{
		"type": "Failed", "status": "True", "reason": "FailedIndexes", "message": fmt.Sprintf("index %d", k),
	}}}
}

// mounted is the folder that stands for a volume.
func (p *pod) mounted(v *core.Volume) (string, error) {
	dir := filepath.Join(p.c.t.TempDir(), v.Name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	files := map[string][]byte{}
	prefix := strings.TrimSuffix(p.path, "pods/"+p.name)
	switch {
	case v.ConfigMap != nil:
		data, _ := p.c.objects[prefix+"configmaps/"+v.ConfigMap.Name]["data"].(map[string]any)
		for _, item := range v.ConfigMap.Items {
			text, _ := data[item.Key].(string)
			files[item.Path] = []byte(text)
		}
	case v.Secret != nil:
		data, _ := p.c.objects[prefix+"secrets/"+v.Secret.SecretName]["data"].(map[string]any)
		if data == nil {
			return "", fmt.Errorf("no Secret %s", v.Secret.SecretName)
		}
		for key, value := range data {
			text, _ := value.(string)
			b, err := base64.StdEncoding.DecodeString(text)
			if err != nil {
				return "", err
			}
			files[key] = b
		}
	}
	for name, text := range files {
		at := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), os.WriteFile(at, text, 0o600)); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// here is a word of a command with the paths and addresses of this machine.
func (p *pod) here(word string) string {
	for path, dir := range p.dirs {
		if word == path || strings.HasPrefix(word, path+"/") {
			return dir + strings.TrimPrefix(word, path)
		}
	}
	if host, found := strings.CutSuffix(word, ":4222"); found {
		if strings.HasPrefix(host, "tls://") {
			host = "tls://127.0.0.1"
		}
		return fmt.Sprintf("%s:%d", host, p.c.port)
	}
	return word
}

// start starts a container as a process. The caller holds the cluster's lock.
func (p *pod) start(spec *core.PodSpec, c *core.Container, k int, first bool, over func(code int)) error {
	for i := range spec.Volumes {
		for _, m := range c.VolumeMounts {
			if m.Name != spec.Volumes[i].Name || p.dirs[m.MountPath] != "" {
				continue
			}
			dir, err := p.mounted(&spec.Volumes[i])
			if err != nil {
				return err
			}
			p.dirs[m.MountPath] = dir
		}
	}
	cmd := p.command(append(append([]string{}, c.Command...), c.Args...))
	cmd.Dir = p.here(c.WorkingDir)
	cmd.Env = append(cmd.Env, fmt.Sprintf("JOB_COMPLETION_INDEX=%d", k), "TMPDIR="+p.dirs["/tmp"])
	for _, e := range c.Env {
		if e.ValueFrom == nil {
			cmd.Env = append(cmd.Env, e.Name+"="+p.here(e.Value))
		}
	}
	if first {
		cmd.Stdout, cmd.Stderr = (*stamped)(p), (*stamped)(p)
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	p.mu.Lock()
	p.cmds = append(p.cmds, cmd)
	p.mu.Unlock()
	p.wait.Go(func() {
		_ = cmd.Wait() // how it ended is in ProcessState
		if first {
			go over(cmd.ProcessState.ExitCode())
		}
	})
	return nil
}

// command is a command of the pod, on this machine.
func (p *pod) command(words []string) *exec.Cmd {
	cmd := exec.Command(p.c.program)
	cmd.Args = words[:1] // a process is seen by the name it has in the pod
	for _, w := range words[1:] {
		cmd.Args = append(cmd.Args, p.here(w))
	}
	cmd.Env = os.Environ()
	return cmd
}

// kill ends the first container, if it runs.
func (p *pod) kill() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.cmds) > 0 && p.cmds[0].Process.Kill() == nil
}

// stop ends all of the pod.
func (p *pod) stop() {
	p.mu.Lock()
	for _, cmd := range p.cmds {
		_ = cmd.Process.Kill() // it may have ended
	}
	p.mu.Unlock()
	p.wait.Wait()
}

// stamped is a log whose lines begin with the time.
type stamped pod

func (s *stamped) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for line := range bytes.Lines(b) {
		if n := s.log.Len(); n == 0 || s.log.Bytes()[n-1] == '\n' {
			s.log.WriteString(time.Now().UTC().Format("2006-01-02T15:04:05.000000000Z") + " ")
		}
		s.log.Write(line)
	}
	return len(b), nil
}

// log answers with what a pod has said. With follow it goes on until the process has ended;
// the first one that is followed is cut off after its first line, as networks do.
func (c *Cluster) log(w http.ResponseWriter, r *http.Request, name string) {
	c.mu.Lock()
	p := c.pods[name]
	cut := !c.cut && r.URL.Query().Get("follow") == "true"
	c.mu.Unlock()
	if p == nil {
		fail(w, http.StatusNotFound, "pods \""+name+"\" not found")
		return
	}
	stamps := r.URL.Query().Get("timestamps") == "true"
	for sent := 0; ; {
		ended := p.over()
		p.mu.Lock()
		text := bytes.Clone(p.log.Bytes())
		p.mu.Unlock()
		whole := text[:bytes.LastIndexByte(text, '\n')+1]
		for line := range bytes.Lines(whole[min(sent, len(whole)):]) {
			if sent += len(line); !stamps {
				_, line, _ = bytes.Cut(line, []byte(" "))
			}
			if _, err := w.Write(line); err != nil {
				return
			}
			if cut {
				c.mu.Lock()
				c.cut = true
				c.mu.Unlock()
				return
			}
		}
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
		if ended || r.URL.Query().Get("follow") == "" {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// over tells whether the first container has ended, as the API knows it.
func (p *pod) over() bool {
	p.c.mu.Lock()
	defer p.c.mu.Unlock()
	b, _ := json.Marshal(p.c.objects[p.path])
	return bytes.Contains(b, []byte(`"terminated"`)) || p.c.objects[p.path] == nil
}

// exec runs a command in a pod, by WebSocket.
func (c *Cluster) exec(w http.ResponseWriter, r *http.Request, name string) {
	c.mu.Lock()
	p := c.pods[name]
	c.mu.Unlock()
	if p == nil {
		fail(w, http.StatusNotFound, "pods \""+name+"\" not found")
		return
	}
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{"v5.channel.k8s.io"}})
	if err != nil {
		return
	}
	defer conn.CloseNow()
	send := func(channel byte, b []byte) error {
		return conn.Write(r.Context(), websocket.MessageBinary, append([]byte{channel}, b...))
	}
	cmd := p.command(r.URL.Query()["command"])
	var said bytes.Buffer
	cmd.Stderr, cmd.Stdout = &said, writer(func(b []byte) error { return send(1, b) })
	s := `{"status":"Success"}`
	if err := cmd.Run(); err != nil {
		s = fmt.Sprintf(`{"status":"Failure","message":%q}`, err.Error())
		_ = send(2, said.Bytes())
	}
	_ = send(3, []byte(s))
	_ = conn.Close(websocket.StatusNormalClosure, "")
}

type writer func([]byte) error

func (f writer) Write(b []byte) (int, error) { return len(b), f(b) }
