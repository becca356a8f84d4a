package capture

import (
	"testing"

	"github.com/kx-apiserver/kx/tui/screen"
)

// TestReplay leads with a request to the screen that sends it.
func TestReplay(t *testing.T) {
	h, s := shown(t)
	for _, key := range []string{"r", "R"} {
		h.Press(key)
		to, ok := h.Went[len(h.Went)-1].(screen.ToSend)
		row := s.list.Selected()
		if !ok || to.Method != row.Spec.Method || to.URI != row.Spec.URI || to.Held != (key == "R") {
			t.Errorf("%s led to %+v from %+v", key, h.Went, row.Spec)
		}
	}
	s.open.journey = nil
	h.Press("r")
	if len(h.Went) != 3 {
		t.Errorf("a request whose steps are not there leads to %v, complained %q", h.Went, h.Complained)
	}
	s.open.journey = nil
	h.Gone(true)
	h.Press("r")
	if len(h.Complained) == 0 {
		t.Error("nobody is told that the request can't be fetched")
	}
}
