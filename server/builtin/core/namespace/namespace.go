package namespace

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/table"
	"github.com/kx-apiserver/kx/store/registry"
)

// Resource declares namespaces.
var Resource = builtin.Resource[*corev1.Namespace]{
	Names:         builtin.Names{Plural: "namespaces", Singular: "namespace", Short: []string{"ns"}},
	List:          &corev1.NamespaceList{},
	Stored:        corev1.SchemeGroupVersion,
	ClusterScoped: true,
	Default:       setDefaults,
	Fields: []builtin.Field[*corev1.Namespace]{
		{Label: "status.phase", Value: func(ns *corev1.Namespace) string { return string(ns.Status.Phase) }},
	},
	PrepareCreate:  prepareCreate,
	PrepareUpdate:  func(ns, old *corev1.Namespace) { ns.Spec.Finalizers = old.Spec.Finalizers },
	Canonicalize:   setNameLabel,
	Validate:       validate,
	ValidateUpdate: validateUpdate,
	Status: &builtin.Status[*corev1.Namespace]{
		Of: func(ns *corev1.Namespace) any { return &ns.Status },
		Part: builtin.Part[*corev1.Namespace]{
			Keep:  func(ns, old *corev1.Namespace) { ns.Spec = old.Spec },
			Check: validateStatusUpdate,
		},
	},
	Sub:    []builtin.Sub{{Name: "finalize", New: builtin.Make(newFinalizeREST)}},
	Sample: "{}",
	Columns: []table.Column{
		table.NameColumn,
		{Name: "Status", Type: "string", Description: "The status of the namespace"},
		table.AgeColumn,
	},
	Row: func(ns *corev1.Namespace) metav1.TableRow {
		return table.Row(ns.Name, string(ns.Status.Phase), table.Age(ns.CreationTimestamp))
	},
	Hooks:               registry.Hooks{ShouldDeleteDuringUpdate: shouldDeleteDuringUpdate},
	ReturnDeletedObject: true,
	REST:                builtin.Make(func(r *builtin.REST) rest.Storage { return &REST{verbs: r, store: r.Store} }),
}

// finalize declares the subresource finalize, to which spec.finalizers belongs.
var finalize = builtin.Part[*corev1.Namespace]{
	Keep:  func(ns, old *corev1.Namespace) { ns.Status = old.Status },
	Reset: []string{"status"},
	Check: validateFinalizeUpdate,
}

func newFinalizeREST(r *builtin.REST) rest.Storage {
	return &FinalizeREST{builtin.NewPart(r, "finalize", corev1.SchemeGroupVersion, finalize)}
}

// prepareCreate makes the namespace active, with the finalizer of the controller that empties it. The finalizer is
// no default: clients must be able to remove it.
func prepareCreate(_ context.Context, ns *corev1.Namespace) {
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

func setDefaults(ns *corev1.Namespace) {
	if ns.Name != "" {
		setNameLabel(ns)
	}
	if ns.Status.Phase == "" {
		ns.Status.Phase = corev1.NamespaceActive
	}
}
