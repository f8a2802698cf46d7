package endpoint

import "slices"

// catalogue has one row per inference API, in the order of help and docs.
var catalogue = []*Spec{
	&chat, &completions, &responses, &messages,
	&embeddings, &nimEmbeddings, &chatEmbeddings,
	&cohereRankings, &teiRankings, &nimRankings,
	&tgi, &llamaCpp, &solidoRAG,
	&imageGeneration, &imageEdit, &imageRetrieval, &videoGeneration, &audioTranscription,
	&kserveChat, &kserveCompletions, &kserveEmbeddings, &kserveV1, &kserveV2, &kserveV2Embeddings,
	&template, &rpc, &raw,
}

// Catalogue lists the inference APIs, the default one first.
func Catalogue() []*Spec { return append([]*Spec(nil), catalogue...) }

// Lookup finds an inference API by the name its schema gives it.
func Lookup(typ string) (*Spec, bool) {
	for _, s := range catalogue {
		if s.Type == typ {
			return s, true
		}
	}
	return nil, false
}

// GenAI is our name of what GenAI-Perf calls an endpoint type.
func GenAI(name string) (typ string, ok bool) {
	for _, s := range catalogue {
		if slices.Contains(s.GenAI, name) {
			return s.Type, true
		}
	}
	return "", false
}
