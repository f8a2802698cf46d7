package capture

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"strconv"
	"strings"

	"aiperf.dev/aiperf/loadgen/endpoint"
)

// digest stands for a text without telling it: the key of a capture goes into it.
type digest [sha256.Size]byte

// hasher makes digests. Each is of parts behind an earlier one.
type hasher struct {
	key [32]byte
	buf []byte
}

func (h *hasher) of(before digest, parts ...string) digest {
	b := append(append(h.buf[:0], h.key[:]...), before[:]...)
	for _, p := range parts {
		b = append(binary.AppendUvarint(b, uint64(len(p))), p...)
	}
	h.buf = b
	return sha256.Sum256(b)
}

// names are the names of a prompt's blocks: each stands for its tokens and all before
// them. They have 53 bits, which all readers of JSON keep.
func (h *hasher) names(ids []int, block int) []uint64 {
	out := make([]uint64, 0, (len(ids)+block-1)/block)
	var before digest
	for len(ids) > 0 {
		n := min(block, len(ids))
		b := append(append(h.buf[:0], h.key[:]...), before[:]...)
		for _, id := range ids[:n] {
			b = binary.AppendUvarint(b, uint64(id))
		}
		h.buf, ids = b, ids[n:]
		before = sha256.Sum256(b)
		out = append(out, binary.BigEndian.Uint64(before[:])>>11)
	}
	return out
}

// message is what of a message shows that two are the same.
type message struct {
	role, text string
}

// messages are those of a body, with what stands before them; none where the API has none.
func messages(body map[string]json.RawMessage) (list []message) {
	said := body["messages"]
	if said == nil {
		said = body["input"]
	}
	var raw []json.RawMessage
	if len(said) == 0 || said[0] != '[' || json.Unmarshal(said, &raw) != nil {
		return nil
	}
	for _, name := range []string{"system", "instructions"} {
		if len(body[name]) > 0 {
			list = append(list, message{name, strings.Join(textsOf("input", body[name]), "\n")})
		}
	}
	for _, m := range raw {
		var role struct{ Role, Type string }
		if json.Unmarshal(m, &role) != nil { // a list of texts or tokens, not of messages
			return nil
		}
		list = append(list, message{role.Role + role.Type, strings.Join(textsOf("messages", m), "\n")})
	}
	return list
}

// textsOf are the texts of one value, which member has in a body.
func textsOf(member string, value json.RawMessage) []string {
	_, texts, _ := endpoint.Texts(bytes.Join([][]byte{[]byte(`{"` + member + `":[`), value, []byte(`]}`)}, nil))
	return texts
}

// A conversation that nobody went on with for so many others is forgotten.
const generation = 1 << 15

// joiner finds the conversation that a request goes on with.
type joiner struct {
	hasher     *hasher
	young, old map[digest][]*past
	sessions   int64
	size       int
}

// past is a request that was answered.
type past struct {
	session string
	answer  digest
	goneOn  bool // a later request went on with it
}

// mostAlike bounds the requests that are remembered for one list of messages.
const mostAlike = 16

func newJoiner(h *hasher) *joiner {
	return &joiner{hasher: h, young: map[digest][]*past{}, old: map[digest][]*past{}}
}

// join is the conversation of a request with these messages, whose answer is known. It goes
// on with the longest list that was asked before and that it begins with; of several such,
// with the one whose answer it repeats. A second request that goes on with the same one
// is another conversation.
func (j *joiner) join(list []message, answer string) (session string, later bool) {
	if len(list) == 0 {
		return j.fresh(), false
	}
	chain := make([]digest, len(list)+1)
	for i, m := range list {
		chain[i+1] = j.hasher.of(chain[i], m.role, m.text)
	}
	for k := len(list) - 1; k > 0 && session == ""; k-- {
		if p := j.find(chain[k], j.said(list[k].text)); p != nil {
			p.goneOn, session, later = true, p.session, true
		}
	}
	if session == "" {
		session = j.fresh()
	}
	j.remember(chain[len(list)], &past{session: session, answer: j.said(answer)})
	return session, later
}

func (j *joiner) fresh() string {
	j.sessions++
	return "conversation-" + strconv.FormatInt(j.sessions, 10)
}

func (j *joiner) said(text string) digest { return j.hasher.of(digest{}, strings.TrimSpace(text)) }

// find is the request with that list of messages to go on with; nil for none.
func (j *joiner) find(list, answer digest) (found *past) {
	for _, of := range []map[digest][]*past{j.old, j.young} {
		for _, p := range of[list] {
			if p.goneOn {
				continue
			}
			if found == nil || p.answer == answer || found.answer != answer {
				found = p
			}
		}
	}
	return found
}

func (j *joiner) remember(list digest, p *past) {
	if j.size == generation {
		j.old, j.young, j.size = j.young, map[digest][]*past{}, 0
	}
	all := append(j.young[list], p)
	if len(all) > mostAlike {
		all = all[1:]
	}
	j.young[list] = all
	j.size++
}
