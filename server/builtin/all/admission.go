package all

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	admissionregistrationv1beta1 "k8s.io/api/admissionregistration/v1beta1"
	coordinationv1 "k8s.io/api/coordination/v1"
	coordinationv1beta1 "k8s.io/api/coordination/v1beta1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/admissionregistration/mutatingadmissionpolicy"
	"github.com/kx-apiserver/kx/server/builtin/admissionregistration/mutatingadmissionpolicybinding"
	"github.com/kx-apiserver/kx/server/builtin/admissionregistration/mutatingwebhookconfiguration"
	"github.com/kx-apiserver/kx/server/builtin/admissionregistration/validatingadmissionpolicy"
	"github.com/kx-apiserver/kx/server/builtin/admissionregistration/validatingadmissionpolicybinding"
	"github.com/kx-apiserver/kx/server/builtin/admissionregistration/validatingwebhookconfiguration"
	"github.com/kx-apiserver/kx/server/builtin/apiregistration/apiservice"
	"github.com/kx-apiserver/kx/server/builtin/coordination/lease"
	"github.com/kx-apiserver/kx/server/builtin/coordination/leasecandidate"
	"github.com/kx-apiserver/kx/server/builtin/flowcontrol/flowschema"
	"github.com/kx-apiserver/kx/server/builtin/flowcontrol/prioritylevelconfiguration"
)

func admissionregistration() builtin.Group {
	return builtin.Group{
		Versions: []builtin.Version{
			version(admissionregistrationv1.SchemeGroupVersion, admissionregistrationv1.AddToScheme),
			beta(admissionregistrationv1beta1.SchemeGroupVersion, admissionregistrationv1beta1.AddToScheme),
		},
		Resources: []builtin.Declaration{
			builtin.Declare(mutatingadmissionpolicy.Resource),
			builtin.Declare(mutatingadmissionpolicybinding.Resource),
			builtin.Declare(mutatingwebhookconfiguration.Resource),
			builtin.Declare(validatingadmissionpolicy.Resource),
			builtin.Declare(validatingadmissionpolicybinding.Resource),
			builtin.Declare(validatingwebhookconfiguration.Resource),
		},
	}
}

func flowcontrol() builtin.Group {
	return builtin.Group{
		Versions: []builtin.Version{
			version(flowcontrolv1.SchemeGroupVersion, flowcontrolv1.AddToScheme),
		},
		Resources: []builtin.Declaration{
			builtin.Declare(flowschema.Resource),
			builtin.Declare(prioritylevelconfiguration.Resource),
		},
	}
}

func apiregistration() builtin.Group {
	return builtin.Group{
		Versions: []builtin.Version{
			version(apiregistrationv1.SchemeGroupVersion, apiregistrationv1.AddToScheme),
		},
		Resources: []builtin.Declaration{
			builtin.Declare(apiservice.Resource),
		},
	}
}

func coordination() builtin.Group {
	return builtin.Group{
		Versions: []builtin.Version{
			version(coordinationv1.SchemeGroupVersion, coordinationv1.AddToScheme),
			beta(coordinationv1beta1.SchemeGroupVersion, coordinationv1beta1.AddToScheme),
		},
		Resources: []builtin.Declaration{
			builtin.Declare(lease.Resource),
			builtin.Declare(leasecandidate.Resource),
		},
	}
}
