package builtin

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	appsv1beta1 "k8s.io/api/apps/v1beta1"
	appsv1beta2 "k8s.io/api/apps/v1beta2"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// groups are the API groups that kx knows, in the order of their discovery. A group's first version is the one that its
// objects are stored in.
var groups = []struct {
	versions []schema.GroupVersion
	add      runtime.SchemeBuilder
}{
	{
		versions: []schema.GroupVersion{corev1.SchemeGroupVersion},
		add:      runtime.SchemeBuilder{corev1.AddToScheme},
	},
	{
		versions: []schema.GroupVersion{
			appsv1.SchemeGroupVersion, appsv1beta2.SchemeGroupVersion, appsv1beta1.SchemeGroupVersion,
		},
		add: runtime.SchemeBuilder{appsv1.AddToScheme, appsv1beta2.AddToScheme, appsv1beta1.AddToScheme},
	},
	{
		versions: []schema.GroupVersion{authenticationv1.SchemeGroupVersion},
		add:      runtime.SchemeBuilder{authenticationv1.AddToScheme},
	},
	{
		versions: []schema.GroupVersion{authorizationv1.SchemeGroupVersion},
		add:      runtime.SchemeBuilder{authorizationv1.AddToScheme},
	},
	{
		versions: []schema.GroupVersion{autoscalingv1.SchemeGroupVersion},
		add:      runtime.SchemeBuilder{autoscalingv1.AddToScheme},
	},
	{
		versions: []schema.GroupVersion{policyv1.SchemeGroupVersion},
		add:      runtime.SchemeBuilder{policyv1.AddToScheme},
	},
}

// AddTypes registers the Go types of all groups, and which of a group's versions comes first.
func AddTypes(s *runtime.Scheme) error {
	for _, g := range groups {
		if err := g.add.AddToScheme(s); err != nil {
			return err
		}
		if err := s.SetVersionPriority(g.versions...); err != nil {
			return err
		}
	}
	return nil
}

// Typer knows what kind an object of a built-in resource has.
var Typer = newTyper()

func newTyper() runtime.ObjectTyper {
	s := runtime.NewScheme()
	utilruntime.Must(AddTypes(s))
	return s
}

// AddFieldLabels lets field selectors on objects of kind name these labels, and no others. What a client calls
// aliases' key is the label that is aliases' value.
func AddFieldLabels(s *runtime.Scheme, kind schema.GroupVersionKind, aliases map[string]string, labels ...string) error {
	return s.AddFieldLabelConversionFunc(kind, func(label, value string) (string, string, error) {
		if slices.Contains(labels, label) {
			return label, value, nil
		}
		if to, ok := aliases[label]; ok {
			return to, value, nil
		}
		return "", "", fmt.Errorf("field label not supported: %s", label)
	})
}
