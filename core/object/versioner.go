package object

import (
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// APIObjectVersioner keeps revisions in the metadata that every API object has. It has no state.
type APIObjectVersioner struct{}

// UpdateObject sets obj's resourceVersion; 0 clears it.
func (APIObjectVersioner) UpdateObject(obj runtime.Object, resourceVersion uint64) error {
	m, err := meta.Accessor(obj)
	if err != nil {
		return err
	}
	m.SetResourceVersion(formatRevision(resourceVersion))
	return nil
}

// UpdateList sets a list's resourceVersion, continue token and remaining count (nil if not known). A revision of 0 is
// an error of the caller, since a list is always read at a revision.
func (APIObjectVersioner) UpdateList(obj runtime.Object, resourceVersion uint64, continueValue string, remainingItemCount *int64) error {
	if resourceVersion == 0 {
		return fmt.Errorf("illegal resource version from storage: %d", resourceVersion)
	}
	m, err := meta.ListAccessor(obj)
	if err != nil || m == nil {
		return err
	}
	m.SetResourceVersion(formatRevision(resourceVersion))
	m.SetContinue(continueValue)
	m.SetRemainingItemCount(remainingItemCount)
	return nil
}

// PrepareObjectForStorage clears resourceVersion and selfLink, which are not stored.
func (APIObjectVersioner) PrepareObjectForStorage(obj runtime.Object) error {
	m, err := meta.Accessor(obj)
	if err != nil {
		return err
	}
	m.SetResourceVersion("")
	m.SetSelfLink("")
	return nil
}

// ObjectResourceVersion is obj's revision, or 0.
func (APIObjectVersioner) ObjectResourceVersion(obj runtime.Object) (uint64, error) {
	m, err := meta.Accessor(obj)
	if err != nil {
		return 0, err
	}
	if m.GetResourceVersion() == "" {
		return 0, nil
	}
	return strconv.ParseUint(m.GetResourceVersion(), 10, 64)
}

// ParseResourceVersion reads a client's resourceVersion. "" and "0" are 0. If it is not a number, the error is an
// InvalidError.
func (APIObjectVersioner) ParseResourceVersion(resourceVersion string) (uint64, error) {
	if resourceVersion == "" || resourceVersion == "0" {
		return 0, nil
	}
	revision, err := strconv.ParseUint(resourceVersion, 10, 64)
	if err != nil {
		return 0, InvalidError{Errs: field.ErrorList{
			field.Invalid(field.NewPath("resourceVersion"), resourceVersion, err.Error()),
		}}
	}
	return revision, nil
}

// CompareResourceVersion is -1, 0 or 1 as lhs is older than, as old as or newer than rhs. It panics if a
// resourceVersion is not a number.
func (a APIObjectVersioner) CompareResourceVersion(lhs, rhs runtime.Object) int {
	left, err := a.ObjectResourceVersion(lhs)
	if err != nil {
		panic(err)
	}
	right, err := a.ObjectResourceVersion(rhs)
	if err != nil {
		panic(err)
	}
	switch {
	case left < right:
		return -1
	case left > right:
		return 1
	}
	return 0
}

func formatRevision(revision uint64) string {
	if revision == 0 {
		return ""
	}
	return strconv.FormatUint(revision, 10)
}

// InvalidError names the fields of a request that the store can't interpret.
type InvalidError struct {
	Errs field.ErrorList
}

func (e InvalidError) Error() string { return e.Errs.ToAggregate().Error() }
