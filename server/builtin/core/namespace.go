package core

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/store/registry"
)

// Namespace is the resource namespaces, with its subresources status and finalize.
//
// DELETE does not remove a namespace. It sets a deletionTimestamp and the phase Terminating, and the namespace stays
// until spec.finalizers is empty, so that a controller can first delete its contents. Then the controller removes its
// finalizer by PUT to finalize. The update that leaves both spec.finalizers and metadata.finalizers empty removes the
// namespace.
//
// Invariants: the phase is Terminating if and only if there is a deletionTimestamp; the label
// kubernetes.io/metadata.name holds the name; only finalize changes spec.finalizers.
var Namespace = builtin.Resource[*corev1.Namespace]{
	Names:         builtin.Names{Plural: "namespaces", Singular: "namespace", Short: []string{"ns"}},
	List:          &corev1.NamespaceList{},
	Stored:        corev1.SchemeGroupVersion,
	ClusterScoped: true,
	Default:       setNamespaceDefaults,
	Fields: []builtin.Field[*corev1.Namespace]{
		{Label: "status.phase", Value: func(ns *corev1.Namespace) string { return string(ns.Status.Phase) }},
	},
	PrepareCreate:  prepareNamespaceCreate,
	PrepareUpdate:  func(ns, old *corev1.Namespace) { ns.Spec.Finalizers = old.Spec.Finalizers },
	Canonicalize:   setNameLabel,
	Validate:       validateNamespace,
	ValidateUpdate: validateNamespaceUpdate,
	Status: &builtin.Status[*corev1.Namespace]{
		Of: func(ns *corev1.Namespace) any { return &ns.Status },
		Part: builtin.Part[*corev1.Namespace]{
			Keep:  func(ns, old *corev1.Namespace) { ns.Spec = old.Spec },
			Check: validateNamespaceStatusUpdate,
		},
	},
	Sub:    []builtin.Sub{{Name: "finalize", New: builtin.Make(newFinalizeREST)}},
	Sample: "{}",
	Columns: []builtin.Column{
		builtin.NameColumn,
		{Name: "Status", Type: "string", Description: "The status of the namespace"},
		builtin.AgeColumn,
	},
	Row: func(ns *corev1.Namespace) metav1.TableRow {
		return builtin.Row(ns.Name, string(ns.Status.Phase), builtin.Age(ns.CreationTimestamp))
	},
	Hooks:               registry.Hooks{ShouldDeleteDuringUpdate: shouldDeleteDuringUpdate},
	ReturnDeletedObject: true,
	REST:                builtin.Make(func(r *builtin.REST) rest.Storage { return &NamespaceREST{verbs: r, store: r.Store} }),
}

// finalize declares the subresource finalize, which owns spec.finalizers.
var finalize = builtin.Part[*corev1.Namespace]{
	Keep:  func(ns, old *corev1.Namespace) { ns.Status = old.Status },
	Reset: []string{"status"},
	Check: validateFinalizeUpdate,
}

func newFinalizeREST(r *builtin.REST) rest.Storage {
	return &FinalizeREST{builtin.NewPart(r, "finalize", corev1.SchemeGroupVersion, finalize)}
}

// prepareNamespaceCreate makes the namespace active, and adds the finalizer of the controller that deletes its
// contents. The finalizer is not a default: defaulting would add it again after a client removed it.
func prepareNamespaceCreate(_ context.Context, ns *corev1.Namespace) {
	ns.Status.Phase = corev1.NamespaceActive
	if !slices.Contains(ns.Spec.Finalizers, corev1.FinalizerKubernetes) {
		ns.Spec.Finalizers = append(ns.Spec.Finalizers, corev1.FinalizerKubernetes)
	}
}

// setNameLabel labels the namespace with its name.
func setNameLabel(ns *corev1.Namespace) {
	if ns.Labels == nil {
		ns.Labels = map[string]string{}
	}
	ns.Labels[corev1.LabelMetadataName] = ns.Name
}

func setNamespaceDefaults(ns *corev1.Namespace) {
	if ns.Name != "" {
		setNameLabel(ns)
	}
	if ns.Status.Phase == "" {
		ns.Status.Phase = corev1.NamespaceActive
	}
}
