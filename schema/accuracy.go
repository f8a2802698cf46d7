package schema

import (
	"cmp"

	"aiperf.dev/aiperf/schema/fields"
)

// Accuracy is the questions with known answers of a run.
type Accuracy struct {
	Benchmark string   `json:"benchmark"` // own: the items are the file at Path
	Tasks     []string `json:"tasks,omitempty"`
	Shots     *int     `json:"n_shots,omitempty"`
	CoT       *bool    `json:"enable_cot,omitempty"`
	Grader    string   `json:"grader,omitempty"`
	Plugin    string   `json:"plugin,omitempty"` // the folder of the program that judges
	System    *string  `json:"system_prompt,omitempty"`
	Verbose   bool     `json:"verbose"`

	Path  string  `json:"path,omitempty"`
	Mode  string  `json:"mode,omitempty"`  // alone (""), mixed
	Share float64 `json:"share,omitempty"` // of the requests, of mixed; 0: UsualShare
	Items int     `json:"items,omitempty"`
}

// OwnBenchmark is the benchmark whose items are a file of the user's.
const OwnBenchmark = "own"

// Alone tells whether the questions are the load.
func (a *Accuracy) Alone() bool { return a != nil && a.Mode != "mixed" }

// Mixed tells whether some of the requests are questions.
func (a *Accuracy) Mixed() bool { return a != nil && a.Mode == "mixed" }

// usualShare of the requests are questions where nobody says.
const usualShare = 0.05

// Asked is the share of the requests that are questions.
func (a *Accuracy) Asked() float64 { return cmp.Or(a.Share, usualShare) }

// BoundByQuestions lets measured phases that nothing bounds ask each question once.
func (b *Benchmark) BoundByQuestions() {
	if !b.Accuracy.Alone() {
		return
	}
	for i := range b.Phases {
		p := &b.Phases[i]
		t := fields.PhaseNamed(p.Type)
		p.Once = p.Kind == "profiling" && p.Requests == 0 && p.Sessions == 0 && p.Duration == nil &&
			(t == nil || !t.Ends)
	}
}
