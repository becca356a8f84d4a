package export

import (
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/cmd/kx/internal/render"
	"github.com/kx-apiserver/kx/core/capture/capturetest"
	"github.com/kx-apiserver/kx/core/escape/escapetest"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/lang"
	"github.com/kx-apiserver/kx/core/refusal"
)

// FuzzDocument writes a recorded capture that was changed in each form, and reads what was written.
func FuzzDocument(f *testing.F) {
	for _, recipe := range capturetest.Seeds() {
		f.Add(recipe)
	}
	f.Fuzz(func(t *testing.T, recipe []byte) {
		capturetest.Watch(t)
		all := capturetest.Read(capturetest.Changed(recipe))
		d := &Document{Server: "https://127.0.0.1:7443", Saved: saved, Journeys: all, Others: map[string][]*v1alpha1.Journey{}, Files: files}
		for _, j := range all {
			d.Others[j.Name] = refusal.RelatedRequests(j, slices.Values(all))
		}
		d.Language = []lang.Language{lang.English, lang.Chinese}[len(recipe)/4%2]
		for _, as := range forms {
			written := write(t, as, d)
			if raw := escapetest.Find(written, "\n"); raw != "" {
				t.Fatalf("%s has %s", as, raw)
			}
			if len(written) > most {
				t.Fatalf("%s has %d bytes", as, len(written))
			}
			read[as](t, written)
		}
	})
}

// read reads a document as who opens it does.
var read = map[render.Format]func(t *testing.T, written string){
	Markdown: func(t *testing.T, written string) { outline(t, written) },
	HTML: func(t *testing.T, written string) {
		balanced(t, written)
		if strings.Count(elements(t, written), "<script") != 1 {
			t.Errorf("the page has another script")
		}
		capturetest.Read([]byte(written))
	},
	SVG: func(t *testing.T, written string) {
		for d := xml.NewDecoder(strings.NewReader(written)); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				return
			} else if err != nil {
				t.Fatal(err)
			}
		}
	},
}
