package resource

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/server/handler/responsewriters"
)

// Access checks the permissions that a client needs in addition to writing a claim: for administrative access to
// devices, to allocate devices, and to report their state.
type Access struct {
	// Namespace reads a namespace. A label of it allows its claims administrative access, which includes devices that
	// other claims use.
	Namespace  func(ctx context.Context, name string) (*corev1.Namespace, error)
	Authorizer authorizer.UnconditionalAuthorizer
}

// claim checks whether the namespace allows a claim administrative access.
func (a Access) claim(ctx context.Context, spec *resourcev1.ResourceClaimSpec, namespace string) field.ErrorList {
	i := slices.IndexFunc(spec.Devices.Requests, func(r resourcev1.DeviceRequest) bool {
		return r.Exactly != nil && r.Exactly.AdminAccess != nil && *r.Exactly.AdminAccess
	})
	if i < 0 {
		return nil
	}
	return a.admin(ctx, namespace, field.NewPath("spec", "devices", "requests").Index(i).Child("adminAccess"))
}

// Status checks whether the client may make the changes in the status of a claim.
func (a Access) Status(ctx context.Context, claim, before *resourcev1.ResourceClaim) (errs field.ErrorList) {
	status, old := &claim.Status, &before.Status
	if i := watching(status); i >= 0 && watching(old) < 0 {
		path := field.NewPath("status", "allocation", "devices", "results").Index(i).Child("adminAccess")
		errs = a.admin(ctx, claim.Namespace, path)
	}
	if !apiequality.Semantic.DeepEqual(status.Allocation, old.Allocation) ||
		!apiequality.Semantic.DeepEqual(status.ReservedFor, old.ReservedFor) {
		errs = append(errs, a.binding(ctx)...)
	}
	if status.Allocation != nil {
		errs = append(errs, a.devices(ctx, status, old)...)
	}
	return errs
}

// watching returns the index of the first allocated device with administrative access, or -1.
func watching(status *resourcev1.ResourceClaimStatus) int {
	if status.Allocation == nil {
		return -1
	}
	return slices.IndexFunc(status.Allocation.Devices.Results, func(r resourcev1.DeviceRequestAllocationResult) bool {
		return r.AdminAccess != nil && *r.AdminAccess
	})
}

func (a Access) admin(ctx context.Context, namespace string, path *field.Path) field.ErrorList {
	object, err := a.Namespace(ctx, namespace)
	if err != nil {
		return field.ErrorList{field.InternalError(path, fmt.Errorf("could not retrieve namespace to verify admin access: %w", err))}
	}
	if object.Labels[resourcev1.DRAAdminNamespaceLabelKey] == "true" {
		return nil
	}
	return field.ErrorList{field.Forbidden(path,
		fmt.Sprintf("admin access to devices requires the `%s: true` label on the containing namespace",
			resourcev1.DRAAdminNamespaceLabelKey))}
}

// question returns the attributes of the current request. The caller changes them to ask about another resource or
// verb.
func question(ctx context.Context) (authorizer.AttributesRecord, error) {
	info, ok := apirequest.RequestInfoFrom(ctx)
	if !ok {
		return authorizer.AttributesRecord{}, fmt.Errorf("cannot build authorizer attributes: no RequestInfo found in the context")
	}
	who, ok := apirequest.UserFrom(ctx)
	if !ok {
		return authorizer.AttributesRecord{}, fmt.Errorf("cannot build authorizer attributes: no user found in the context")
	}
	return authorizer.AttributesRecord{
		User: who, Verb: info.Verb, Namespace: info.Namespace, APIGroup: info.APIGroup, APIVersion: info.APIVersion,
		Resource: info.Resource, Subresource: info.Subresource, Name: info.Name, ResourceRequest: true, Path: info.Path,
	}, nil
}

