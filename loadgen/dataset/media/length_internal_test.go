package media

import (
	"encoding/base64"
	"testing"
	"time"
)

// A sound that is not made here has the length that its header says.
func TestSoundsHaveLengths(t *testing.T) {
	t.Parallel()
	wav, err := Sound{0.5, 16000, 16, 2}.WAV(rng(1))
	if err != nil {
		t.Fatal(err)
	}
	it, err := OfBytes("audio", wav, "a.wav")
	if err != nil || it.Length != 500*time.Millisecond {
		t.Errorf("a file: %v, %v", it.Length, err)
	}
	for _, ref := range []string{"wav,", "data:audio/wav;base64,", "data:audio/x-wav;base64,"} {
		it, err = new(Library).Load("audio", ref+base64.StdEncoding.EncodeToString(wav))
		if err != nil || it.Length != 500*time.Millisecond {
			t.Errorf("%s: %v, %v", ref, it.Length, err)
		}
	}
}
