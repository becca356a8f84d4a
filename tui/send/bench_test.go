package send

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/screen/screentest"
)

// BenchmarkType types a character into bodies of several sizes, and draws the screen.
func BenchmarkType(b *testing.B) {
	for _, bytes := range []int{1 << 10, 32 << 10, 60 << 10, 900 << 10} {
		b.Run(size(int64(bytes)), func(b *testing.B) {
			h := screentest.New(b, newFakeServer(b))
			s := New(h, nil)
			h.Attach(s)
			var body strings.Builder
			body.WriteString("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n")
			for i := 0; body.Len() < bytes; i++ {
				fmt.Fprintf(&body, "  key-%d: some value  # a comment\n", i)
			}
			s.body.Reset(body.String())
			s.Focus(textContext)
			s.SetSize(120, 36)
			b.ResetTimer()
			for range b.N {
				s.Type([]rune("x"))
				s.Render()
				s.Foot()
				s.Handle(keys.EditBackspace)
				s.Render()
				s.Foot()
			}
		})
	}
}
