package store

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var (
	// ErrResourceVersionSetOnCreate refuses to create an object that says it exists.
	ErrResourceVersionSetOnCreate = errors.New("resourceVersion should not be set on objects to be created")
	// ErrStorageNotReady says that a store has not been filled yet.
	ErrStorageNotReady = errors.New("storage not ready")
	// ErrRewound refuses a write that was decided on objects from before a rewind: see [WithDecision]. Nothing was
	// written, and the caller has to read and to decide again.
	ErrRewound = errors.New("the stored objects were rewound after this write was decided: nothing was written, " +
		"read the objects and decide again")
)

// The kinds of StorageError.
const (
	ErrCodeKeyNotFound int = iota + 1
	ErrCodeKeyExists
	ErrCodeResourceVersionConflicts
	ErrCodeInvalidObj
	ErrCodeUnreachable
	ErrCodeTimeout
	ErrCodeCorruptObj
)

var errCodeToMessage = map[int]string{
	ErrCodeKeyNotFound:              "key not found",
	ErrCodeKeyExists:                "key exists",
	ErrCodeResourceVersionConflicts: "resource version conflicts",
	ErrCodeInvalidObj:               "invalid object",
	ErrCodeUnreachable:              "server unreachable",
	ErrCodeTimeout:                  "request timeout",
	ErrCodeCorruptObj:               "corrupt object",
}

// StorageError is an error of a store about one key.
type StorageError struct {
	Code            int
	Key             string
	ResourceVersion int64

	err error
}

func (e *StorageError) Unwrap() error { return e.err }

func (e *StorageError) Error() string {
	return fmt.Sprintf("StorageError: %s, Code: %d, Key: %s, ResourceVersion: %d, AdditionalErrorMsg: %v",
		errCodeToMessage[e.Code], e.Code, e.Key, e.ResourceVersion, e.err)
}

// NewKeyNotFoundError says that nothing is stored at key as of revision rv.
func NewKeyNotFoundError(key string, rv int64) *StorageError {
	return &StorageError{Code: ErrCodeKeyNotFound, Key: key, ResourceVersion: rv}
}

// NewKeyExistsError says that something is stored at key as of revision rv.
func NewKeyExistsError(key string, rv int64) *StorageError {
	return &StorageError{Code: ErrCodeKeyExists, Key: key, ResourceVersion: rv}
}

// NewTimeoutError says that the backend did not answer for key in time.
func NewTimeoutError(key, msg string) *StorageError {
	return &StorageError{Code: ErrCodeTimeout, Key: key, err: errors.New(msg)}
}

// NewInvalidObjError says that the object at key does not meet a precondition.
func NewInvalidObjError(key, msg string) *StorageError {
	return &StorageError{Code: ErrCodeInvalidObj, Key: key, err: errors.New(msg)}
}

// NewCorruptObjError says that the bytes at key can't be decrypted or decoded.
func NewCorruptObjError(key string, err error) *StorageError {
	return &StorageError{Code: ErrCodeCorruptObj, Key: key, err: err}
}

// IsNotFound says whether nothing was stored at the key.
func IsNotFound(err error) bool { return hasCode(err, ErrCodeKeyNotFound) }

// IsExist says whether the key was taken.
func IsExist(err error) bool { return hasCode(err, ErrCodeKeyExists) }

// IsUnreachable says whether the backend did not answer.
func IsUnreachable(err error) bool { return hasCode(err, ErrCodeUnreachable) }

// IsConflict says whether the object changed meanwhile.
func IsConflict(err error) bool { return hasCode(err, ErrCodeResourceVersionConflicts) }

// IsRequestTimeout says whether the backend did not answer in time.
func IsRequestTimeout(err error) bool { return hasCode(err, ErrCodeTimeout) }

// IsInvalidObj says whether a precondition was not met.
func IsInvalidObj(err error) bool { return hasCode(err, ErrCodeInvalidObj) }

// IsCorruptObject says whether the stored bytes could not be read.
func IsCorruptObject(err error) bool { return hasCode(err, ErrCodeCorruptObj) }

func hasCode(err error, code int) bool {
	var e *StorageError
	return errors.As(err, &e) && e.Code == code
}

// InternalError is a fault of the store or of its contents, not of the request.
type InternalError struct {
	Reason string

	err error
}

func (e InternalError) Error() string { return e.Reason }

func (e InternalError) Unwrap() error { return e.err }

// NewInternalError makes err an InternalError.
func NewInternalError(err error) InternalError { return InternalError{Reason: err.Error(), err: err} }

// IsInternalError says whether err is a fault of the store.
func IsInternalError(err error) bool {
	var e InternalError
	return errors.As(err, &e)
}

// NewTooLargeResourceVersionError says that the requested revision does not exist yet, and when to ask again.
func NewTooLargeResourceVersionError(minimumResourceVersion, currentRevision uint64, retrySeconds int) error {
	err := apierrors.NewTimeoutError(
		fmt.Sprintf("Too large resource version: %d, current: %d", minimumResourceVersion, currentRevision), retrySeconds)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{
		Type:    metav1.CauseTypeResourceVersionTooLarge,
		Message: "Too large resource version",
	}}
	return err
}

// CompactedError says that a storage has dropped the requested changes.
type CompactedError struct {
	// Oldest is the revision after which all changes are remembered.
	Oldest int64
}

func (e *CompactedError) Error() string {
	return fmt.Sprintf("changes before revision %d have been compacted", e.Oldest+1)
}
