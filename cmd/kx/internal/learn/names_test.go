package learn

import (
	"testing"
	"testing/fstest"

	"github.com/kx-apiserver/kx/core/lesson"
)

// TestUnknown: what a text names must be there.
func TestUnknown(t *testing.T) {
	known := KnownNames{Flag: func(name string) bool { return name == "trace" }}
	for _, c := range []struct {
		text string
		bad  bool
	}{
		{"`crdHandler.ServeHTTP` calls `getOrCreateServingInfoFor`, and `(*Store).Get` follows", false},
		{"`crdHandler.ServeHTML`", true},
		{"`getOrCreateServiceInfoFor()`", true},
		{"`Store.Gett`", true},
		{"`kx get configmap x --trace`", false},
		{"`kx get configmap x --tarce`", true},
		{"`store.try-update`, `metadata.resourceVersion`, `default`, `a.b`, `CronTab`", false},
		{"`store.try-updat`", true},
		{"[there](there.md), [below](there.md#x), [here](#x), [elsewhere](https://example.com/x)", false},
		{"[nowhere](nowhere.md)", true},
		{"```sh\n`kx --tarce`\n```", false},
	} {
		l := &lesson.Lesson{Parts: []lesson.Part{lesson.Text{Line: 1, Markdown: c.text}, lesson.Run{Line: 9, ID: "x", Script: "kx get CronTab"}}}
		e := Entry{Lesson: l, File: "learn/en/x.md", Files: fstest.MapFS{"learn/en/there.md": {}}}
		if got := unknown(e, known); (len(got) > 0) != c.bad {
			t.Errorf("%s: %q", c.text, got)
		}
	}
}
