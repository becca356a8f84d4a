//lint:file-ignore SA1019 Stored nodes may have fields that are deprecated.

package core

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/server/builtin"
)

// nodeStrategy keeps the status of a new node.
type nodeStrategy struct {
	builtin.Strategy
}

// PrepareForCreate clears fields of features that were removed or are off by default.
func (nodeStrategy) PrepareForCreate(_ context.Context, obj runtime.Object) {
	n := obj.(*corev1.Node)
	n.Spec.ConfigSource, n.Spec.PodPreemptionPolicy, n.Status.Config = nil, nil, nil
}

// prepareUpdate clears the same fields, except those that the stored node has.
func prepareUpdate(n, old *corev1.Node) {
	if old.Spec.ConfigSource == nil {
		n.Spec.ConfigSource = nil
	}
	if old.Spec.PodPreemptionPolicy == nil {
		n.Spec.PodPreemptionPolicy = nil
	}
}

func keepNodeInStatus(n, old *corev1.Node) {
	n.Spec = old.Spec
	if old.Status.Config == nil {
		n.Status.Config = nil
	}
}
