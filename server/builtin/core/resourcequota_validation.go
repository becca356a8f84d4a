package core

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/core/podspec"
)

var (
	resourceQuotaSpecPath   = field.NewPath("spec")
	scopesPath              = resourceQuotaSpecPath.Child("scopes")
	resourceQuotaStatusPath = field.NewPath("status")
)

func validateResourceQuota(q *corev1.ResourceQuota) field.ErrorList {
	return append(builtin.ValidateObjectMeta(&q.ObjectMeta, true, apivalidation.NameIsDNSSubdomain), validateSpec(&q.Spec)...)
}

func validateResourceQuotaUpdate(q, old *corev1.ResourceQuota) field.ErrorList {
	errs := builtin.ValidateObjectMetaUpdate(&q.ObjectMeta, &old.ObjectMeta)
	errs = append(errs, validateSpec(&q.Spec)...)
	if !sets.New(q.Spec.Scopes...).Equal(sets.New(old.Spec.Scopes...)) {
		errs = append(errs, field.Invalid(scopesPath, q.Spec.Scopes, apivalidation.FieldImmutableErrorMsg))
	}
	return errs
}

func validateResourceQuotaStatusUpdate(q, old *corev1.ResourceQuota) field.ErrorList {
	errs := builtin.ValidateObjectMetaUpdate(&q.ObjectMeta, &old.ObjectMeta)
	errs = append(errs, validateResourceQuotaAmounts(q.Status.Hard, resourceQuotaStatusPath.Child("hard"))...)
	return append(errs, validateResourceQuotaAmounts(q.Status.Used, resourceQuotaStatusPath.Child("used"))...)
}

func validateResourceQuotaAmounts(list corev1.ResourceList, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, name := range podspec.ResourceNames(list) {
		at := path.Key(string(name))
		errs = append(errs, podspec.ValidateQuotaResource(name, at)...)
		errs = append(errs, podspec.ValidateAmount(name, list[name], at)...)
	}
	return errs
}

func validateSpec(spec *corev1.ResourceQuotaSpec) field.ErrorList {
	errs := validateResourceQuotaAmounts(spec.Hard, resourceQuotaSpecPath.Child("hard"))
	for _, scope := range spec.Scopes {
		if !slices.Contains(QuotaScopes, scope) {
			errs = append(errs, field.Invalid(scopesPath, spec.Scopes, "unsupported scope"))
		}
		errs = append(errs, validateScoped(scope, spec, scopesPath, spec.Scopes)...)
	}
	errs = append(errs, validatePairs(sets.New(spec.Scopes...), scopesPath, spec)...)
	if spec.ScopeSelector != nil {
		errs = append(errs, validateSelector(spec, resourceQuotaSpecPath.Child("scopeSelector", "matchExpressions"))...)
	}
	return errs
}

// QuotaScopes lists all scopes that a quota may have.
var QuotaScopes = []corev1.ResourceQuotaScope{
	corev1.ResourceQuotaScopeTerminating, corev1.ResourceQuotaScopeNotTerminating,
	corev1.ResourceQuotaScopeBestEffort, corev1.ResourceQuotaScopeNotBestEffort,
	corev1.ResourceQuotaScopePriorityClass, corev1.ResourceQuotaScopeVolumeAttributesClass,
	corev1.ResourceQuotaScopeCrossNamespacePodAffinity,
}

// validateScoped requires that each limited resource belongs to objects that a scope can select.
func validateScoped(scope corev1.ResourceQuotaScope, spec *corev1.ResourceQuotaSpec, path *field.Path, value any) field.ErrorList {
	of := scoped(scope)
	if of == nil {
		return nil
	}
	var errs field.ErrorList
	for _, name := range podspec.ResourceNames(spec.Hard) {
		if podspec.IsQuotaResource(name) && !slices.Contains(of, name) {
			errs = append(errs, field.Invalid(path, value, "unsupported scope applied to resource"))
		}
	}
	return errs
}

