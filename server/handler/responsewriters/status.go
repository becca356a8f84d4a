package responsewriters

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"github.com/kx-apiserver/kx/store"
)

// ErrorToAPIStatus makes a Status of any error. One that carries none of its own is the server's fault, and is logged.
func ErrorToAPIStatus(err error) *metav1.Status {
	var carrier apierrors.APIStatus
	if !errors.As(err, &carrier) {
		return unexpected(err)
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
	return &status
}

// unexpected is the Status of an error that nobody made one for.
func unexpected(err error) *metav1.Status {
	code := http.StatusInternalServerError
	if store.IsConflict(err) {
		code = http.StatusConflict
	}
	utilruntime.HandleErrorWithContext(context.Background(), err, "An error without a Status reached the response", "type", fmt.Sprintf("%T", err))
	return &metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure,
		Code:     int32(code),
		Reason:   metav1.StatusReasonUnknown,
		Message:  err.Error(),
	}
}
