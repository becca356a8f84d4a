package namespace

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/core/escape"
)

// conditions lists the conditions about a namespace's deletion, in their order, with the reason and message if
// all is well, and the reason if not.
var conditions = []struct {
	kind            corev1.NamespaceConditionType
	reason, message string
	badReason       string
}{
	{corev1.NamespaceDeletionDiscoveryFailure, "ResourcesDiscovered", "All resources successfully discovered", "DiscoveryFailed"},
	{corev1.NamespaceDeletionGVParsingFailure, "ParsedGroupVersions", "All legacy kube types successfully parsed",
		"GroupVersionParsingFailed"},
	{corev1.NamespaceDeletionContentFailure, "ContentDeleted", "All content successfully deleted, may be waiting on finalization",
		"ContentDeletionFailed"},
	{corev1.NamespaceContentRemaining, "ContentRemoved", "All content successfully removed", "SomeResourcesRemain"},
	{corev1.NamespaceFinalizersRemaining, "ContentHasNoFinalizers", "All content-preserving finalizers finished", "SomeFinalizersRemain"},
}

// setConditions updates the status, and reports whether that changed it. bad has a message for each condition
// that is true.
func setConditions(status *corev1.NamespaceStatus, bad map[corev1.NamespaceConditionType]string, now metav1.Time) (changed bool) {
	for _, c := range conditions {
		next := corev1.NamespaceCondition{
			Type: c.kind, Status: corev1.ConditionFalse, LastTransitionTime: now, Reason: c.reason, Message: c.message,
		}
		if message, ok := bad[c.kind]; ok {
			next.Status, next.Reason, next.Message = corev1.ConditionTrue, c.badReason, escape.Text(message)
		}
		i := slices.IndexFunc(status.Conditions, func(old corev1.NamespaceCondition) bool { return old.Type == c.kind })
		if i < 0 {
			status.Conditions = append(status.Conditions, next)
			changed = true
			continue
		}
		old := &status.Conditions[i]
		if old.Status == next.Status {
			next.LastTransitionTime = old.LastTransitionTime
		}
		if *old != next {
			*old = next
			changed = true
		}
	}
	return changed
}

// inOrder returns the messages of bad in the order of the conditions.
func inOrder(bad map[corev1.NamespaceConditionType]string) (messages []string) {
	for _, c := range conditions {
		if message, ok := bad[c.kind]; ok {
			messages = append(messages, message)
		}
	}
	return messages
}
