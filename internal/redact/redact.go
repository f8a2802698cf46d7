// Package redact takes out of texts what tells a machine, its place and its owner apart, and
// puts in names that only tell one from another: "host-1". In go texts from a result directory,
// first those whose place says what they are, then all of them; out come the same texts to be
// passed on, and the list of what was replaced, without the words themselves.
package redact

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/netip"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Kind is a kind of word that is replaced.
type Kind int

// The kinds.
const (
	Host Kind = iota
	Pod
	GPU
	Path
	kinds
)

// rule is a row of the list that is declared.
type rule struct{ what, by, found string }

var rules = [kinds]rule{
	Host: {
		"host names and addresses", "host-N",
		"of servers, metrics pages and the client, by their place in an address or a label; IP addresses; not loopback",
	},
	Pod:  {"pods, containers and namespaces", "pod-N", "by the names of labels"},
	GPU:  {"GPUs and PCI addresses", "gpu-N", "by their form, and by the names of labels"},
	Path: {"absolute paths", "path-N/NAME", "the last element of a path stays"},
}

// Redactor belongs to one goroutine. Of equal texts in equal order it gives equal ones.
type Redactor struct {
	names  [kinds]map[string]string // word → what stands in its place
	inside *strings.Replacer        // of words that are told apart even within another; nil: to be made
}

// New knows no word yet.
func New() *Redactor {
	r := &Redactor{}
	for k := range r.names {
		r.names[k] = map[string]string{}
	}
	return r
}

