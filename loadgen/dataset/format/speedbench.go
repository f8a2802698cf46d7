package format

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/loadgen/dataset/conversation"
	"aiperf.dev/aiperf/loadgen/dataset/files"
)

// speedBench are the formats of NVIDIA's SPEED-Bench files, one per subset and
// category: {"question_id", "category", "messages": [{"role", "content"}]}. A
// name that ends in a category takes the rows of that category only.
var speedBench = speedBenchFormats()

func speedBenchFormats() []*Format {
	const note = "a conversation of NVIDIA's SPEED-Bench"
	rows := []*Format{speedBenchFormat("qualitative", "", note+", all categories")}
	for _, c := range []string{
		"coding", "humanities", "math", "multilingual", "qa", "rag", "reasoning",
		"roleplay", "stem", "summarization", "writing",
	} {
		rows = append(rows, speedBenchFormat(c, c, note+", category "+c))
	}
	for _, size := range []string{"1k", "2k", "8k", "16k", "32k"} {
		rows = append(rows, speedBenchFormat("throughput_"+size, "", note+", inputs of "+size+" tokens"))
		for _, c := range []string{"low_entropy", "mixed", "high_entropy"} {
			rows = append(rows, speedBenchFormat("throughput_"+size+"_"+c, c,
				note+", inputs of "+size+" tokens, category "+c))
		}
	}
	return rows
}

func speedBenchFormat(name, category, doc string) *Format {
	return &Format{
		Name: "speed_bench_" + name, Family: "speed_bench_*", Doc: doc,
		Sampling: "sequential", Settings: conversational,
		fits: func(r *files.Record) (bool, string) {
			ok, why := hasAll("question_id", "category", "messages")(r)
			if ok && category != "" {
				return false, "rows of a category are taken only when it is named"
			}
			return ok, why
		},
		decoder: func(d *draft) decoder { return &speedBenchRows{d, category} },
	}
}

// unfilled stands in rows whose text has to be fetched from elsewhere.
const unfilled = "FULL BENCHMARK DATA SHOULD BE FETCHED FROM THE SOURCE USING SPECDEC_BENCH"

// speedBenchRows reads the rows of a category; "" reads all.
type speedBenchRows struct {
	*draft
	category string
}

func (r *speedBenchRows) finish() error {
	if len(r.conversations) == 0 {
		return fmt.Errorf("%s: no row has the category %s", r.cfg.Path, r.category)
	}
	return nil
}

func (r *speedBenchRows) read(rec files.Record) error {
	f := rec.Fields
	id, err := f.Str("question_id")
	if err != nil {
		return err
	}
	is, err := f.Str("category")
	if err != nil {
		return err
	}
	list, err := f.List("messages")
	if err != nil || r.category != "" && is != r.category {
		return err
	}
	var system string
	var turns []conversation.Turn
	for i, raw := range list {
		var m struct{ Role, Content string }
		switch err := json.Unmarshal(raw, &m); {
		case err != nil || m.Role == "" || strings.TrimSpace(m.Content) == "":
			return fmt.Errorf("messages[%d]: want a role and a content", i)
		case m.Content == unfilled:
			return diag.Errorf("messages[%d]: the text is not in this file",
				i).Try("fill the set in with specdec_bench first")
		case m.Role == "system" && i == 0:
			system = m.Content
		default:
			turns = append(turns, conversation.Turn{Texts: []string{m.Content}, Role: m.Role})
		}
	}
	if len(turns) == 0 {
		return errors.New("messages: a conversation needs at least one turn of the user")
	}
	return r.addAll(r.begin(id, system), turns)
}
