package endpoint

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/endpoint/claims"
	"aiperf.dev/aiperf/schema"
)

// audioTranscription is OpenAI's speech to text: a form with a file.
var audioTranscription = Spec{
	Type: "audio_transcription", Path: "/v1/audio/transcriptions", Title: "Audio Transcription",
	Doc:   "OpenAI audio transcription, a form with a file",
	Takes: Audios, Needs: Audios, ContentType: formType,
	Configure: transcriptAsText,
	Body:      audioBody, Read: readTranscript, HasContent: anyContent,
	Served: Served{
		Words: true, Whole: servedTranscript,
		Check: func(c *Call) error {
			if c.Media == 0 {
				return errors.New("file: field required")
			}
			return nil
		},
	},
}

// transcriptAsText: some formats are plain text in place of JSON.
func transcriptAsText(s *Spec, e *schema.Endpoint) error {
	switch e.Extra.Get("response_format") {
	case "text", "srt", "vtt":
		s.Read = func(data []byte, stream bool) (Chunk, error) {
			c, err := readText(data, stream)
			c.Items = 1
			return c, err
		}
	}
	return nil
}

// audioKinds are the media types of audio files by extension.
var audioKinds = map[string]string{
	"mp3": "audio/mpeg", "mpga": "audio/mpeg", "mpeg": "audio/mpeg", "m4a": "audio/mp4", "mp4": "audio/mp4",
}

func audioBody(dst []byte, in *Input) ([]byte, error) {
	m := &in.Turn.Audios[0]
	if m.URL != "" {
		return dst, errors.New("audio_transcription: the sound must be a file, not an address")
	}
	kind := audioKinds[m.Format]
	if kind == "" {
		kind = "audio/" + m.Format
	}
	f := newForm(dst, in)
	f.file("file", "audio."+m.Format, kind, m.Base64)
	f.str("model", in.Model)
	f.extras("file")
	return f.end()
}

// readTranscript reads an object with "text", which may be empty: silence.
func readTranscript(data []byte, stream bool) (Chunk, error) {
	var r reply
	found := false
	if ok, err := r.read(data, stream, func(key []byte) (err error) {
		if string(key) != "text" {
			return r.Skip()
		}
		found = r.Peek() == '"'
		r.chunk.Text, err = r.Text()
		return err
	}); !ok {
		return r.chunk, err
	}
	r.chunk.Items = 1
	return r.asThings(unless(found, `no "text"`))
}

// readText takes the answer itself as the text.
func readText(data []byte, stream bool) (Chunk, error) {
	text := strings.TrimSpace(string(data))
	switch {
	case stream && text == string(doneMark):
		return doneChunk(), nil
	case text == "" || text[0] == '<' || !utf8.ValidString(text):
		return Chunk{}, unreadable("not a text", data)
	}
	return Chunk{Kind: record.Content, Text: text, Usage: claims.NoUsage}, nil
}

func servedTranscript(b []byte, s *Script) []byte {
	words := s.Words(nil, 0, s.Out)
	switch s.Call.Fields["response_format"] {
	case "text", "srt", "vtt":
		return append(b, words...)
	}
	return append(append(append(b, `{"text":"`...), words...),
		fmt.Sprintf(`","usage":{"type":"duration","seconds":%d}}`, 1)...)
}
