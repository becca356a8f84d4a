package mask

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const marker = "hunter2hunter2"

var encoded = base64.StdEncoding.EncodeToString([]byte(marker))

func raw(json string) runtime.RawExtension { return runtime.RawExtension{Raw: []byte(json)} }

func shows(text string) bool {
	return strings.Contains(text, marker) || strings.Contains(text, encoded)
}

// TestObject shows objects that hold the marker. Some of them are confidential by their type, some by their request.
func TestObject(t *testing.T) {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "kept", Annotations: map[string]string{"a": marker}, ManagedFields: []metav1.ManagedFieldsEntry{
			{Manager: "kept", FieldsV1: metav1.NewFieldsV1(`{"f:` + marker + `":{}}`)},
		}},
		Data: map[string][]byte{"kept-key": []byte(marker), "no/" + marker: nil, marker + " ": nil}, StringData: map[string]string{"kept-key": marker},
	}
	loose := func(kind string, fields map[string]any) *unstructured.Unstructured {
		fields["apiVersion"], fields["kind"] = "v1", kind
		return &unstructured.Unstructured{Object: fields}
	}
	secretJSON := `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"kept"},"data":{"kept-key":"` + encoded + `"}}`
	for _, test := range []struct {
		name      string
		obj       runtime.Object
		byRequest bool // it shows the marker unless its request is confidential
		keeps     string
	}{
		{"typed", secret, false, `"kept-key":"masked, 14 bytes"`},
		{"a list", &corev1.SecretList{Items: []corev1.Secret{*secret}}, false, `"kept-key":"masked, 14 bytes"`},
		{"unstructured", loose("Secret", map[string]any{"data": map[string]any{"kept-key": encoded}}), false, `"kept-key":"masked, 14 bytes"`},
		{"data is no map", loose("Secret", map[string]any{"data": marker}), false, `"data":"masked, 14 bytes"`},
		{"unknown fields", loose("Secret", map[string]any{marker: "x", "metadata": map[string]any{marker: "x"}}), false, `"kind":"Secret"`},
		{"fields of another type", loose("Secret", map[string]any{"type": map[string]any{marker: "x"}, "metadata": []any{marker}}), false, `"kind":"Secret"`},
		{"within a List", &corev1.List{Items: []runtime.RawExtension{raw(secretJSON)}}, false, `"kept-key":"masked, 14 bytes"`},
		{"spelled by escapes", &corev1.List{Items: []runtime.RawExtension{raw(strings.Replace(secretJSON, `"Secret"`, `"\u0053ecret"`, 1))}}, false, `"kept-key"`},
		{"within a custom resource", loose("Other", map[string]any{"spec": map[string]any{"template": loose("Secret", map[string]any{"data": map[string]any{"kept-key": encoded}}).Object}}), false, `"kind":"Other"`},
		{"TokenReview", &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: marker, Audiences: []string{"kept"}}}, false, `"kept"`},
		{"TokenRequest", &authenticationv1.TokenRequest{Status: authenticationv1.TokenRequestStatus{Token: marker}}, false, `"expirationTimestamp"`},
		{"ConfigMap", &corev1.ConfigMap{Data: map[string]string{"kept-key": marker}}, true, `"kept-key":"masked, 14 bytes"`},
		{"Pod", &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "kept"}, Spec: corev1.PodSpec{NodeName: marker}}, true, `"name":"kept"`},
		{"a List of nothing known", &corev1.List{Items: []runtime.RawExtension{raw(`{"kind":"Other","spec":"` + marker + `"}`)}}, true, `"kind":"Other"`},
		{"Status", &metav1.Status{Status: "kept", Message: marker}, true, `"status":"kept"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := test.obj.DeepCopyObject()
			if got := string(Object(test.obj, true)); shows(got) || !strings.Contains(got, test.keeps) {
				t.Errorf("in a confidential request: %s", got)
			}
			if got := string(Object(test.obj, false)); shows(got) != test.byRequest {
				t.Errorf("in another request: %s", got)
			}
			if got, was := fmt.Sprintf("%#v", test.obj), fmt.Sprintf("%#v", before); len(got) != len(was) {
				t.Errorf("masking changed the object from %s to %s", was, got)
			}
		})
	}
}

func TestError(t *testing.T) {
	secrets := schema.GroupResource{Resource: "secrets"}
	manager := apierrors.NewApplyConflict([]metav1.StatusCause{{Field: "." + marker}}, "conflict in ."+marker)
	for _, test := range []struct {
		err  error
		want string // within
	}{
		{apierrors.NewNotFound(secrets, "s"), `secrets "s" not found`},
		{fmt.Errorf("%s: %w", marker, apierrors.NewNotFound(secrets, "s")), `secrets "s" not found`},
		{apierrors.NewConflict(secrets, "s", errors.New("the object has been modified")), "the object has been modified"},
		{manager, "409 (Conflict)"},
		{apierrors.NewBadRequest(marker), "400 (BadRequest)"},
		{apierrors.NewInternalError(errors.New(marker)), "500 (InternalError)"},
		{errors.New(marker), "*errors.errorString"},
		{apierrors.NewForbidden(secrets, "s", errors.New("ValidatingAdmissionPolicy 'p' with binding 'b' denied request: "+marker)), "the message of a 403, with which"},
		{&apierrors.StatusError{ErrStatus: metav1.Status{Code: 404, Reason: metav1.StatusReasonNotFound, Message: `admission webhook "w" denied the request: ` + marker}}, "the message of a 404, with which"},
		{&apierrors.StatusError{ErrStatus: metav1.Status{Code: 400, Reason: metav1.StatusReason(marker), Message: `admission webhook "w" denied the request: no`}}, "the message of a 400, with which"},
		{fmt.Errorf("%s: %w", marker, context.Canceled), "context canceled"},
	} {
		if got := Error(test.err); shows(got) || !strings.Contains(got, test.want) {
			t.Errorf("%v becomes %q, want %q", test.err, got, test.want)
		}
	}
}

func TestURI(t *testing.T) {
	for uri, want := range map[string]string{
		"/api/v1/secrets":  "",
		"/api/v1/secrets?": "",
		"/api/v1/secrets?watch=true&resourceVersion=5&timeoutSeconds=9": "",
		"/x?labelSelector=app%3Dweb&limit=500":                          "",
		"/x?access_token=" + marker:                                     "/x?masked",
		"/x?limit=5&token=" + marker + "&watch=1":                       "/x?limit=5&masked&watch=1",
		"/x?" + marker:                                                   "/x?masked",
		"/x?limi%74=" + marker:                                           "/x?masked",
		"/x?limit=5;access_token=" + marker:                              "/x?masked",
		"/x?fieldSelector=metadata.name%3Dweb":                           "",
		"/x?fieldSelector=type%21%3DOpaque,status.phase=Running":         "",
		"/x?fieldSelector=data.password%3D" + marker:                     "/x?fieldSelector=data.password%3Dmasked",
		"/x?fieldSelector=metadata.name%3Dweb%2Cspec.pin%21%3D" + marker: "/x?fieldSelector=metadata.name%3Dweb%2Cspec.pin%21%3Dmasked",
		"/x?fieldSelector=" + marker:                                     "/x?fieldSelector=masked",
		"/x?fieldSelector=%zz" + marker:                                  "/x?fieldSelector=masked",
		"/x?fieldSelector=metadata.name%3Dweb;access_token=" + marker:    "/x?masked",
	} {
		if want == "" {
			want = uri
		}
		if got := URI(uri); got != want {
			t.Errorf("%s becomes %s, want %s", uri, got, want)
		}
	}
}

func BenchmarkURI(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		URI("/api/v1/namespaces/default/configmaps?allowWatchBookmarks=true&resourceVersion=12345&timeoutSeconds=512&watch=true")
	}
}
