package etcd3

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/object"
	storage "github.com/kx-apiserver/kx/store"
	"github.com/kx-apiserver/kx/store/transform"
)

// maxCorruptObjErrsToAggregate limits the unreadable objects that a LIST names before it gives up.
const maxCorruptObjErrsToAggregate = 100

var errTooMany = errors.New("too many errors, the list is truncated")

// CorruptObjectError says that stored bytes can't be made into an object. It does not know which: see
// storage.StorageError.
type CorruptObjectError struct {
	// Undecodable says that the bytes were decrypted and are no object. Otherwise they can't be decrypted.
	Undecodable bool
	// Revision is the object's, 0 if it is not known.
	Revision int64
	Err      error
}

func (e *CorruptObjectError) Unwrap() error { return e.Err }

func (e *CorruptObjectError) Error() string {
	what := "data from the storage is not transformable"
	if e.Undecodable {
		what = "object not decodable"
	}
	return fmt.Sprintf("%s revision=%d: %v", what, e.Revision, e.Err)
}

// WithCorruptObjErrorHandlingTransformer wraps transformer so that its failures to read are CorruptObjectErrors.
func WithCorruptObjErrorHandlingTransformer(transformer transform.Transformer) transform.Transformer {
	return corruptTransformer{transformer}
}

type corruptTransformer struct{ transform.Transformer }

func (t corruptTransformer) TransformFromStorage(ctx context.Context, data []byte, dataCtx transform.Context) ([]byte, bool, error) {
	out, stale, err := t.Transformer.TransformFromStorage(ctx, data, dataCtx)
	if err != nil {
		return nil, stale, &CorruptObjectError{Err: err}
	}
	return out, stale, nil
}

// WithCorruptObjErrorHandlingDecoder wraps decoder so that its failures are CorruptObjectErrors.
func WithCorruptObjErrorHandlingDecoder(decoder Decoder) Decoder { return corruptDecoder{decoder} }

type corruptDecoder struct{ Decoder }

func (d corruptDecoder) Decode(value []byte, objPtr runtime.Object, rev int64) error {
	if err := d.Decoder.Decode(value, objPtr, rev); err != nil {
		return &CorruptObjectError{Undecodable: true, Revision: rev, Err: err}
	}
	return nil
}

// NewStoreWithUnsafeCorruptObjectDeletion wraps delegate so that the layers above can recognize its errors about
// unreadable objects and clients can read them: a Get fails with a CorruptObj error, a GetList with a Status that
// names each key. Objects that are returned encoded produce these errors themselves.
func NewStoreWithUnsafeCorruptObjectDeletion(delegate storage.Interface, resource schema.GroupResource) storage.Interface {
	deleter := corruptObjectDeleter{Interface: delegate, groupResource: resource}
	if source, ok := delegate.(storage.EncodedSource); ok {
		return &encodedCorruptObjectDeleter{corruptObjectDeleter: deleter, EncodedSource: source}
	}
	return &deleter
}

type corruptObjectDeleter struct {
	storage.Interface
	groupResource schema.GroupResource
}

// encodedCorruptObjectDeleter is a corruptObjectDeleter in front of a storage that reads objects without decoding them.
type encodedCorruptObjectDeleter struct {
	corruptObjectDeleter
	storage.EncodedSource
}

func (s *encodedCorruptObjectDeleter) GetEncoded(ctx context.Context, key string, opts storage.GetOptions) (*object.Encoded, error) {
	obj, err := s.EncodedSource.GetEncoded(ctx, key, opts)
	return obj, s.getError(key, err)
}

func (s *encodedCorruptObjectDeleter) ListEncoded(ctx context.Context, key string, opts storage.ListOptions) (*storage.EncodedList, error) {
	list, err := s.EncodedSource.ListEncoded(ctx, key, opts)
	if err != nil {
		return nil, s.listError(err)
	}
	list.Items = list.Items.Failing(s.listError)
	return list, nil
}

func (s *corruptObjectDeleter) Get(ctx context.Context, key string, opts storage.GetOptions, out runtime.Object) error {
	return s.getError(key, s.Interface.Get(ctx, key, opts, out))
}

