package endpoint_test

import (
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/loadgen/endpoint"
	"aiperf.dev/aiperf/schema"
)

// An API that gRPC servers do not speak is refused before anything is sent,
// unless a path names the method.
func TestOpenOverGRPC(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		typ, url, path string
		refused        bool
	}{
		{"chat", "grpc://h:1", "", true},
		{"raw", "grpcs://h:1", "", true},
		{"raw", "grpc://h:1", "/pkg.Service/Method", false},
		{"chat", "http://h:1", "", false},
		{"kserve_v2_infer", "grpc://h:1", "", false},
		{"kserve_v2_embeddings", "grpcs://h:1", "", false},
	} {
		_, err := endpoint.Open(&schema.Endpoint{Type: c.typ, URLs: []string{c.url}, Path: c.path})
		if (err != nil) != c.refused || err != nil && !strings.Contains(diag.Of(err).Hint,
			"kserve_v2_infer, kserve_v2_embeddings, grpc") {
			t.Errorf("Open(%s at %s%s): %v, want refused %v", c.typ, c.url, c.path, err, c.refused)
		}
	}
}

// Fewer images than were asked for are not what was measured.
func TestImagesAsked(t *testing.T) {
	t.Parallel()
	turn := &dataset.Turn{Texts: []string{"a"}}
	for _, typ := range []string{"image_generation", "image_edit"} {
		for _, c := range []struct {
			n     any
			items int64
			want  string
		}{
			{nil, 1, ""},
			{4, 4, ""},
			{int64(4), 1, "the answer has 1 image, the request asked for 4"},
			{4.0, 3, "the answer has 3 images, the request asked for 4"},
			{"2", 1, "the answer has 1 image, the request asked for 2"},
			{"many", 1, ""},
		} {
			var extra schema.Members
			if c.n != nil {
				extra = schema.MembersOf("n", c.n)
			}
			if got := lookup(t, typ).Missing(turn, extra, c.items, 0); got != c.want {
				t.Errorf("%s: Missing with n %v, %d images = %q, want %q", typ, c.n, c.items, got, c.want)
			}
		}
	}
}
