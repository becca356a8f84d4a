package configmap

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/table"
)

type strategy struct{ builtin.Strategy }

// Strategy is how config maps are created and updated.
var Strategy = strategy{builtin.NewStrategy(true)}

func (strategy) Validate(_ context.Context, obj runtime.Object) field.ErrorList {
	return validate(obj.(*corev1.ConfigMap))
}

func (strategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	return validateUpdate(obj.(*corev1.ConfigMap), old.(*corev1.ConfigMap))
}

// AddToScheme registers the defaults.
func AddToScheme(s *runtime.Scheme) error {
	s.AddTypeDefaultingFunc(&corev1.ConfigMap{}, func(obj any) { setDefaults(obj.(*corev1.ConfigMap)) })
	return nil
}

func setDefaults(cm *corev1.ConfigMap) {
	if cm.Data == nil {
		cm.Data = map[string]string{}
	}
}

var columns = []table.Column{
	table.NameColumn,
	{Name: "Data", Type: "string", Description: corev1.ConfigMap{}.SwaggerDoc()["data"]},
	table.AgeColumn,
}

// Table has kubectl's columns.
var Table = table.New(columns, func(cm *corev1.ConfigMap) metav1.TableRow {
	return table.Row(cm.Name, int64(len(cm.Data)+len(cm.BinaryData)), table.Age(cm.CreationTimestamp))
})
