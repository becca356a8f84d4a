package registry

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/steps"
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
	_, step := trace.Start(ctx, steps.StoreInterpretError, operation)
	defer step.End(nil)
	answer := interpret()
	if step.Recording() {
		whyInterpreted(step, err, answer)
	}
	return answer
}

var (
	storageHasNothing = trace.Because("storage-has-nothing",
		"the storage has nothing at the key: {answer:word}",
		"存储在该键上没有内容：{answer:word}")
	storageHasAlready = trace.Because("storage-has-already",
		"the storage has something at the key: {answer:word}",
		"存储在该键上已有内容：{answer:word}")
	storageHasAnother = trace.Because("storage-has-another",
		"the storage has another state than was expected: {answer:word}",
		"存储中的状态与预期不同：{answer:word}")
	storageTimedOut = trace.Because("storage-timed-out",
		"the storage ran out of time: {answer:word}",
		"存储超时：{answer:word}")
	storageUnreachable = trace.Because("storage-unreachable",
		"the storage can't be reached: {answer:word}",
		"无法访问存储：{answer:word}")
	storageBroken = trace.Because("storage-broken",
		"the storage failed, or can't read what it has: {answer:word}",
		"存储出错，或读不懂已有的内容：{answer:word}")
	answerAlready = trace.Because("answer-already",
		"it does not come from the storage, but is an answer already: passed on",
		"它不是存储的错误，已经是 API 的响应：原样传回")
)

func whyInterpreted(step *trace.Step, err, answer error) {
	var status apierrors.APIStatus
	text := ""
	if errors.As(answer, &status) {
		text = fmt.Sprintf("%d %s", status.Status().Code, status.Status().Reason)
	}
	switch {
	case store.IsNotFound(err):
		step.WhyText(storageHasNothing, text)
	case store.IsExist(err):
		step.WhyText(storageHasAlready, text)
	case store.IsConflict(err), store.IsInvalidObj(err):
		step.WhyText(storageHasAnother, text)
	case store.IsRequestTimeout(err):
		step.WhyText(storageTimedOut, text)
	case store.IsUnreachable(err):
		step.WhyText(storageUnreachable, text)
	case store.IsInternalError(err), store.IsCorruptObject(err):
		step.WhyText(storageBroken, text)
	default:
		step.Why(answerAlready)
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
