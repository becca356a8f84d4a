package apps

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/apps/workload"
	"github.com/kx-apiserver/kx/server/builtin/core/podspec"
)

var (
	statefulSetSpecPath   = field.NewPath("spec")
	claimsPath            = statefulSetSpecPath.Child("volumeClaimTemplates")
	statefulSetStatusPath = field.NewPath("status")
)

// tolerance lists the mistakes that a stored object may keep. Updates do not validate immutable fields again.
type tolerance struct {
	podspec.Options
	immutable, template bool
}

func validateStatefulSet(s *appsv1.StatefulSet) field.ErrorList {
	errs := builtin.ValidateObjectMeta(&s.ObjectMeta, true, apivalidation.NameIsDNSLabel)
	return append(errs, validateStatefulSetSpec(&s.Spec, tolerance{})...)
}

// validateStatefulSetUpdate accepts every mistake in the template if the stored object is invalid already.
func validateStatefulSetUpdate(s, old *appsv1.StatefulSet) field.ErrorList {
	tolerated := tolerance{immutable: true,
		Options: podspec.Options{Tolerated: podspec.MistakesIn(&old.Spec.Template.Spec, old.Spec.Template.Annotations)}}
	tolerated.template = len(validateStatefulSetSpec(&old.Spec, tolerated)) > 0
	errs := builtin.ValidateObjectMetaUpdate(&s.ObjectMeta, &old.ObjectMeta)
	errs = append(errs, validateStatefulSetSpec(&s.Spec, tolerated)...)
	errs = append(errs, builtin.ValidateImmutable(s.Spec.Selector, old.Spec.Selector, statefulSetSpecPath.Child("selector"))...)
	errs = append(errs,
		builtin.ValidateImmutable(withoutKinds(s.Spec.VolumeClaimTemplates), withoutKinds(old.Spec.VolumeClaimTemplates), claimsPath)...)
	errs = append(errs, builtin.ValidateImmutable(s.Spec.ServiceName, old.Spec.ServiceName, statefulSetSpecPath.Child("serviceName"))...)
	return append(errs,
		builtin.ValidateImmutable(s.Spec.PodManagementPolicy, old.Spec.PodManagementPolicy,
			statefulSetSpecPath.Child("podManagementPolicy"))...)
}

// withoutKinds removes the kinds of claim templates for messages, since the server sets them and not the client.
func withoutKinds(claims []corev1.PersistentVolumeClaim) []corev1.PersistentVolumeClaim {
	claims = slices.Clone(claims)
	for i := range claims {
		claims[i].TypeMeta = metav1.TypeMeta{}
	}
	return claims
}

func validateStatefulSetSpec(spec *appsv1.StatefulSetSpec, tolerated tolerance) field.ErrorList {
	errs := validatePodManagement(spec.PodManagementPolicy, statefulSetSpecPath.Child("podManagementPolicy"))
	errs = append(errs, validateStatefulSetStrategy(&spec.UpdateStrategy, statefulSetSpecPath.Child("updateStrategy"))...)
	errs = append(errs,
		validateRetention(spec.PersistentVolumeClaimRetentionPolicy, statefulSetSpecPath.Child("persistentVolumeClaimRetentionPolicy"))...)
	if !tolerated.immutable {
		for i := range spec.VolumeClaimTemplates {
			claim := &spec.VolumeClaimTemplates[i].Spec
			errs = append(errs, podspec.ValidateClaim(claim, claimsPath.Index(i).Child("spec"), podspec.ClaimMistakes{})...)
		}
	}
	errs = append(errs,
		apivalidation.ValidateNonnegativeField(int64(ptr.Deref(spec.Replicas, 0)), statefulSetSpecPath.Child("replicas"))...)
	errs = append(errs,
		apivalidation.ValidateNonnegativeField(int64(spec.MinReadySeconds), statefulSetSpecPath.Child("minReadySeconds"))...)
	if spec.Ordinals != nil {
		errs = append(errs,
			apivalidation.ValidateNonnegativeField(int64(spec.Ordinals.Start), statefulSetSpecPath.Child("ordinals.start"))...)
	}
	if !tolerated.immutable && spec.ServiceName != "" {
		for _, message := range validation.IsDNS1123Label(spec.ServiceName) {
			errs = append(errs, field.Invalid(statefulSetSpecPath.Child("serviceName"), spec.ServiceName, message))
		}
	}
	errs = append(errs, validateSelector(spec.Selector, statefulSetSpecPath.Child("selector"))...)
	return append(errs, validateTemplate(spec, statefulSetSpecPath.Child("template"), tolerated)...)
}

