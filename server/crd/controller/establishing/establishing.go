package establishing

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/util/webhook"

	"github.com/kx-apiserver/kx/server/crd/controller/naming"
	"github.com/kx-apiserver/kx/server/crd/controller/work"
	"github.com/kx-apiserver/kx/server/crd/lister"
)

type condition = apiextensionsv1.CustomResourceDefinitionCondition

var (
	established = condition{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue,
		Reason: "InitialNamesAccepted", Message: "the initial names have been accepted"}
	invalidCABundle = condition{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionFalse,
		Reason: "InvalidCABundle", Message: "The conversion webhook CABundle is invalid"}
)

// Controller establishes definitions.
type Controller struct {
	lister *lister.Lister
	status work.Status
	queue  *work.Queue
	// contested holds the definitions that share a name with another one. Only Run uses it.
	contested map[string]bool
}

// New creates a controller. It receives changes once the lister runs.
func New(l *lister.Lister, status work.Status, log *slog.Logger) *Controller {
	c := &Controller{
		lister: l, status: status, queue: work.NewQueue("establish a CustomResourceDefinition", log), contested: map[string]bool{},
	}
	l.Subscribe(func(old, now *work.Definition) {
		if now == nil {
			now = old // it holds its names no more
		}
		c.queue.Add(now.Name)
	})
	return c
}

// Run works until ctx ends.
func (c *Controller) Run(ctx context.Context) { c.queue.Run(ctx, c.batch) }

// batch examines definitions. It reads the lister's revision first, so that all of them are at that revision or
// later.
func (c *Controller) batch(ctx context.Context, names []string) work.Failures {
	revision := c.lister.Revision()
	all := c.lister.List()
	var holders *naming.Holders
	failures := work.Failures{}
	toWrite := map[string]*work.Definition{}
	for _, name := range slices.AppendSeq(names, maps.Keys(c.contested)) {
		delete(c.contested, name)
		d := find(all, name)
		if d == nil || !IsDue(d) {
			continue
		}
		if work.Revision(d) > revision {
			failures[name] = work.ErrLater
			continue
		}
		if holders == nil {
			holders = naming.NewHolders(all)
		}
		if len(holders.Rivals(d)) > 0 {
			c.contested[name] = true
			continue
		}
		toWrite[name] = d
	}
	maps.Copy(failures, work.Each(slices.Sorted(maps.Keys(toWrite)), work.WritesMost, func(name string) error {
		d := toWrite[name]
		_, err := c.status.Update(ctx, d, func(next *work.Definition) { apihelpers.SetCRDCondition(next, verdict(d)) })
		return err
	}))
	return failures
}

// find finds a definition in a list that is sorted by name.
func find(all []*work.Definition, name string) *work.Definition {
	i, ok := slices.BinarySearchFunc(all, name, func(d *work.Definition, name string) int { return strings.Compare(d.Name, name) })
	if !ok {
		return nil
	}
	return all[i]
}

// IsDue reports whether d's condition Established is about to be written, as true or as false.
func IsDue(d *work.Definition) bool {
	if d.DeletionTimestamp != nil || !apihelpers.IsCRDConditionTrue(d, apiextensionsv1.NamesAccepted) ||
		apihelpers.IsCRDConditionTrue(d, apiextensionsv1.Established) {
		return false
	}
	next := verdict(d)
	return !apihelpers.IsCRDConditionEquivalent(&next, apihelpers.FindCRDCondition(d, apiextensionsv1.Established))
}

// verdict returns the condition of a definition that shares no name.
func verdict(d *work.Definition) condition {
	c := d.Spec.Conversion
	if c != nil && c.Webhook != nil && c.Webhook.ClientConfig != nil &&
		len(webhook.ValidateCABundle(field.NewPath("caBundle"), c.Webhook.ClientConfig.CABundle)) > 0 {
		return invalidCABundle
	}
	return established
}
