package dataset

import (
	"fmt"

	"aiperf.dev/aiperf/loadgen/tokenizer"
	"aiperf.dev/aiperf/schema"
)

// DefaultEntries is the number of synthetic conversations when none is said.
const DefaultEntries = 100

// Open makes the conversations of cfg. All randomness comes from root seed and
// from the stream's name, so two streams ("profiling", "warmup") of one seed
// never give the same prompts. cfg.RandomSeed, if set, replaces root.
func Open(cfg schema.Dataset, tok tokenizer.Tokenizer, root int64, stream string) (*Set, error) {
	if cfg.RandomSeed != nil {
		root = *cfg.RandomSeed
	}
	order, err := sampling(cfg)
	if err != nil {
		return nil, named(cfg, err)
	}
	set, err := open(cfg, tok, source{root: root, stream: stream})
	if err != nil {
		return nil, named(cfg, err)
	}
	set.sampling = order
	return set, nil
}

func open(cfg schema.Dataset, tok tokenizer.Tokenizer, src source) (*Set, error) {
	switch cfg.Type {
	case "", "synthetic":
		return synthesize(cfg, tok, src)
	case "file":
		return load(cfg, tok, src)
	}
	return nil, fmt.Errorf("type %q: not supported yet; known: synthetic, file", cfg.Type)
}

func sampling(cfg schema.Dataset) (string, error) {
	switch cfg.Sampling {
	case "":
		return "sequential", nil
	case "sequential", "random", "shuffle":
		return cfg.Sampling, nil
	}
	return "", fmt.Errorf("sampling %q: not one of sequential, random, shuffle", cfg.Sampling)
}

// named puts the dataset's name before errors that do not name their file.
func named(cfg schema.Dataset, err error) error {
	if cfg.Name == "" || cfg.Path != "" {
		return err
	}
	return fmt.Errorf("dataset %s: %w", cfg.Name, err)
}
