package migrate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
)

// Restoration is the outcome of one object.
type Restoration struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Outcome is "created", "exists" or "failed".
	Outcome string `json:"outcome"`
	// Notes describes how the created object differs from the stored one.
	Notes []string `json:"notes,omitempty"`
	Error string   `json:"error,omitempty"`
}

// Restorer creates objects from a snapshot of etcd again through the API. An object loses its former UID, revision,
// times and managers. References to owners get the UIDs of the current owners.
//
// Invariants:
//
//  1. An owner is created before its dependents, a namespace before its objects, and a definition before its resources.
//  2. An existing object is not changed.
type Restorer struct {
	Client dynamic.Interface
	// Mapper is reset after a definition was created, to find its resources.
	Mapper meta.ResettableRESTMapper

	// defined holds the kinds of the definitions among the objects, which the server may not serve yet.
	defined map[schema.GroupKind]bool
}

// former lists the metadata fields that the server sets on creation.
var former = []string{
	"uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink",
	"managedFields",
}

// Objects creates objects, and calls tell with each result.
func (t *Restorer) Objects(ctx context.Context, objects []*unstructured.Unstructured, tell func(Restoration) error) error {
	now := map[types.UID]types.UID{}
	t.defined = map[schema.GroupKind]bool{}
	for _, obj := range sortOwners(objects) {
		result := Restoration{Kind: obj.GetKind(), Namespace: obj.GetNamespace(), Name: obj.GetName()}
		old := obj.GetUID()
		live, err := t.create(ctx, obj, now, &result)
		if err != nil {
			result.Outcome, result.Error = "failed", err.Error()
		} else {
			now[old] = live.GetUID()
			if live.GetKind() == definitionKind {
				group, _, _ := unstructured.NestedString(live.Object, "spec", "group")
				kind, _, _ := unstructured.NestedString(live.Object, "spec", "names", "kind")
				t.defined[schema.GroupKind{Group: group, Kind: kind}] = true
			}
		}
		if err := tell(result); err != nil {
			return err
		}
	}
	return nil
}

const definitionKind = "CustomResourceDefinition"

// first lists the kinds that other objects need.
var first = []string{"Namespace", definitionKind}

// sortOwners sorts owners before their dependents.
func sortOwners(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	byUID := map[types.UID]*unstructured.Unstructured{}
	for _, obj := range objects {
		byUID[obj.GetUID()] = obj
	}
	depth := map[*unstructured.Unstructured]int{}
	var measure func(obj *unstructured.Unstructured, left int) int
	measure = func(obj *unstructured.Unstructured, left int) int {
		if d, ok := depth[obj]; ok || left == 0 {
			return d // a cycle of owners has no order
		}
		d := len(first)
		if i := slices.Index(first, obj.GetKind()); i >= 0 {
			d = i
		}
		for _, ref := range obj.GetOwnerReferences() {
			if owner := byUID[ref.UID]; owner != nil && owner != obj {
				d = max(d, measure(owner, left-1)+1)
			}
		}
		depth[obj] = d
		return d
	}
	out := slices.Clone(objects)
	slices.SortStableFunc(out, func(a, b *unstructured.Unstructured) int {
		return cmp.Compare(measure(a, len(objects)), measure(b, len(objects)))
	})
	return out
}

func (t *Restorer) create(ctx context.Context, stored *unstructured.Unstructured, now map[types.UID]types.UID,
	result *Restoration) (*unstructured.Unstructured, error) {
	resource, err := t.resource(ctx, stored.GroupVersionKind(), stored.GetNamespace())
	if err != nil {
		return nil, err
	}
	obj := stored.DeepCopy()
	for _, field := range former {
		unstructured.RemoveNestedField(obj.Object, "metadata", field)
	}
	if err := t.relink(ctx, obj, now, result); err != nil {
		return nil, err
	}
	live, err := resource.Create(ctx, obj, metav1.CreateOptions{FieldManager: "kx-restore-object"})
	if apierrors.IsAlreadyExists(err) {
		result.Outcome = "exists"
		return resource.Get(ctx, obj.GetName(), metav1.GetOptions{})
	}
	result.Outcome = "created"
	return live, err
}

// servedWait limits the wait until the resource of a created definition is served.
const servedWait = time.Minute

// resource returns the client for objects of a kind. It waits for the kind of a definition that was among the objects,
// once.
func (t *Restorer) resource(ctx context.Context, kind schema.GroupVersionKind, namespace string) (dynamic.ResourceInterface, error) {
	mapping, err := t.Mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		if t.defined[kind.GroupKind()] {
			delete(t.defined, kind.GroupKind())
			_ = wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, servedWait, false, func(context.Context) (bool, error) {
				t.Mapper.Reset()
				mapping, err = t.Mapper.RESTMapping(kind.GroupKind(), kind.Version)
				return err == nil, nil
			})
		}
		if err != nil {
			return nil, fmt.Errorf("the server does not serve %s of %s: %w", kind.Kind, kind.GroupVersion(), err)
		}
	} else if err != nil {
		return nil, err
	}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		return t.Client.Resource(mapping.Resource).Namespace(namespace), nil
	}
	return t.Client.Resource(mapping.Resource), nil
}

// relink sets the UIDs of owner references to those of the current owners. It removes a reference if the owner does
// not exist, because the garbage collector would delete the object.
func (t *Restorer) relink(ctx context.Context, obj *unstructured.Unstructured, now map[types.UID]types.UID, result *Restoration) error {
	var kept []metav1.OwnerReference
	for _, ref := range obj.GetOwnerReferences() {
		uid, ok := now[ref.UID]
		if !ok {
			var err error
			if uid, err = t.owner(ctx, obj.GetNamespace(), ref); err != nil {
				return fmt.Errorf("look for its owner %s %s: %w", ref.Kind, ref.Name, err)
			}
		}
		if uid == "" {
			result.Notes = append(result.Notes, fmt.Sprintf("its owner %s %s is gone: the reference is left out", ref.Kind, ref.Name))
			continue
		}
		ref.UID = uid
		kept = append(kept, ref)
	}
	obj.SetOwnerReferences(kept)
	return nil
}

// owner returns the UID of the existing object that a reference names, or "".
func (t *Restorer) owner(ctx context.Context, namespace string, ref metav1.OwnerReference) (types.UID, error) {
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil {
		return "", err
	}
	mapping, err := t.Mapper.RESTMapping(gv.WithKind(ref.Kind).GroupKind(), gv.Version)
	if meta.IsNoMatchError(err) {
		return "", nil
	} else if err != nil {
		return "", err
	}
	client := dynamic.ResourceInterface(t.Client.Resource(mapping.Resource))
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		client = t.Client.Resource(mapping.Resource).Namespace(namespace)
	}
	live, err := client.Get(ctx, ref.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "", nil
	} else if err != nil {
		return "", err
	}
	return live.GetUID(), nil
}