// scoped returns the resources that a quota with a scope can limit; nil means all.
func scoped(scope corev1.ResourceQuotaScope) []corev1.ResourceName {
	switch scope {
	case corev1.ResourceQuotaScopeBestEffort:
		return []corev1.ResourceName{corev1.ResourcePods}
	case corev1.ResourceQuotaScopeVolumeAttributesClass:
		return []corev1.ResourceName{corev1.ResourcePersistentVolumeClaims, corev1.ResourceRequestsStorage}
	case corev1.ResourceQuotaScopeTerminating, corev1.ResourceQuotaScopeNotTerminating, corev1.ResourceQuotaScopeNotBestEffort,
		corev1.ResourceQuotaScopePriorityClass, corev1.ResourceQuotaScopeCrossNamespacePodAffinity:
		return []corev1.ResourceName{
			corev1.ResourcePods, corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceLimitsCPU, corev1.ResourceLimitsMemory,
			corev1.ResourceRequestsCPU, corev1.ResourceRequestsMemory,
		}
	}
	return nil
}

// validatePairs refuses two scopes that exclude each other. The message quotes spec.scopes for both fields.
func validatePairs(all sets.Set[corev1.ResourceQuotaScope], path *field.Path, spec *corev1.ResourceQuotaSpec) field.ErrorList {
	var errs field.ErrorList
	for _, pair := range [][2]corev1.ResourceQuotaScope{
		{corev1.ResourceQuotaScopeBestEffort, corev1.ResourceQuotaScopeNotBestEffort},
		{corev1.ResourceQuotaScopeTerminating, corev1.ResourceQuotaScopeNotTerminating},
	} {
		if all.HasAll(pair[0], pair[1]) {
			errs = append(errs, field.Invalid(path, spec.Scopes, "conflicting scopes"))
		}
	}
	return errs
}

func validateSelector(spec *corev1.ResourceQuotaSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	all := sets.New[corev1.ResourceQuotaScope]()
	for _, r := range spec.ScopeSelector.MatchExpressions {
		if !slices.Contains(QuotaScopes, r.ScopeName) {
			errs = append(errs, field.Invalid(path.Child("scopeName"), r.ScopeName, "unsupported scope"))
		}
		errs = append(errs, validateScoped(r.ScopeName, spec, path, builtin.Quote(spec.ScopeSelector))...)
		errs = append(errs, validateOperator(r, path)...)
		all.Insert(r.ScopeName)
	}
	return append(errs, validatePairs(all, path, spec)...)
}

func validateOperator(r corev1.ScopedResourceSelectorRequirement, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch r.ScopeName {
	case corev1.ResourceQuotaScopeBestEffort, corev1.ResourceQuotaScopeNotBestEffort, corev1.ResourceQuotaScopeTerminating,
		corev1.ResourceQuotaScopeNotTerminating, corev1.ResourceQuotaScopeCrossNamespacePodAffinity:
		if r.Operator != corev1.ScopeSelectorOpExists {
			errs = append(errs,
				field.Invalid(path.Child("operator"), r.Operator,
					"must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, "+
						"ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort "+
						"or ResourceQuotaScopeCrossNamespacePodAffinity"))
		}
	}
	switch r.Operator {
	case corev1.ScopeSelectorOpIn, corev1.ScopeSelectorOpNotIn:
		if len(r.Values) == 0 {
			errs = append(errs,
				field.Required(path.Child("values"), "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"))
		}
	case corev1.ScopeSelectorOpExists, corev1.ScopeSelectorOpDoesNotExist:
		if len(r.Values) != 0 {
			errs = append(errs,
				field.Invalid(path.Child("values"), r.Values,
					"must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"))
		}
	default:
		errs = append(errs, field.Invalid(path.Child("operator"), r.Operator, "not a valid selector operator"))
	}
	return errs
}
