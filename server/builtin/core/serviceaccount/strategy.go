package serviceaccount

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/table"
)

// enforceMountableSecrets is an annotation that is on its way out.
const enforceMountableSecrets = "kubernetes.io/enforce-mountable-secrets"

type strategy struct{ builtin.Strategy }

// Strategy is how service accounts are created and updated.
var Strategy = strategy{builtin.NewStrategy(true)}

func (strategy) PrepareForCreate(_ context.Context, obj runtime.Object) {
	keepSecretNames(obj.(*corev1.ServiceAccount))
}

func (strategy) PrepareForUpdate(_ context.Context, obj, _ runtime.Object) {
	keepSecretNames(obj.(*corev1.ServiceAccount))
}

// keepSecretNames drops all but the names of the referenced secrets: they are in the account's own namespace.
func keepSecretNames(sa *corev1.ServiceAccount) {
	for i := range sa.Secrets {
		sa.Secrets[i] = corev1.ObjectReference{Name: sa.Secrets[i].Name}
	}
}

func (strategy) Validate(_ context.Context, obj runtime.Object) field.ErrorList {
	return validate(obj.(*corev1.ServiceAccount))
}

func (strategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	sa := obj.(*corev1.ServiceAccount)
	errs := builtin.ValidateObjectMetaUpdate(&sa.ObjectMeta, &old.(*corev1.ServiceAccount).ObjectMeta)
	return append(errs, validate(sa)...)
}

func validate(sa *corev1.ServiceAccount) field.ErrorList {
	return builtin.ValidateObjectMeta(&sa.ObjectMeta, true, apivalidation.NameIsDNSSubdomain)
}

func (strategy) WarningsOnCreate(_ context.Context, obj runtime.Object) []string {
	return warnings(obj.(*corev1.ServiceAccount))
}

func (strategy) WarningsOnUpdate(_ context.Context, obj, old runtime.Object) []string {
	if _, had := old.(*corev1.ServiceAccount).Annotations[enforceMountableSecrets]; had {
		return nil
	}
	return warnings(obj.(*corev1.ServiceAccount))
}

func warnings(sa *corev1.ServiceAccount) []string {
	if _, has := sa.Annotations[enforceMountableSecrets]; !has {
		return nil
	}
	return []string{fmt.Sprintf("metadata.annotations[%s]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets",
		enforceMountableSecrets)}
}

var columns = []table.Column{
	table.NameColumn,
	{Name: "Secrets", Type: "string", Description: corev1.ServiceAccount{}.SwaggerDoc()["secrets"]},
	table.AgeColumn,
}

// Table has kubectl's columns.
var Table = table.New(columns, func(sa *corev1.ServiceAccount) metav1.TableRow {
	return table.Row(sa.Name, int64(len(sa.Secrets)), table.Age(sa.CreationTimestamp))
})
