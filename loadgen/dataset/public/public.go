// Package public knows the published data sets that AIPerf knows by name:
// where each is kept, under which licence, and which of its columns say what
// is asked. In goes a name and a folder or the local cache of the hub, out
// come the files to read; what their rows become is the row's own data, which
// the dataset package carries out. It never touches the network.
package public

import "slices"

// Set is one published data set. Everything that is particular to it stands in
// its row.
type Set struct {
	Name     string
	Title    string // what one record becomes, in a few words
	Repo     string // on the hub; "" for a file elsewhere, or where the user names it
	Revision string // the commit its reader was written for; "" is main
	Subset   string // configuration; "" is the default one
	Split    string
	File     string // the one file to read, where there are others that are not meant
	Address  string // of a file that is not on the hub
	License  string // as its card says; "" where it states none, or could not be seen
	Gated    bool   // its terms must be accepted with an account first
	// Large says that it is far more than a benchmark sends: 100 records are
	// taken when no number is said.
	Large bool
	// Format names the format of files its records have; "" says that the
	// columns below are read.
	Format string
	Corpus string // what the prompts of a trace are made of when nothing is said

	Prompt   string // column of the prompt, or of a list of prompts
	Template string // text with {column} in it, in place of Prompt
	Choices  string // column of named choices that follow the prompt
	Turns    int    // how many prompts of a list are turns; 0: one
	Talk     string // column of a list of messages, of which the first one of the user is the prompt
	Content  string // the text of such a message
	Pairs    bool   // all pairs of prompt and answer are turns, filtered by their lengths
	Spans    bool   // an agent's session as recorded spans
	Say      string // the same prompt for all records
	Image    string
	Audio    string
	Video    string
	Longest  float64 // longer sounds are left out, in s; 0: none are
}

// Catalogue lists the data sets by AIPerf's names.
func Catalogue() []Set { return slices.Clone(catalogue) }

// Named is the data set called name.
func Named(name string) (Set, bool) {
	if i := slices.IndexFunc(catalogue, func(s Set) bool { return s.Name == name }); i >= 0 {
		return catalogue[i], true
	}
	return Set{}, false
}

// edit is the request of the blazedit sets, as vLLM's benchmark words it.
const edit = "Given a code file, please apply the change requests and generate the new file.\n\nOriginal file:\n```python\n{code}\n```\n\nChange request:\n{change_request}\n\nPlease generate the new code file in the \"New file\" section below."

const (
	hear = "Transcribe this audio."
	clip = 30 // s: the usual bound of speech benchmarks
)

