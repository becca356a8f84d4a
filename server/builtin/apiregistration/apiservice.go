package apiregistration

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration/v1/helper"
	"k8s.io/utils/ptr"

	"github.com/kx-apiserver/kx/server/builtin"
)

// APIService declares apiservices.apiregistration.k8s.io. Each names the server of one version of a group: this
// server, or a service in the cluster.
var APIService = builtin.Resource[*apiregistrationv1.APIService]{
	Names:          builtin.Names{Plural: "apiservices", Singular: "apiservice", Categories: []string{"api-extensions"}},
	List:           &apiregistrationv1.APIServiceList{},
	Stored:         apiregistrationv1.SchemeGroupVersion,
	ClusterScoped:  true,
	Default:        setDefaults,
	PrepareCreate:  setLocalAvailable,
	Validate:       validate,
	ValidateUpdate: validateUpdate,
	Undeclared:     true,
	Status: &builtin.Status[*apiregistrationv1.APIService]{
		Of: func(s *apiregistrationv1.APIService) any { return &s.Status },
		Part: builtin.Part[*apiregistrationv1.APIService]{
			Keep:  keep,
			Reset: []string{"metadata", "spec"},
			Check: validateStatus,
		},
	},
	ConditionalUpdate: true,
	Columns: []builtin.Column{
		builtin.NameColumn,
		{Name: "Service", Type: "string", Description: "The reference to the service that hosts this API endpoint."},
		{Name: "Available", Type: "string", Description: "Whether this service is available."},
		builtin.AgeColumn,
	},
	Row: apiServiceRow,
}

func setDefaults(s *apiregistrationv1.APIService) {
	if s.Spec.Service != nil && s.Spec.Service.Port == nil {
		s.Spec.Service.Port = ptr.To[int32](443)
	}
}

// setLocalAvailable sets the condition Available of a version that this server serves itself.
func setLocalAvailable(_ context.Context, s *apiregistrationv1.APIService) {
	if s.Spec.Service == nil {
		helper.SetAPIServiceCondition(s, helper.NewLocalAvailableAPIServiceCondition())
	}
}

func keep(s, old *apiregistrationv1.APIService) {
	s.Spec = old.Spec
	s.Labels = old.Labels
	s.Annotations = old.Annotations
	s.Finalizers = old.Finalizers
	s.OwnerReferences = old.OwnerReferences
}

func apiServiceRow(s *apiregistrationv1.APIService) metav1.TableRow {
	service, available := "Local", string(apiregistrationv1.ConditionUnknown)
	if ref := s.Spec.Service; ref != nil {
		service = ref.Namespace + "/" + ref.Name
	}
	if c := helper.GetAPIServiceConditionByType(s, apiregistrationv1.Available); c != nil {
		available = string(c.Status)
		if c.Status != apiregistrationv1.ConditionTrue && c.Reason != "" {
			available = fmt.Sprintf("%s (%s)", c.Status, c.Reason)
		}
	}
	return builtin.Row(s.Name, service, available, builtin.Age(s.CreationTimestamp))
}
