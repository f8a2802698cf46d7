package dataset

import (
	"context"
	"encoding/json"
	"fmt"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/plugin"
	"aiperf.dev/aiperf/internal/seed"
	"aiperf.dev/aiperf/loadgen/dataset/conversation"
	"aiperf.dev/aiperf/loadgen/tokenizer"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/schema/fields"
)

func ofProgram() *Type {
	return &Type{
		Name: "plugin", open: fromProgram, Instead: noLengths,
		Takes: []fields.Setting{{Name: "plugin", Needed: "name the plug-in's folder (--dataset-plugin)"}},
	}
}

// fromProgram lets a plug-in write the records, and reads them as if they stood in the
// experiment. It has ended before anything is sent.
func fromProgram(ctx context.Context, cfg schema.Dataset, tok tokenizer.Tokenizer, src source) (*Set, error) {
	m, err := plugin.OpenAs(plugin.Dataset.Name, cfg.Plugin)
	if err != nil {
		return nil, err
	}
	p, err := plugin.HostOf(ctx).Start(ctx, m)
	if err != nil {
		return nil, err
	}
	cfg.Records, err = recordsOf(p, m.Name, map[string]any{"conversations": map[string]any{
		"entries": cfg.Entries, "seed": seed.Of(src.Seeds.Text, "plugin/"+src.Stream) >> 12, // few enough digits for a float
	}})
	if ended := p.Close(); err == nil {
		err = ended
	}
	if err != nil {
		return nil, err
	}
	if len(cfg.Records) == 0 {
		return nil, diag.Errorf("plug-in %s: it gave no conversations", m.Name).
			Try("one line each: {\"id\": 1, \"conversation\": {…}}, and {\"id\": 1, \"done\": true} at the end")
	}
	cfg.Format = m.Format
	set, err := load(ctx, cfg, tok, src)
	if err != nil {
		err = fmt.Errorf("plug-in %s: %w", m.Name, err)
	}
	return set, err
}

// recordsOf are those that a plug-in writes.
func recordsOf(p *plugin.Process, name string, question map[string]any) (out []json.RawMessage, err error) {
	var size int64
	err = p.Stream(question, func(line []byte) error {
		var one struct {
			Conversation json.RawMessage `json:"conversation"`
		}
		if err := json.Unmarshal(line, &one); err != nil || len(one.Conversation) == 0 || one.Conversation[0] != '{' {
			return diag.Errorf("plug-in %s: line %d has no conversation", name, len(out)+1).
				Try("each is {\"id\": 1, \"conversation\": {…}}")
		}
		if size += int64(len(one.Conversation)); size > conversation.MaxText {
			return fmt.Errorf("plug-in %s: it gave more than %d MiB of conversations", name, conversation.MaxText>>20)
		}
		out = append(out, one.Conversation)
		return nil
	})
	return out, err
}
