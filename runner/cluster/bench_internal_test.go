package cluster

import (
	"testing"

	"aiperf.dev/aiperf/internal/record"
)

// BenchmarkRecords is what a record of 20 chunks costs on its way from a worker to the
// coordinator's journal: packed there, and read and held together here.
func BenchmarkRecords(b *testing.B) {
	all := make([]record.Record, batchRecords)
	for i := range all {
		all[i] = record.New()
		all[i].RequestID, all[i].End = int64(i), int64(i)*1e6
		all[i].SessionID, all[i].ConversationID, all[i].Model = "session-1", "conversation-1", "model"
		all[i].Chunks = make([]record.Chunk, 20)
	}
	b.Run("worker", func(b *testing.B) {
		for b.Loop() {
			encode(batch{Records: all})
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(all)), "ns/record")
	})
	b.Run("coordinator", func(b *testing.B) {
		sent, n := encode(batch{Records: all}), int64(0)
		m := newMerger(1, func(*record.Record, []byte) {})
		for b.Loop() {
			var in batch
			if err := decode(sent, &in); err != nil {
				b.Fatal(err)
			}
			in.N = n
			n++
			m.add(&in)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(all)), "ns/record")
		b.ReportMetric(float64(len(sent))/float64(len(all)), "bytes/record")
	})
}
