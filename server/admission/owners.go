package admission

import (
	"context"
	"slices"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/admission/plugin"
)

var ownersAllowed = trace.Because("owners-allowed",
	"the user has the rights that a change of these owner references takes",
	"用户拥有更改这些属主引用所需的权限")

// ownerReferencesPermissionEnforcement requires the permission to delete an object for changes of its owners,
// since the garbage collector deletes it with them. For blockOwnerDeletion, users also need the permission to
// set finalizers on the owner.
func ownerReferencesPermissionEnforcement(kit *plugin.Kit) plugin.Plugin {
	return plugin.Plugin{
		Operations: onChanges,
		When: func(a admission.Attributes) bool {
			isPodStatus := a.GetResource().Group == "" && a.GetResource().Resource == "pods" && a.GetSubresource() == "status"
			return !isPodStatus && changesOwners(a.GetObject(), a.GetOldObject())
		},
		Validate: func(ctx context.Context, w plugin.Write) error {
			if w.GetOperation() != admission.Create { // a creator could as well leave the owners out
				resource := w.GetResource()
				decision, reason, err := kit.Authorizer.Authorize(ctx, authorizer.AttributesRecord{
					User: w.GetUserInfo(), Verb: "delete", ResourceRequest: true, Namespace: w.GetNamespace(), Name: w.GetName(),
					APIGroup: resource.Group, APIVersion: resource.Version, Resource: resource.Resource, Subresource: w.GetSubresource(),
				})
				if decision != authorizer.DecisionAllow {
					return w.Refusal("cannot set an ownerRef on a resource you can't delete: %v, %v", reason, err)
				}
			}
			if err := mayBlock(ctx, kit, w, newBlocks(w.GetObject(), w.GetOldObject())); err != nil {
				return err
			}
			w.Step.Why(ownersAllowed)
			return nil
		},
	}
}

// ownersOf returns the owners of an object, and whether it can have any.
func ownersOf(obj runtime.Object) ([]metav1.OwnerReference, bool) {
	if obj == nil {
		return nil, true
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, false
	}
	return m.GetOwnerReferences(), true
}

func changesOwners(obj, old runtime.Object) bool {
	now, ok := ownersOf(obj)
	was, wasOK := ownersOf(old)
	same := func(a, b metav1.OwnerReference) bool { return apiequality.Semantic.DeepEqual(a, b) }
	return ok && wasOK && !slices.EqualFunc(now, was, same)
}

// newBlocks returns the owners whose deletion the object starts to block.
func newBlocks(obj, old runtime.Object) []metav1.OwnerReference {
	blocks := func(r metav1.OwnerReference) bool { return r.BlockOwnerDeletion != nil && *r.BlockOwnerDeletion }
	now, _ := ownersOf(obj)
	was, _ := ownersOf(old)
	return slices.DeleteFunc(slices.Clone(now), func(r metav1.OwnerReference) bool {
		return !blocks(r) || slices.ContainsFunc(was, func(had metav1.OwnerReference) bool { return had.UID == r.UID && blocks(had) })
	})
}

// mayBlock refuses owners on which the user may not set finalizers.
func mayBlock(ctx context.Context, kit *plugin.Kit, w plugin.Write, owners []metav1.OwnerReference) error {
	if len(owners) == 0 {
		return nil
	}
	finalizers := authorizer.AttributesRecord{
		User: w.GetUserInfo(), Verb: "update", ResourceRequest: true,
		APIGroup: "*", APIVersion: "*", Resource: "*", Subresource: "finalizers", Name: "*",
	}
	if decision, _, _ := kit.Authorizer.Authorize(ctx, finalizers); decision == authorizer.DecisionAllow {
		return nil
	}
	for _, owner := range owners {
		resources, err := resourcesOf(kit, owner)
		if err != nil {
			return w.Refusal("cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion %s Kind %s: %v",
				owner.APIVersion, owner.Kind, err)
		}
		for _, one := range resources {
			asked := finalizers
			asked.APIGroup, asked.APIVersion, asked.Resource, asked.Name = one.Group, one.Version, one.Resource, owner.Name
			if one.Namespaced {
				asked.Namespace = w.GetNamespace()
			}
			decision, reason, err := kit.Authorizer.Authorize(ctx, asked)
			if decision != authorizer.DecisionAllow {
				return w.Refusal(
					"cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: %v, %v",
					reason, err)
			}
		}
	}
	return nil
}

func resourcesOf(kit *plugin.Kit, owner metav1.OwnerReference) ([]plugin.ServedResource, error) {
	version, err := schema.ParseGroupVersion(owner.APIVersion)
	if err != nil {
		return nil, err
	}
	kind := version.WithKind(owner.Kind)
	resources := kit.ResourcesOf(kind)
	if len(resources) == 0 {
		return nil, &meta.NoKindMatchError{GroupKind: kind.GroupKind(), SearchedVersions: []string{version.Version}}
	}
	return resources, nil
}
