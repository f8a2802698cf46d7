package endpoint

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/schema"
)

var imageGeneration = Spec{
	Type: "image_generation", Path: "/v1/images/generations", Title: "Image Generation", Items: record.Pictures,
	Doc: "OpenAI image generation", OpenAI: true, CanStream: true, TakesText: true, Given: imagesAsked, Bulk: pictures,
	Body: imageGenerationBody, Read: readImages, HasContent: imageHasContent,
	Served: Served{
		Texts: []string{"prompt"}, Token: servedPartialImage, End: servedImageEnd, Whole: servedImages,
		Steps: func(c *Call) int {
			n := 0
			if whole(c.Fields, "partial_images", &n) != nil || n > 16 {
				n = 0
			}
			return n + 1
		},
	},
}

var imageEdit = Spec{
	Type: "image_edit", Path: "/v1/images/edits", Title: "Image Generation", Items: record.Pictures,
	Doc: "OpenAI image edits, a form with a file", TakesText: true, Given: imagesAsked, Bulk: pictures,
	Takes: Images, Needs: Images, ContentType: formType,
	Body: imageEditBody, Read: readImages, HasContent: imageHasContent,
	Served: Served{
		Texts: []string{"prompt"}, Whole: servedImages,
		Check: func(c *Call) error {
			if c.Media == 0 && c.Fields["url"] == nil {
				return errors.New("image: field required")
			}
			return nil
		},
	},
}

var imageRetrieval = Spec{
	Type: "image_retrieval", Path: "/v1/infer", Title: "Image Retrieval",
	Doc: "NVIDIA NIM object detection and embedding of images", GenAI: []string{"image_retrieval"},
	Takes: Images, Needs: Images,
	Body: imageRetrievalBody, Read: readRetrieval, HasContent: anyContent,
	Served: Served{Items: []string{"input"}, Whole: servedRetrieval},
}

// pictures are the members that hold them: in base64, or as data: URLs.
var pictures = []string{"b64_json", "url"}

// imagesAsked is how many images an answer must have: as many as the extra input
// n asks for.
func imagesAsked(_ *dataset.Turn, extra schema.Members) int {
	n := extra.Raw("n")
	if n == nil {
		return 1
	}
	asked, _ := strconv.Atoi(strings.Trim(string(n), `"`)) // what is no number, the server refuses
	return asked
}

var errNoPrompt = errors.New("a turn without text for the prompt")

func imageGenerationBody(dst []byte, in *Input) ([]byte, error) {
	if len(in.Turn.Texts) == 0 {
		return dst, errNoPrompt
	}
	b := newBody(dst, in)
	b.str("prompt", strings.Join(in.Turn.Texts, " "))
	b.str("model", in.Model)
	b.str("response_format", "b64_json")
	b.count("n", 1)
	if in.Stream {
		b.flag("stream", true)
	}
	b.extras()
	return b.end(), nil
}

// imageEditBody sends the first image of a turn as a file, or its address.
func imageEditBody(dst []byte, in *Input) ([]byte, error) {
	if len(in.Turn.Texts) == 0 {
		return dst, errNoPrompt
	}
	f := newForm(dst, in)
	f.field("prompt", strings.Join(in.Turn.Texts, " "))
	f.str("model", in.Model)
	f.str("response_format", "b64_json")
	f.count("n", 1)
	if m := &in.Turn.Images[0]; m.URL != "" {
		f.field("url", m.URL)
	} else {
		kind, ext, err := sniff(m)
		if err != nil {
			return dst, err
		}
		f.file("image", "image."+ext, kind, m.Base64)
	}
	f.extras("prompt", "image", "url", "mask")
	return f.end()
}

func imageRetrievalBody(dst []byte, in *Input) ([]byte, error) {
	b := newBody(dst, in)
	if b.key("input") {
		b.dst = append(b.dst, '[')
		for i := range in.Turn.Images {
			b.dst = append(appendString(append(comma(b.dst), `{"type":"image_url","url":`...),
				in.Turn.Images[i].Address()), '}')
		}
		b.dst = append(b.dst, ']')
	}
	b.extras()
	return b.end(), nil
}

// readImages reads a list of images, or an event with one. What they hold is
// counted, not kept.
func readImages(data []byte, stream bool) (Chunk, error) {
	r := itemsReply{names: []string{"b64_json", "url"}}
	c, err := r.read(data, stream)
	if err == nil && r.kind == "image_generation.completed" {
		c.Finish = "completed"
	}
	if r.kind == "image_generation.partial_image" {
		c.Items = 0 // on the way to one
	}
	return c, err
}

// readRetrieval reads what was found in the images: an entry each.
func readRetrieval(data []byte, stream bool) (Chunk, error) {
	r := itemsReply{names: []string{"bounding_boxes", "embedding", "index"}}
	return r.read(data, stream)
}

