package podspec

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// podResourceName requires the name of a resource that is allowed at pod level.
func podResourceName(name corev1.ResourceName, path *field.Path) field.ErrorList {
	if errs := ValidateResourceName(name, path); len(errs) > 0 {
		return errs
	}
	if !isPodLevel(name) {
		return field.ErrorList{field.NotSupported(path, name, []string{"cpu", "hugepages-", "memory"})}
	}
	return nil
}

// validateResources checks the requests and limits of a container or of the pod.
func (v *validator) validateResources(r *corev1.ResourceRequirements, validateName func(corev1.ResourceName, *field.Path) field.ErrorList,
	path *field.Path) field.ErrorList {
	var errs field.ErrorList
	compute, hugePages := false, false
	each := func(list corev1.ResourceList, path *field.Path, also func(corev1.ResourceName, resource.Quantity)) {
		for _, name := range ResourceNames(list) {
			quantity, at := list[name], path.Key(string(name))
			errs = append(errs, validateName(name, at)...)
			errs = append(errs, ValidateAmount(name, quantity, at)...)
			also(name, quantity)
			compute = compute || name == corev1.ResourceCPU || name == corev1.ResourceMemory
			if IsHugePageResource(name) {
				hugePages = true
				if !v.Tolerated.HugePages && !isWholePages(name, quantity) {
					errs = append(errs, field.Invalid(at, quantity.String(),
						fmt.Sprintf("%s is not positive integer multiple of %s", quantity.String(), name)))
				}
			}
		}
	}
	each(r.Limits, path.Child("limits"), func(corev1.ResourceName, resource.Quantity) {})
	requests := path.Child("requests")
	each(r.Requests, requests, func(name corev1.ResourceName, quantity resource.Quantity) {
		limit, limited := r.Limits[name]
		switch {
		case !limited && !IsOvercommitAllowed(name):
			errs = append(errs, field.Required(path.Child("limits"), "Limit must be set for non overcommitable resources"))
		case limited && !IsOvercommitAllowed(name) && quantity.Cmp(limit) != 0:
			errs = append(errs,
				field.Invalid(requests, quantity.String(), fmt.Sprintf("must be equal to %s limit of %s", name, limit.String())))
		case limited && quantity.Cmp(limit) > 0:
			errs = append(errs,
				field.Invalid(requests, quantity.String(),
					fmt.Sprintf("must be less than or equal to %s limit of %s", name, limit.String())))
		}
	})
	if hugePages && !compute {
		errs = append(errs, field.Forbidden(path, "HugePages require cpu or memory"))
	}
	return append(errs, v.validateUsedClaims(r.Claims, path.Child("claims"))...)
}

// ValidateOverhead checks the resources that a pod uses in addition to its containers.
func ValidateOverhead(overhead corev1.ResourceList, path *field.Path) field.ErrorList {
	return (&validator{}).validateResources(&corev1.ResourceRequirements{Limits: overhead}, ValidateContainerResource, path)
}

// isWholePages reports whether a quantity is a multiple of the page size in the resource's name.
func isWholePages(name corev1.ResourceName, quantity resource.Quantity) bool {
	size, err := resource.ParseQuantity(strings.TrimPrefix(string(name), corev1.ResourceHugePagesPrefix))
	if err != nil || size.Sign() <= 0 || size.MilliValue()%1000 != 0 {
		return false
	}
	return quantity.Value()%size.Value() == 0
}

func (v *validator) validateUsedClaims(used []corev1.ResourceClaim, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	whole, parts := sets.New[string](), map[string]sets.Set[string]{}
	for i, claim := range used {
		at := path.Index(i)
		if claim.Name == "" {
			errs = append(errs, field.Required(at, ""))
			continue
		}
		switch {
		case whole.Has(claim.Name):
			errs = append(errs, field.Duplicate(at, claim.Name))
		case claim.Request == "":
			for range parts[claim.Name] {
				errs = append(errs, field.Duplicate(at, claim.Name))
			}
			whole.Insert(claim.Name)
		default:
			errs = append(errs, invalid(at.Child("request"), claim.Request, validation.IsDNS1123Label(claim.Request))...)
			if parts[claim.Name].Has(claim.Request) {
				errs = append(errs, field.Duplicate(at, claim.Name+"/"+claim.Request))
			}
			if parts[claim.Name] == nil {
				parts[claim.Name] = sets.New[string]()
			}
			parts[claim.Name].Insert(claim.Request)
		}
		if !v.claims.Has(claim.Name) {
			missing := field.NotFound(at, claim.Name)
			missing.Detail = v.claimNames()
			errs = append(errs, missing)
		}
	}
	return errs
}

// validatePodResources checks the pod-level requests and limits, by themselves and against those of the containers.
func (v *validator) validatePodResources(path *field.Path) field.ErrorList {
	r := v.spec.Resources
	if r == nil {
		return nil
	}
	var errs field.ErrorList
	if r.Claims != nil {
		errs = append(errs, field.Forbidden(path.Child("claims"), "claims may not be set for Resources at pod-level"))
	}
	errs = append(errs, v.validateResources(r, podResourceName, path)...)
	sum := sumRequests(v.spec)
	for _, name := range ResourceNames(sum) {
		of := sum[name]
		have, given := r.Requests[name]
		if given && of.Cmp(have) > 0 {
			errs = append(errs, field.Invalid(path.Child("requests").Key(string(name)), have.String(),
				fmt.Sprintf("must be greater than or equal to aggregate container requests of %s", of.String())))
		}
	}
	for i, c := range v.spec.Containers {
		for _, name := range ResourceNames(c.Resources.Limits) {
			limit := c.Resources.Limits[name]
			if most, ok := r.Limits[name]; ok && limit.Cmp(most) > 0 {
				errs = append(errs, field.Invalid(path.Child("containers").Index(i).Key(string(name)).Child("limits"), limit.String(),
					fmt.Sprintf("must be less than or equal to pod limits of %s", most.String())))
			}
		}
	}
	return errs
}
