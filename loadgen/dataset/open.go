package dataset

import (
	"fmt"

	"aiperf.dev/aiperf/loadgen/tokenizer"
	"aiperf.dev/aiperf/schema"
)

// DefaultEntries is the number of synthetic conversations when none is said.
const DefaultEntries = 100

// Seeds are the two roots of randomness. Shape decides lengths, numbers of
// turns, think times and choices; Text what synthetic prompts say. Two sets
// with one Shape and two Texts differ in nothing but their words.
type Seeds struct{ Shape, Text int64 }

// Open makes the conversations of cfg. All randomness comes from root seed and
// from the stream's name, so two streams ("profiling", "warmup") of one seed
// never give the same prompts. cfg.RandomSeed, if set, replaces root.
func Open(cfg schema.Dataset, tok tokenizer.Tokenizer, root int64, stream string) (*Set, error) {
	return OpenSeeds(cfg, tok, Seeds{root, root}, stream)
}

// OpenSeeds is Open with a seed for the shape and one for the texts.
func OpenSeeds(cfg schema.Dataset, tok tokenizer.Tokenizer, seeds Seeds, stream string) (*Set, error) {
	if cfg.RandomSeed != nil {
		seeds = Seeds{*cfg.RandomSeed, *cfg.RandomSeed}
	}
	order, err := sampling(cfg)
	if err != nil {
		return nil, named(cfg, err)
	}
	src := source{seeds: seeds, stream: stream}
	set, err := open(cfg, tok, src)
	if err != nil {
		return nil, named(cfg, err)
	}
	set.sampling = order
	if set.bust, err = newBuster(&cfg, tok, src); err != nil {
		return nil, named(cfg, err)
	}
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
