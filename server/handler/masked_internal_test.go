package handler

import (
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

func TestErrorOfABodyIsWholeForItsClientAlone(t *testing.T) {
	err := transformDecodeError(errors.New("unexpected end"), "Secret", nil, []byte(`{"data":{"password":"aHVudGVyMg`))
	var status apierrors.APIStatus
	if !errors.As(err, &status) || !apierrors.IsBadRequest(err) || !strings.Contains(status.Status().Message, "aHVu") {
		t.Errorf("the client is not shown what it sent: %v", err)
	}
	if strings.Contains(err.Error(), "aHVu") || !strings.Contains(err.Error(), "unexpected end") {
		t.Errorf("traces and logs are told: %v", err)
	}
}
