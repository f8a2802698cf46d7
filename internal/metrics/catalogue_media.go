package metrics

import "aiperf.dev/aiperf/internal/record"

// mediaMetrics are those of sound, images, vectors, passages and videos.
var mediaMetrics = []Metric{
	{
		Tag: "rtfx", Header: "Inverse Real-Time Factor (RTFx)", Unit: "ratio",
		Formula: "1000 · audio_duration / request_latency: seconds of sound for each second of work", Group: Main,
		Order: 850, LargerIsBetter: true, Due: func(r *record.Record) float64 {
			return per(1e3*r.AudioSeconds,
				r.LatencyFromIntended())
		}, Record: func(r *record.Record) float64 { return per(1e3*r.AudioSeconds, r.Latency()) },
	},
	{
		Tag: "image_throughput", Header: "Image Throughput", Unit: "images/sec",
		Formula: "1000 · num_images / request_latency", Group: Main, Order: 860, LargerIsBetter: true,
		Due:    func(r *record.Record) float64 { return per(1e3*images(r), r.LatencyFromIntended()) },
		Record: func(r *record.Record) float64 { return per(1e3*images(r), r.Latency()) },
	},
	{
		Tag: "image_latency", Header: "Image Latency", Unit: "ms/image", Formula: "request_latency / num_images",
		Group: Main, Order: 861, Due: func(r *record.Record) float64 { return per(r.LatencyFromIntended(), images(r)) },
		Record: func(r *record.Record) float64 { return per(r.Latency(), images(r)) },
	},
	{
		Tag: "num_images", Header: "Number of Images", Unit: "images", Formula: "pictures in the request", Group: Hidden,
		Order: 862, Neutral: true, LargerIsBetter: true, Int: true, Record: images,
	},
	{
		Tag: "audio_duration", Header: "Audio Duration", Unit: "sec", Formula: "seconds of sound in the request",
		Group: Hidden, Order: 851, Neutral: true, LargerIsBetter: true,
		Record: func(r *record.Record) float64 { return r.AudioSeconds },
	},
	{
		Tag: "audio_throughput", Header: "Audio Throughput", Unit: "sec/sec", Formula: "seconds of sound / window",
		Group: Main, Order: 852, AIPerf: Place{Unknown: true},
		LargerIsBetter: true, Derived: itemRate("audio_duration"),
	},
	{
		Tag: "vector_throughput", Header: "Vector Throughput", Unit: "vectors/sec",
		Formula: "vectors of the answers / window", Group: Main, Order: 870, AIPerf: Place{Unknown: true},
		LargerIsBetter: true, Derived: itemRate("num_vectors"),
	},
	{
		Tag: "num_vectors", Header: "Number of Vectors", Unit: "vectors", Formula: "vectors in the answer", Group: Hidden,
		Order:   871,
		Neutral: true, AIPerf: Place{Unknown: true}, LargerIsBetter: true, Int: true, Record: items(record.Vectors),
	},
	{
		Tag: "vector_dimensions", Header: "Vector Dimensions", Unit: "numbers",
		Formula: "numbers in each vector of the answer", Group: Hidden, Order: 872,
		Neutral: true, AIPerf: Place{Unknown: true},
		Int: true, Record: func(r *record.Record) float64 { return some(r.Dimensions) },
	},
	{
		Tag: "passage_throughput", Header: "Passage Throughput", Unit: "passages/sec",
		Formula: "passages that were given a score / window", Group: Main, Order: 875, AIPerf: Place{Unknown: true},
		LargerIsBetter: true, Derived: itemRate("num_passages"),
	},
	{
		Tag: "num_passages", Header: "Number of Passages", Unit: "passages",
		Formula: "passages that the answer gives a score", Group: Hidden, Order: 876,
		Neutral: true, AIPerf: Place{Unknown: true},
		LargerIsBetter: true, Int: true, Record: items(record.Passages),
	},
	{
		Tag: "made_image_throughput", Header: "Made Image Throughput", Unit: "images/sec",
		Formula: "images of the answers / window", Group: Main, Order: 880, AIPerf: Place{Unknown: true},
		LargerIsBetter: true, Derived: itemRate("num_made_images"),
	},
	{
		Tag: "num_made_images", Header: "Number of Made Images", Unit: "images", Formula: "images in the answer",
		Group: Hidden, Order: 881, Neutral: true, AIPerf: Place{Unknown: true}, LargerIsBetter: true, Int: true,
		Record: items(record.Pictures),
	},
	{
		Tag: "time_to_first_partial_image", Header: "Time to First Partial Image", Unit: "ms",
		Formula: "first of several events with an image − sent", Group: Main, Order: 882, Needs: Streaming,
		AIPerf: Place{Unknown: true}, Record: firstPartial,
	},
	{
		Tag: "video_inference_time", Header: "Video Inference Time", Unit: "ms",
		Formula:   "inference_time_s of the job, as the server says it",
		Elsewhere: "SGLang's own account of the GPU's work", Group: Main, Order: 310,
		Record: func(r *record.Record) float64 { return r.VideoInference },
	},
	{
		Tag: "video_peak_memory", Header: "Video Peak Memory", Unit: "MB",
		Formula: "peak_memory_mb of the job, as the server says it", Group: Main, Order: 311,
		Record: func(r *record.Record) float64 { return r.VideoMemory },
	},
	{
		Tag: "video_throughput", Header: "Video Throughput", Unit: "videos/sec", Formula: "videos / window", Group: Main,
		Order: 885, AIPerf: Place{Unknown: true}, LargerIsBetter: true, Derived: itemRate("num_videos"),
	},
	{
		Tag: "num_videos", Header: "Number of Videos", Unit: "videos", Formula: "videos that were made", Group: Hidden,
		Order:   886,
		Neutral: true, AIPerf: Place{Unknown: true}, LargerIsBetter: true, Int: true, Record: items(record.Films),
	},
	{
		Tag: "video_queue_time", Header: "Video Queue Time", Unit: "ms", Formula: "job seen to begin − sent", Group: Main,
		Order: 887, AIPerf: Place{Unknown: true},
		Record: ofFilms(func(r *record.Record) float64 { return r.ServerQueue }),
	},
	{
		Tag: "video_generation_time", Header: "Video Generation Time", Unit: "ms",
		Formula: "job seen to be done − job seen to begin", Group: Main, Order: 888, AIPerf: Place{Unknown: true},
		Record: ofFilms(func(r *record.Record) float64 { return r.ServerDecode }),
	},
	{
		Tag: "video_download_time", Header: "Video Download Time", Unit: "ms",
		Formula: "last byte of the video − job seen to be done", Group: Main, Order: 889, AIPerf: Place{Unknown: true},
		Record: ofFilms(func(r *record.Record) float64 { return r.Download }),
	},
}
