package negotiation

import (
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NewNotAcceptableError says that no answer can be given in what the client accepts: 406.
func NewNotAcceptableError(accepted []string) error {
	return NewNotAcceptableMessage("only the following media types are accepted: " + strings.Join(accepted, ", "))
}

// NewNotAcceptableMessage is a 406 for another reason.
func NewNotAcceptableMessage(message string) error {
	return failure(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable, message)
}

// NewUnsupportedMediaTypeError says that the body can't be read: 415.
func NewUnsupportedMediaTypeError(accepted []string) error {
	return failure(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType, fmt.Sprintf(
		"the body of the request was in an unknown format - accepted media types include: %s", strings.Join(accepted, ", ")))
}

func failure(code int32, reason metav1.StatusReason, message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message,
	}}
}
