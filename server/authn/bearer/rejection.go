package bearer

import (
	"errors"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/kx-apiserver/kx/core/trace"
)

// Rejection is the reason why one authenticator does not know a credential, where the client gets no explanation.
//
// A Kubernetes API server has three results for a token: valid, broken, or unknown. It gives no reason for the last
// one. Here it does: an authenticator returns a Rejection as its error. Package authn adds rejections to the step of
// the journey and to the log. The client gets the text of a kube-apiserver.
type Rejection struct {
	Why trace.Reason
	// Text fills the placeholder of Why.
	Text string
}

// NewRejection returns a rejection.
func NewRejection(why trace.Reason, text string) error { return &Rejection{Why: why, Text: text} }

func (r *Rejection) Error() string { return r.Why.Fill(r.Text) }

// SplitRejections separates the rejections of an error from the rest, which is nil if there are only rejections.
func SplitRejections(err error) (rejections []*Rejection, rest error) {
	var others []error
	var walk func(error)
	walk = func(err error) {
		var r *Rejection
		var several utilerrors.Aggregate
		switch {
		case err == nil:
		case errors.As(err, &several):
			for _, one := range several.Errors() {
				walk(one)
			}
		case errors.As(err, &r):
			rejections = append(rejections, r)
		default:
			others = append(others, err)
		}
	}
	walk(err)
	return rejections, utilerrors.NewAggregate(others)
}
