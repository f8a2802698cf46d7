package endpoint

import (
	"fmt"
	"strconv"
	"strings"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/schema"
)

// The rerankers differ in the names of their members only.

var cohereRankings = Spec{
	Type: "cohere_rankings", Path: "/v2/rerank", Title: "Rankings", Items: record.Passages,
	Doc: "Cohere rerank", TakesText: true, Ranks: true, Check: rankable,
	Body: rankingBody("cohere_rankings", func(b *body, in *Input) {
		b.str("model", in.Model)
		b.str("query", in.Turn.Query)
		b.list("documents", in.Turn.Passages)
	}),
	Read: readRanking, HasContent: anyContent, Given: passagesGiven,
	Served: Served{
		Texts: []string{"query", "documents"}, Items: []string{"documents"},
		Whole: servedRanking("results", "relevance_score"),
	},
}

var teiRankings = Spec{
	Type: "hf_tei_rankings", Path: "/rerank", Title: "Rankings", Items: record.Passages,
	Doc: "Hugging Face TEI rerank", TakesText: true, Ranks: true, Check: rankable,
	Body: rankingBody("hf_tei_rankings", func(b *body, in *Input) {
		b.str("query", in.Turn.Query)
		b.list("texts", in.Turn.Passages)
	}),
	Read: readRanking, HasContent: anyContent, Given: passagesGiven,
	Served: Served{
		Texts: []string{"query", "texts"}, Items: []string{"texts"},
		TimeHeaders: true, Whole: servedRanking("", "score"),
	},
}

var nimRankings = Spec{
	Type: "nim_rankings", Path: "/v1/ranking", Title: "Rankings", Items: record.Passages,
	Doc: "NVIDIA NIM ranking", GenAI: []string{"rankings"}, TakesText: true, Ranks: true, Check: rankable,
	Body: rankingBody("nim_rankings", func(b *body, in *Input) {
		b.str("model", in.Model)
		if b.key("query") {
			b.dst = appendTextObject(b.dst, in.Turn.Query)
		}
		if b.key("passages") {
			b.dst = append(b.dst, '[')
			for i, p := range in.Turn.Passages {
				if i > 0 {
					b.dst = append(b.dst, ',')
				}
				b.dst = appendTextObject(b.dst, p)
			}
			b.dst = append(b.dst, ']')
		}
	}),
	Read: readRanking, HasContent: anyContent, Given: passagesGiven,
	Served: Served{
		Texts: []string{"query", "passages"}, Items: []string{"passages"},
		Whole: servedRanking("rankings", "logit"),
	},
}

// passagesGiven: each gets a score, or only the best where so many are asked for.
func passagesGiven(t *dataset.Turn, extra schema.Members) int {
	n := unlessSaid(len(t.Passages), extra, "documents", "texts", "passages")
	for _, name := range []string{"top_n", "top_k"} {
		if v := extra.Raw(name); v != nil {
			// none, or what is not a number, is the server's to understand
			best, _ := strconv.Atoi(strings.Trim(string(v), `"`))
			if n = min(n, best); n < 1 {
				return 0
			}
		}
	}
	return n
}

func appendTextObject(dst []byte, text string) []byte {
	return append(appendString(append(dst, `{"text":`...), text), '}')
}

// rankingBody checks that there is something to rank before it is written.
func rankingBody(api string, write func(*body, *Input)) func([]byte, *Input) ([]byte, error) {
	return func(dst []byte, in *Input) ([]byte, error) {
		if err := rankable(in.Turn); err != nil {
			return dst, fmt.Errorf("%s: %w", api, err)
		}
		b := newBody(dst, in)
		write(b, in)
		b.extras()
		return b.end(), nil
	}
}

// rankingReply reads scores, each of another passage.
type rankingReply struct {
	reply
	ranked map[int64]bool // the passages that have a score
	twice  bool           // one has two
	below  int64          // the lowest place, if that is below the first
}

// rankable reports whether there is something to rank.
func rankable(t *dataset.Turn) error {
	if t.Query == "" || len(t.Passages) == 0 {
		return diag.Errorf("a turn without a query and passages").Try(`a line of a file is {"texts": [{"name": "query", "contents": ["…"]}, {"name": "passages", "contents": ["…", "…"]}]}; --rankings-passages-mean makes some`)
	}
	return nil
}

// readRanking accepts a list of scored entries, bare or under the name that
// one of the APIs gives it.
func readRanking(data []byte, stream bool) (Chunk, error) {
	var r rankingReply
	if isList(data) {
		if err := r.list(data, func(int) error { return r.scored() }); err != nil {
			return Chunk{}, err
		}
	} else if ok, err := r.read(data, stream, func(key []byte) error {
		switch string(key) {
		case "results", "rankings", "data":
			return r.Array(func(int) error { return r.scored() })
		}
		return r.Skip()
	}); !ok {
		return r.chunk, err
	}
	switch {
	case r.twice:
		return r.asThings("one passage has several scores")
	case r.below < 0:
		return r.asThings(fmt.Sprintf("a score is for index %d", r.below))
	}
	return r.asThings(unless(r.chunk.Items > 0, "no scores"))
}

// scored counts an entry that is an object with a score.
func (r *rankingReply) scored() error {
	score, index := false, int64(record.None)
	err := r.Object(func(key []byte) (err error) {
		switch string(key) {
		case "index":
			index, err = r.Integer()
			return err
		case "score", "logit", "relevance_score":
			n := r.Peek()
			score = score || n == '-' || n >= '0' && n <= '9'
		}
		return r.Skip()
	})
	if !score {
		return err
	}
	r.chunk.Items++
	if index != record.None {
		r.twice = r.twice || r.ranked[index]
		if r.ranked == nil {
			r.ranked = map[int64]bool{}
		}
		r.ranked[index] = true
		r.below = min(r.below, index)
		r.chunk.Places = max(r.chunk.Places, index+1)
	}
	return err
}

// servedRanking answers with one score per document, best first, under a name;
// no name means a bare list.
func servedRanking(list, score string) func([]byte, *Script) []byte {
	return func(b []byte, s *Script) []byte {
		if list != "" {
			b = fmt.Appendf(b, `{"%s":`, list)
		}
		b = append(b, '[')
		n := max(1, s.Call.Items)
		for i := range n {
			if i > 0 {
				b = append(b, ',')
			}
			b = fmt.Appendf(b, `{"index":%d,"%s":%.4f}`, (i+int(s.N))%n, score, 1-float64(i)/float64(n))
		}
		b = append(b, ']')
		if list != "" {
			b = append(b, '}')
		}
		return b
	}
}