func validatePodManagement(policy appsv1.PodManagementPolicyType, path *field.Path) field.ErrorList {
	switch policy {
	case "":
		return field.ErrorList{field.Required(path, "")}
	case appsv1.OrderedReadyPodManagement, appsv1.ParallelPodManagement:
		return nil
	}
	return field.ErrorList{field.Invalid(path, policy,
		fmt.Sprintf("must be '%s' or '%s'", appsv1.OrderedReadyPodManagement, appsv1.ParallelPodManagement))}
}

func validateStatefulSetStrategy(s *appsv1.StatefulSetUpdateStrategy, path *field.Path) field.ErrorList {
	rolling := path.Child("rollingUpdate")
	switch s.Type {
	case "":
		return field.ErrorList{field.Required(path, "")}
	case appsv1.RollingUpdateStatefulSetStrategyType:
		if s.RollingUpdate == nil {
			return nil
		}
		return validateStatefulSetRollingUpdate(s.RollingUpdate, rolling)
	case appsv1.OnDeleteStatefulSetStrategyType:
		if s.RollingUpdate == nil {
			return nil
		}
		return field.ErrorList{field.Invalid(rolling, builtin.Quote(quoted(s).RollingUpdate),
			fmt.Sprintf("only allowed for updateStrategy '%s'", appsv1.RollingUpdateStatefulSetStrategyType))}
	}
	return field.ErrorList{field.Invalid(path, builtin.Quote(quoted(s)), fmt.Sprintf("must be '%s' or '%s'",
		appsv1.RollingUpdateStatefulSetStrategyType, appsv1.OnDeleteStatefulSetStrategyType))}
}

// quoted returns the strategy for messages, with 0 for a missing partition.
func quoted(s *appsv1.StatefulSetUpdateStrategy) *appsv1.StatefulSetUpdateStrategy {
	s = s.DeepCopy()
	if s.RollingUpdate != nil {
		podspec.SetDefault(&s.RollingUpdate.Partition, 0)
	}
	return s
}

func validateStatefulSetRollingUpdate(u *appsv1.RollingUpdateStatefulSetStrategy, path *field.Path) field.ErrorList {
	errs := apivalidation.ValidateNonnegativeField(int64(ptr.Deref(u.Partition, 0)), path.Child("partition"))
	if u.MaxUnavailable == nil {
		return errs
	}
	at := path.Child("maxUnavailable")
	errs = append(errs, workload.ValidateCountOrPercent(u.MaxUnavailable, at)...)
	if n, _ := workload.CountOrPercent(u.MaxUnavailable); n == 0 {
		errs = append(errs, field.Invalid(at, *u.MaxUnavailable, "cannot be 0"))
	}
	return append(errs, workload.ValidateAtMost100Percent(u.MaxUnavailable, at)...)
}

func validateRetention(policy *appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy, path *field.Path) field.ErrorList {
	if policy == nil {
		return nil
	}
	known := []appsv1.PersistentVolumeClaimRetentionPolicyType{
		appsv1.RetainPersistentVolumeClaimRetentionPolicyType, appsv1.DeletePersistentVolumeClaimRetentionPolicyType}
	var errs field.ErrorList
	for _, when := range []struct {
		name   string
		policy appsv1.PersistentVolumeClaimRetentionPolicyType
	}{{"whenDeleted", policy.WhenDeleted}, {"whenScaled", policy.WhenScaled}} {
		if !slices.Contains(known, when.policy) {
			errs = append(errs, field.NotSupported(path.Child(when.name), when.policy, known))
		}
	}
	return errs
}

func validateSelector(selector *metav1.LabelSelector, path *field.Path) field.ErrorList {
	if selector == nil {
		return field.ErrorList{field.Required(path, "")}
	}
	errs := metav1validation.ValidateLabelSelector(selector, metav1validation.LabelSelectorValidationOptions{}, path)
	if len(selector.MatchLabels)+len(selector.MatchExpressions) == 0 {
		errs = append(errs, field.Invalid(path, selector, "empty selector is invalid for statefulset"))
	}
	return errs
}

