package handler

import apierrors "k8s.io/apimachinery/pkg/api/errors"

// maskedError is an error whose Status says more to the client than traces and logs may know: it shows the client what it
// sent, which may hold a secret. They get its text.
type maskedError struct {
	*apierrors.StatusError
	text string
}

func (e *maskedError) Error() string { return e.text }

func (e *maskedError) Unwrap() error { return e.StatusError }
