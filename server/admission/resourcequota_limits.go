package admission

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/admission/plugin/resourcequota/apis/resourcequota"
	"k8s.io/apiserver/pkg/admission/plugin/resourcequota/apis/resourcequota/install"
	"k8s.io/apiserver/pkg/admission/plugin/resourcequota/apis/resourcequota/validation"

	"github.com/kx-apiserver/kx/server/builtin/core"
	"github.com/kx-apiserver/kx/server/quota"
)

// limits lists the resources that can't be used without a quota that counts them.
type limits []resourcequota.LimitedResource

// readLimits reads the configuration of the plugin.
func readLimits(data []byte) (limits, error) {
	if len(data) == 0 {
		return nil, nil
	}
	scheme := runtime.NewScheme()
	install.Install(scheme)
	decoded, err := runtime.Decode(serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDecoder(), data)
	if err != nil {
		return nil, err
	}
	config, ok := decoded.(*resourcequota.Configuration)
	if !ok {
		return nil, fmt.Errorf("kind: this is a %T; it must be a ResourceQuotaConfiguration", decoded)
	}
	errs := validation.ValidateConfiguration(config)
	for i, limit := range config.LimitedResources {
		errs = append(errs, validateScopes(limit.MatchScopes, field.NewPath("limitedResources").Index(i).Child("matchScopes"))...)
	}
	return config.LimitedResources, errs.ToAggregate()
}

// validateScopes refuses selectors that select nothing: their author would wrongly believe that something is
// limited.
func validateScopes(selectors []corev1.ScopedResourceSelectorRequirement, path *field.Path) (errs field.ErrorList) {
	for i, r := range selectors {
		at := path.Index(i)
		switch {
		case !slices.Contains(core.QuotaScopes, r.ScopeName):
			errs = append(errs, field.Invalid(at.Child("scopeName"), r.ScopeName, "there is no such scope"))
		case r.ScopeName == corev1.ResourceQuotaScopePriorityClass, r.ScopeName == corev1.ResourceQuotaScopeVolumeAttributesClass:
			errs = append(errs, validateSelector(r, at)...) // others select without an operator
		}
	}
	return errs
}

func validateSelector(r corev1.ScopedResourceSelectorRequirement, at *field.Path) field.ErrorList {
	switch r.Operator {
	case corev1.ScopeSelectorOpIn, corev1.ScopeSelectorOpNotIn:
		if len(r.Values) == 0 {
			return field.ErrorList{field.Required(at.Child("values"), "")}
		}
	case corev1.ScopeSelectorOpExists, corev1.ScopeSelectorOpDoesNotExist:
		if len(r.Values) > 0 {
			return field.ErrorList{field.Invalid(at.Child("values"), r.Values, "the operator "+string(r.Operator)+" takes none")}
		}
	default:
		return field.ErrorList{field.NotSupported(at.Child("operator"), r.Operator, []corev1.ScopeSelectorOperator{
			corev1.ScopeSelectorOpIn, corev1.ScopeSelectorOpNotIn, corev1.ScopeSelectorOpExists, corev1.ScopeSelectorOpDoesNotExist})}
	}
	return nil
}

// hold refuses a write that uses more of something limited than before, if no quota covers that. A quota covers
// an amount if it counts the object and limits the amount. Any quota of the namespace covers a scope if it has
// the scope and selects the object by it.
func (l limits) hold(c *charge, all, counting []*corev1.ResourceQuota) error {
	if len(l) == 0 || !c.adds(counting) {
		return nil
	}
	names := l.names(c)
	for _, q := range counting {
		for _, name := range quota.Names(c.resource, q.Status.Hard) {
			delete(names, name)
		}
	}
	if len(names) > 0 {
		return c.w.Refusal("insufficient quota to consume: %s", joinNames(slices.Collect(maps.Keys(names))))
	}
	scopes := l.scopes(c)
	for _, q := range all {
		for r := range quota.Selectors(&q.Spec) {
			if c.usage.Selected(r) {
				scopes = slices.DeleteFunc(scopes,
					func(limited corev1.ScopedResourceSelectorRequirement) bool { return limited.ScopeName == r.ScopeName })
			}
		}
	}
	if len(scopes) > 0 {
		return errors.New("insufficient quota to match these scopes: " + fmt.Sprint(scopes))
	}
	return nil
}

// names returns the object's amounts that are limited by name.
func (l limits) names(c *charge) map[corev1.ResourceName]bool {
	names := map[corev1.ResourceName]bool{}
	for _, limit := range l {
		if limit.APIGroup != c.resource.Group || limit.Resource != c.resource.Resource {
			continue
		}
		for name, amount := range c.usage.Amounts {
			if amount.Sign() > 0 &&
				slices.ContainsFunc(limit.MatchContains, func(part string) bool { return strings.Contains(string(name), part) }) {
				names[name] = true
			}
		}
	}
	return names
}

// scopes returns the limited scopes that select the object, whatever resource the configuration names beside a
// scope.
func (l limits) scopes(c *charge) (scopes []corev1.ScopedResourceSelectorRequirement) {
	for _, limit := range l {
		for _, r := range limit.MatchScopes {
			if c.usage.Selected(r) {
				scopes = append(scopes, r)
			}
		}
	}
	return scopes
}
