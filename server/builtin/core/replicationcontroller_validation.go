package core

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/validate/content"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/apps/workload"
	"github.com/kx-apiserver/kx/server/builtin/core/podspec"
)

var (
	replicationControllerSpecPath     = field.NewPath("spec")
	replicationControllerTemplatePath = replicationControllerSpecPath.Child("template")
)

// validateReplicationController reports errors of the name and the numbers last: in Kubernetes the types declare
// these rules, and declared rules run last.
func validateReplicationController(rc *corev1.ReplicationController) field.ErrorList {
	var name field.ErrorList
	errs := builtin.ValidateObjectMeta(&rc.ObjectMeta, true, func(n string, prefix bool) []string {
		if prefix {
			return nil // the generated name is checked instead
		}
		for _, message := range content.IsDNS1123Subdomain(n) {
			name = append(name, field.Invalid(field.NewPath("metadata", "name"), n, message))
		}
		return nil
	})
	errs = append(errs, validateSelectorAndTemplate(&rc.Spec, podspec.Options{})...)
	errs = append(errs, name...)
	return append(errs, validateNumbers(&rc.Spec)...)
}

func validateReplicationControllerUpdate(rc, old *corev1.ReplicationController) field.ErrorList {
	errs := builtin.ValidateObjectMetaUpdate(&rc.ObjectMeta, &old.ObjectMeta)
	opts := podspec.Options{}
	if t := old.Spec.Template; t != nil {
		opts.Tolerated = podspec.MistakesIn(&t.Spec, t.Annotations)
	}
	errs = append(errs, validateSelectorAndTemplate(&rc.Spec, opts)...)
	errs = append(errs, validateNonConvertible(rc, old)...)
	return append(errs, validateNumbers(&rc.Spec)...)
}

func validateSelectorAndTemplate(spec *corev1.ReplicationControllerSpec, opts podspec.Options) field.ErrorList {
	var errs field.ErrorList
	if len(spec.Selector) == 0 {
		errs = append(errs, field.Required(replicationControllerSpecPath.Child("selector"), ""))
	}
	if spec.Template == nil {
		return append(errs, field.Required(replicationControllerTemplatePath, ""))
	}
	return append(errs,
		workload.ValidateTemplate(spec.Template, labels.Set(spec.Selector).AsSelector(), "ReplicationController",
			replicationControllerTemplatePath, opts)...)
}

func validateNumbers(spec *corev1.ReplicationControllerSpec) field.ErrorList {
	var errs field.ErrorList
	if spec.Replicas == nil {
		errs = append(errs, field.Required(replicationControllerSpecPath.Child("replicas"), ""))
	} else {
		errs = append(errs,
			apivalidation.ValidateNonnegativeField(int64(*spec.Replicas), replicationControllerSpecPath.Child("replicas"))...)
	}
	return append(errs,
		apivalidation.ValidateNonnegativeField(int64(spec.MinReadySeconds), replicationControllerSpecPath.Child("minReadySeconds"))...)
}

// validateNonConvertible refuses changes of the selector if an annotation marks it as not convertible: the object was
// a replica set, with a selector that a replication controller cannot have.
func validateNonConvertible(rc, old *corev1.ReplicationController) field.ErrorList {
	var errs field.ErrorList
	for _, key := range slices.Sorted(maps.Keys(old.Annotations)) {
		_, name, prefixed := strings.Cut(key, "/")
		switch {
		case !strings.HasPrefix(key, corev1.NonConvertibleAnnotationPrefix) || !prefixed || strings.Contains(name, "/"):
		case !strings.Contains(name, "selector"):
			errs = append(errs,
				&field.Error{Type: field.ErrorTypeNotFound, BadValue: old.Annotations[key], Field: name,
					Detail: "unknown non-convertible field"})
		case !apiequality.Semantic.DeepEqual(rc.Spec.Selector, old.Spec.Selector):
			errs = append(errs,
				field.Invalid(replicationControllerSpecPath.Child("selector"), rc.Spec.Selector, "cannot update non-convertible selector"))
		}
	}
	return errs
}

func validateReplicationControllerStatusUpdate(rc, old *corev1.ReplicationController) field.ErrorList {
	s := &rc.Status
	return append(builtin.ValidateObjectMetaUpdate(&rc.ObjectMeta, &old.ObjectMeta), workload.ValidateReplicas(workload.Replicas{
		Replicas: s.Replicas, FullyLabeled: s.FullyLabeledReplicas, Ready: s.ReadyReplicas, Available: s.AvailableReplicas,
		ObservedGeneration: s.ObservedGeneration,
	})...)
}

// replicationControllerWarnings returns warnings about the template. For an update they are about the old template,
// as a kube-apiserver's are.
func replicationControllerWarnings(rc, old *corev1.ReplicationController) []string {
	switch {
	case old == nil && rc.Spec.Template == nil:
		return workload.NameWarnings(rc.Name)
	case old == nil:
		return append(workload.NameWarnings(rc.Name), podspec.TemplateWarnings(rc.Spec.Template, replicationControllerTemplatePath)...)
	case rc.Generation == old.Generation || old.Spec.Template == nil:
		return nil
	}
	return podspec.TemplateWarnings(old.Spec.Template, replicationControllerTemplatePath)
}
