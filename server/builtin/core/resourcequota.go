package core

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/core/podspec"
)

// ResourceQuota is the resource resourcequotas: limits on the total use of resources in a namespace.
//
// Admission counts the usage, and refuses an object that would exceed a quota.
var ResourceQuota = builtin.Resource[*corev1.ResourceQuota]{
	Names:          builtin.Names{Plural: "resourcequotas", Singular: "resourcequota", Short: []string{"quota"}},
	List:           &corev1.ResourceQuotaList{},
	Stored:         corev1.SchemeGroupVersion,
	Default:        func(q *corev1.ResourceQuota) { podspec.RoundUpResources(q.Spec.Hard, q.Status.Hard, q.Status.Used) },
	Validate:       validateResourceQuota,
	ValidateUpdate: validateResourceQuotaUpdate,
	Warnings:       resourceQuotaWarnings,
	Status: &builtin.Status[*corev1.ResourceQuota]{
		Of: func(q *corev1.ResourceQuota) any { return &q.Status },
		Part: builtin.Part[*corev1.ResourceQuota]{
			Keep:  func(q, old *corev1.ResourceQuota) { q.Spec = old.Spec },
			Check: validateResourceQuotaStatusUpdate,
		},
	},
	Sample: `
spec:
  hard: {requests.cpu: "4", requests.memory: 8Gi, limits.cpu: "8", limits.memory: 16Gi, pods: "20"}`,
	Columns: []builtin.Column{
		builtin.NameColumn,
		{Name: "Request", Type: "string", Description: "Request represents a minimum amount of cpu/memory that a container may consume."},
		{Name: "Limit", Type: "string",
			Description: "Limits control the maximum amount of cpu/memory that a container may use independent of contention on the node."},
		builtin.AgeColumn,
	},
	Row:                 resourceQuotaRow,
	ReturnDeletedObject: true,
}

// resourceQuotaRow makes one cell for limits and one for everything else.
func resourceQuotaRow(q *corev1.ResourceQuota) metav1.TableRow {
	var requests, limits []string
	for _, name := range podspec.ResourceNames(q.Status.Hard) {
		used, hard := q.Status.Used[name], q.Status.Hard[name]
		text := fmt.Sprintf("%s: %s/%s", name, used.String(), hard.String())
		if strings.HasPrefix(string(name), "limits.") {
			limits = append(limits, text)
		} else {
			requests = append(requests, text)
		}
	}
	return builtin.Row(q.Name, strings.Join(requests, ", "), strings.Join(limits, ", "), builtin.Age(q.CreationTimestamp))
}

// resourceQuotaWarnings warns the author of a new quota if it allows higher requests than limits.
func resourceQuotaWarnings(q, old *corev1.ResourceQuota) []string {
	if old != nil {
		return nil
	}
	var messages []string
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceStorage,
		corev1.ResourceEphemeralStorage} {
		requests, limits := "requests."+name, "limits."+name
		request, requested := q.Spec.Hard[requests]
		if !requested && (name == corev1.ResourceCPU || name == corev1.ResourceMemory) {
			requests = name
			request, requested = q.Spec.Hard[requests]
		}
		limit, limited := q.Spec.Hard[limits]
		if requested && limited && request.Cmp(limit) > 0 {
			messages = append(messages,
				fmt.Sprintf("ResourceQuota %s (%s) should be less than %s (%s)", requests, request.String(), limits, limit.String()))
		}
	}
	return messages
}