// itemsReply reads answers that are a list, data, of objects with one of some
// names; in a stream each event is such an object.
type itemsReply struct {
	reply
	names   []string
	kind    string // of an event
	entries int64
	broken  bool // a picture is not base64
}

func (r *itemsReply) read(data []byte, stream bool) (Chunk, error) {
	if ok, err := r.reply.read(data, stream, func(key []byte) (err error) {
		switch {
		case string(key) == "data":
			return r.Array(func(int) error { return r.entry() })
		case string(key) == "type":
			r.kind, err = r.Text()
			return err
		case stream && r.holds(key):
			r.chunk.Items = 1
			return r.item(key)
		}
		return r.Skip()
	}); !ok {
		return r.chunk, err
	}
	if stream && r.chunk.Items == 0 {
		return r.asText("", "", "", "") // nothing of a picture, or an error
	}
	if r.broken {
		return r.asThings(`a "b64_json" that is not base64`)
	}
	return r.asThings(unless(r.chunk.Items > 0 && r.chunk.Items >= r.entries,
		fmt.Sprintf("no %s in \"data\"", r.names[0])))
}

// entry reads one object of the list.
func (r *itemsReply) entry() error {
	r.entries++
	found := false
	err := r.Object(func(key []byte) error {
		found = found || r.holds(key)
		return r.item(key)
	})
	if found {
		r.chunk.Items++
	}
	return err
}

// item reads a member of an entry. Of a picture, whose text may have been cut to
// its beginning, the alphabet is checked: pictures of a second server that are
// pages of its proxy have another one.
func (r *itemsReply) item(key []byte) error {
	if string(key) != "b64_json" {
		return r.Skip()
	}
	v, err := r.View()
	r.broken = r.broken || !isBase64(strings.TrimRight(v, "="))
	return err
}

// holds reports whether an entry is one of the names with something in it.
func (r *itemsReply) holds(name []byte) bool {
	if !slices.Contains(r.names, string(name)) {
		return false
	}
	c := r.Peek()
	return c == '[' || c == '{' || c >= '0' && c <= '9' || c == '"' && r.At+1 < len(r.Data) && r.Data[r.At+1] != '"'
}

func imageHasContent(data []byte) bool { return len(data) > 64 }

// pixel is a PNG image of one pixel.
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// picture appends the pixel in base64, or, where pictures are to be larger, with
// zeros behind it.
func (s *Script) picture(b []byte) []byte {
	if s.Media <= len(pixel) {
		return append(b, pixel...)
	}
	b = append(append(b, strings.TrimSuffix(pixel, "==")...), "AA"...)
	more := (s.Media+3)/4*4 - len(pixel)
	b = slices.Grow(b, more)
	for range more {
		b = append(b, 'A')
	}
	return b
}

// images is how many a request asks for.
func (c *Call) images() int {
	n := 0
	if whole(c.Fields, "n", &n) != nil || n < 1 || n > 16 {
		return 1
	}
	return n
}

func servedImages(b []byte, s *Script) []byte {
	b = fmt.Appendf(b, `{"created":%d,"data":[`, s.Created)
	for range s.Call.images() {
		b = append(s.picture(append(comma(b), `{"b64_json":"`...)), `"}`...)
	}
	return fmt.Appendf(b, `],"usage":{"input_tokens":%d,"output_tokens":0,"total_tokens":%d}}`, s.In, s.In)
}

func servedPartialImage(b []byte, s *Script, from, _ int) []byte {
	kind := "image_generation.partial_image"
	if from == s.Out-1 {
		return b // the whole image ends the stream
	}
	b = fmt.Appendf(b, "event: %s\ndata: {\"type\":%q,\"partial_image_index\":%d,\"b64_json\":\"", kind, kind, from)
	return append(s.picture(b), "\"}\n\n"...)
}

func servedImageEnd(b []byte, s *Script) []byte {
	const kind = "image_generation.completed"
	b = s.picture(fmt.Appendf(b, "event: %s\ndata: {\"type\":%q,\"b64_json\":\"", kind, kind))
	return fmt.Appendf(b, "\",\"usage\":{\"input_tokens\":%d,\"output_tokens\":0,\"total_tokens\":%d}}\n\n", s.In, s.In)
}

func servedRetrieval(b []byte, s *Script) []byte {
	b = append(b, `{"data":[`...)
	for i := range max(1, s.Call.Items) {
		b = fmt.Appendf(comma(b), `{"index":%d,"bounding_boxes":{"text":[{"x_min":0.1,"y_min":0.1,"x_max":0.5,"y_max":0.5,"confidence":0.9}]}}`, i)
	}
	return append(b, `],"usage":{"images_size_mb":0.1}}`...)
}
