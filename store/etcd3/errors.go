package etcd3

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	grpccodes "google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	storage "github.com/kx-apiserver/kx/store"
)

// Messages for a client whose revision has been compacted.
const (
	watchExpired    = "The resourceVersion for the provided watch is too old."
	listExpired     = "The resourceVersion for the provided list is too old."
	continueExpired = "The provided continue parameter is too old " +
		"to display a consistent list result. You can start a new list without the continue parameter."
	inconsistentContinue = "The provided continue parameter is too old " +
		"to display a consistent list result. You can start a new list without the continue parameter, " +
		"or use the continue token in this response to retrieve the remainder of the results. " +
		"Continuing with the provided token results in an inconsistent list - objects that were created, " +
		"modified, or deleted between the time the first chunk was returned and now may show up in the list."
)

// latestRevision in a continue token stands for whatever is the latest. 0 would be a token without a revision.
const latestRevision = -1

// listError returns the error of a list, or of reading a watch's initial state, for etcd's error err. continued: the
// client sent a continue token; continueKey is the key at which it continued.
func (s *store) listError(ctx context.Context, err error, revision int64, continued bool, continueKey, prefix string) error {
	switch {
	case errors.Is(err, rpctypes.ErrFutureRev):
		// Without the revision that there is, the answer is the same but for that number.
		current, _ := s.GetCurrentResourceVersion(ctx)
		return storage.NewTooLargeResourceVersionError(uint64(revision), current, 0)
	case errors.Is(err, rpctypes.ErrCompacted) && continued:
		return continueExpiredError(continueKey, prefix)
	case errors.Is(err, rpctypes.ErrCompacted):
		return apierrors.NewResourceExpired(listExpired)
	}
	return err
}

// continueExpiredError offers a token that goes on where the client's did, at the latest revision.
func continueExpiredError(continueKey, prefix string) error {
	token, err := storage.EncodeContinue(continueKey, prefix, latestRevision)
	if err != nil {
		return apierrors.NewResourceExpired(continueExpired)
	}
	expired := apierrors.NewResourceExpired(inconsistentContinue)
	expired.ErrStatus.ListMeta.Continue = token
	return expired
}

// interpretWatchError returns the error that ends a watch, for etcd's error err.
func interpretWatchError(err error) error {
	if errors.Is(err, rpctypes.ErrCompacted) {
		return apierrors.NewResourceExpired(watchExpired)
	}
	var corrupt *corruptObjectDeletedError
	if errors.As(err, &corrupt) {
		return &apierrors.StatusError{ErrStatus: metav1.Status{
			Status:  metav1.StatusFailure,
			Code:    http.StatusInternalServerError,
			Reason:  metav1.StatusReasonStoreReadError,
			Message: corrupt.Error(),
		}}
	}
	return err
}

// noSpaceAdvice follows etcd's words, which clients know, and says how to end the alarm.
const noSpaceAdvice = ". Etcd refuses all writes but deletions: `kx etcd doctor` says what to do"

// interpretWriteError turns a refusal of a large request, by etcd or by its client, into a 413. For an etcd with a
// used-up quota it says how to get out of that.
func interpretWriteError(err error) error {
	tooLarge := errors.Is(err, rpctypes.ErrRequestTooLarge) ||
		(grpcstatus.Code(err) == grpccodes.ResourceExhausted && strings.Contains(err.Error(), "message larger than max"))
	if tooLarge {
		return apierrors.NewRequestEntityTooLargeError(err.Error())
	}
	if errors.Is(err, rpctypes.ErrNoSpace) {
		return &apierrors.StatusError{ErrStatus: metav1.Status{
			Status:  metav1.StatusFailure,
			Code:    http.StatusInternalServerError,
			Reason:  metav1.StatusReasonInternalError,
			Message: err.Error() + noSpaceAdvice,
		}}
	}
	return err
}

// isCancelError reports whether err only means that the caller gave up.
func isCancelError(err error) bool {
	if errors.Is(err, context.Canceled) || grpcstatus.Code(err) == grpccodes.Canceled {
		return true
	}
	var etcdErr rpctypes.EtcdError
	return errors.As(err, &etcdErr) && etcdErr.Code() == grpccodes.Canceled
}

var (
	readNothing        = trace.Because("read-nothing", "nothing is stored at the key", "该键没有存储内容")
	readNothingAllowed = trace.Because("read-nothing-allowed",
		"nothing is stored at the key, and that is no error: an empty object",
		"该键没有存储内容，但不算错误：返回空对象")
)

// notFound is the error for a key at which nothing is stored, nil if that is tolerated.
func notFound(ctx context.Context, key string, tolerated bool) (err error) {
	_, step := trace.Start(ctx, steps.Etcd3NotFound, key)
	defer step.End(&err)
	if tolerated {
		step.Why(readNothingAllowed)
		return nil
	}
	step.Why(readNothing)
	return storage.NewKeyNotFoundError(key, 0)
}
