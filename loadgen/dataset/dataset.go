// Package dataset makes conversations: synthetic ones from shapes, or real
// ones from files and inline records. In goes a schema.Dataset, out comes a
// Set of conversations in a fixed order, and a Sampler that says which of them
// is played next. The same seed gives the same texts.
//
// Steps: Open picks the source by the dataset's type and format; a source
// yields all conversations at once; their texts are counted with the
// experiment's tokenizer, so that nothing is left to do while load runs.
// Types lists the places that conversations come from. What a conversation is stands
// in conversation, and the formats of files in format.
package dataset

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"aiperf.dev/aiperf/loadgen/dataset/conversation"
	"aiperf.dev/aiperf/loadgen/dataset/files"
	"aiperf.dev/aiperf/loadgen/dataset/synth"
	"aiperf.dev/aiperf/loadgen/tokenizer"
	"aiperf.dev/aiperf/schema"
)

// Conversations are plain data of a room of their own; those who open a set name them here.
type (
	Conversation = conversation.Conversation
	Turn         = conversation.Turn
	Start        = conversation.Start
	Think        = conversation.Think
	Media        = conversation.Media
	Known        = conversation.Known
	// Seeds are the two roots of randomness of a set.
	Seeds = synth.Seeds
)

// Open makes the conversations of cfg. All randomness comes from root seed and
// from the stream's name, so two streams ("profiling", "warmup") of one seed
// never give the same prompts. cfg.RandomSeed, if set, replaces root.
func Open(cfg schema.Dataset, tok tokenizer.Tokenizer, root int64, stream string) (*Set, error) {
	return OpenSeeds(context.Background(), cfg, tok, Seeds{Shape: root, Text: root}, Wrapping{}, stream)
}

// Wrapping is how many tokens a chat template puts around a text: of the first
// turn, and of each later one. Synthetic texts are so much shorter, that a
// prompt has its length as the server counts it.
type Wrapping struct{ First, Later int }

// around is the text of turn t in a prompt of n tokens; at least one is left.
func (w Wrapping) around(n, t int) int {
	by := w.First
	if t > 0 {
		by = w.Later
	}
	if by == 0 {
		return n
	}
	return max(1, n-by)
}

// OpenSeeds is Open with a seed for the shape and one for the texts, and with
// what the server's chat template puts around them. It ends with ctx, between one
// record, or synthetic conversation, and the next.
func OpenSeeds(
	ctx context.Context, cfg schema.Dataset, tok tokenizer.Tokenizer, seeds Seeds, wrap Wrapping, stream string,
) (*Set, error) {
	if cfg.RandomSeed != nil {
		seeds = Seeds{Shape: *cfg.RandomSeed, Text: *cfg.RandomSeed}
	}
	order, err := sampling(cfg)
	if err != nil {
		return nil, named(cfg, err)
	}
	if cfg.SystemFile != "" {
		if cfg.SystemPrompt, err = systemFile(&cfg); err != nil {
			return nil, named(cfg, err)
		}
	}
	src := source{synth.Source{Seeds: seeds, Stream: stream}, wrap}
	set, err := open(ctx, cfg, tok, src)
	if bad := tokenizer.Err(tok); err == nil && bad != nil {
		err = fmt.Errorf("tokenizer %s: %w", tok.Name(), bad)
	}
	if err != nil {
		return nil, named(cfg, err)
	}
	set.sampling = order
	set.wraps = cfg.Synthesis != nil && cfg.Synthesis.AllowDatasetWrap
	if v := cfg.TraceIdleGapCapSeconds; v != nil {
		set.gap = files.Scale(time.Second, *v)
	}
	if set.bust, err = newBuster(&cfg, tok, src); err != nil {
		return nil, named(cfg, err)
	}
	if set.bust != nil && set.First().Turns[0].Raw != nil {
		set.warnings = append(set.warnings,
			"cache_bust: bodies that were recorded whole are sent as they are, without a mark")
	}
	return set, nil
}

// maxSystem bounds a file with a system prompt, in bytes.
const maxSystem = 16 << 20

// systemFile is the system prompt that stands in a file, without the line end
// that editors put behind it.
func systemFile(cfg *schema.Dataset) (string, error) {
	path := cfg.SystemFile
	if cfg.SystemPrompt != "" {
		return "", errors.New("system_prompt and system_prompt_file: keep one of them")
	}
	st, err := os.Stat(path)
	if err == nil && (st.Size() > maxSystem || !st.Mode().IsRegular()) {
		err = fmt.Errorf("%s: is not a file of at most %d MiB", path, maxSystem>>20)
	}
	if err != nil {
		return "", fmt.Errorf("system_prompt_file: %w", err)
	}
	b, err := os.ReadFile(path)
	if err == nil && (!utf8.Valid(b) || len(bytes.TrimSpace(b)) == 0) {
		err = fmt.Errorf("%s: holds no text in UTF-8", path)
	}
	if err != nil {
		return "", fmt.Errorf("system_prompt_file: %w", err)
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(b), "\n"), "\r"), nil
}

func open(ctx context.Context, cfg schema.Dataset, tok tokenizer.Tokenizer, src source) (*Set, error) {
	t, err := typeOf(&cfg)
	if err != nil {
		return nil, err
	}
	return t.open(ctx, cfg, tok, src)
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
