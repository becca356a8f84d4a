package core

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/core/podspec"
)

var (
	metadataPath   = field.NewPath("metadata")
	nodeSpecPath   = field.NewPath("spec")
	nodeStatusPath = field.NewPath("status")
	podCIDRsPath   = nodeSpecPath.Child("podCIDRs")
	// Every Kubernetes API server reports errors about taints and swap with these paths, though they are not the
	// fields'.
	taintsPath = metadataPath.Child("taints")
	swapPath   = metadataPath.Child("nodeSwapStatus")
)

func validateNode(n *corev1.Node) field.ErrorList {
	errs := builtin.ValidateObjectMeta(&n.ObjectMeta, false, apivalidation.NameIsDNSSubdomain)
	errs = append(errs, validateAnnotations(n.Annotations)...)
	errs = append(errs, validateTaints(n.Spec.Taints, taintsPath)...)
	errs = append(errs, validateResources(&n.Status)...)
	if swap := n.Status.NodeInfo.Swap; swap != nil && swap.Capacity != nil && *swap.Capacity <= 0 {
		errs = append(errs, field.Invalid(swapPath.Child("capacity"), *swap.Capacity, "must be greater than zero"))
	}
	errs = append(errs, validateFeatures(n.Status.DeclaredFeatures)...)
	return append(errs, validatePodCIDRs(n.Spec.PodCIDRs)...)
}

func validateNodeUpdate(n, old *corev1.Node) field.ErrorList {
	return append(validateNode(n), validateChange(n, old)...)
}

// validateChange validates an update of the status. For an update of the node it is the second part.
func validateChange(n, old *corev1.Node) field.ErrorList {
	errs := builtin.ValidateObjectMetaUpdate(&n.ObjectMeta, &old.ObjectMeta)
	errs = append(errs, validateAnnotations(n.Annotations)...)
	errs = append(errs, validateResources(&n.Status)...)
	errs = append(errs, validateFeatures(n.Status.DeclaredFeatures)...)
	for i, address := range n.Status.Addresses {
		if slices.Contains(n.Status.Addresses[:i], address) {
			errs = append(errs, field.Duplicate(nodeStatusPath.Child("addresses").Index(i), builtin.Quote(address)))
		}
	}
	errs = append(errs, validatePodCIDRsChange(n.Spec.PodCIDRs, old.Spec.PodCIDRs)...)
	if id, was := n.Spec.ProviderID, old.Spec.ProviderID; was != "" && id != was {
		message := "field cannot be modified once set"
		if id == "" {
			message = "field cannot be cleared once set"
		}
		errs = append(errs, field.Invalid(nodeSpecPath.Child("providerID"), nil, message))
	}
	errs = append(errs, validateConfig(n)...)
	errs = append(errs, validateTaints(n.Spec.Taints, taintsPath)...)
	if n.Spec.DoNotUseExternalID != old.Spec.DoNotUseExternalID {
		errs = append(errs, field.Forbidden(nodeSpecPath.Child("externalID"), "may not be updated"))
	}
	return errs
}

func validateResources(s *corev1.NodeStatus) field.ErrorList {
	var errs field.ErrorList
	for _, name := range podspec.ResourceNames(s.Capacity) {
		errs = append(errs, podspec.ValidateAmount(name, s.Capacity[name], nodeStatusPath.Child("capacity", string(name)))...)
	}
	for _, name := range podspec.ResourceNames(s.Allocatable) {
		errs = append(errs, podspec.ValidateAmount(name, s.Allocatable[name], nodeStatusPath.Child("allocatable", string(name)))...)
	}
	return errs
}

func validateTaints(taints []corev1.Taint, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := sets.New[corev1.Taint]()
	for i, taint := range taints {
		at := path.Index(i)
		errs = append(errs, metav1validation.ValidateLabelName(taint.Key, at.Child("key"))...)
		if messages := validation.IsValidLabelValue(taint.Value); len(messages) > 0 {
			errs = append(errs, field.Invalid(at.Child("value"), taint.Value, strings.Join(messages, ";")))
		}
		errs = append(errs, validateEffect(taint.Effect, at.Child("effect"))...)
		id := corev1.Taint{Key: taint.Key, Effect: taint.Effect}
		if seen.Has(id) {
			twice := field.Duplicate(at, builtin.Quote(taint))
			twice.Detail = "taints must be unique by key and effect pair"
			errs = append(errs, twice)
		}
		seen.Insert(id)
	}
	return errs
}

func validateEffect(effect corev1.TaintEffect, path *field.Path) field.ErrorList {
	effects := []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute}
	switch {
	case effect == "":
		return field.ErrorList{field.Required(path, "")}
	case !slices.Contains(effects, effect):
		return field.ErrorList{field.NotSupported(path, effect, effects)}
	}
	return nil
}

// validatePodCIDRs requires at most one range of each IP family.
func validatePodCIDRs(cidrs []string) field.ErrorList {
	var errs field.ErrorList
	for i, cidr := range cidrs {
		errs = append(errs, validation.IsValidCIDRForLegacyField(podCIDRsPath.Index(i), cidr, true, nil)...)
	}
	if len(cidrs) < 2 {
		return errs
	}
	dual, err := netutils.IsDualStackCIDRStrings(cidrs)
	if err != nil {
		errs = append(errs,
			field.InternalError(podCIDRsPath, fmt.Errorf("invalid PodCIDRs. failed to check with dual stack with error:%w", err)))
	}
	if !dual || len(cidrs) > 2 {
		errs = append(errs, field.Invalid(podCIDRsPath, cidrs, "may specify no more than one CIDR for each IP family"))
	}
	return errs
}

// validatePodCIDRsChange keeps ranges once they are set.
func validatePodCIDRsChange(cidrs, old []string) field.ErrorList {
	if len(old) == 0 || slices.Equal(cidrs, old) {
		return nil
	}
	return field.ErrorList{field.Forbidden(podCIDRsPath, `node updates may not change podCIDR except from "" to valid`)}
}

var featureName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Z][a-zA-Z0-9]*(\/[a-zA-Z][a-zA-Z0-9]*)*$`)
})

// validateFeatures requires the names of features in order, each once.
func validateFeatures(features []string) field.ErrorList {
	var errs field.ErrorList
	path := nodeStatusPath.Child("declaredFeatures")
	for i, feature := range features {
		switch {
		case len(feature) > validation.DNS1123SubdomainMaxLength:
			errs = append(errs,
				field.Invalid(path.Index(i), feature,
					fmt.Sprintf("invalid feature name %q: must be no more than %d characters", feature,
						validation.DNS1123SubdomainMaxLength)))
		case !featureName().MatchString(feature):
			errs = append(errs,
				field.Invalid(path.Index(i), feature,
					fmt.Sprintf("invalid feature name %q: must start with an UpperCamelCase segment, "+
						"with subsequent segments separated by '/' (e.g., MyFeature or MyFeature/mySubFeature), "+
						"and contain only alphanumeric characters and slashes", feature)))
		}
		if i+1 == len(features) {
			break
		}
		switch next := features[i+1]; {
		case feature == next:
			errs = append(errs, field.Duplicate(path.Index(i+1), next))
		case feature > next:
			errs = append(errs, field.Invalid(path.Index(i+1), next, "list must be sorted alphabetically"))
		}
	}
	return errs
}
