package scheme

import (
	"net/url"
	"slices"
	"testing"

	appsv1beta1 "k8s.io/api/apps/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestFieldLabels(t *testing.T) {
	core := corev1.SchemeGroupVersion
	for _, tc := range []struct {
		kind    schema.GroupVersionKind
		label   string
		want    string
		wantErr string
	}{
		{core.WithKind("Pod"), "status.phase", "status.phase", ""},
		{core.WithKind("Pod"), "spec.nodeName", "spec.nodeName", ""},
		{core.WithKind("Pod"), "spec.host", "spec.nodeName", ""},
		{core.WithKind("Pod"), "spec.image", "", "field label not supported: spec.image"},
		{core.WithKind("Secret"), "type", "type", ""},
		{core.WithKind("Secret"), "data", "", "field label not supported: data"},
		{core.WithKind("Event"), "involvedObject.uid", "involvedObject.uid", ""},
		{core.WithKind("Event"), "reportingComponent", "reportingComponent", ""},
		{core.WithKind("Namespace"), "status.phase", "status.phase", ""},
		{core.WithKind("Namespace"), "metadata.namespace", "", "field label not supported: metadata.namespace"},
		{core.WithKind("Service"), "spec.clusterIP", "spec.clusterIP", ""},
		{core.WithKind("Service"), "spec.type", "spec.type", ""},
		{core.WithKind("ConfigMap"), "metadata.name", "metadata.name", ""},
		{core.WithKind("ConfigMap"), "data", "", `"data" is not a known field selector: only "metadata.name", "metadata.namespace"`},
	} {
		got, _, err := Scheme.ConvertFieldLabel(tc.kind, tc.label, "x")
		msg := ""
		if err != nil {
			msg = err.Error()
		}
		if got != tc.want || msg != tc.wantErr {
			t.Errorf("%s %s: got %q, %q; want %q, %q", tc.kind.Kind, tc.label, got, msg, tc.want, tc.wantErr)
		}
	}
}

func TestVersionPriority(t *testing.T) {
	got := Scheme.PrioritizedVersionsForGroup("apps")
	want := []schema.GroupVersion{{Group: "apps", Version: "v1"}, {Group: "apps", Version: "v1beta2"}, {Group: "apps", Version: "v1beta1"}}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestParameterCodec(t *testing.T) {
	query := url.Values{
		"labelSelector": {"app=a"}, "fieldSelector": {"metadata.name=x"}, "limit": {"5"}, "watch": {"true"},
		"resourceVersionMatch": {"NotOlderThan"}, "sendInitialEvents": {"true"},
	}
	got := &metainternalversion.ListOptions{}
	if err := parameterCodec.DecodeParameters(query, metav1.SchemeGroupVersion, got); err != nil {
		t.Fatal(err)
	}
	if got.LabelSelector.String() != "app=a" || got.FieldSelector.String() != "metadata.name=x" || got.Limit != 5 || !got.Watch ||
		got.ResourceVersionMatch != metav1.ResourceVersionMatchNotOlderThan || got.SendInitialEvents == nil {
		t.Errorf("got %+v", got)
	}
	get := &metav1.GetOptions{}
	if err := parameterCodec.DecodeParameters(url.Values{"resourceVersion": {"7"}}, appsv1beta1.SchemeGroupVersion, get); err != nil {
		t.Fatal(err)
	}
	if get.ResourceVersion != "7" {
		t.Errorf("resourceVersion %q, want 7", get.ResourceVersion)
	}
	bad := url.Values{"labelSelector": {"a in"}}
	if err := parameterCodec.DecodeParameters(bad, metav1.SchemeGroupVersion, &metainternalversion.ListOptions{}); err == nil {
		t.Error("a broken label selector is accepted")
	}
}
