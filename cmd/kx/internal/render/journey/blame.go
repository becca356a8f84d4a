package journey

import (
	"fmt"
	"io"

	"github.com/kx-apiserver/kx/core/blame"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/draw"
)

// Blame writes which steps changed the field at a path.
func Blame(out io.Writer, j *v1alpha1.Journey, path string, changes []blame.Change, p Paint) {
	fmt.Fprintln(out, head(j, p))
	if len(changes) == 0 {
		fmt.Fprintln(out, "  "+p.words.Phrase("no step changed %s", draw.Clean(path)))
		return
	}
	show := func(v string) string {
		if v == "" {
			return p.words.Phrase("nothing")
		}
		return draw.Clean(v)
	}
	for _, c := range changes {
		fmt.Fprintf(out, "  %s → %s  %s\n", p.bad(show(c.Before)), p.good(show(c.After)), p.bold(p.words.Who(c.Who)))
		fmt.Fprintf(out, "      %s %s (%s:%d)\n", p.layer(draw.Clean(c.Step.ID)), draw.Clean(c.Step.Function), draw.Clean(c.Step.File), c.Step.Line)
		if why := p.words.Why(c.Step); why != "" {
			fmt.Fprintf(out, "      %s\n", p.notes(draw.Clean(why)))
		}
	}
}
