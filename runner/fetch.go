package runner

import (
	"context"
	"fmt"

	"aiperf.dev/aiperf/internal/hub"
	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/runner/onerun"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
)

// Fetch brings the published data sets and the tokenizers that the plan names,
// and this machine has not, into the local caches; file is the experiment's
// own. A model's own tokenizer is a wish: where it is not to be had, say is
// told and the plan counts as it would have.
func Fetch(ctx context.Context, plan *sweep.Plan, file string, f *hub.Fetcher) error {
	done := map[string]bool{}
	once := func(what string) bool {
		again := done[what]
		done[what] = true
		return !again
	}
	for _, cell := range plan.Cells {
		b := cell.Resolved.Benchmark
		for i := range b.Datasets {
			if d := &b.Datasets[i]; d.Dataset != "" &&
				once(fmt.Sprint(d.Dataset, d.HFSubset, d.HFWekaDataset, d.Folder)) {
				if err := fetchSet(ctx, d, file, f); err != nil {
					return err
				}
			}
		}
		ref := onerun.TokenizerOf(&b)
		named := ref.Name != ""
		if !named {
			ref.Name = b.Models.Items[0].Name
		}
		if !once("tokenizer "+ref.Name+" "+ref.Revision) || ref.Check() == nil {
			continue
		}
		if err := ref.Fetch(ctx, f); err != nil {
			if named {
				return fmt.Errorf("tokenizer %w", err)
			}
			if f.Say != nil {
				f.Say("the model's tokenizer: " + err.Error())
			}
		}
	}
	return nil
}

func fetchSet(ctx context.Context, d *schema.Dataset, file string, f *hub.Fetcher) error {
	set, err := dataset.PublicSet(d)
	if err != nil {
		return err
	}
	if _, err := set.Find(Beside(file, d.Folder)); err == nil || d.Folder != "" {
		return err
	}
	return set.Fetch(ctx, f)
}
