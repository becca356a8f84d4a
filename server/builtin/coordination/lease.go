package coordination

import (
	"context"

	coordinationv1 "k8s.io/api/coordination/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/kx-apiserver/kx/server/builtin"
)

// Lease declares leases.coordination.k8s.io. Processes use them to elect a leader, and nodes to report that they are
// alive.
var Lease = builtin.Resource[*coordinationv1.Lease]{
	Names:             builtin.Names{Plural: "leases", Singular: "lease"},
	List:              &coordinationv1.LeaseList{},
	Stored:            coordinationv1.SchemeGroupVersion,
	PrepareCreate:     func(_ context.Context, l *coordinationv1.Lease) { dropDisabledFields(l, nil) },
	PrepareUpdate:     dropDisabledFields,
	Validate:          validateLease,
	ValidateUpdate:    validateLeaseUpdate,
	CreateOnUpdate:    true,
	ConditionalUpdate: true,
	Sample:            "spec: {holderIdentity: me, leaseDurationSeconds: 15}",
	Columns: []builtin.Column{
		builtin.NameColumn,
		{Name: "Holder", Type: "string", Description: coordinationv1.LeaseSpec{}.SwaggerDoc()["holderIdentity"]},
		builtin.AgeColumn,
	},
	Row: func(l *coordinationv1.Lease) metav1.TableRow {
		return builtin.Row(l.Name, ptr.Deref(l.Spec.HolderIdentity, ""), builtin.Age(l.CreationTimestamp))
	},
}

// dropDisabledFields clears the fields of coordinated leader election, which is off by default, unless old has them.
func dropDisabledFields(l, old *coordinationv1.Lease) {
	if old == nil || old.Spec.Strategy == nil {
		l.Spec.Strategy = nil
	}
	if old == nil || old.Spec.PreferredHolder == nil {
		l.Spec.PreferredHolder = nil
	}
}

// validateLease accepts finalizers without a domain, unlike the validation of other built-in objects. Kubernetes does
// the same.
func validateLease(l *coordinationv1.Lease) field.ErrorList {
	errs := apivalidation.ValidateObjectMeta(&l.ObjectMeta, true, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
	return append(errs, validateLeaseSpec(&l.Spec, field.NewPath("spec"))...)
}

func validateLeaseUpdate(l, old *coordinationv1.Lease) field.ErrorList {
	return append(apivalidation.ValidateObjectMetaUpdate(&l.ObjectMeta, &old.ObjectMeta, field.NewPath("metadata")),
		validateLeaseSpec(&l.Spec, field.NewPath("spec"))...)
}

func validateLeaseSpec(spec *coordinationv1.LeaseSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if s := spec.LeaseDurationSeconds; s != nil && *s <= 0 {
		errs = append(errs, field.Invalid(path.Child("leaseDurationSeconds"), s, "must be greater than 0"))
	}
	if n := spec.LeaseTransitions; n != nil && *n < 0 {
		errs = append(errs, field.Invalid(path.Child("leaseTransitions"), n, "must be greater than or equal to 0"))
	}
	if spec.Strategy != nil {
		errs = append(errs, validateStrategy(*spec.Strategy, path.Child("strategy"))...)
	}
	if ptr.Deref(spec.PreferredHolder, "") != "" && ptr.Deref(spec.Strategy, "") == "" {
		errs = append(errs, field.Forbidden(path.Child("preferredHolder"), "may only be specified if `strategy` is defined"))
	}
	return errs
}
