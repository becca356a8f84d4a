package journey

import (
	"bytes"
	"errors"
	"io/fs"
	"slices"
	"testing"

	"github.com/kx-apiserver/kx/cmd/kx/internal/render"
	"github.com/kx-apiserver/kx/core/blame"
	"github.com/kx-apiserver/kx/core/capture/capturetest"
	"github.com/kx-apiserver/kx/core/escape/escapetest"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/lang"
	"github.com/kx-apiserver/kx/core/refusal"
)

// FuzzText writes the journeys of a recorded capture that was changed in every way that commands do, for a plain terminal.
func FuzzText(f *testing.F) {
	for _, recipe := range capturetest.Seeds() {
		f.Add(recipe)
	}
	f.Fuzz(func(t *testing.T, recipe []byte) {
		capturetest.Watch(t)
		all := capturetest.Read(capturetest.Changed(recipe))
		in := []lang.Language{lang.English, lang.Chinese}[len(recipe)/4%2]
		for i, j := range all {
			var b bytes.Buffer
			written(t, &b, j, all[(i+1)%len(all)], all, Plain.WithLanguage(in))
			if raw := escapetest.Find(b.String(), "\n"); raw != "" {
				t.Fatalf("the text has %s", raw)
			}
		}
	})
}

// written writes a journey in every way.
func written(t *testing.T, b *bytes.Buffer, j, other *v1alpha1.Journey, all []*v1alpha1.Journey, p Paint) {
	t.Helper()
	others := refusal.RelatedRequests(j, slices.Values(all))
	none := func(string) (string, error) { return "", fs.ErrNotExist }
	lines := func(string) (string, error) { return "func f() {\n\ttrace.\n}\n", nil }
	_ = Fits(j, lines)
	Brief(b, j, p)
	Tree(b, j, others, p)
	Tree(b, j, others, p.WithWidth(80))
	Objects(b, j, others, p, 200)
	Source(b, j, none, p)
	Source(b, j, lines, p)
	Story(b, j, others, p)
	Compare(b, j, other, p)
	Causes(b, all, errors.New("no more"), p)
	for _, path := range []string{"data.k", "metadata.labels", "metadata.annotations[a]", "spec[0]"} {
		if changes, err := blame.FindChanges(j, path); err == nil {
			Blame(b, j, path, changes, p)
		}
	}
	if _, err := blame.Journey(j); err == nil {
		for i := range min(len(j.Status.Steps), 5) {
			_, _ = blame.Step(j, i)
		}
	}
	err := errors.Join(Line(b, j, p), render.WriteOne(b, render.JSON, j), render.WriteOne(b, render.YAML, j),
		render.WriteOne(b, render.JSON, Pairs(j, other)))
	if err != nil {
		t.Fatal(err)
	}
}
