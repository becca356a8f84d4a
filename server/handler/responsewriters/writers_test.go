package responsewriters

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversionscheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/kx-apiserver/kx/store"
)

var codecs = metainternalversionscheme.Codecs

func TestEveryErrorHasAStatus(t *testing.T) {
	things := schema.GroupResource{Group: "g", Resource: "things"}
	for _, tc := range []struct {
		err     error
		code    int32
		reason  metav1.StatusReason
		message string
	}{
		{apierrors.NewNotFound(things, "a"), 404, metav1.StatusReasonNotFound, `things.g "a" not found`},
		{fmt.Errorf("while walking: %w", apierrors.NewResourceExpired("too old")), 410, metav1.StatusReasonExpired, "too old"},
		{&apierrors.StatusError{}, 500, "", ""},
		{&apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusSuccess}}, 200, "", ""},
		{errors.New("what?"), 500, "", "what?"},
		{&store.StorageError{Code: store.ErrCodeResourceVersionConflicts, Key: "/things/a", ResourceVersion: 5}, 409, "",
			"StorageError: resource version conflicts, Code: 3, Key: /things/a, ResourceVersion: 5, AdditionalErrorMsg: <nil>"},
	} {
		got := ErrorToAPIStatus(t.Context(), tc.err)
		if got.Code != tc.code || got.Reason != tc.reason || got.Message != tc.message || got.Kind != "Status" || got.APIVersion != "v1" || got.Status == "" {
			t.Errorf("%v: got %+v", tc.err, got)
		}
	}
}

func respond(accept string, err error) (*http.Response, string) {
	req := httptest.NewRequest(http.MethodGet, "/", nil)
	req.Header.Set("Accept", accept)
	w := httptest.NewRecorder()
	RespondWithError(w, req, err, codecs)
	body, _ := io.ReadAll(w.Result().Body)
	return w.Result(), string(body)
}

func TestErrorNegotiated(t *testing.T) {
	res, body := respond("application/json", apierrors.NewTooManyRequests("slow down", 7))
	if res.StatusCode != 429 || res.Header.Get("Retry-After") != "7" || res.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("got %s %v %s", res.Status, res.Header, body)
	}
	// What can't be negotiated does not hide the error.
	res, body = respond("text/plain", apierrors.NewUnauthorized("who?"))
	var status metav1.Status
	if json.Unmarshal([]byte(body), &status) != nil || res.StatusCode != 401 || status.Message != "who?" {
		t.Errorf("got %s %s", res.Status, body)
	}
	res, body = respond("", &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusNoContent}})
	if res.StatusCode != http.StatusNoContent || body != "" {
		t.Errorf("got %s %q", res.Status, body)
	}
}

// unwritable fails after it wrote some of an object, unless the object is a Status.
type unwritable struct {
	runtime.Encoder
	first string
}

func (u unwritable) Encode(obj runtime.Object, w io.Writer) error {
	if _, ok := obj.(*metav1.Status); ok {
		return u.Encoder.Encode(obj, w)
	}
	if _, err := io.WriteString(w, u.first); err != nil {
		return err
	}
	return errors.New("can't be written")
}

func TestWhatCantBeEncodedIsAnError(t *testing.T) {
	encoder := unwritable{codecs.EncoderForVersion(codecs.SupportedMediaTypes()[0].Serializer, metav1.SchemeGroupVersion), "{"}
	req := httptest.NewRequest(http.MethodGet, "/", nil)
	// The beginning is held back for whoever accepts gzip, so the code can still change.
	req.Header.Set("Accept-Encoding", "gzip")
	w := httptest.NewRecorder()
	SerializeObject("application/json", encoder, w, req, http.StatusOK, &metav1.PartialObjectMetadata{})
	var status metav1.Status
	if err := json.Unmarshal(w.Body.Bytes(), &status); err != nil || w.Code != 500 || status.Message != "can't be written" {
		t.Errorf("got %d %s (%v)", w.Code, w.Body, err)
	}
}

func TestForbidden(t *testing.T) {
	ann := &user.DefaultInfo{Name: "ann<b>"}
	for _, tc := range []struct {
		attributes authorizer.AttributesRecord
		reason     string
		message    string
	}{
		{authorizer.AttributesRecord{User: ann, Verb: "get", Path: "/metrics"}, "",
			`forbidden: User "ann&lt;b&gt;" cannot get path "/metrics"`},
		{authorizer.AttributesRecord{User: ann, Verb: "list", Resource: "pods", ResourceRequest: true}, "no",
			`pods is forbidden: User "ann&lt;b&gt;" cannot list resource "pods" in API group "" at the cluster scope: no`},
		{authorizer.AttributesRecord{User: ann, Verb: "update", APIGroup: "apps", Resource: "deployments", Subresource: "scale", Name: "web", Namespace: "n", ResourceRequest: true}, "",
			`deployments.apps "web" is forbidden: User "ann&lt;b&gt;" cannot update resource "deployments/scale" in API group "apps" in the namespace "n"`},
	} {
		w := httptest.NewRecorder()
		RespondWithError(w, httptest.NewRequest(http.MethodGet, "/", nil), ForbiddenStatusError(tc.attributes, tc.reason), codecs)
		var status metav1.Status
		if err := json.Unmarshal(w.Body.Bytes(), &status); err != nil || w.Code != 403 || status.Message != tc.message {
			t.Errorf("want %s\ngot  %d %s", tc.message, w.Code, status.Message)
		}
	}
}
