package doubt

import (
	"errors"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/kx-apiserver/kx/core/trace"
)

// Doubt is the reason why one authenticator does not know a credential.
type Doubt struct {
	Why trace.Reason
	// Text fills the placeholder of Why.
	Text string
}

// Of returns a doubt.
func Of(why trace.Reason, text string) error { return &Doubt{Why: why, Text: text} }

func (d *Doubt) Error() string { return d.Why.Fill(d.Text) }

// Split separates the doubts of an error from the rest, which is nil if there are only doubts.
func Split(err error) (doubts []*Doubt, rest error) {
	var others []error
	var walk func(error)
	walk = func(err error) {
		var d *Doubt
		var several utilerrors.Aggregate
		switch {
		case err == nil:
		case errors.As(err, &several):
			for _, one := range several.Errors() {
				walk(one)
			}
		case errors.As(err, &d):
			doubts = append(doubts, d)
		default:
			others = append(others, err)
		}
	}
	walk(err)
	return doubts, utilerrors.NewAggregate(others)
}
