package controller

import (
	"context"
	"log/slog"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kx-apiserver/kx/server/crd/lister"
)

// apiApproval reports whether a definition in one of Kubernetes' own groups (k8s.io, kubernetes.io and
// those below) has an approved API.
//
// In come definitions from the lister: the annotation api-approved.kubernetes.io has the URL of the approval,
// or says that there is none. Out goes the condition KubernetesAPIApprovalPolicyConformant.
//
// # Invariants
//
//  1. Each process writes its reading of an annotation once, so that servers that read it differently do not
//     overwrite each other for ever.
type apiApproval struct {
	lister *lister.Lister
	status statusWriter
	queue  *queue
	// told holds the states whose condition is written, by name. Only Run uses it.
	told map[string]approvalState
}

// approvalState is the part of a definition that determines its approval.
type approvalState struct {
	uid        types.UID
	annotation string
}

// newAPIApproval creates a controller. It receives changes once the lister runs.
func newAPIApproval(l *lister.Lister, status statusWriter, log *slog.Logger) *apiApproval {
	c := &apiApproval{
		lister: l, status: status, queue: newQueue("tell of the approval of a CustomResourceDefinition", status.Gate, log),
		told: map[string]approvalState{},
	}
	l.Subscribe(func(old, now *Definition) {
		if now == nil {
			now = old
		}
		if apihelpers.IsProtectedCommunityGroup(now.Spec.Group) {
			c.queue.Add(now.Name)
		}
	})
	return c
}

// Run works until ctx ends.
func (c *apiApproval) Run(ctx context.Context) {
	c.queue.Run(ctx, func(ctx context.Context, names []string) nameFailures {
		return eachName(names, 1, func(name string) error { return c.look(ctx, name) })
	})
}

func (c *apiApproval) look(ctx context.Context, name string) error {
	d := c.lister.Get(name)
	if d == nil {
		delete(c.told, name)
		return nil
	}
	now := approvalState{d.UID, d.Annotations[apiextensionsv1.KubeAPIApprovedAnnotation]}
	next := judgeApproval(d)
	if c.told[name] == now || apihelpers.IsCRDConditionEquivalent(&next, apihelpers.FindCRDCondition(d, next.Type)) {
		return nil
	}
	if _, err := c.status.Update(ctx, d, func(d *Definition) { apihelpers.SetCRDCondition(d, next) }); err != nil {
		return err
	}
	c.told[name] = now
	return nil
}

// approvalReasons maps each state of approval to the status and reason of the condition.
var approvalReasons = map[apihelpers.APIApprovalState]struct {
	status apiextensionsv1.ConditionStatus
	reason string
}{
	apihelpers.APIApproved:         {apiextensionsv1.ConditionTrue, "ApprovedAnnotation"},
	apihelpers.APIApprovalBypassed: {apiextensionsv1.ConditionFalse, "UnapprovedAnnotation"},
	apihelpers.APIApprovalInvalid:  {apiextensionsv1.ConditionFalse, "InvalidAnnotation"},
	apihelpers.APIApprovalMissing:  {apiextensionsv1.ConditionFalse, "MissingAnnotation"},
}

// judgeApproval returns the condition of a definition in a protected group.
func judgeApproval(d *Definition) apiextensionsv1.CustomResourceDefinitionCondition {
	state, message := apihelpers.GetAPIApprovalState(d.Annotations)
	r := approvalReasons[state]
	return apiextensionsv1.CustomResourceDefinitionCondition{
		Type: apiextensionsv1.KubernetesAPIApprovalPolicyConformant, Status: r.status, Reason: r.reason, Message: message,
	}
}