// Learn makes a word known that stands where words of this kind stand.
func (r *Redactor) Learn(k Kind, word string) {
	if k == Host {
		word, _, _ = strings.Cut(word, "%") // the zone of an address
		word = strings.Trim(word, "[]")
	}
	if k == Path {
		word = path.Dir(strings.ReplaceAll(word, `\`, "/"))
	}
	if word == "" || k == Host && own(word) {
		return
	}
	r.name(k, word)
}

// name is what stands for a word; a new one gets the next number.
func (r *Redactor) name(k Kind, word string) string {
	if by, ok := r.names[k][word]; ok {
		return by
	}
	by := fmt.Sprintf("%s-%d", [kinds]string{"host", "pod", "gpu", "path"}[k], len(r.names[k])+1)
	r.names[k][word], r.inside = by, nil
	return by
}

// own reports whether a host is every machine's own, or the built-in server.
func own(host string) bool {
	if strings.EqualFold(host, "localhost") || host == "mock" {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && (a.IsLoopback() || a.IsUnspecified())
}

// Label learns the value of a label by the label's name, and reports what stands for it; ""
// for a label that says nothing of the kind.
func (r *Redactor) Label(name, value string) string {
	k, known := labels[strings.ToLower(name)]
	if !known || value == "" {
		return ""
	}
	if k == Host {
		host, port, found := strings.Cut(value, ":")
		if own(host) {
			return ""
		}
		if found && !strings.Contains(port, ":") {
			return r.name(k, host) + ":" + port
		}
	}
	return r.name(k, value)
}

// labels of metrics pages, in lower case.
var labels = map[string]Kind{
	"hostname": Host, "host": Host, "node": Host, "nodename": Host, "node_name": Host, "instance": Host,
	"exported_instance": Host, "kubernetes_node": Host, "machine": Host,
	"pod": Pod, "pod_name": Pod, "exported_pod": Pod, "namespace": Pod, "exported_namespace": Pod, "pod_ip": Host,
	"container": Pod, "container_name": Pod, "exported_container": Pod, "container_id": Pod, "pod_uid": Pod,
	"uuid": GPU, "gpu_uuid": GPU, "pci_bus_id": GPU, "gpu_i_id": GPU, "serial": GPU,
}

// Forms that show by themselves what they are, each in a group of its own; the last is any
// word, which may be a known one.
var forms = regexp.MustCompile(`(?i)` +
	`([a-z][a-z0-9+.-]*://(?:[^\s/?#"'<>\\@]*@)?)(\[[0-9a-f:.%]+\]|[^\s/?#"'<>\\:,;()\[\]{}]+)` + // an address
	`|(\[[0-9a-f]*:[0-9a-f:.]*(?:%[a-z0-9]+)?\])` + // IPv6
	`|\b((?:GPU|MIG)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b` +
	`|\b([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])\b` + // PCI
	`|((?:\b[a-z]:\\|~/|/(?:home|users|root|tmp|var|mnt|data|opt|srv|work|workspace|workspaces|scratch|usr|etc|lustre|gpfs|` +
	`nfs|raid|local|media|net|export|private|projects?|shared|fs|models?|datasets?)/)[^\s"'<>,;:)\]}|]*)` +
	`|\b((?:[0-9]{1,3}\.){3}[0-9]{1,3})\b` +
	`|([a-z0-9][a-z0-9_.-]*)`)

// Text is a text without the words that are known, or that show what they are.
func (r *Redactor) Text(text string) string {
	var out strings.Builder
	from := 0
	for _, m := range forms.FindAllStringSubmatchIndex(text, -1) {
		at := func(i int) string {
			if m[2*i] < 0 {
				return ""
			}
			return text[m[2*i]:m[2*i+1]]
		}
		word := text[m[0]:m[1]]
		by := word
		switch {
		case at(1) != "":
			by = at(1) + r.host(at(2))
		case at(3) != "":
			by = r.host(at(3))
		case at(4) != "":
			by = r.name(GPU, at(4))
		case at(5) != "":
			by = r.name(GPU, at(5))
		case at(6) != "":
			by = r.path(at(6))
		case at(7) != "":
			if _, err := netip.ParseAddr(at(7)); err == nil {
				by = r.host(at(7))
			}
		default:
			by = r.known(word)
		}
		if by != word {
			out.WriteString(text[from:m[0]] + by)
			from = m[1]
		}
	}
	if from == 0 {
		return text
	}
	return out.String() + text[from:]
}

func (r *Redactor) host(word string) string {
	bare, _, _ := strings.Cut(strings.Trim(word, "[]"), "%")
	if own(bare) {
		return word
	}
	return r.name(Host, bare)
}

func (r *Redactor) path(word string) string {
	plain := strings.ReplaceAll(word, `\`, "/")
	return r.name(Path, path.Dir(plain)) + "/" + path.Base(plain)
}

// known is what stands for a word that was learned, or in a word that holds one.
func (r *Redactor) known(word string) string {
	bare := strings.TrimRight(word, ".")
	for k := range r.names {
		if by, ok := r.names[k][bare]; ok && telling(bare) {
			return by + word[len(bare):]
		}
	}
	if r.inside == nil {
		r.inside = r.replacer()
	}
	return r.inside.Replace(word)
}

// telling reports whether a word is a name wherever it stands: "gpu-7" is, "server" and
// "default" are words of a language.
func telling(word string) bool { return len(word) >= 4 && strings.ContainsAny(word, "0123456789-._/") }

// replacer replaces words that are long enough to be told apart within others, such as the
// name of a folder that was made of an address.
func (r *Redactor) replacer() *strings.Replacer {
	const longEnough = 6
	var words []string
	by := map[string]string{}
	for k := range r.names {
		for w, name := range r.names[k] {
			if telling(w) && len(w) >= longEnough {
				words, by[w] = append(words, w), name
			}
		}
	}
	slices.SortFunc(words, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	var pairs []string
	for _, w := range words {
		pairs = append(pairs, w, by[w])
	}
	return strings.NewReplacer(pairs...)
}

// JSON is JSON text with every string in it redacted, the names of members too. What stands
// under the name of a label, or of an address, is taken for one.
func (r *Redactor) JSON(raw []byte, text func(string) string) []byte {
	return values(raw, func(key, s string) string {
		switch by := r.Label(key, s); {
		case by != "":
			return by
		case (key == "url" || key == "urls") && !strings.Contains(s, ":/") && s != "mock:":
			host, _, _ := strings.Cut(s, ":")
			r.Learn(Host, host)
			return strings.Replace(s, host, r.host(host), 1)
		case absolute(s) && paths[key]:
			return r.path(s)
		}
		return text(s)
	})
}

// paths are members that hold a path of a file system, and not one of a server.
var paths = map[string]bool{"dir": true, "Dir": true, "file": true, "path": true, "Log": true, "name": true}

func absolute(s string) bool {
	return strings.HasPrefix(s, "/") || strings.HasPrefix(s, "~/") || len(s) > 2 && s[1:3] == `:\`
}

// values is JSON text with each of its strings replaced; all else stays as it is written. key
// is the name of the member that holds the string, "" for such a name.
func values(raw []byte, text func(key, s string) string) []byte {
	var out bytes.Buffer
	key := ""
	for at := 0; at < len(raw); {
		if raw[at] != '"' {
			out.WriteByte(raw[at])
			at++
			continue
		}
		end := at + 1
		for end < len(raw) && raw[end] != '"' {
			if raw[end] == '\\' {
				end++
			}
			end++
		}
		end = min(end+1, len(raw))
		quoted := raw[at:end]
		at = end
		var s string
		if json.Unmarshal(quoted, &s) != nil {
			out.Write(quoted)
			continue
		}
		by := ""
		if bytes.HasPrefix(bytes.TrimLeft(raw[end:min(end+64, len(raw))], " \t\r\n"), []byte(":")) {
			key, by = s, text("", s)
		} else {
			by = text(key, s)
		}
		if by == s {
			out.Write(quoted)
			continue
		}
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		_ = enc.Encode(by) // a string cannot fail
		out.Write(bytes.TrimRight(b.Bytes(), "\n"))
	}
	return out.Bytes()
}

// Done is a row of the list: a kind of word, what stands in its place, and how many different
// ones there were.
type Done struct {
	What  string `json:"what"`
	Found string `json:"found"`
	By    string `json:"by"`
	Words int    `json:"words"`
}

// List is the declared list, whether a kind occurred or not.
func (r *Redactor) List() (list []Done) {
	for k, x := range rules {
		list = append(list, Done{x.what, x.found, x.by, len(r.names[k])})
	}
	return list
}
