package mask

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Masked replaces a text that may quote a secret.
const Masked = "(masked)"

// Answer is an error whose Status only the client may read, since it may quote a secret: the error's text is for
// journeys, logs and the audit log.
type Answer struct {
	*apierrors.StatusError
	text string
}

// ForClient returns an error with a Status for the client. Everything else gets the text.
func ForClient(status *apierrors.StatusError, text string) *Answer { return &Answer{status, text} }

func (a *Answer) Error() string { return a.text }

func (a *Answer) Unwrap() error { return a.StatusError }

// IsForClient says whether only the client may read the Status of an error.
func IsForClient(err error) bool {
	var answer *Answer
	return errors.As(err, &answer)
}
