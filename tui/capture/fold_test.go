package capture

import (
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/control"
	"github.com/kx-apiserver/kx/tui/internal/tuitest"
	"github.com/kx-apiserver/kx/tui/screen/screentest"
)

// TestFold counts discovery beside the filter, and shows it when that is asked for.
func TestFold(t *testing.T) {
	server := tuitest.New(t)
	h := screentest.New(t, server)
	held := control.New(h.API(), h.Changed, h.Guard)
	t.Cleanup(held.Close)
	s := New(h, held, Options{})
	h.Attach(s)
	recorded := tuitest.Recorded(t, "../pane/testdata/journeys.json")
	server.Put(recorded[0])
	for _, uri := range []string{"/api", "/apis", "/openapi/v3"} {
		j := recorded[0].DeepCopy()
		j.Name, j.Spec = "asks"+strings.ReplaceAll(uri, "/", "-"), v1alpha1.JourneySpec{Method: "GET", URI: uri, Verb: "get"}
		j.Status.Code = 200
		server.Put(j)
	}
	h.Until("one is listed and three are counted", func() bool { return s.ring.Len() == 1 && s.ring.Folded() == 3 })
	if frame := strings.Join(h.Frame(120, 36), "\n"); !strings.Contains(frame, "3 of clients' discovery hidden: . shows them") || strings.Contains(frame, "/openapi") {
		t.Errorf("%s", frame)
	}
	h.Press(".")
	h.Until("all are listed", func() bool { return s.ring.Len() == 4 && s.ring.Folded() == 0 })
	h.Press(".")
	h.Until("they are hidden again", func() bool { return s.ring.Len() == 1 && s.ring.Folded() == 3 })
	s.follow("method:GET")
	h.Until("a filter has what it wants", func() bool { return s.ring.Len() >= 3 && s.ring.Folded() == 0 })
	if why := s.whyNoFold(); why == "" {
		t.Error("what a filter shows can be folded")
	}
}
