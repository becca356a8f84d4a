package core

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
)

// enforceMountableSecrets is a deprecated annotation.
const enforceMountableSecrets = "kubernetes.io/enforce-mountable-secrets"

// ServiceAccount is the resource serviceaccounts: the identities of programs in the cluster.
var ServiceAccount = builtin.Resource[*corev1.ServiceAccount]{
	Names:          builtin.Names{Plural: "serviceaccounts", Singular: "serviceaccount", Short: []string{"sa"}},
	List:           &corev1.ServiceAccountList{},
	Stored:         corev1.SchemeGroupVersion,
	PrepareCreate:  func(_ context.Context, sa *corev1.ServiceAccount) { keepSecretNames(sa) },
	PrepareUpdate:  func(sa, _ *corev1.ServiceAccount) { keepSecretNames(sa) },
	Validate:       validateServiceAccount,
	ValidateUpdate: validateServiceAccountUpdate,
	Warnings:       serviceAccountWarnings,
	Sample:         "automountServiceAccountToken: true",
	Columns: []builtin.Column{
		builtin.NameColumn,
		builtin.AgeColumn,
	},
	Row: func(sa *corev1.ServiceAccount) metav1.TableRow {
		return builtin.Row(sa.Name, builtin.Age(sa.CreationTimestamp))
	},
	ReturnDeletedObject: true,
}

// keepSecretNames reduces references to secrets to their names: the secrets are in the account's own namespace.
func keepSecretNames(sa *corev1.ServiceAccount) {
	for i := range sa.Secrets {
		sa.Secrets[i] = corev1.ObjectReference{Name: sa.Secrets[i].Name}
	}
}

func validateServiceAccount(sa *corev1.ServiceAccount) field.ErrorList {
	return builtin.ValidateObjectMeta(&sa.ObjectMeta, true, apivalidation.NameIsDNSSubdomain)
}

func validateServiceAccountUpdate(sa, old *corev1.ServiceAccount) field.ErrorList {
	return append(builtin.ValidateObjectMetaUpdate(&sa.ObjectMeta, &old.ObjectMeta), validateServiceAccount(sa)...)
}

// serviceAccountWarnings warns of the deprecated annotation if the update adds it.
func serviceAccountWarnings(sa, old *corev1.ServiceAccount) []string {
	if old != nil {
		if _, had := old.Annotations[enforceMountableSecrets]; had {
			return nil
		}
	}
	if _, has := sa.Annotations[enforceMountableSecrets]; !has {
		return nil
	}
	return []string{fmt.Sprintf(
		"metadata.annotations[%s]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets",
		enforceMountableSecrets)}
}