// catalogue is in AIPerf's order.
var catalogue = slices.Concat([]Set{
	{
		Name: "exgentic_v2", Title: "an agent's recorded requests, with their pauses",
		Repo: "Exgentic/agent-llm-traces-v2", Revision: "4b8ad4ab198438e5a170f9171c19c6a2cf7c1814", Split: "train",
		Large: true, Spans: true,
	},
	{
		Name: "exgentic", Title: "an agent's recorded requests, with their pauses", Repo: "Exgentic/agent-llm-traces",
		Revision: "70036b93a04e61b0ea2706a68b962f4f26774587", Split: "train", License: "CDLA-Permissive-2.0",
		Large: true, Spans: true,
	},
	{
		Name: "sharegpt", Title: "a conversation with ChatGPT, its answers' lengths asked for",
		Repo: "anon8231489123/ShareGPT_Vicuna_unfiltered", Split: "train",
		File: "ShareGPT_V3_unfiltered_cleaned_split.json", License: "Apache-2.0",
		Talk: "conversations", Content: "value", Pairs: true,
	},
	{
		Name: "aimo", Title: "a mathematics problem", Repo: "AI-MO/NuminaMath-TIR", Split: "train", License: "Apache-2.0",
		Prompt: "problem",
	},
	{
		Name: "mmstar", Title: "a question about an image", Repo: "Lin-Chen/MMStar", Split: "val", Prompt: "question",
		Image: "image",
	},
	{
		Name: "mmvu", Title: "a question about a video, with choices", Repo: "yale-nlp/MMVU", Split: "validation",
		License: "CC-BY-SA-4.0", Prompt: "question", Choices: "choices", Video: "video",
	},
	{
		Name: "vision_arena", Title: "a user's first message with its image", Repo: "lmarena-ai/VisionArena-Chat",
		Split: "train", Gated: true, Large: true, Talk: "conversation", Content: "content", Image: "images",
	},
	{
		Name: "llava_onevision", Title: "an instruction with its image", Repo: "lmms-lab/LLaVA-OneVision-Data",
		Subset: "sharegpt4o", Split: "train", License: "Apache-2.0", Large: true,
		Talk: "conversations", Content: "value", Image: "image",
	},
	{
		Name: "aimo_aime", Title: "a problem of the AIME competition", Repo: "AI-MO/aimo-validation-aime",
		Split: "train", License: "Apache-2.0", Prompt: "problem",
	},
	{
		Name: "aimo_numina_cot", Title: "a mathematics problem", Repo: "AI-MO/NuminaMath-CoT",
		Split: "train", License: "Apache-2.0", Prompt: "problem",
	},
	{
		Name: "aimo_numina_1_5", Title: "a mathematics problem", Repo: "AI-MO/NuminaMath-1.5",
		Split: "train", License: "Apache-2.0", Prompt: "problem",
	},
	{
		Name: "spec_bench", Title: "the first question of a speculative decoding benchmark", File: "spec_bench.jsonl",
		Address: "https://raw.githubusercontent.com/hemingkx/Spec-Bench/fd2c1cd7d2201ef71db4c5f4e455008f017967bf/data/spec_bench/question.jsonl",
		License: "Apache-2.0", Prompt: "turns",
	},
	{
		Name: "spec_al_gsm8k", Title: "a word problem of grade school mathematics", Repo: "openai/gsm8k", Subset: "main",
		Split: "test", License: "MIT", Prompt: "question",
	},
	{
		Name: "spec_al_math500", Title: "a competition problem", Repo: "HuggingFaceH4/MATH-500",
		Split: "test", License: "MIT", Prompt: "problem",
	},
	{
		Name: "spec_al_humaneval", Title: "a Python function to complete", Repo: "openai/openai_humaneval",
		Split: "test", License: "MIT", Prompt: "prompt",
	},
	{
		Name: "spec_al_mbpp", Title: "a basic Python task", Repo: "google-research-datasets/mbpp", Subset: "full",
		Split: "test", License: "CC-BY-4.0", Prompt: "text",
	},
	{
		Name: "spec_al_mtbench", Title: "a conversation of two questions", Repo: "HuggingFaceH4/mt_bench_prompts",
		Split: "train", License: "Apache-2.0", Prompt: "prompt", Turns: 2,
	},
	{
		Name: "instruct_coder", Title: "an instruction to change code", Repo: "likaixin/InstructCoder",
		Split: "train", License: "MIT", Prompt: "instruction",
	},
	{
		Name: "blazedit_5k", Title: "a code file of about 5,000 characters with a change request",
		Repo: "vdaita/edit_5k_char", Split: "train", Template: edit,
	},
	{
		Name: "blazedit_10k", Title: "a code file of about 10,000 characters with a change request",
		Repo: "vdaita/edit_10k_char", Split: "train", Template: edit,
	},
	{
		Name: "librispeech", Title: "a sentence read aloud, up to 30 s", Repo: "openslr/librispeech_asr", Subset: "clean",
		Split: "test", License: "CC-BY-4.0", Large: true, Say: hear, Audio: "audio", Longest: clip,
	},
	{
		Name: "voxpopuli", Title: "speech of the European Parliament, up to 30 s", Repo: "facebook/voxpopuli",
		Subset: "en", Split: "test", License: "CC0-1.0", Large: true, Say: hear, Audio: "audio", Longest: clip,
	},
	{
		Name: "gigaspeech", Title: "speech of audiobooks and podcasts, up to 30 s", Repo: "speechcolab/gigaspeech",
		Subset: "xs", Split: "test", License: "Apache-2.0", Gated: true, Large: true, Say: hear, Audio: "audio",
		Longest: clip,
	},
	{
		Name: "ami", Title: "speech of meetings, up to 30 s", Repo: "edinburghcstr/ami", Subset: "ihm", Split: "test",
		License: "CC-BY-4.0", Large: true, Say: hear, Audio: "audio", Longest: clip,
	},
	{
		Name: "spgispeech", Title: "speech of earnings calls, up to 30 s", Repo: "kensho/spgispeech", Subset: "test",
		Split: "test", License: "its own terms, for academic research", Gated: true,
		Large: true, Say: hear, Audio: "audio", Longest: clip,
	},
}, coding)

// coding are SemiAnalysis's traces of coding agents, one per release.
var coding = func() (rows []Set) {
	for _, r := range []struct{ name, repo string }{
		{"", "-no-subagents-051826"},
		{"_no_subagents", "-no-subagents-051826"},
		{"_with_subagents", "-062126"},
		{"_with_subagents_256k", "-062126-256k"},
		{"_with_subagents_060226", "-with-subagents-060226"},
		{"_with_subagents_060226_256k", "-with-subagents-060226-256k"},
		{"_with_subagents_060526", "-with-subagents-060526"},
		{"_with_subagents_060526_256k", "-with-subagents-060526-256k"},
		{"_with_subagents_060826", "-with-subagents-060826"},
		{"_with_subagents_060826_256k", "-with-subagents-060826-256k"},
		{"_061326", "-061326"},
		{"_061326_256k", "-061326-256k"},
		{"_061526", "-061526"},
		{"_061526_256k", "-061526-256k"},
		{"_062126", "-062126"},
		{"_062126_256k", "-062126-256k"},
	} {
		rows = append(rows, weka("semianalysis_cc_traces_weka"+r.name, "semianalysisai/cc-traces-weka"+r.repo,
			"Apache-2.0"))
	}
	return append(rows, weka("weka_hf", "", ""))
}()

func weka(name, repo, license string) Set {
	return Set{
		Name: name, Title: "a coding agent's session as lengths and hashes", Repo: repo, Split: "train",
		License: license, Format: "weka_trace", Corpus: "coding",
	}
}
