package all

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	admissionregistrationv1beta1 "k8s.io/api/admissionregistration/v1beta1"
	coordinationv1 "k8s.io/api/coordination/v1"
	coordinationv1beta1 "k8s.io/api/coordination/v1beta1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/admissionregistration"
	"github.com/kx-apiserver/kx/server/builtin/apiregistration"
	"github.com/kx-apiserver/kx/server/builtin/coordination"
	"github.com/kx-apiserver/kx/server/builtin/flowcontrol"
)

func admissionregistrationGroup() builtin.Group {
	return builtin.Group{
		Versions: []builtin.Version{
			version(admissionregistrationv1.SchemeGroupVersion, admissionregistrationv1.AddToScheme),
			beta(admissionregistrationv1beta1.SchemeGroupVersion, admissionregistrationv1beta1.AddToScheme),
		},
		Resources: []builtin.Declaration{
			builtin.Declare(admissionregistration.MutatingAdmissionPolicy),
			builtin.Declare(admissionregistration.MutatingAdmissionPolicyBinding),
			builtin.Declare(admissionregistration.MutatingWebhookConfiguration),
			builtin.Declare(admissionregistration.ValidatingAdmissionPolicy),
			builtin.Declare(admissionregistration.ValidatingAdmissionPolicyBinding),
			builtin.Declare(admissionregistration.ValidatingWebhookConfiguration),
		},
	}
}

func flowcontrolGroup() builtin.Group {
	return builtin.Group{
		Versions: []builtin.Version{
			version(flowcontrolv1.SchemeGroupVersion, flowcontrolv1.AddToScheme),
		},
		Resources: []builtin.Declaration{
			builtin.Declare(flowcontrol.FlowSchema),
			builtin.Declare(flowcontrol.PriorityLevelConfiguration),
		},
	}
}

func apiregistrationGroup() builtin.Group {
	return builtin.Group{
		Versions: []builtin.Version{
			version(apiregistrationv1.SchemeGroupVersion, apiregistrationv1.AddToScheme),
		},
		Resources: []builtin.Declaration{
			builtin.Declare(apiregistration.APIService),
		},
	}
}

func coordinationGroup() builtin.Group {
	return builtin.Group{
		Versions: []builtin.Version{
			version(coordinationv1.SchemeGroupVersion, coordinationv1.AddToScheme),
			beta(coordinationv1beta1.SchemeGroupVersion, coordinationv1beta1.AddToScheme),
		},
		Resources: []builtin.Declaration{
			builtin.Declare(coordination.Lease),
			builtin.Declare(coordination.LeaseCandidate),
		},
	}
}
