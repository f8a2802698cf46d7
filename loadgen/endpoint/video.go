package endpoint

import (
	"fmt"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/endpoint/claims"
	"aiperf.dev/aiperf/schema"
)

// videoGeneration is a job: it is submitted, asked for until it is done, and
// its video fetched if that is wanted.
var videoGeneration = Spec{
	Type: "video_generation", Path: "/v1/videos", Title: "Video Generation", Items: record.Films,
	Doc:       "OpenAI video generation: submit, poll, download",
	TakesText: true, ContentType: formType, Settings: []string{"download_video_content", "request_content_type"},
	Configure: configureVideo, Body: videoForm, Read: readVideo, HasContent: anyContent, Next: nextVideo(false),
	Served: Served{Texts: []string{"prompt"}, Whole: servedVideo},
}

// pollEvery is how long is waited before a job is asked for again.
const pollEvery = 100 * time.Millisecond

func configureVideo(s *Spec, e *schema.Endpoint) error {
	if e.RequestContentType == "application/json" {
		s.ContentType, s.Body = "", videoBody
	}
	s.Next = nextVideo(e.DownloadVideoContent)
	return nil
}

func videoForm(dst []byte, in *Input) ([]byte, error) {
	if len(in.Turn.Texts) == 0 {
		return dst, errNoPrompt
	}
	f := newForm(dst, in)
	f.str("prompt", strings.Join(in.Turn.Texts, " "))
	f.str("model", in.Model)
	f.extras()
	return f.end()
}

func videoBody(dst []byte, in *Input) ([]byte, error) {
	if len(in.Turn.Texts) == 0 {
		return dst, errNoPrompt
	}
	b := newBody(dst, in)
	b.str("prompt", strings.Join(in.Turn.Texts, " "))
	b.str("model", in.Model)
	b.extras()
	return b.end(), nil
}

// videoJob is what a server says about a job.
type videoJob struct {
	reply
	id, status, url string
}

func readJob(data []byte) (*videoJob, error) {
	j, times := &videoJob{}, claims.NoTimings
	if _, err := j.read(data, false, func(key []byte) (err error) {
		switch string(key) {
		case "id":
			j.id, err = j.Text()
		case "status":
			j.status, err = j.Text()
		case "url":
			j.url, err = j.Text()
		case "inference_time_s": // SGLang's
			times.Inference, err = j.Decimal()
			times.Inference *= 1e3
		case "peak_memory_mb":
			times.PeakMemory, err = j.Decimal()
		default:
			err = j.Skip()
		}
		return err
	}); err != nil {
		return nil, err
	}
	if times.Said() {
		j.chunk.Timings = &times
	}
	if j.status == "failed" || j.status == "cancelled" {
		if j.problem.said = true; j.problem.text == "" {
			j.problem.text = "the job ended as " + j.status
		}
	}
	if j.id == "" && j.status == "" && !j.problem.said {
		return nil, unreadable(`neither "id" nor "status"`, j.Data)
	}
	return j, nil
}

// readVideo reads what is said about a job last: done is the video.
func readVideo(data []byte, _ bool) (Chunk, error) {
	j, err := readJob(data)
	if err != nil {
		return Chunk{}, err
	}
	if j.status != "completed" && !j.problem.said {
		j.chunk.Empty = true
		return j.chunk, nil
	}
	j.chunk.Items, j.chunk.Finish = 1, "completed"
	return j.asThings("")
}

// nextVideo asks for a job until it is done, and fetches the video then.
func nextVideo(download bool) func(Reply) (Step, error) {
	return func(r Reply) (Step, error) {
		if r.Step == stepDownload {
			return Step{}, nil
		}
		j, err := readJob(r.Body)
		switch {
		case err != nil || j.problem.said:
			return Step{}, err // the answer says it
		case j.status == "completed" && !download:
			return Step{}, nil
		case j.status == "completed":
			s := Step{Name: stepDownload, Path: r.Submitted + "/" + j.id + "/content", Binary: true}
			if strings.HasPrefix(j.url, "http://") || strings.HasPrefix(j.url, "https://") {
				s.Path, s.URL = "", j.url
			}
			return s, nil
		case j.id == "":
			return Step{}, fmt.Errorf("the server gave the job no id")
		case !plainID(j.id):
			return Step{}, fmt.Errorf("the server gave the job an id that cannot be part of a path: %.40q", j.id)
		}
		return Step{
			Name: stepPoll, Path: r.Submitted + "/" + j.id, After: pollEvery, Status: j.status,
			Working: j.status != "queued" && j.status != "",
		}, nil
	}
}

// The names of the steps after the first.
const (
	stepPoll     = "poll"
	stepDownload = "download"
)

// plainID reports whether a server's id may become part of a path.
func plainID(id string) bool {
	for i := range len(id) {
		c := id[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' &&
			c <= '9' || strings.IndexByte("-_.~", c) >= 0) {
			return false
		}
	}
	return id != "." && id != ".." && len(id) <= 256
}

func servedVideo(b []byte, s *Script) []byte {
	return fmt.Appendf(b, `{"id":"%s","object":"video","created_at":%d,"status":"queued","model":%s,"progress":0,"seconds":"4","size":"720x1280"}`,
		s.ID, s.Created, quoted(s.Call.Model))
}
