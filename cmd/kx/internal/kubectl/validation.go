package kubectl

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/discovery"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	"k8s.io/kubectl/pkg/validation"
)

// knowing is a factory that knows of the server of a data directory, which is a kx, that it validates fields. kubectl's
// code downloads and parses the OpenAPI of an object's version to find that out, whatever it does with the object.
type knowing struct {
	cmdutil.Factory
	wiring *wiring
}

// Validator implements cmdutil.Factory.
func (k knowing) Validator(directive string) (validation.Schema, error) {
	found, err := k.ToDiscoveryClient()
	if err != nil {
		return nil, err
	}
	if k.wiring.place == nil || directive == metav1.FieldValidationIgnore {
		return k.Factory.Validator(directive)
	}
	here := validation.ConjunctiveSchema{validation.NewSchemaValidation(k), validation.NoDoubleKeySchema{}}
	return validation.NewParamVerifyingSchema(here, serverValidates{found}, directive), nil
}

// serverValidates says that the server validates the fields of the kinds that it can patch. For kubectl's code others, of
// which a list is one, are to be validated by the client.
type serverValidates struct{ discovery discovery.DiscoveryInterface }

// HasSupport implements resource.Verifier.
func (s serverValidates) HasSupport(kind schema.GroupVersionKind) error {
	list, err := s.discovery.ServerResourcesForGroupVersion(kind.GroupVersion().String())
	if err == nil && slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool {
		return r.Kind == kind.Kind && !strings.Contains(r.Name, "/") && slices.Contains(r.Verbs, "patch")
	}) {
		return nil
	}
	return resource.NewParamUnsupportedError(kind, resource.QueryParamFieldValidation)
}