func validateTemplate(spec *appsv1.StatefulSetSpec, path *field.Path, tolerated tolerance) field.ErrorList {
	var errs field.ErrorList
	if selector, err := metav1.LabelSelectorAsSelector(spec.Selector); err != nil {
		errs = append(errs, field.Invalid(statefulSetSpecPath.Child("selector"), spec.Selector, ""))
	} else {
		errs = append(errs, validatePods(podTemplate(spec), selector, path, tolerated)...)
	}
	if policy := spec.Template.Spec.RestartPolicy; policy != corev1.RestartPolicyAlways {
		errs = append(errs,
			field.NotSupported(path.Child("spec", "restartPolicy"), policy, []corev1.RestartPolicy{corev1.RestartPolicyAlways}))
	}
	if spec.Template.Spec.ActiveDeadlineSeconds != nil {
		errs = append(errs,
			field.Forbidden(path.Child("spec", "activeDeadlineSeconds"), "activeDeadlineSeconds in StatefulSet is not Supported"))
	}
	return errs
}

// validatePods reports mistakes in labels and annotations twice, as a kube-apiserver does: as rules for every template,
// and again as rules for stateful sets.
func validatePods(template *corev1.PodTemplateSpec, selector labels.Selector, path *field.Path, tolerated tolerance) field.ErrorList {
	var errs field.ErrorList
	if !selector.Empty() && !selector.Matches(labels.Set(template.Labels)) {
		errs = append(errs, field.Invalid(path.Child("metadata", "labels"), template.Labels, "`selector` does not match template `labels`"))
	}
	if !tolerated.template {
		errs = append(errs, podspec.ValidatePodTemplateSpec(template, path, tolerated.Options)...)
	}
	annotations := path.Child("annotations")
	errs = append(errs, metav1validation.ValidateLabels(template.Labels, path.Child("labels"))...)
	errs = append(errs, apivalidation.ValidateAnnotations(template.Annotations, annotations)...)
	return append(errs, podspec.ValidateAnnotations(template.Annotations, &template.Spec, annotations, tolerated.Options)...)
}

// podTemplate returns the set's template completed for validation: each pod has its own host name and a volume for
// each claim.
func podTemplate(spec *appsv1.StatefulSetSpec) *corev1.PodTemplateSpec {
	template := spec.Template.DeepCopy()
	template.Spec.Hostname, template.Spec.Subdomain = "", ""
	var volumes []corev1.Volume
	names := map[string]bool{}
	for _, c := range spec.VolumeClaimTemplates {
		if names[c.Name] {
			continue
		}
		names[c.Name] = true
		volumes = append(volumes, corev1.Volume{Name: c.Name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: c.Name}}})
	}
	for _, v := range template.Spec.Volumes {
		if !names[v.Name] {
			volumes = append(volumes, v)
		}
	}
	template.Spec.Volumes = volumes
	return template
}

func validateStatefulSetStatusUpdate(s, old *appsv1.StatefulSet) field.ErrorList {
	status := &s.Status
	parts := []struct {
		name  string
		value int32
	}{
		{"readyReplicas", status.ReadyReplicas}, {"currentReplicas", status.CurrentReplicas},
		{"updatedReplicas", status.UpdatedReplicas}, {"availableReplicas", status.AvailableReplicas},
	}
	counts := []workload.Count{{Name: "replicas", Value: int64(status.Replicas)}}
	for _, p := range parts {
		counts = append(counts, workload.Count{Name: p.name, Value: int64(p.value)})
	}
	counts = append(counts, workload.Count{Name: "observedGeneration", Value: status.ObservedGeneration},
		workload.Count{Name: "collisionCount", Value: int64(ptr.Deref(status.CollisionCount, 0))})
	errs := workload.ValidateCounts(counts)
	for _, p := range parts {
		if p.value > status.Replicas {
			errs = append(errs, field.Invalid(statefulSetStatusPath.Child(p.name), p.value, "cannot be greater than status.replicas"))
		}
	}
	if status.AvailableReplicas > status.ReadyReplicas {
		errs = append(errs,
			field.Invalid(statefulSetStatusPath.Child("availableReplicas"), status.AvailableReplicas,
				"cannot be greater than status.readyReplicas"))
	}
	errs = append(errs, builtin.ValidateObjectMetaUpdate(&s.ObjectMeta, &old.ObjectMeta)...)
	return append(errs, workload.ValidateCollisions(status.CollisionCount, old.Status.CollisionCount)...)
}
