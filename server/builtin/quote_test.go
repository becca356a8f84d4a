package builtin

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// TestInternal compares with what a kube-apiserver v1.37.1 says about such values.
func TestInternal(t *testing.T) {
	for name, tc := range map[string]struct {
		value any
		want  string
	}{
		"null":    {(*batchv1.PodFailurePolicy)(nil), `null`},
		"text":    {new(batchv1.CompletionMode("Indexed")), `"Indexed"`},
		"machine": {&metav1.LabelSelector{MatchLabels: map[string]string{"a": "<b>"}}, `{"matchLabels":{"a":"\u003cb\u003e"}}`},
		"nested": {&batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{
			{Action: "Ignore", OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{Operator: "In", Values: []int32{2, 1}}},
			{OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{}},
		}}, `{"Rules":[{"Action":"Ignore","OnExitCodes":{"ContainerName":null,"Operator":"In","Values":[2,1]},"OnPodConditions":null},` +
			`{"Action":"","OnExitCodes":null,"OnPodConditions":[]}]}`},
		"embedded": {corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromString("http")}},
			`{"Exec":null,"HTTPGet":null,"TCPSocket":{"Port":"http","Host":""},"GRPC":null}`},
		"metadata": {corev1.PersistentVolumeClaimTemplate{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}}},
			`{"labels":{"a":"b"},"Spec":{"AccessModes":null,"Selector":null,"Resources":{"Limits":null,"Requests":null},"VolumeName":"",` +
				`"StorageClassName":null,"VolumeMode":null,"DataSource":null,"DataSourceRef":null,"VolumeAttributesClassName":null}}`},
		"map": {corev1.ResourceRequirements{Limits: corev1.ResourceList{"memory": resource.MustParse("1Gi"), "cpu": resource.MustParse("1")}},
			`{"Limits":{"cpu":"1","memory":"1Gi"},"Requests":null,"Claims":null}`},
		"bytes": {struct{ Data []byte }{[]byte("a")}, `{"Data":"YQ=="}`},
	} {
		got := field.Invalid(nil, Quote(tc.value), "").ErrorBody()
		if want := "Invalid value: " + tc.want; got != want {
			t.Errorf("%s: got\n%s, want\n%s", name, got, want)
		}
	}
}

func TestValidateImmutable(t *testing.T) {
	path := field.NewPath("spec")
	if errs := ValidateImmutable(corev1.PodSpec{Volumes: []corev1.Volume{}}, corev1.PodSpec{}, path); len(errs) > 0 {
		t.Errorf("an empty list differs from none: %v", errs)
	}
	errs := ValidateImmutable(&corev1.PodOS{Name: "linux"}, nil, path)
	if want := `spec: Invalid value: {"Name":"linux"}: field is immutable`; len(errs) != 1 || errs[0].Error() != want {
		t.Errorf("got %v, want %s", errs, want)
	}
}