// binding requires the permission to allocate devices to claims, in all namespaces.
func (a Access) binding(ctx context.Context) field.ErrorList {
	path := field.NewPath("status", "allocation")
	q, err := question(ctx)
	if err != nil {
		return field.ErrorList{field.InternalError(path, err)}
	}
	q.Subresource, q.Namespace, q.Name = resourcev1.SubresourceBinding, "", ""
	if err := a.ask(ctx, q); err != nil {
		return field.ErrorList{field.Forbidden(path,
			fmt.Sprintf(
				`changing status.allocation or status.reservedFor requires resource="resourceclaims/binding", verb="%s" permission: %s`,
				q.Verb, err))}
	}
	return nil
}

// devices requires the permission to write the status for each driver whose devices have changed. For an account on
// the devices' node, a permission limited to that node suffices.
func (a Access) devices(ctx context.Context, status, old *resourcev1.ResourceClaimStatus) (errs field.ErrorList) {
	path := field.NewPath("status", "devices")
	drivers := changedDrivers(status, old)
	if len(drivers) == 0 {
		return nil
	}
	q, err := question(ctx)
	if err != nil {
		return field.ErrorList{field.InternalError(path, err)}
	}
	verbs := []string{resourcev1.VerbPrefixArbitraryNode + q.Verb}
	if isOnNode(q.User, nodeOf(status.Allocation)) {
		verbs = append([]string{resourcev1.VerbPrefixAssociatedNode + q.Verb}, verbs...)
	}
	q.Subresource = resourcev1.SubresourceDriver
	for _, driver := range drivers {
		q.Name = driver
		if err := a.askAny(ctx, q, verbs); err != nil {
			errs = append(errs, field.Forbidden(path,
				fmt.Sprintf(`changing status.devices requires resource="resourceclaims/driver", verb="%s" permission: %s`, verbs, err)))
		}
	}
	return errs
}

func changedDrivers(status, old *resourcev1.ResourceClaimStatus) []string {
	drivers, before := sets.New[string](), map[any]resourcev1.AllocatedDeviceStatus{}
	for _, d := range old.Devices {
		before[deviceOf(&d)] = d
	}
	for _, d := range status.Devices {
		was, ok := before[deviceOf(&d)]
		delete(before, deviceOf(&d))
		if !ok || !apiequality.Semantic.DeepEqual(was, d) {
			drivers.Insert(d.Driver)
		}
	}
	for _, d := range before {
		drivers.Insert(d.Driver)
	}
	return sets.List(drivers)
}

// nodeOf returns the node of an allocation for a single node.
func nodeOf(a *resourcev1.AllocationResult) string {
	if a == nil || a.NodeSelector == nil || len(a.NodeSelector.NodeSelectorTerms) != 1 {
		return ""
	}
	term := a.NodeSelector.NodeSelectorTerms[0]
	if len(term.MatchExpressions) > 0 || len(term.MatchFields) != 1 {
		return ""
	}
	f := term.MatchFields[0]
	if f.Key != "metadata.name" || f.Operator != corev1.NodeSelectorOpIn || len(f.Values) != 1 {
		return ""
	}
	return f.Values[0]
}

func isOnNode(who user.Info, node string) bool {
	if _, _, err := serviceaccount.SplitUsername(who.GetName()); err != nil || node == "" {
		return false
	}
	names := who.GetExtra()[serviceaccount.NodeNameKey]
	return len(names) == 1 && names[0] == node && len(apivalidation.NameIsDNSSubdomain(node, false)) == 0
}

// askAny asks the authorizer for each verb until one is allowed. If none is, it returns the first refusal.
func (a Access) askAny(ctx context.Context, q authorizer.AttributesRecord, verbs []string) (first error) {
	for _, verb := range verbs {
		q.Verb = verb
		err := a.ask(ctx, q)
		if err == nil {
			return nil
		}
		if first == nil {
			first = err
		}
	}
	return first
}

func (a Access) ask(ctx context.Context, q authorizer.AttributesRecord) error {
	decision, reason, err := a.Authorizer.Authorize(ctx, q)
	switch {
	case decision == authorizer.DecisionAllow:
		return nil
	case err != nil && reason != "":
		reason = fmt.Sprintf("%v: %s", err, reason)
	case err != nil:
		reason = err.Error()
	}
	return responsewriters.ForbiddenStatusError(q, reason)
}
