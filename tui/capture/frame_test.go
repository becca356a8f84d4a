package capture

import (
	"testing"

	"github.com/muesli/termenv"

	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/theme"
)

// BenchmarkFrame moves through the steps of a request with Diff and Source beside them, in colours: a frame for each key.
func BenchmarkFrame(b *testing.B) {
	h, s := linked(b, "rec-7")
	h.Look = theme.NewTheme(theme.Dark, termenv.TrueColor)
	h.Size(200, 56)
	for _, to := range []struct{ pane, key string }{{"steps", "enter"}, {"diff", "d"}, {"source", "v"}} {
		h.Press(to.key)
		b.Run(to.pane, func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				if i%20 < 10 {
					s.Handle(keys.Down)
				} else {
					s.Handle(keys.Up)
				}
				s.Render()
			}
		})
	}
}
