package secret

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/table"
)

type strategy struct{ builtin.Strategy }

// Strategy is how secrets are created and updated.
var Strategy = strategy{builtin.NewStrategy(true)}

func (strategy) Validate(_ context.Context, obj runtime.Object) field.ErrorList {
	return validate(obj.(*corev1.Secret))
}

// PrepareForUpdate keeps the type if the client does not give one.
func (strategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	if s := obj.(*corev1.Secret); s.Type == "" {
		s.Type = old.(*corev1.Secret).Type
	}
}

func (strategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	return validateUpdate(obj.(*corev1.Secret), old.(*corev1.Secret))
}

// AddToScheme registers defaults and field labels.
func AddToScheme(s *runtime.Scheme) error {
	s.AddTypeDefaultingFunc(&corev1.Secret{}, func(obj any) { setDefaults(obj.(*corev1.Secret)) })
	return builtin.AddFieldLabels(s, corev1.SchemeGroupVersion.WithKind("Secret"), nil,
		"type", "metadata.namespace", "metadata.name")
}

func setDefaults(s *corev1.Secret) {
	if s.Type == "" {
		s.Type = corev1.SecretTypeOpaque
	}
	if len(s.StringData) == 0 {
		s.StringData = nil
		return
	}
	if s.Data == nil {
		s.Data = make(map[string][]byte, len(s.StringData))
	}
	for k, v := range s.StringData {
		s.Data[k] = []byte(v)
	}
	s.StringData = nil
}

// Attrs is what selectors see of a secret.
func Attrs(obj runtime.Object) (labels.Set, fields.Set, error) {
	s, err := builtin.As[*corev1.Secret](obj)
	if err != nil {
		return nil, nil, err
	}
	f := builtin.MetaFields(&s.ObjectMeta, 1)
	f["type"] = string(s.Type)
	return s.Labels, f, nil
}

var columns = []table.Column{
	table.NameColumn,
	{Name: "Type", Type: "string", Description: corev1.Secret{}.SwaggerDoc()["type"]},
	{Name: "Data", Type: "string", Description: corev1.Secret{}.SwaggerDoc()["data"]},
	table.AgeColumn,
}

// Table has kubectl's columns.
var Table = table.New(columns, func(s *corev1.Secret) metav1.TableRow {
	return table.Row(s.Name, string(s.Type), int64(len(s.Data)), table.Age(s.CreationTimestamp))
})
