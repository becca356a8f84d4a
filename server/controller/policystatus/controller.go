package policystatus

import (
	"context"

	registrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/controller/feed"
	"github.com/kx-apiserver/kx/server/controller/work"
)

// Name is what kube-controller-manager calls the controller, and the service account that it acts as.
const Name = "validatingadmissionpolicy-status-controller"

// manager owns the fields that upstream's controller applies.
const manager = "validatingadmissionpolicy-status"

// workers is how many policies are checked at a time, as upstream.
const workers = 5

// Resource is what the controller follows.
var Resource = registrationv1.SchemeGroupVersion.WithResource("validatingadmissionpolicies")

// Controller checks policies.
type Controller struct {
	policies *work.Objects[*registrationv1.ValidatingAdmissionPolicy]
	loop     *work.Loop[string]
	check    checker
}

// New makes a controller, which does nothing until it runs.
func New(kit *work.Kit) *Controller {
	c := &Controller{
		policies: work.ObjectsOf[*registrationv1.ValidatingAdmissionPolicy](kit, kit.Writer(manager, Name), Resource),
		check:    checker{kit.Mapper, kit.Schema, kit.Log},
	}
	c.loop = work.NewLoop(Name, workers, kit.Metrics, kit.Log, c.try)
	return c
}

// Run works until ctx ends.
func (c *Controller) Run(ctx context.Context) { c.loop.Run(ctx) }

// State returns what it is about.
func (c *Controller) State() work.State { return c.loop.State() }

// Begin begins a look at all policies.
func (c *Controller) Begin() {}

// End ends it.
func (c *Controller) End(int64) {}

// Put has a policy looked at.
func (c *Controller) Put(p feed.Pair) {
	if p.Value == nil {
		return
	}
	_, name := p.Name(Resource.GroupResource())
	c.loop.Add(name, p.Revision)
}

// try checks a policy, unless its status is about what it is now.
func (c *Controller) try(ctx context.Context, name string, cause int64) error {
	p, found, err := c.policies.Get(ctx, "", name)
	if err != nil || !found || p.Generation <= p.Status.ObservedGeneration {
		return err
	}
	warnings, kinds, err := c.check.policy(ctx, p)
	if err != nil {
		return err
	}
	checking := map[string]any{}
	if len(warnings) > 0 {
		list := make([]any, len(warnings))
		for i, w := range warnings {
			list[i] = map[string]any{"fieldRef": w.FieldRef, "warning": w.Warning}
		}
		checking["expressionWarnings"] = list
	}
	return c.policies.Apply(ctx, p, "status", work.Decision{Cause: cause, Why: func(step *trace.Step) {
		step.Why(trace.TypesChecked, int64(len(warnings)), int64(kinds))
	}}, map[string]any{"status": map[string]any{"observedGeneration": p.Generation, "typeChecking": checking}})
}
