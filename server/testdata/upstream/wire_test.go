package upstream

import (
	"fmt"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"

	"github.com/kx-apiserver/kx/server/internal/wiretest"
)

// itemKind is what items of a list say of themselves, since here upstream's internal types are the external ones: a real
// kube-apiserver's don't.
var itemKind = regexp.MustCompile(`([\[,])\{"kind":"ConfigMap","apiVersion":"v1",`)

// TestWire sends the requests of kx's transcripts. One that upstream answers otherwise says so: "ask upstream=otherwise",
// and a comment says how.
func TestWire(t *testing.T) {
	s := startUpstream(t)
	c := &wiretest.Client{URL: s.URL, Admin: s.Client(), Anyone: s.Client()}
	var wrong []string // datadriven would stop at the first
	datadriven.Walk(t, filepath.Join("..", "wire"), func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			got := itemKind.ReplaceAllString(c.Ask(t, d.Input), "$1{")
			switch otherwise := d.HasArg("upstream"); {
			case otherwise && got == d.Expected:
				wrong = append(wrong, fmt.Sprintf("%s: upstream answers as kx does, although the transcript says that it does not", d.Pos))
			case !otherwise && got != d.Expected:
				wrong = append(wrong, fmt.Sprintf("%s\n%s\n%s", d.Pos, d.Input, cmp.Diff(d.Expected, got)))
			}
			return d.Expected // go on with the next one
		})
	})
	for _, w := range wrong {
		t.Error(w)
	}
}
