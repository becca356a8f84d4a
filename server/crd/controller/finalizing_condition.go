package controller

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

func terminating(reason, message string) condition {
	return condition{Type: apiextensionsv1.Terminating, Status: apiextensionsv1.ConditionTrue, Reason: reason, Message: message}
}

func notTerminating(reason, message string) condition {
	return condition{Type: apiextensionsv1.Terminating, Status: apiextensionsv1.ConditionFalse, Reason: reason, Message: message}
}

var (
	inProgress = terminating("InstanceDeletionInProgress", "CustomResource deletion is in progress")
	remaining  = terminating("InstanceDeletionCheck",
		fmt.Sprintf("could not confirm zero CustomResources remaining: %v", context.DeadlineExceeded))

	completed          = notTerminating("InstanceDeletionCompleted", "removed all instances")
	neverEstablished   = notTerminating("NeverEstablished", "resource was never established")
	overlappingBuiltIn = notTerminating("OverlappingBuiltInResource", "instances overlap with built-in resources in storage")
)

func failed(format string, err error) condition {
	return terminating("InstanceDeletionFailed", fmt.Sprintf(format, err))
}

type groupResource struct{ group, resource string }

// overlapping lists the built-in resources whose keys a definition of the same name would share.
var overlapping = map[groupResource]bool{
	{"apiregistration.k8s.io", "apiservices"}:             true,
	{"apiextensions.k8s.io", "customresourcedefinitions"}: true,
}

// isBegun reports whether the deletion of objects has started, according to the condition.
func isBegun(d *Definition) bool {
	c := apihelpers.FindCRDCondition(d, apiextensionsv1.Terminating)
	return c != nil && c.Status == apiextensionsv1.ConditionTrue && c.Reason != "InstanceDeletionPending"
}

// say writes the condition unless the definition has it already.
func (c *finalizing) say(ctx context.Context, d *Definition, now condition) (*Definition, error) {
	if apihelpers.IsCRDConditionEquivalent(&now, apihelpers.FindCRDCondition(d, apiextensionsv1.Terminating)) {
		return d, nil
	}
	return c.status.Update(ctx, d, func(d *Definition) { apihelpers.SetCRDCondition(d, now) })
}

// fail writes the cause of a stuck deletion into the condition, and returns that error.
func (c *finalizing) fail(ctx context.Context, d *Definition, now condition, why error) error {
	if ctx.Err() != nil {
		return why
	}
	if _, err := c.say(ctx, d, now); err != nil && !errors.Is(err, errChanged) {
		return errors.Join(why, err)
	}
	return why
}

// letGo removes the finalizer.
func (c *finalizing) letGo(ctx context.Context, d *Definition, last condition) (done bool, err error) {
	_, err = c.status.Update(ctx, d, func(d *Definition) {
		apihelpers.SetCRDCondition(d, last)
		apihelpers.CRDRemoveFinalizer(d, apiextensionsv1.CustomResourceCleanupFinalizer)
	})
	return err == nil, err
}
