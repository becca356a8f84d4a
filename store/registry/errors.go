package registry

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/store"
)

// OptimisticLockErrorMsg is the message for a writer whose object was changed in between.
const OptimisticLockErrorMsg = "the object has been modified; please apply your changes to the latest version and try again"

// retrySeconds is the Retry-After that a client gets when the storage did not answer.
const retrySeconds = 2

// InterpretGetError turns an error of the storage's Get into an API error.
func InterpretGetError(ctx context.Context, err error, resource schema.GroupResource, name string) error {
	return interpretation(ctx, "get", err, func() error {
		if store.IsNotFound(err) {
			return apierrors.NewNotFound(resource, name)
		}
		return interpret(err, resource, "get")
	})
}

// InterpretListError turns an error of the storage's list into an API error.
func InterpretListError(ctx context.Context, err error, resource schema.GroupResource) error {
	return interpretation(ctx, "list", err, func() error {
		switch {
		case store.IsNotFound(err):
			return apierrors.NewNotFound(resource, "")
		case store.IsRequestTimeout(err):
			return apierrors.NewServerTimeout(resource, "list", retrySeconds)
		}
		return interpret(err, resource, "list")
	})
}

// InterpretCreateError turns an error of the storage's Create into an API error.
func InterpretCreateError(ctx context.Context, err error, resource schema.GroupResource, name string) error {
	return interpretation(ctx, "create", err, func() error {
		if store.IsExist(err) {
			return apierrors.NewAlreadyExists(resource, name)
		}
		return interpret(err, resource, "create")
	})
}

// InterpretUpdateError turns an error of the storage's update into an API error.
func InterpretUpdateError(ctx context.Context, err error, resource schema.GroupResource, name string) error {
	return interpretation(ctx, "update", err, func() error { return interpretWrite(err, resource, name, "update") })
}

// InterpretDeleteError turns an error of the storage's deletion into an API error.
func InterpretDeleteError(ctx context.Context, err error, resource schema.GroupResource, name string) error {
	return interpretation(ctx, "delete", err, func() error { return interpretWrite(err, resource, name, "delete") })
}

// interpretation calls interpret, which makes an API error of err, as a step.
func interpretation(ctx context.Context, operation string, err error, interpret func() error) error {
	_, step := trace.Start(ctx, trace.StoreInterpretError, operation)
	defer step.End(nil)
	answer := interpret()
	if step.Recording() {
		whyInterpreted(step, err, answer)
	}
	return answer
}

func whyInterpreted(step *trace.Step, err, answer error) {
	var status apierrors.APIStatus
	text := ""
	if errors.As(answer, &status) {
		text = fmt.Sprintf("%d %s", status.Status().Code, status.Status().Reason)
	}
	switch {
	case store.IsNotFound(err):
		step.WhyText(trace.StorageHasNothing, text)
	case store.IsExist(err):
		step.WhyText(trace.StorageHasAlready, text)
	case store.IsConflict(err), store.IsInvalidObj(err):
		step.WhyText(trace.StorageHasAnother, text)
	case store.IsRequestTimeout(err):
		step.WhyText(trace.StorageTimedOut, text)
	case store.IsUnreachable(err):
		step.WhyText(trace.StorageUnreachable, text)
	case store.IsInternalError(err), store.IsCorruptObject(err):
		step.WhyText(trace.StorageBroken, text)
	default:
		step.Why(trace.AnswerAlready)
	}
}

// interpretWrite is for operations on an object that is supposed to be there.
func interpretWrite(err error, resource schema.GroupResource, name, operation string) error {
	switch {
	case store.IsNotFound(err):
		return apierrors.NewNotFound(resource, name)
	case store.IsConflict(err), store.IsExist(err), store.IsInvalidObj(err):
		return apierrors.NewConflict(resource, name, err)
	}
	return interpret(err, resource, operation)
}

// interpret handles the errors that all operations share. An error that does not come from the storage is final
// already: it comes from a strategy, from admission or from the context.
func interpret(err error, resource schema.GroupResource, operation string) error {
	switch {
	case store.IsUnreachable(err):
		return apierrors.NewServerTimeout(resource, operation, retrySeconds)
	case store.IsInternalError(err), store.IsCorruptObject(err):
		return apierrors.NewInternalError(err)
	}
	return err
}
