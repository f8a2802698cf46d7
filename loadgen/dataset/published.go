package dataset

import (
	"cmp"
	"context"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/loadgen/dataset/format"
	"aiperf.dev/aiperf/loadgen/dataset/public"
	"aiperf.dev/aiperf/loadgen/tokenizer"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/schema/fields"
)

func ofHub() *Type {
	return &Type{
		Name: "public", open: published, Instead: noLengths,
		Takes: []fields.Setting{
			{Name: "dataset", Needed: "name the set (--public-dataset)"},
			{Name: "hf_subset"},
			{Name: "hf_weka_dataset"},
			{Name: "filters"},
			{Name: "folder", Only: "use type: file with path"},
		},
	}
}

// PublicSet is the row of a published data set as cfg asks for it.
func PublicSet(cfg *schema.Dataset) (public.Set, error) {
	s, ok := public.Named(cfg.Dataset)
	if !ok {
		return s, diag.Errorf("dataset %q: no published set of that name", cfg.Dataset).
			Try("aiperf dataset public lists them")
	}
	s.Subset = cmp.Or(cfg.HFSubset, s.Subset)
	if cfg.HFWekaDataset != "" {
		s.Repo, s.Revision, s.License = cfg.HFWekaDataset, "", ""
	}
	return s, nil
}

// published reads a published data set from where it is on this machine.
func published(ctx context.Context, cfg schema.Dataset, tok tokenizer.Tokenizer, src source) (*Set, error) {
	s, err := PublicSet(&cfg)
	if err != nil {
		return nil, err
	}
	at, err := s.Find(cfg.Folder)
	if err != nil {
		return nil, err
	}
	made, err := format.Published(ctx, cfg, tok, src.Source, &s, at)
	if err != nil {
		return nil, err
	}
	return setOf(made), nil
}
