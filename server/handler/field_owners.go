package handler

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/kx-apiserver/kx/core/object"
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

var ownersMoved = trace.Because("owners-moved", "{moves:quote}", "{moves:quote}")

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
		step.WhyText(ownersMoved, moves.Join("; "))
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

var (
	ownerOfNothing = trace.Because("owner-of-nothing",
		"{manager:word} owns nothing here: it changed no field that can be owned",
		"{manager:word} 在这里没有管理的字段：它没有改动任何可管理的字段")
	ownerNoLonger = trace.Because("owner-no-longer",
		"{manager:word} owns nothing here any longer",
		"{manager:word} 在这里不再管理任何字段")
	ownerOfAll = trace.Because("owner-of-all",
		"{manager:word} owns what it sent",
		"{manager:word} 管理它提交的字段")
	ownerOfFree = trace.Because("owner-of-free",
		"{manager:word} owns what it changed, which nobody owned",
		"{manager:word} 管理它改动的字段，这些字段之前无人管理")
	ownerAsBefore = trace.Because("owner-as-before",
		"{manager:word} owns what it owned before",
		"{manager:word} 管理的字段与之前相同")
	ownerChanged = trace.Because("owner-changed",
		"what {manager:word} owns has changed, and nobody else lost a field",
		"{manager:word} 管理的字段变了，其他管理者没有失去字段")
)

// ownGrowth returns the reason for a write after which all other managers keep their fields.
func ownGrowth(was, is *metav1.ManagedFieldsEntry, first bool) trace.Reason {
	switch {
	case is == nil && was == nil:
		return ownerOfNothing
	case is == nil:
		return ownerNoLonger
	case was == nil && first:
		return ownerOfAll
	case was == nil:
		return ownerOfFree
	case bytes.Equal(rawFields(*was), rawFields(*is)):
		return ownerAsBefore
	}
	return ownerChanged
}

var ownersConflict = trace.Because("owners-conflict",
	"it would change fields that others own, without force: {conflicts:quote}",
	"会改动由他人管理的字段，且没有指定 force：{conflicts:quote}")

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
		step.WhyText(ownersConflict, conflicts.Join("; "))
	}
}

func fieldName(path fieldpath.Path) string { return strings.TrimPrefix(path.String(), ".") }

func managedFieldsOf(obj runtime.Object) []metav1.ManagedFieldsEntry {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return object.ManagedFields(u)
	}
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
