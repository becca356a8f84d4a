package responsewriters

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/escape"
	"github.com/kx-apiserver/kx/core/mask"
	"github.com/kx-apiserver/kx/store"
)

// ErrorToAPIStatus returns the Status of any error. An error that carries no Status is the server's fault, and is
// logged.
func ErrorToAPIStatus(ctx context.Context, err error) *metav1.Status {
	var carrier apierrors.APIStatus
	if !errors.As(err, &carrier) {
		return EscapedStatus(unexpectedStatus(ctx, err))
	}
	status := carrier.Status()
	if status.Status == "" {
		status.Status = metav1.StatusFailure
	}
	if status.Code == 0 {
		status.Code = http.StatusInternalServerError
		if status.Status == metav1.StatusSuccess {
			status.Code = http.StatusOK
		}
	}
	status.Kind, status.APIVersion = "Status", "v1"
	return EscapedStatus(&status)
}

// EscapedStatus returns a Status that is safe to print on a terminal: its texts may quote a webhook or another client.
// The object's name stays as the client sent it, because programs read it; the message has it in escaped form.
func EscapedStatus(s *metav1.Status) *metav1.Status {
	out := *s
	out.Message = escape.Text(s.Message)
	if s.Details == nil {
		return &out
	}
	details := *s.Details
	details.Causes = slices.Clone(details.Causes)
	for i := range details.Causes {
		c := &details.Causes[i]
		c.Message, c.Field = escape.Text(c.Message), escape.Line(c.Field)
	}
	out.Details = &details
	return &out
}

// forLog returns the form of an error that the log may hold, depending on the request in ctx.
func forLog(ctx context.Context, err error) error {
	info, ok := request.RequestInfoFrom(ctx)
	if ok && mask.Confidential(mask.Request{Group: info.APIGroup, Resource: info.Resource, Subresource: info.Subresource}) {
		return errors.New(mask.Error(err))
	}
	return err
}

// unexpectedStatus returns the Status of an error that carries none.
func unexpectedStatus(ctx context.Context, err error) *metav1.Status {
	code := http.StatusInternalServerError
	if store.IsConflict(err) {
		code = http.StatusConflict
	}
	utilruntime.HandleErrorWithContext(ctx, forLog(ctx, err), "An error without a Status reached the response", "type",
		fmt.Sprintf("%T", err))
	return &metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure,
		Code:     int32(code),
		Reason:   metav1.StatusReasonUnknown,
		Message:  err.Error(),
	}
}
