package bearer

import (
	"errors"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/kx-apiserver/kx/core/trace"
)

// Doubt is the reason why one authenticator does not know a credential, where the client gets no explanation.
//
// A Kubernetes API server has three results for a token: valid, broken, or unknown. It gives no reason for the last
// one. Here it does: an authenticator returns a Doubt as its error. Package authn adds doubts to the step of the
// journey and to the log. The client gets the text of a kube-apiserver.
type Doubt struct {
	Why trace.Reason
	// Text fills the placeholder of Why.
	Text string
}

// NewDoubt returns a doubt.
func NewDoubt(why trace.Reason, text string) error { return &Doubt{Why: why, Text: text} }

func (d *Doubt) Error() string { return d.Why.Fill(d.Text) }

// SplitDoubts separates the doubts of an error from the rest, which is nil if there are only doubts.
func SplitDoubts(err error) (doubts []*Doubt, rest error) {
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
