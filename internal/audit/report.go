package audit

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"aiperf.dev/aiperf/internal/diag"
)

// Report is what a client says of its measured requests: figures by metric and statistic, with
// the names and units that metrics have here. A run's only value stands under avg.
type Report map[string]map[string]float64

// says is a figure; nil where the client does not say it.
func (r Report) says(metric, stat string) *float64 {
	if v, ok := r[metric][stat]; ok {
		return &v
	}
	return nil
}

// formats read reports, by the name that recipes have for them.
var formats = map[string]func(dir string) (Report, error){
	"aiperf": readAIPerf,
}

// Formats are the names of formats.
func Formats() []string {
	var out []string
	for name := range formats {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// mostReport bounds what is read of a report, in bytes.
const mostReport = 64 << 20

// readAIPerf reads profile_export_aiperf.json, which AIPerf and this program write.
func readAIPerf(dir string) (Report, error) {
	var found string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == "profile_export_aiperf.json" && found == "" {
			found = path
		}
		return err
	})
	if err == nil && found == "" {
		err = diag.New(dir+": holds no profile_export_aiperf.json", "does the command write into {out}?")
	}
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(found)
	if err == nil && info.Size() > mostReport {
		err = errors.New("larger than 64 MiB")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", found, err)
	}
	b, err := os.ReadFile(found)
	if err != nil {
		return nil, err
	}
	return parseAIPerf(found, b)
}

func parseAIPerf(path string, b []byte) (Report, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(b, &members); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	out := Report{}
	for metric, text := range members {
		var stats map[string]any
		if json.Unmarshal(text, &stats) != nil || stats["unit"] == nil {
			continue // what is no metric
		}
		out[metric] = map[string]float64{}
		for stat, v := range stats {
			if f, ok := v.(float64); ok {
				out[metric][stat] = f
			}
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s: holds no metrics", path)
	}
	return out, nil
}
