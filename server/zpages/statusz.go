package zpages

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
)

// Status is the content of /statusz.
type Status struct {
	// Start is the start time of the server.
	Start time.Time
	// Go is the version of the compiler, Binary that of the server, and Emulation the minor version whose
	// behavior it emulates.
	Go, Binary, Emulation string
	// Paths lists the server's paths. The page shows the first part of each, except those of the API itself.
	Paths []string
}

type statusz struct {
	object           `json:",inline"`
	StartTime        string   `json:"startTime"`
	UptimeSeconds    int64    `json:"uptimeSeconds"`
	GoVersion        string   `json:"goVersion"`
	BinaryVersion    string   `json:"binaryVersion"`
	EmulationVersion string   `json:"emulationVersion,omitempty"`
	Paths            []string `json:"paths,omitempty"`
}

// NewStatusz creates the handler of /statusz. errors writes errors.
func NewStatusz(s Status, errors runtime.NegotiatedSerializer) http.Handler {
	s.Start = s.Start.Truncate(time.Second).UTC()
	s.Paths = roots(s.Paths)
	return &page{
		kind: "Statusz", errors: errors,
		text: func(w io.Writer) {
			up := s.uptime()
			fmt.Fprintf(w,
				"\nStarted: %s\nUp: %d hr %02d min %02d sec\nGo version: %s\nBinary version: %s\nEmulation version: %s\nPaths: %s\n",
				s.Start.Format(time.UnixDate), up/3600, up/60%60, up%60, s.Go, s.Binary, s.Emulation, strings.Join(s.Paths, " "))
		},
		structured: func(o object) any {
			return statusz{o, s.Start.Format(time.RFC3339), s.uptime(), s.Go, s.Binary, s.Emulation, s.Paths}
		},
	}
}

func (s *Status) uptime() int64 { return max(0, int64(time.Since(s.Start).Seconds())) }

// aboutAPI lists the first parts of paths that are unrelated to the server's state.
var aboutAPI = []string{"/apis", "/api", "/openid", "/openapi", "/.well-known"}

// roots returns the first parts of paths, each once, in order.
func roots(paths []string) []string {
	var found []string
	for _, path := range paths {
		first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
		if first = "/" + first; first != "/" && !slices.Contains(aboutAPI, first) {
			found = append(found, first)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}
