package certificates

import (
	"errors"

	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/server/builtin"
)

// AddPodCertificateRequests registers v1, which lacks the fields for the public key and the proof of possession.
func AddPodCertificateRequests(s *runtime.Scheme) error {
	setDefaults := func(r *certificatesv1.PodCertificateRequest) { setDefaultSeconds(&r.Spec.MaxExpirationSeconds) }
	s.AddTypeDefaultingFunc(&certificatesv1.PodCertificateRequest{}, func(obj any) {
		setDefaults(obj.(*certificatesv1.PodCertificateRequest))
	})
	s.AddTypeDefaultingFunc(&certificatesv1.PodCertificateRequestList{}, func(obj any) {
		list := obj.(*certificatesv1.PodCertificateRequestList)
		for i := range list.Items {
			setDefaults(&list.Items[i])
		}
	})
	return errors.Join(builtin.AddSureConversion(s, toStored), builtin.AddSureConversion(s, fromStored),
		builtin.AddSureConversion(s, listToStored), builtin.AddSureConversion(s, listFromStored))
}

func toStored(in *certificatesv1.PodCertificateRequest, out *podCertificateRequest) {
	*out = podCertificateRequest{
		ObjectMeta: in.ObjectMeta,
		Spec: certificatesv1beta1.PodCertificateRequestSpec{
			SignerName:                in.Spec.SignerName,
			PodName:                   in.Spec.PodName,
			PodUID:                    in.Spec.PodUID,
			ServiceAccountName:        in.Spec.ServiceAccountName,
			ServiceAccountUID:         in.Spec.ServiceAccountUID,
			NodeName:                  in.Spec.NodeName,
			NodeUID:                   in.Spec.NodeUID,
			MaxExpirationSeconds:      in.Spec.MaxExpirationSeconds,
			StubPKCS10Request:         in.Spec.StubPKCS10Request,
			UnverifiedUserAnnotations: in.Spec.UnverifiedUserAnnotations,
		},
		Status: certificatesv1beta1.PodCertificateRequestStatus(in.Status),
	}
}

func fromStored(in *podCertificateRequest, out *certificatesv1.PodCertificateRequest) {
	*out = certificatesv1.PodCertificateRequest{
		ObjectMeta: in.ObjectMeta,
		Spec: certificatesv1.PodCertificateRequestSpec{
			SignerName:                in.Spec.SignerName,
			PodName:                   in.Spec.PodName,
			PodUID:                    in.Spec.PodUID,
			ServiceAccountName:        in.Spec.ServiceAccountName,
			ServiceAccountUID:         in.Spec.ServiceAccountUID,
			NodeName:                  in.Spec.NodeName,
			NodeUID:                   in.Spec.NodeUID,
			MaxExpirationSeconds:      in.Spec.MaxExpirationSeconds,
			StubPKCS10Request:         in.Spec.StubPKCS10Request,
			UnverifiedUserAnnotations: in.Spec.UnverifiedUserAnnotations,
		},
		Status: certificatesv1.PodCertificateRequestStatus(in.Status),
	}
}

func listToStored(in *certificatesv1.PodCertificateRequestList, out *certificatesv1beta1.PodCertificateRequestList) {
	out.ListMeta = in.ListMeta
	out.Items = make([]podCertificateRequest, len(in.Items))
	for i := range in.Items {
		toStored(&in.Items[i], &out.Items[i])
	}
}

func listFromStored(in *certificatesv1beta1.PodCertificateRequestList, out *certificatesv1.PodCertificateRequestList) {
	out.ListMeta = in.ListMeta
	out.Items = make([]certificatesv1.PodCertificateRequest, len(in.Items))
	for i := range in.Items {
		fromStored(&in.Items[i], &out.Items[i])
	}
}
