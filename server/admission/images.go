package admission

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/admission"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/admission/plugin"
)

var (
	pullPoliciesSet = trace.Because("pull-policies-set",
		"{count} pull policies are now Always",
		"{count} 个镜像拉取策略改为 Always")
	pullsAlways = trace.Because("pulls-always", "every pull policy is Always", "所有镜像拉取策略均为 Always")
)

// alwaysPullImages makes nodes ask the registry for each image, with the credentials of the pod. Otherwise a
// pod could use an image that its node has pulled with another pod's credentials.
func alwaysPullImages(*plugin.Kit) plugin.Plugin {
	return plugin.Plugin{
		Operations: onChanges, About: plugin.Resources("", "pods"), When: bringsImages,
		Admit: plugin.WithObject(func(_ context.Context, w plugin.Write, pod *corev1.Pod) error {
			var changed int64
			eachPullPolicy(pod, func(_ *field.Path, policy *corev1.PullPolicy) {
				if *policy != corev1.PullAlways {
					*policy = corev1.PullAlways
					changed++
				}
			})
			if changed == 0 {
				w.Step.Why(pluginLeft)
			} else {
				w.Step.Why(pullPoliciesSet, changed)
			}
			return nil
		}),
		Validate: plugin.WithObject(func(_ context.Context, w plugin.Write, pod *corev1.Pod) error {
			var refused []error
			eachPullPolicy(pod, func(at *field.Path, policy *corev1.PullPolicy) {
				if *policy != corev1.PullAlways {
					refused = append(refused, w.Refusal("%w", field.NotSupported(at, *policy, []corev1.PullPolicy{corev1.PullAlways})))
				}
			})
			if len(refused) > 0 {
				return utilerrors.NewAggregate(refused)
			}
			w.Step.Why(pullsAlways)
			return nil
		}),
	}
}

// bringsImages reports whether a pod has images that it did not have before.
func bringsImages(a admission.Attributes) bool {
	if a.GetOperation() != admission.Update {
		return true
	}
	pod, ok := a.GetObject().(*corev1.Pod)
	old, oldOK := a.GetOldObject().(*corev1.Pod)
	if !ok || !oldOK {
		return true
	}
	had := imagesOf(old)
	return slices.ContainsFunc(imagesOf(pod), func(image string) bool { return !slices.Contains(had, image) })
}

// eachPullPolicy visits the pull policies of containers and of image volumes.
func eachPullPolicy(pod *corev1.Pod, visit func(at *field.Path, policy *corev1.PullPolicy)) {
	spec := field.NewPath("spec")
	containers := func(name string, all []corev1.Container) {
		for i := range all {
			visit(spec.Child(name).Index(i).Child("imagePullPolicy"), &all[i].ImagePullPolicy)
		}
	}
	containers("initContainers", pod.Spec.InitContainers)
	containers("containers", pod.Spec.Containers)
	for i := range pod.Spec.EphemeralContainers {
		visit(spec.Child("ephemeralContainers").Index(i).Child("imagePullPolicy"), &pod.Spec.EphemeralContainers[i].ImagePullPolicy)
	}
	for i, volume := range pod.Spec.Volumes {
		if volume.Image != nil {
			visit(spec.Child("volumes").Index(i).Child("image", "pullPolicy"), &volume.Image.PullPolicy)
		}
	}
}

// imagesOf returns the images of a pod's containers.
func imagesOf(pod *corev1.Pod) (images []string) {
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		images = append(images, c.Image)
	}
	for i := range pod.Spec.EphemeralContainers {
		images = append(images, pod.Spec.EphemeralContainers[i].Image)
	}
	return images
}
