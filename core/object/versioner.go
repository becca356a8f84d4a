package object

import (
	"errors"
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

// UpdateList sets a list's resourceVersion, where it goes on and how much is left (nil if that is not known). A list
// has been read at some revision, so 0 is a fault of the caller.
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

// PrepareObjectForStorage clears what would make equal objects differ on disk: resourceVersion and selfLink.
func (APIObjectVersioner) PrepareObjectForStorage(obj runtime.Object) error {
	m, err := meta.Accessor(obj)
	if err != nil {
		return err
	}
	m.SetResourceVersion("")
	m.SetSelfLink("")
	return nil
}

// ObjectResourceVersion is obj's revision, 0 if it has none.
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

// ParseResourceVersion reads a resourceVersion that a client sent: "" and "0" are 0, and what is no number is an
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

// CompareResourceVersion is -1, 0 or 1 as lhs is older than, as old as or newer than rhs. It panics if either has a
// resourceVersion that no store wrote.
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

// InvalidError names the fields of a request that a store can't make sense of.
type InvalidError struct {
	Errs field.ErrorList
}

func (e InvalidError) Error() string { return e.Errs.ToAggregate().Error() }

// IsInvalidError says whether err names fields that a store can't make sense of.
func IsInvalidError(err error) bool {
	var invalid InvalidError
	return errors.As(err, &invalid)
}
