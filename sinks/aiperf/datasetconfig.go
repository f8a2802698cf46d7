package aiperf

import "slices"

// datasetMembers are what AIPerf's data set of a type holds, in its order. Its
// reader refuses a file with another member.
func datasetMembers(kind string) []string {
	recorded := []string{
		"prompts", "osl", "synthesis", "inter_turn_delay_cap_seconds", "trace_idle_gap_cap_seconds",
		"ignore_trace_delays", "use_think_time_only", "max_context_length", "cache_bust",
	}
	members := []string{"name", "type", "entries", "random_seed", "sampling", "system_prompt", "system_prompt_file"}
	switch kind {
	case "file":
		return append(append(members, recorded...), "path", "records", "format", "trace_session_sample_ratio",
			"max_idle_gap_cap_seconds",
			"replay_speedup", "open_loop_replay", "open_loop_strict", "omit_kv_hints", "force_min_tokens", "block_size",
			"prompt_batch_size", "image_batch_size", "audio_batch_size", "video_batch_size")
	case "public":
		return append(append(members, recorded...), "dataset", "hf_subset", "filters", "hf_weka_dataset")
	}
	return append(members, "prompts", "isl", "osl", "prefix_prompts", "turns", "turn_delay",
		"turn_delay_ratio", "images", "audio", "video", "rankings")
}

// asDatasets are the data sets as AIPerf's reader takes them: each with the
// members of its type. What a flag sets without effect is not among them. types are
// the same sets with their types.
func asDatasets(sets, types any) []any {
	list, _ := sets.([]any)
	all, _ := types.([]any)
	for i := range list {
		set, ok := list[i].(object)
		if !ok {
			continue
		}
		kind, _ := set.get("type").(string)
		if kind == "" && i < len(all) {
			typed, _ := all[i].(object)
			kind, _ = typed.get("type").(string)
		}
		list[i] = asDataset(set, kind)
	}
	return list
}

func asDataset(set object, kind string) object {
	prompts, said := set.get("prompts").(object)
	if said && (kind == "file" || kind == "public") { // lengths of a recorded set stand beside its texts
		if osl := prompts.get("osl"); osl != nil && set.get("osl") == nil {
			set = set.with("osl", osl)
		}
		prompts = slices.DeleteFunc(prompts, func(m member) bool { return m.key != "corpus" })
		if set = set.set("prompts", prompts); len(prompts) == 0 {
			set = slices.DeleteFunc(set, func(m member) bool { return m.key == "prompts" })
		}
	}
	members := datasetMembers(kind)
	return slices.DeleteFunc(set, func(m member) bool { return !slices.Contains(members, m.key) })
}
