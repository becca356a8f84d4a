package bootstrap

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// systemPriority is the lowest priority of the system's own classes.
const systemPriority = 2_000_000_000

var systemPriorityClasses = []schedulingv1.PriorityClass{
	{
		ObjectMeta: metav1.ObjectMeta{Name: "system-node-critical"}, Value: systemPriority + 1000,
		Description: "Used for system critical pods that must not be moved from their current node.",
	},
	{
		ObjectMeta: metav1.ObjectMeta{Name: "system-cluster-critical"}, Value: systemPriority,
		Description: "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
	},
}

func (t *Tasks) priorityClasses(ctx context.Context, _ func()) error {
	if !t.config.Serves(schedulingv1.SchemeGroupVersion.WithResource("priorityclasses")) {
		return nil
	}
	var errs []error
	for _, class := range systemPriorityClasses {
		class.PreemptionPolicy = new(corev1.PreemptLowerPriority)
		errs = append(errs, t.ensure(ctx, "/apis/scheduling.k8s.io/v1/priorityclasses", class.Name, &class))
	}
	return errors.Join(errs...)
}
