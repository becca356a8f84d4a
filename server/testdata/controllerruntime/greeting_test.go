package controllerruntime

import (
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
)

var groupVersion = schema.GroupVersion{Group: "example.dev", Version: "v1"}

// Greeting asks the operator for a config map with its text.
type Greeting struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   GreetingSpec   `json:"spec,omitempty"`
	Status GreetingStatus `json:"status,omitempty"`
}

// GreetingSpec is what the user wants.
type GreetingSpec struct {
	Text  string `json:"text,omitempty"`
	Color string `json:"color,omitempty"`
}

// GreetingStatus is what the operator has done.
type GreetingStatus struct {
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
}

// GreetingList is a list of greetings.
type GreetingList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Greeting `json:"items"`
}

// DeepCopyObject makes a Greeting a runtime.Object.
func (g *Greeting) DeepCopyObject() runtime.Object { return g.DeepCopy() }

// DeepCopy shares nothing with g.
func (g *Greeting) DeepCopy() *Greeting {
	out := *g
	g.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Status.Conditions = nil
	for i := range g.Status.Conditions {
		out.Status.Conditions = append(out.Status.Conditions, *g.Status.Conditions[i].DeepCopy())
	}
	return &out
}

// DeepCopyObject makes a GreetingList a runtime.Object.
func (l *GreetingList) DeepCopyObject() runtime.Object {
	out := *l
	l.ListMeta.DeepCopyInto(&out.ListMeta)
	out.Items = nil
	for i := range l.Items {
		out.Items = append(out.Items, *l.Items[i].DeepCopy())
	}
	return &out
}

// scheme has the built-in types, definitions and greetings.
func scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(clientscheme.AddToScheme(s))
	utilruntime.Must(apiextensionsv1.AddToScheme(s))
	s.AddKnownTypes(groupVersion, &Greeting{}, &GreetingList{})
	metav1.AddToGroupVersion(s, groupVersion)
	return s
}

// definition is the CRD of greetings, whose color selectors may name.
func definition() *apiextensionsv1.CustomResourceDefinition {
	text := apiextensionsv1.JSONSchemaProps{Type: "string"}
	object := func(properties map[string]apiextensionsv1.JSONSchemaProps) apiextensionsv1.JSONSchemaProps {
		return apiextensionsv1.JSONSchemaProps{Type: "object", Properties: properties}
	}
	condition := object(map[string]apiextensionsv1.JSONSchemaProps{
		"type": text, "status": text, "reason": text, "message": text,
		"lastTransitionTime": {Type: "string", Format: "date-time"}, "observedGeneration": {Type: "integer", Format: "int64"},
	})
	condition.Required = []string{"type", "status"}
	byType := "map"
	root := object(map[string]apiextensionsv1.JSONSchemaProps{
		"spec": object(map[string]apiextensionsv1.JSONSchemaProps{"text": text, "color": text}),
		"status": object(map[string]apiextensionsv1.JSONSchemaProps{
			"observedGeneration": {Type: "integer", Format: "int64"},
			"conditions": {
				Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &condition}, XListType: &byType, XListMapKeys: []string{"type"},
			},
		}),
	})
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "greetings." + groupVersion.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: groupVersion.Group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "greetings", Singular: "greeting", Kind: "Greeting", ListKind: "GreetingList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: groupVersion.Version, Served: true, Storage: true,
				Schema:           &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &root},
				Subresources:     &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
				SelectableFields: []apiextensionsv1.SelectableField{{JSONPath: ".spec.color"}},
			}},
		},
	}
}

func greeting(name, text, color string) *Greeting {
	return &Greeting{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, Labels: map[string]string{"color": color}},
		Spec:       GreetingSpec{Text: text, Color: color},
	}
}

// node is one that takes pods in all zones but a.
func node(name, zone string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"zone": zone}}, Spec: corev1.NodeSpec{Unschedulable: zone == "a"}}
}

func pod(name, node string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, Labels: map[string]string{"node": node}},
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
}
