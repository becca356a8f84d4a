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

// kxFactory is the factory for the server of a data directory. That server is a kx, which validates fields. kubectl's
// code would download and parse the OpenAPI of each object's version to learn that.
type kxFactory struct {
	cmdutil.Factory
	wiring *wiring
}

// Validator leaves the validation to the server, except for kinds that kubectl must validate.
func (k kxFactory) Validator(directive string) (validation.Schema, error) {
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

// serverValidates declares that the server validates the kinds that it can patch. kubectl's code validates others,
// such as lists, in the client.
type serverValidates struct{ discovery discovery.DiscoveryInterface }

// HasSupport returns an error if the server does not validate a kind.
func (s serverValidates) HasSupport(kind schema.GroupVersionKind) error {
	list, err := s.discovery.ServerResourcesForGroupVersion(kind.GroupVersion().String())
	if err == nil && slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool {
		return r.Kind == kind.Kind && !strings.Contains(r.Name, "/") && slices.Contains(r.Verbs, "patch")
	}) {
		return nil
	}
	return resource.NewParamUnsupportedError(kind, resource.QueryParamFieldValidation)
}