func (s *corruptObjectDeleter) getError(key string, err error) error {
	var corrupt *CorruptObjectError
	if errors.As(err, &corrupt) {
		return storage.NewCorruptObjError(key, corrupt)
	}
	return err
}

func (s *corruptObjectDeleter) GetList(ctx context.Context, key string, opts storage.ListOptions, listObj runtime.Object) error {
	return s.listError(s.Interface.GetList(ctx, key, opts, listObj))
}

func (s *corruptObjectDeleter) listError(err error) error {
	var aggregated *aggregatedStorageError
	if errors.As(err, &aggregated) {
		return aggregated.status(s.groupResource)
	}
	return err
}

// corruptObjErrAggregator collects the unreadable objects of a LIST.
type corruptObjErrAggregator struct {
	errs []*storage.StorageError
	// abort is why the LIST went no further.
	abort error
}

// add notes what reading the object at key failed with, and says whether the LIST must end.
func (a *corruptObjErrAggregator) add(key string, err error) (full bool) {
	var corrupt *CorruptObjectError
	if !errors.As(err, &corrupt) {
		a.abort = err
		return true
	}
	a.errs = append(a.errs, storage.NewCorruptObjError(key, corrupt))
	if len(a.errs) < maxCorruptObjErrsToAggregate {
		return false
	}
	a.abort = errTooMany
	return true
}

// aggregate returns the error of the LIST, or nil.
func (a *corruptObjErrAggregator) aggregate() error {
	if len(a.errs) == 0 {
		return a.abort
	}
	return &aggregatedStorageError{errs: a.errs, abort: a.abort}
}

// aggregatedStorageError names the unreadable objects of a LIST.
type aggregatedStorageError struct {
	errs  []*storage.StorageError
	abort error
}

func (e *aggregatedStorageError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "unable to transform or decode %d objects: {\n", len(e.errs))
	for _, err := range e.errs {
		fmt.Fprintf(&b, "\t%s\n", err)
	}
	b.WriteString("}")
	if e.abort != nil {
		fmt.Fprintf(&b, ", aborted: %v", e.abort)
	}
	return b.String()
}

// Unwrap returns all of them.
func (e *aggregatedStorageError) Unwrap() []error {
	errs := make([]error, 0, len(e.errs)+1)
	for _, err := range e.errs {
		errs = append(errs, err)
	}
	if e.abort != nil {
		errs = append(errs, e.abort)
	}
	return errs
}

// status is the error as a client sees it, with a cause for each key.
func (e *aggregatedStorageError) status(resource schema.GroupResource) *apierrors.StatusError {
	var causes []metav1.StatusCause
	for _, err := range e.errs {
		causes = append(causes, metav1.StatusCause{
			Type: metav1.CauseTypeUnexpectedServerResponse, Field: err.Key, Message: err.Error(),
		})
	}
	switch {
	case errors.Is(e.abort, errTooMany):
		causes = append(causes, metav1.StatusCause{Type: metav1.CauseTypeTooMany, Message: errTooMany.Error()})
	case e.abort != nil:
		causes = append(causes, metav1.StatusCause{Type: metav1.CauseTypeUnexpectedServerResponse, Message: e.abort.Error()})
	}
	message := fmt.Sprintf("failed to read one or more %s from the storage: %v", resource, e.errs[0])
	if len(e.errs) > 1 {
		message = fmt.Sprintf("%s (and %d more)", message, len(e.errs)-1)
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure,
		Code:   http.StatusInternalServerError,
		Reason: metav1.StatusReasonStoreReadError,
		Details: &metav1.StatusDetails{
			Group: resource.Group, Kind: resource.Resource, Name: "list", Causes: causes,
		},
		Message: message,
	}}
}

// corruptObjectDeletedError says of a deleted object that its last state can't be read.
type corruptObjectDeletedError struct{ err error }

func (e *corruptObjectDeletedError) Error() string {
	return fmt.Sprintf("saw a DELETED event, but object data is corrupt - %v", e.err)
}

func (e *corruptObjectDeletedError) Unwrap() error { return e.err }
