package endpoint

// catalogue has one row per inference API.
var catalogue = []*Spec{&chat, &completions, &embeddings}

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
