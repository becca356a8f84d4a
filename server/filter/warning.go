package filter

import (
	"context"
	"fmt"
	"net/http"
	"sync"

	"k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apiserver/pkg/warning"

	"github.com/kx-apiserver/kx/core/escape"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
)

// WithWarningRecorder collects warnings from the layers below, and sends them as Warning headers.
func WithWarningRecorder(next Handler, _ *Config) Handler {
	return func(ctx context.Context, w http.ResponseWriter, r *http.Request) {
		ctx, step := trace.Start(ctx, steps.FilterWarnings, "")
		ctx = warning.WithWarningRecorder(ctx, &warnings{w: w})
		step.End(nil)
		next(ctx, w, r)
	}
}

// These limit the size of the headers of one response. Above the first, long texts are cut; above the second, further
// warnings are left out.
const (
	warningsCutBytes = 4 << 10
	warningsMaxBytes = 16 << 10
	warningCutRunes  = 256
)

// warnings adds Warning headers to a response before it is sent, each text once. mu guards seen and bytes.
type warnings struct {
	w http.ResponseWriter

	mu    sync.Mutex
	seen  map[string]bool
	bytes int
}

func (ws *warnings) AddWarning(agent, text string) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if res := responseOf(ws.w); text == "" || ws.seen[text] || res != nil && res.code != 0 {
		return
	}
	if ws.seen == nil {
		ws.seen = map[string]bool{}
	}
	ws.seen[text] = true
	text = escape.Line(text) // the library would drop a warning with a control character
	if runes := []rune(text); ws.bytes > warningsCutBytes && len(runes) > warningCutRunes {
		text = fmt.Sprintf("%s...", string(runes[:warningCutRunes]))
	}
	if agent == "" {
		agent = "-"
	}
	header, err := net.NewWarningHeader(299, agent, text)
	if err != nil || ws.bytes+len(header) > warningsMaxBytes {
		return
	}
	ws.bytes += len(header)
	ws.w.Header().Add("Warning", header)
}
