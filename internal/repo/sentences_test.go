package repo

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Sentences that users had to read twice were rewritten; none of them comes back, in
// messages, settings, scripts or pages.
func TestRewrittenSentencesStayAway(t *testing.T) {
	t.Parallel()
	gone := []string{
		"no difference shown;",
		"which is different work: for yours",
		"why it is slow: with",
		"of the cores' time: the built-in server",
		"threads waited for a core",
		"of a latency between requests",
		"because whole answers came in one read",
		"the exit code does not tell",
		"No check of the measurement is in doubt",
		"not shown to be dominated",
		"trial k of both met the same load",
		"smallest difference that is shown",
		"not by the model's tokenizer",
		"as long as the answers take",
		"API that is spoken",
		"between two looks whether",
		"ends that behind the record under way",
		"What a server has not is a mistake",
		"a data file is no experiment",
		"as observed; upper bound",
		"in place of baseline it is",
		"late sending adds 5.69",
		"from intended, which is",
		"lies between 21.8",
		"allow_invalid is set: the exit code",
		"shown four times in five",
		"counts by o200k_base",
		"Seconds between two looks",
		"the second does not wait for it",
		"are waited for by nobody",
		"is no business of this question",
		"nobody knows how much more",
		"a type that nobody said",
		"null for text, and where nobody",
		"all are as long",
		"no code of a tokenizer is run",
		"there is no such column; there are",
		"stands there twice",
		"is there twice",
		"requests that the server failed / attempted",
		"no certain winner",
		"does not go with",
		"than the answers explain",
		"the value decides:",
		"would settle it",
		"medians can be relied on",
		"beyond the 5 % margin",
		"by how much a number is wrong through the client",
	}
	files, root := 0, filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && path != root && (strings.HasPrefix(e.Name(), ".") ||
			e.Name() == "build" || e.Name() == "results"):
			return fs.SkipDir
		case e.IsDir() || e.Name() == "sentences_test.go" ||
			!slices.Contains([]string{".go", ".cue", ".md", ".txtar"}, filepath.Ext(path)):
			return nil
		}
		b, err := os.ReadFile(path)
		files++
		for _, words := range gone {
			if strings.Contains(string(b), words) {
				t.Errorf("%s: %q was rewritten everywhere else", path, words)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 500 {
		t.Errorf("only %d files were read", files)
	}
}
