package transport

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"math"
	"net/http"
	"strings"

	"aiperf.dev/aiperf/loadgen/transport/wire"
)

// Pictures, sounds and videos are large, and nobody reads them here: of what
// Exchange.Bulk, SizeOnly and Opaque name, size and digest are taken while it
// passes by.

const (
	mediaKept = 256 // bytes of a text that Bulk names, which stay for the reader
	digestLen = 8   // bytes of a digest that are shown
)

// sift decides, with the header there, what of the answer passes by.
func (r *reception) sift() {
	x := r.x
	switch {
	case r.mode == failure:
		return
	case x.SizeOnly, x.Opaque && isMedia(x.ContentType):
		r.pass()
	case len(x.Bulk) > 0 && r.mode != frames:
		r.sifts = true
	}
	if !r.sifts {
		return
	}
	r.digest()
	if r.bulk.Names, r.bulk.Keep = x.Bulk, mediaKept; x.Detailed {
		r.bulk.Keep = math.MaxInt
	}
}

// pass says that nothing of the answer is for reading.
func (r *reception) pass() {
	r.opaque, r.sifts, r.recognised, r.mode, r.x.Streamed = true, false, true, plain, false
	r.digest()
}

// digest makes r.bulk ready.
func (r *reception) digest() {
	if r.bulk == nil {
		r.bulk = &wire.Bulk{Hash: sha256.New(), Next: r.plain}
	}
	r.bulk.Reset()
}

// isMedia reports whether a content type is that of sound, pictures or videos.
func isMedia(contentType string) bool {
	kind, _, _ := strings.Cut(strings.ToLower(contentType), "/")
	return kind == "audio" || kind == "video" || kind == "image"
}

// isBytes reports whether a body of a type that says nothing begins like no text.
func isBytes(contentType string, b []byte) bool {
	media, _, _ := strings.Cut(contentType, ";")
	return (media == "" || strings.EqualFold(strings.TrimSpace(media), "application/octet-stream")) &&
		!strings.HasPrefix(http.DetectContentType(b), "text/")
}

// decoded takes body bytes without content encoding.
func (r *reception) decoded(b []byte) error {
	if r.x.Opaque && !r.opaque && !r.recognised && r.mode == plain && len(r.x.Payload) == 0 &&
		isBytes(r.x.ContentType, bytes.TrimSpace(b)) {
		r.pass()
	}
	switch {
	case r.opaque:
		r.media += int64(len(b))
		_, _ = r.bulk.Hash.Write(b) // hashes take everything
		if r.x.Detailed && !r.x.SizeOnly {
			return r.keep(b)
		}
		return nil
	case r.sifts:
		return r.bulk.Feed(b)
	}
	return r.plain(b)
}

// weigh notes size and digest of what passed by.
func (r *reception) weigh() {
	if !r.opaque && !r.sifts {
		return
	}
	x := r.x
	if x.Media = r.media; r.sifts {
		x.Media = r.bulk.Size
	}
	if x.Media > 0 {
		x.MediaSHA = hex.EncodeToString(r.bulk.Hash.Sum(nil)[:digestLen])
	}
	x.AllMedia = r.opaque && x.Media > 0
}
