package certificates

import (
	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/kx-apiserver/kx/server/builtin"
)

type podCertificateRequest = certificatesv1beta1.PodCertificateRequest

var docs = certificatesv1.PodCertificateRequestSpec{}.SwaggerDoc()

// PodCertificateRequest declares podcertificaterequests.certificates.k8s.io: a kubelet's request to a signer on
// behalf of a pod.
//
// They are stored in v1beta1, which the previous version of kube-apiserver can read, and which has two more fields
// than v1. A signer answers in the status, and needs the permission to sign, which a checks.
func PodCertificateRequest(a authorizer.UnconditionalAuthorizer) builtin.Resource[*podCertificateRequest] {
	return builtin.Resource[*podCertificateRequest]{
		Names:   builtin.Names{Plural: "podcertificaterequests", Singular: "podcertificaterequest"},
		List:    &certificatesv1beta1.PodCertificateRequestList{},
		Stored:  certificatesv1beta1.SchemeGroupVersion,
		Served:  []schema.GroupVersion{certificatesv1.SchemeGroupVersion, certificatesv1beta1.SchemeGroupVersion},
		ResetIn: []schema.GroupVersion{certificatesv1.SchemeGroupVersion},
		Fields: []builtin.Field[*podCertificateRequest]{
			{Label: "spec.signerName", Value: func(r *podCertificateRequest) string { return r.Spec.SignerName }},
			{Label: "spec.podName", Value: func(r *podCertificateRequest) string { return r.Spec.PodName }},
			{Label: "spec.nodeName", Value: func(r *podCertificateRequest) string { return string(r.Spec.NodeName) }},
		},
		NoNamespaceField:  true,
		Default:           func(r *podCertificateRequest) { setDefaultSeconds(&r.Spec.MaxExpirationSeconds) },
		Validate:          validatePodCertificateRequest,
		ValidateUpdate:    validatePodCertificateRequestUpdate,
		ConditionalUpdate: true,
		Status: &builtin.Status[*podCertificateRequest]{
			Of: func(r *podCertificateRequest) any { return &r.Status },
			Part: builtin.Part[*podCertificateRequest]{
				Keep: func(r, old *podCertificateRequest) {
					r.Spec = old.Spec
					metav1.ResetObjectMetaForStatus(&r.ObjectMeta, &old.ObjectMeta)
				},
				Reset: []string{"metadata", "spec"},
				Check: validateStatus,
				Allow: signer{a}.allow,
			},
		},
		Columns: []builtin.Column{
			builtin.NameColumn,
			{Name: "PodName", Type: "string", Description: docs["podName"]},
			{Name: "ServiceAccountName", Type: "string", Description: docs["serviceAccountName"]},
			{Name: "NodeName", Type: "string", Description: docs["nodeName"]},
			{Name: "SignerName", Type: "string", Description: docs["signerName"]},
			{Name: "State", Type: "string", Description: "Is the request Pending, Issued, Denied, or Failed?"},
			{Name: "UnverifiedUserAnnotations", Type: "string", Description: docs["unverifiedUserAnnotations"]},
		},
		Row: func(r *podCertificateRequest) metav1.TableRow {
			return builtin.Row(r.Name, r.Spec.PodName, r.Spec.ServiceAccountName, string(r.Spec.NodeName), r.Spec.SignerName, state(r),
				labels.FormatLabels(r.Spec.UnverifiedUserAnnotations))
		},
	}
}

// state returns the last decision, or Pending.
func state(r *podCertificateRequest) string {
	state := "Pending"
	for _, c := range r.Status.Conditions {
		if ends(c.Type) {
			state = c.Type
		}
	}
	return state
}
