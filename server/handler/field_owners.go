package handler

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/kx-apiserver/kx/core/trace"
)

// managerKey identifies one of an object's managers.
type managerKey struct {
	name        string
	operation   metav1.ManagedFieldsOperationType
	subresource string
}

func keyOf(e metav1.ManagedFieldsEntry) managerKey {
	return managerKey{e.Manager, e.Operation, e.Subresource}
}

// maxManagers limits how many managers that lost fields a step examines. It counts each of the others as one field.
const maxManagers = 64

// sayOwners adds to step how a write by manager changed the owners of live's fields. It parses fields only if a manager
// lost some, which is rare: most writers change only their own fields.
func sayOwners(step *trace.Step, live, obj runtime.Object, manager managerKey) {
	before, after := managedFieldsOf(live), managedFieldsOf(obj)
	own := entryOf(after, manager)
	remaining := make(map[managerKey]*metav1.ManagedFieldsEntry, len(after))
	for i := range after {
		remaining[keyOf(after[i])] = &after[i]
	}
	moves, owned, looked := step.NewList(), (*fieldpath.Set)(nil), 0
	for _, was := range before {
		if keyOf(was) == manager {
			continue
		}
		is := remaining[keyOf(was)]
		if is != nil && bytes.Equal(rawFields(was), rawFields(*is)) {
			continue
		}
		if looked++; looked > maxManagers {
			moves.Skip(1)
			continue
		}
		fieldSet(&was).Difference(fieldSet(is)).Leaves().Iterate(func(path fieldpath.Path) {
			moves.AddBy(func() string {
				if owned == nil {
					owned = fieldSet(own)
				}
				return move(path, keyOf(was), manager, owned.Has(path))
			})
		})
	}
	if moves.Count() > 0 {
		step.WhyText(trace.OwnersMoved, moves.Join("; "))
		return
	}
	step.WhyText(ownGrowth(entryOf(before, manager), own, len(before) == 0), manager.name)
}

// move describes how a field left its owner in a write by manager.
func move(path fieldpath.Path, was, manager managerKey, taken bool) string {
	field := fieldName(path)
	switch {
	case !taken:
		return fmt.Sprintf("%s no longer owns %s, which %s took away", was.name, field, manager.name)
	case was.name == manager.name:
		return fmt.Sprintf("owner of %s moved from %s (%s) to %s (%s)", field, was.name, was.operation, manager.name, manager.operation)
	}
	return fmt.Sprintf("owner of %s moved from %s to %s", field, was.name, manager.name)
}

// ownGrowth returns the reason for a write after which all other managers keep their fields.
func ownGrowth(was, is *metav1.ManagedFieldsEntry, first bool) trace.Reason {
	switch {
	case is == nil && was == nil:
		return trace.OwnerOfNothing
	case is == nil:
		return trace.OwnerNoLonger
	case was == nil && first:
		return trace.OwnerOfAll
	case was == nil:
		return trace.OwnerOfFree
	case bytes.Equal(rawFields(*was), rawFields(*is)):
		return trace.OwnerAsBefore
	}
	return trace.OwnerChanged
}

// sayConflicts adds to step whose fields an apply would have changed, if err is a conflict.
func sayConflicts(step *trace.Step, err error) {
	var carrier apierrors.APIStatus
	if !errors.As(err, &carrier) || carrier.Status().Details == nil {
		return
	}
	conflicts := step.NewList()
	for _, cause := range carrier.Status().Details.Causes {
		if cause.Type == metav1.CauseTypeFieldManagerConflict {
			conflicts.AddBy(func() string { return fmt.Sprintf("%s: %s", strings.TrimPrefix(cause.Field, "."), cause.Message) })
		}
	}
	if conflicts.Count() > 0 {
		step.WhyText(trace.OwnersConflict, conflicts.Join("; "))
	}
}

func fieldName(path fieldpath.Path) string { return strings.TrimPrefix(path.String(), ".") }

func managedFieldsOf(obj runtime.Object) []metav1.ManagedFieldsEntry {
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil
	}
	return m.GetManagedFields()
}

func entryOf(entries []metav1.ManagedFieldsEntry, key managerKey) *metav1.ManagedFieldsEntry {
	for i := range entries {
		if keyOf(entries[i]) == key {
			return &entries[i]
		}
	}
	return nil
}

// fieldSet parses an entry. It returns an empty set if e is nil or can't be parsed.
func fieldSet(e *metav1.ManagedFieldsEntry) *fieldpath.Set {
	set := fieldpath.NewSet()
	if e != nil {
		if err := set.FromJSON(bytes.NewReader(rawFields(*e))); err != nil {
			return fieldpath.NewSet()
		}
	}
	return set
}
