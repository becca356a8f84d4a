package capture

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/tui/control"
	"github.com/kx-apiserver/kx/tui/internal/tuitest"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/screen/screentest"
)

// TestNamedFilters keeps a filter under a name, and takes it in the next run.
func TestNamedFilters(t *testing.T) {
	run := func(kept []byte) (*screentest.Host, *Screen) {
		h := screentest.New(t, tuitest.New(t))
		s := New(h, control.New(h.API(), h.Changed, h.Guard), Options{})
		t.Cleanup(s.held.Close)
		if kept != nil {
			if err := s.Restore(kept); err != nil {
				t.Fatal(err)
			}
		}
		h.Attach(s)
		return h, s
	}
	h, s := run(nil)
	if why := s.whyNoNamed(); !strings.Contains(why, "/ types one") {
		t.Errorf("nothing is kept: %q", why)
	}
	s.follow("code>=400")
	h.Press(keys.NamedFilters.Key())
	h.Take("keep the filter under a name")
	h.Answer("failed")
	if got := strings.Join(h.Said, "\n"); !strings.Contains(got, "kept as failed") {
		t.Errorf("said: %q", got)
	}
	s.follow("")
	kept, err := json.Marshal(s.Keep())
	if err != nil {
		t.Fatal(err)
	}
	h, s = run(kept)
	if s.applied != "" {
		t.Errorf("the filter %q is on", s.applied)
	}
	h.Press(keys.NamedFilters.Key())
	h.Take("failed")
	if s.applied != "code>=400" {
		t.Errorf("the filter that was kept is not on: %q", s.applied)
	}
	if _, err := s.namedAs("faild"); err == nil || !strings.Contains(err.Error(), "no filter is called faild: there is failed") {
		t.Errorf("a name that is not there: %v", err)
	}
	h.Press(keys.NamedFilters.Key())
	h.Take("forget failed")
	if len(s.named) != 0 {
		t.Errorf("kept are still %q", s.named)
	}
}
