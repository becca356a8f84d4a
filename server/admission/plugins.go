package admission

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"

	"github.com/kx-apiserver/kx/core/rest"
)

// Plugins is the server's admission.
type Plugins struct {
	chain
	lifecycle *NamespaceLifecycle
}

// chain calls plugins in order.
type chain interface {
	admission.MutationInterface
	admission.ValidationInterface
}

// New makes the plugins. Until they are initialized they admit everything.
func New() *Plugins {
	lifecycle := &NamespaceLifecycle{}
	return &Plugins{chain: admission.NewChainHandler(recorded{"NamespaceLifecycle", lifecycle}), lifecycle: lifecycle}
}

// Initialize gives the plugins the storages that they read.
func (p *Plugins) Initialize(storages map[schema.GroupVersionResource]rest.Storage) {
	p.lifecycle.namespaces, _ = storages[corev1.SchemeGroupVersion.WithResource("namespaces")].(rest.Getter)
}

// Namespace reads a namespace, for others than the plugins that need one.
func (p *Plugins) Namespace(ctx context.Context, name string) (*corev1.Namespace, error) {
	return p.lifecycle.get(ctx, name)
}
