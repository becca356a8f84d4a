package journey

import (
	"fmt"
	"io"
	"time"

	"github.com/kx-apiserver/kx/core/blame"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/tui/draw"
)

// Causes writes why a request was made: the server's decision, and the request whose write caused it, and so on up to
// a client's request. unknown explains why the chain ends earlier.
func Causes(out io.Writer, chain []*v1alpha1.Journey, unknown error, p Paint) {
	for i, j := range chain {
		fmt.Fprintln(out, head(j, p))
		if len(j.Status.Steps) > 0 && j.Status.Steps[0].ID == steps.ControllerDecide.String() {
			if why := p.words.Why(j, &j.Status.Steps[0]); why != "" {
				fmt.Fprintf(out, "  %s %s\n", p.bold(draw.Clean(j.Spec.UserAgent)+":"), p.notes(draw.Clean(why)))
			}
		}
		switch c := j.Status.Cause; {
		case c == nil:
			fmt.Fprintln(out,
				"  "+p.words.Phrase("a client asked for it: %s, with %s", draw.Clean(j.Spec.User), draw.Clean(j.Spec.UserAgent)))
		case i < len(chain)-1:
			fmt.Fprintln(out, "  "+p.words.Phrase("because of revision %d, which this request wrote:", c.Revision))
		default:
			fmt.Fprintln(out,
				"  "+p.words.Phrase("because of revision %d, of which no more is known: %s", c.Revision, draw.Clean(unknown.Error())))
		}
	}
}

// Blame writes the steps that changed the field at a path.
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
		fmt.Fprintf(out, "      %s %s (%s:%d)\n", p.layer(draw.Clean(c.Step.ID)), draw.Clean(c.Step.Function), draw.Clean(c.Step.File),
			c.Step.Line)
		if why := p.words.Why(j, c.Step); why != "" {
			fmt.Fprintf(out, "      %s\n", p.notes(draw.Clean(why)))
		}
	}
}

// Owners writes the managers of a field according to the object.
func Owners(out io.Writer, object, path, value string, owners []blame.Owner, p Paint) {
	fmt.Fprintf(out, "%s  %s  %s\n", p.bold(draw.Clean(object)), draw.Clean(path), p.good(draw.Clean(value)))
	if len(owners) == 0 {
		fmt.Fprintln(out, "  "+p.words.Phrase("nobody manages it: a default, admission or an old version of the server set it"))
	}
	for _, o := range owners {
		by := o.Operation
		if o.Subresource != "" {
			by += ", " + o.Subresource
		}
		if o.Time != nil {
			by += ", " + o.Time.UTC().Format(time.DateTime)
		}
		fmt.Fprintf(out, "  %s  %s\n", p.bold(draw.Clean(o.Manager)), p.notes(draw.Clean(by)))
	}
}
