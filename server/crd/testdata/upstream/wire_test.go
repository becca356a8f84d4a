package upstream

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"

	"github.com/kx-apiserver/kx/server/internal/crdtest"
)

// controllers is what upstream's own controllers, which are clients by the name of this program, are noted to own. kx's
// write without a field manager.
var controllers = regexp.MustCompile(`,?\{"manager":"[a-z]+\.test".*?"subresource":"status"\}`)

// TestWire sends the requests of the transcripts to upstream, whose answers are the expected ones, and to kx. "ask
// kx=otherwise" says that kx's answer differs, and a comment says why.
func TestWire(t *testing.T) {
	up, kx := startUpstream(t), startKX(t)
	var wrong []string // datadriven would stop at the first
	datadriven.Walk(t, filepath.Join("..", "wire"), func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			want := whenFilled(func() string { return crdtest.Wire(t, up, d) })
			want = strings.ReplaceAll(controllers.ReplaceAllString(want, ""), "[,", "[")
			got := crdtest.Wire(t, kx, d)
			switch otherwise := d.HasArg("kx"); {
			case otherwise && got == want:
				wrong = append(wrong, fmt.Sprintf("%s: kx answers as upstream does, although the transcript says that it does not", d.Pos))
			case !otherwise && got != want:
				wrong = append(wrong, fmt.Sprintf("%s\n%s\n-upstream +kx\n%s", d.Pos, d.Input, cmp.Diff(want, got)))
			}
			return want
		})
	})
	for _, w := range wrong {
		t.Error(w)
	}
}

// whenFilled asks until upstream's watch cache is filled: it begins with that at the first request for a kind, and refuses
// lists meanwhile.
func whenFilled(ask func() string) string {
	for {
		answer := ask()
		if !strings.Contains(answer, "storage is (re)initializing") {
			return answer
		}
	}
}
