package negotiation

import (
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NewNotAcceptableError returns the 406 for a client that accepts none of the available media types.
func NewNotAcceptableError(accepted []string) error {
	return NewNotAcceptableMessage("only the following media types are accepted: " + strings.Join(accepted, ", "))
}

// NewNotAcceptableMessage returns a 406 for another reason.
func NewNotAcceptableMessage(message string) error {
	return failure(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable, message)
}

// NewUnsupportedMediaTypeError returns the 415 for a body of an unknown media type.
func NewUnsupportedMediaTypeError(accepted []string) error {
	return failure(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType, fmt.Sprintf(
		"the body of the request was in an unknown format - accepted media types include: %s", strings.Join(accepted, ", ")))
}

func failure(code int32, reason metav1.StatusReason, message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message,
	}}
}
