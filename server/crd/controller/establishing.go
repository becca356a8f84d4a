package controller

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

	"github.com/kx-apiserver/kx/server/crd/lister"
)

var (
	established = condition{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue,
		Reason: "InitialNamesAccepted", Message: "the initial names have been accepted"}
	invalidCABundle = condition{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionFalse,
		Reason: "InvalidCABundle", Message: "The conversion webhook CABundle is invalid"}
)

// establishing makes definitions established: from then on, clients may rely on being served.
//
// In come definitions from the lister. Out goes the condition Established: true once names are accepted, and
// never false again; or false with the reason if the caBundle of a conversion webhook is invalid.
//
// # Why there is no delay
//
// Accepted names are only a claim: another server may have written the same claim for another definition at the
// same moment (see naming). A definition is established when this process
//
//  1. has seen the claim, and everything that was written to any definition before it, and
//  2. sees no other definition that holds one of its names.
//
// The lister's revision answers the first; a definition that the lister read from etcd ahead of its watch has
// to wait for the watch. The write fails if the definition has changed since it was read. So if two definitions
// claim one name, the one with the later claim in etcd's history is never established while the other holds the
// name. No clock is involved: a slow server may be late but never wrong, and upstream's delay would add
// nothing.
//
// In the meantime, other servers serve the definition, too: a server asks etcd about definitions that it does
// not know.
//
// # Invariants
//
//  1. Of two definitions that claim a name before they are established, at most one is established with it.
//  2. A definition that is being deleted is not established: its finalizer may already be removed, so objects
//     that are created later would never be deleted.
//  3. A definition with a contested name is examined again at every change of any definition.
type establishing struct {
	lister *lister.Lister
	status statusWriter
	queue  *queue
	// contested holds the definitions that share a name with another one. Only Run uses it.
	contested map[string]bool
}

// newEstablishing creates a controller. It receives changes once the lister runs.
func newEstablishing(l *lister.Lister, status statusWriter, log *slog.Logger) *establishing {
	c := &establishing{
		lister: l, status: status, queue: newQueue("establish a CustomResourceDefinition", status.Gate, log), contested: map[string]bool{},
	}
	l.Subscribe(func(old, now *Definition) {
		if now == nil {
			now = old // it holds its names no more
		}
		c.queue.Add(now.Name)
	})
	return c
}

// Run works until ctx ends.
func (c *establishing) Run(ctx context.Context) { c.queue.Run(ctx, c.batch) }

// batch examines definitions. It reads the lister's revision first, so that all of them are at that revision or
// later.
func (c *establishing) batch(ctx context.Context, names []string) nameFailures {
	revision := c.lister.Revision()
	all := c.lister.List()
	var holders *nameHolders
	failures := nameFailures{}
	toWrite := map[string]*Definition{}
	for _, name := range slices.AppendSeq(names, maps.Keys(c.contested)) {
		delete(c.contested, name)
		d := findDefinition(all, name)
		if d == nil || !IsEstablishingDue(d) {
			continue
		}
		if Revision(d) > revision {
			failures[name] = errLater
			continue
		}
		if holders == nil {
			holders = newNameHolders(all)
		}
		if len(holders.rivals(d)) > 0 {
			c.contested[name] = true
			continue
		}
		toWrite[name] = d
	}
	maps.Copy(failures, eachName(slices.Sorted(maps.Keys(toWrite)), writesMost, func(name string) error {
		d := toWrite[name]
		_, err := c.status.Update(ctx, d, func(next *Definition) { apihelpers.SetCRDCondition(next, judgeEstablished(d)) })
		return err
	}))
	return failures
}

// findDefinition finds a definition in a list that is sorted by name.
func findDefinition(all []*Definition, name string) *Definition {
	i, ok := slices.BinarySearchFunc(all, name, func(d *Definition, name string) int { return strings.Compare(d.Name, name) })
	if !ok {
		return nil
	}
	return all[i]
}

// IsEstablishingDue reports whether d's condition Established is about to be written, as true or as false.
func IsEstablishingDue(d *Definition) bool {
	if d.DeletionTimestamp != nil || !apihelpers.IsCRDConditionTrue(d, apiextensionsv1.NamesAccepted) ||
		apihelpers.IsCRDConditionTrue(d, apiextensionsv1.Established) {
		return false
	}
	next := judgeEstablished(d)
	return !apihelpers.IsCRDConditionEquivalent(&next, apihelpers.FindCRDCondition(d, apiextensionsv1.Established))
}

// judgeEstablished returns the condition of a definition that shares no name.
func judgeEstablished(d *Definition) condition {
	c := d.Spec.Conversion
	if c != nil && c.Webhook != nil && c.Webhook.ClientConfig != nil &&
		len(webhook.ValidateCABundle(field.NewPath("caBundle"), c.Webhook.ClientConfig.CABundle)) > 0 {
		return invalidCABundle
	}
	return established
}
