package mask

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Request is the part of a request that decides whether it is confidential.
type Request struct{ Group, Resource, Subresource string }

// Confidential says whether a request's bodies may hold secrets.
func Confidential(r Request) bool {
	switch r.Group {
	case "":
		return r.Resource == "secrets" || r.Resource == "serviceaccounts" && r.Subresource == "token"
	case "authentication.k8s.io":
		return r.Resource == "tokenreviews"
	case "kx.dev":
		return r.Resource == "journeys" && r.Subresource == "step"
	}
	return false
}

// Error masks a confidential request's error.
func Error(err error) string {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return errorOfContext(err).Error()
	}
	var carrier apierrors.APIStatus
	if errors.As(err, &carrier) {
		status := carrier.Status()
		return message(&status)
	}
	return fmt.Sprintf("masked: an error of type %T, which may quote what is secret", err)
}

func errorOfContext(err error) error {
	if errors.Is(err, context.Canceled) {
		return context.Canceled
	}
	return context.DeadlineExceeded
}

// message masks the message of a confidential request's Status.
func message(s *metav1.Status) string {
	if s.Message == "" || s.Status == metav1.StatusSuccess || composed(s) {
		return s.Message
	}
	if denial(s) {
		return fmt.Sprintf("masked: the message of a %d, with which a webhook or a policy denied the request", s.Code)
	}
	reason := s.Reason
	if reason == "" {
		reason = "no reason"
	}
	return fmt.Sprintf("masked: the message of a %d (%s), which may quote what is secret", s.Code, reason)
}

// denial says whether a webhook or a policy made the Status: they choose its reason, and may quote the object.
func denial(s *metav1.Status) bool {
	return strings.Contains(s.Message, "denied the request") || strings.Contains(s.Message, "denied request")
}

// composed says whether the message has only constants, the resource and the name.
func composed(s *metav1.Status) bool {
	if denial(s) {
		return false
	}
	switch s.Reason {
	case metav1.StatusReasonUnauthorized, metav1.StatusReasonForbidden, metav1.StatusReasonNotFound, metav1.StatusReasonAlreadyExists,
		metav1.StatusReasonGone, metav1.StatusReasonExpired, metav1.StatusReasonTimeout, metav1.StatusReasonServerTimeout,
		metav1.StatusReasonTooManyRequests, metav1.StatusReasonMethodNotAllowed, metav1.StatusReasonNotAcceptable,
		metav1.StatusReasonUnsupportedMediaType, metav1.StatusReasonRequestEntityTooLarge, metav1.StatusReasonServiceUnavailable:
		return true
	case metav1.StatusReasonConflict: // of field managers it names fields
		return s.Details == nil || len(s.Details.Causes) == 0
	}
	return false
}

// Status masks a confidential request's Status.
func Status(s *metav1.Status) *metav1.Status {
	out := *s
	out.Message = message(s)
	if s.Details != nil && len(s.Details.Causes) > 0 {
		details := *s.Details
		details.Causes = nil
		out.Details = &details
	}
	return &out
}
