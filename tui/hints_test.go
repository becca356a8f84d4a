package tui

import (
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
)

// TestHintsOfHeld looks at what the hints say of a request that is held: first of all where its keys lead, as far as there
// is room.
func TestHintsOfHeld(t *testing.T) {
	d := newDriver(t)
	d.send(tea.WindowSizeMsg{Width: 120, Height: 40})
	d.put("12")
	for _, j := range d.recorded {
		if strings.HasSuffix(j.Name, "-12") {
			held := j.DeepCopy()
			held.Name, held.ResourceVersion = "held-1", ""
			held.Status.Phase = v1alpha1.JourneyHeld
			held.Status.Held = []v1alpha1.HeldStep{{
				Step: 14, ID: held.Status.Steps[14].ID, At: v1alpha1.AtStart, Since: metav1.MicroTime{Time: j.Status.Started.Time},
				Actions: []v1alpha1.JourneyAction{v1alpha1.ActionNext, v1alpha1.ActionDelay},
			}}
			d.server.Put(held)
		}
	}
	d.until("it is there", func() bool { return d.requests() == 2 && strings.Contains(d.part("state"), "next as in") })
	for w, want := range map[int][2]string{
		120: {
			" n to its end  i to handler.decode  c continue  > run to a step  enter open  / filter",
			" PAUSED  held-1 at 15 handler.update   what if:  x steal the revision  X break this step   next as in 642e7f-12\n",
		},
		80: {" n to its end  i to handler.decode  c continue", " PAUSED  held-1 at 15 handler.update   what if:  X break this step\n"},
	} {
		d.send(tea.WindowSizeMsg{Width: w, Height: 40})
		if hints, state := d.part("hints"), d.part("state"); !strings.HasPrefix(hints, want[0]) || state != want[1] {
			t.Errorf("%d: %q, %q", w, hints, state)
		}
	}
}

// TestHintOfRefusal says which key leads to the card of a refused request, where that is out of view.
func TestHintOfRefusal(t *testing.T) {
	d := newDriver(t)
	d.put("14")
	for w, want := range map[int]bool{120: false, 80: true} {
		d.send(tea.WindowSizeMsg{Width: w, Height: 24})
		if hints := d.part("hints"); strings.HasPrefix(hints, " P why") != want {
			t.Errorf("%d: %q", w, hints)
		}
	}
}
