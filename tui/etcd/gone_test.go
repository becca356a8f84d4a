package etcd

import (
	"testing"

	"github.com/kx-apiserver/kx/tui/screen/screentest"
)

// TestGone reads all again when the server is back: the keys, a key's history, and its value.
func TestGone(t *testing.T) {
	h := screentest.New(t, screentest.Recorded(t, "testdata/answers.json"))
	s := New(h)
	h.Gone(true)
	h.Attach(s)
	h.Shows("! no answer", "Choose a key: its revisions are shown here", "same as kx etcd ls")
	h.Gone(false)
	sees(t, h, "registry/")
	to(t, h, s, settings)
	sees(t, h, "kind: ConfigMap")
	clear(s.chosen.values)
	h.Gone(true)
	h.Press("ctrl+r")
	h.Run(s.fetch())
	h.Shows("Revisions /registry/configmaps/default/settings", "! The server does not answer. It is asked again by itself.")
	h.Gone(false)
	sees(t, h, "kind: ConfigMap")
}
