package pod

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/diff"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/core/podspec"
)

// ephemeral declares the subresource ephemeralcontainers, which adds containers to a running pod.
var ephemeral = builtin.Part[*corev1.Pod]{
	Keep: keepAllButEphemeral,
	// No field is reset, so a client owns every field that it sends, as with every Kubernetes API server.
	Reset: []string{},
	Check: validateEphemeralUpdate,
}

func newEphemeralREST(pods *builtin.REST) rest.Storage {
	return builtin.NewPart(pods, "ephemeralcontainers", corev1.SchemeGroupVersion, ephemeral)
}

func keepAllButEphemeral(pod, old *corev1.Pod) {
	containers := pod.Spec.EphemeralContainers
	pod.Spec, pod.Status = old.Spec, old.Status
	metav1.ResetObjectMetaForStatus(&pod.ObjectMeta, &old.ObjectMeta)
	pod.Spec.EphemeralContainers = containers
	if !apiequality.Semantic.DeepEqual(pod.Spec, old.Spec) {
		pod.Generation = old.Generation + 1
	}
}

// validateEphemeralUpdate allows new containers, but no removal and no change.
func validateEphemeralUpdate(pod, old *corev1.Pod) field.ErrorList {
	if _, ok := old.Annotations[corev1.MirrorPodAnnotationKey]; ok {
		return field.ErrorList{field.Forbidden(field.NewPath(""), "static pods do not support ephemeral containers")}
	}
	opts := podspec.Options{Pod: true, Tolerated: podspec.MistakesIn(&old.Spec, old.Annotations)}
	errs := builtin.ValidateObjectMetaUpdate(&pod.ObjectMeta, &old.ObjectMeta)
	errs = append(errs, validate(pod, opts)...)
	errs = append(errs, validateAnnotationUpdate(pod, old, opts)...)
	path := specPath.Child("ephemeralContainers")
	for _, was := range old.Spec.EphemeralContainers {
		i := slices.IndexFunc(pod.Spec.EphemeralContainers, func(c corev1.EphemeralContainer) bool { return c.Name == was.Name })
		if i < 0 {
			errs = append(errs, field.Forbidden(path, fmt.Sprintf("existing ephemeral containers %q may not be removed\n", was.Name)))
		} else if is := pod.Spec.EphemeralContainers[i]; !apiequality.Semantic.DeepEqual(was, is) {
			errs = append(errs,
				field.Forbidden(path,
					fmt.Sprintf("existing ephemeral containers %q may not be changed\n%v", was.Name,
						diff.Diff(builtin.Quote(was), builtin.Quote(is)))))
		}
	}
	return errs
}
