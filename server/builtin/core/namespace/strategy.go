package namespace

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/table"
)

type strategy struct{ builtin.Strategy }

// Strategy is how namespaces are created and updated.
var Strategy = strategy{builtin.NewStrategy(false)}

// StatusStrategy is how their status is.
var StatusStrategy = builtin.StatusStrategy[*corev1.Namespace]{
	RESTUpdateStrategy: Strategy,
	Keep:               func(ns, old *corev1.Namespace) { ns.Spec = old.Spec },
	Reset:              builtin.ResetFields("v1", "spec"),
	Check:              validateStatusUpdate,
}

// FinalizeStrategy is how spec.finalizers is.
var FinalizeStrategy = builtin.StatusStrategy[*corev1.Namespace]{
	RESTUpdateStrategy: Strategy,
	Keep:               func(ns, old *corev1.Namespace) { ns.Status = old.Status },
	Reset:              builtin.ResetFields("v1", "status"),
	Check:              validateFinalizeUpdate,
}

// GetResetFields implements rest.ResetFieldsStrategy.
func (strategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return builtin.ResetFields("v1", "status")
}

// PrepareForCreate makes the namespace active, with the finalizer of the controller that will empty it one day. That is
// not a default: it must be possible to remove it.
func (strategy) PrepareForCreate(_ context.Context, obj runtime.Object) {
	ns := obj.(*corev1.Namespace)
	ns.Status = corev1.NamespaceStatus{Phase: corev1.NamespaceActive}
	if !slices.Contains(ns.Spec.Finalizers, corev1.FinalizerKubernetes) {
		ns.Spec.Finalizers = append(ns.Spec.Finalizers, corev1.FinalizerKubernetes)
	}
}

func (strategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	ns, was := obj.(*corev1.Namespace), old.(*corev1.Namespace)
	ns.Spec.Finalizers = was.Spec.Finalizers
	ns.Status = was.Status
}

// Canonicalize labels the namespace with its name, which is known only now if it was generated.
func (strategy) Canonicalize(obj runtime.Object) { setNameLabel(obj.(*corev1.Namespace)) }

func setNameLabel(ns *corev1.Namespace) {
	if ns.Labels == nil {
		ns.Labels = map[string]string{}
	}
	ns.Labels[corev1.LabelMetadataName] = ns.Name
}

func (strategy) Validate(_ context.Context, obj runtime.Object) field.ErrorList {
	return validate(obj.(*corev1.Namespace))
}

func (strategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	ns := obj.(*corev1.Namespace)
	return append(validate(ns), builtin.ValidateObjectMetaUpdate(&ns.ObjectMeta, &old.(*corev1.Namespace).ObjectMeta)...)
}

func validate(ns *corev1.Namespace) field.ErrorList {
	errs := builtin.ValidateObjectMeta(&ns.ObjectMeta, false, apivalidation.NameIsDNSLabel)
	for _, f := range ns.Spec.Finalizers {
		errs = append(errs, builtin.ValidateFinalizer(string(f), field.NewPath("spec", "finalizers"))...)
	}
	return errs
}

func validateStatusUpdate(ns, old *corev1.Namespace) field.ErrorList {
	errs := builtin.ValidateObjectMetaUpdate(&ns.ObjectMeta, &old.ObjectMeta)
	path := field.NewPath("status", "Phase")
	switch {
	case ns.DeletionTimestamp.IsZero() && ns.Status.Phase != corev1.NamespaceActive:
		errs = append(errs, field.Invalid(path, ns.Status.Phase, "may only be 'Active' if `deletionTimestamp` is empty"))
	case !ns.DeletionTimestamp.IsZero() && ns.Status.Phase != corev1.NamespaceTerminating:
		errs = append(errs, field.Invalid(path, ns.Status.Phase, "may only be 'Terminating' if `deletionTimestamp` is not empty"))
	}
	return errs
}

func validateFinalizeUpdate(ns, old *corev1.Namespace) field.ErrorList {
	errs := builtin.ValidateObjectMetaUpdate(&ns.ObjectMeta, &old.ObjectMeta)
	for i, f := range ns.Spec.Finalizers {
		errs = append(errs, builtin.ValidateFinalizer(string(f), field.NewPath("spec", "finalizers").Index(i))...)
	}
	return errs
}

// AddToScheme registers defaults and field labels.
func AddToScheme(s *runtime.Scheme) error {
	s.AddTypeDefaultingFunc(&corev1.Namespace{}, func(obj any) { setDefaults(obj.(*corev1.Namespace)) })
	return builtin.AddFieldLabels(s, corev1.SchemeGroupVersion.WithKind("Namespace"), nil, "status.phase", "metadata.name")
}

func setDefaults(ns *corev1.Namespace) {
	if ns.Name != "" {
		setNameLabel(ns)
	}
	if ns.Status.Phase == "" {
		ns.Status.Phase = corev1.NamespaceActive
	}
}

// Attrs is what selectors see of a namespace.
func Attrs(obj runtime.Object) (labels.Set, fields.Set, error) {
	ns, err := builtin.As[*corev1.Namespace](obj)
	if err != nil {
		return nil, nil, err
	}
	f := builtin.MetaFields(&ns.ObjectMeta, 1)
	f["status.phase"] = string(ns.Status.Phase)
	return ns.Labels, f, nil
}

var columns = []table.Column{
	table.NameColumn,
	{Name: "Status", Type: "string", Description: "The status of the namespace"},
	table.AgeColumn,
}

// Table has kubectl's columns.
var Table = table.New(columns, func(ns *corev1.Namespace) metav1.TableRow {
	return table.Row(ns.Name, string(ns.Status.Phase), table.Age(ns.CreationTimestamp))
})
