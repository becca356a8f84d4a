package apiapproval

import (
	"context"
	"log/slog"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kx-apiserver/kx/server/crd/controller/work"
	"github.com/kx-apiserver/kx/server/crd/lister"
)

// Controller writes the condition about the approval annotation of a definition.
type Controller struct {
	lister *lister.Lister
	status work.Status
	queue  *work.Queue
	// told holds the states whose condition is written, by name. Only Run uses it.
	told map[string]state
}

// state is the part of a definition that determines its approval.
type state struct {
	uid        types.UID
	annotation string
}

// New creates a controller. It receives changes once the lister runs.
func New(l *lister.Lister, status work.Status, log *slog.Logger) *Controller {
	c := &Controller{
		lister: l, status: status, queue: work.NewQueue("tell of the approval of a CustomResourceDefinition", log),
		told: map[string]state{},
	}
	l.Subscribe(func(old, now *work.Definition) {
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
func (c *Controller) Run(ctx context.Context) {
	c.queue.Run(ctx, func(ctx context.Context, names []string) work.Failures {
		return work.Each(names, 1, func(name string) error { return c.look(ctx, name) })
	})
}

func (c *Controller) look(ctx context.Context, name string) error {
	d := c.lister.Get(name)
	if d == nil {
		delete(c.told, name)
		return nil
	}
	now := state{d.UID, d.Annotations[apiextensionsv1.KubeAPIApprovedAnnotation]}
	next := judge(d)
	if c.told[name] == now || apihelpers.IsCRDConditionEquivalent(&next, apihelpers.FindCRDCondition(d, next.Type)) {
		return nil
	}
	if _, err := c.status.Update(ctx, d, func(d *work.Definition) { apihelpers.SetCRDCondition(d, next) }); err != nil {
		return err
	}
	c.told[name] = now
	return nil
}

// reasons maps each state of approval to the status and reason of the condition.
var reasons = map[apihelpers.APIApprovalState]struct {
	status apiextensionsv1.ConditionStatus
	reason string
}{
	apihelpers.APIApproved:         {apiextensionsv1.ConditionTrue, "ApprovedAnnotation"},
	apihelpers.APIApprovalBypassed: {apiextensionsv1.ConditionFalse, "UnapprovedAnnotation"},
	apihelpers.APIApprovalInvalid:  {apiextensionsv1.ConditionFalse, "InvalidAnnotation"},
	apihelpers.APIApprovalMissing:  {apiextensionsv1.ConditionFalse, "MissingAnnotation"},
}

// judge returns the condition of a definition in a protected group.
func judge(d *work.Definition) apiextensionsv1.CustomResourceDefinitionCondition {
	state, message := apihelpers.GetAPIApprovalState(d.Annotations)
	r := reasons[state]
	return apiextensionsv1.CustomResourceDefinitionCondition{
		Type: apiextensionsv1.KubernetesAPIApprovalPolicyConformant, Status: r.status, Reason: r.reason, Message: message,
	}
}
