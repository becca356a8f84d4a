package etcd3

import (
	"context"
	"fmt"
	"reflect"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/object"
	storage "github.com/kx-apiserver/kx/store"
	"github.com/kx-apiserver/kx/store/etcd3/metrics"
)

// objState is the state that a write starts from: an object, its encoded bytes and their revision.
type objState struct {
	// obj is nil if its bytes can't be read and that was expected.
	obj  runtime.Object
	meta storage.ResponseMeta
	rev  int64
	data []byte
	// stale says that the bytes should be written again even if they do not change.
	stale bool
	// current says that the state comes from etcd. Otherwise it is a guess, and nothing may fail because of it.
	current bool
}

// stateReader makes the states of one key for one write.
type stateReader struct {
	store *store
	key   string
	// objType is the type of the objects it makes.
	objType reflect.Type
	// ignoreNotFound makes a zero object of a missing one.
	ignoreNotFound bool
	// expectCorrupt wants bytes that can't be read, and refuses others.
	expectCorrupt bool
}

// newStateReader returns a reader that makes objects of out's type, or of the resource's if out is nil.
func (s *store) newStateReader(key string, out runtime.Object) (*stateReader, error) {
	if out == nil {
		out = s.format.New()
	}
	v, err := conversion.EnforcePtr(out)
	if err != nil {
		return nil, fmt.Errorf("unable to convert output object to pointer: %w", err)
	}
	return &stateReader{store: s, key: key, objType: v.Type()}, nil
}

// first returns the state that a write tries first: the suggested object if it is of use, or else the state in etcd.
func (r *stateReader) first(ctx context.Context, suggestion runtime.Object) (*objState, error) {
	if r.expectCorrupt {
		return r.read(ctx) // only etcd's bytes show that they can't be read
	}
	switch suggestion := suggestion.(type) {
	case nil:
	case *object.Encoded:
		if state := r.encodedGuess(ctx, suggestion); state != nil {
			return state, nil
		}
	default:
		return r.guess(ctx, suggestion)
	}
	return r.read(ctx)
}

// read returns the state in etcd now.
func (r *stateReader) read(ctx context.Context) (*objState, error) {
	resp, err := r.store.kv.get(ctx, metrics.OperationGet, r.key, 0)
	if err != nil {
		return nil, err
	}
	return r.decode(ctx, resp.KV)
}

// retry handles an error on a state. If the state was a guess and differs from etcd's, it returns etcd's for another
// attempt. Otherwise it returns err, which holds for the current state.
func (r *stateReader) retry(ctx context.Context, state *objState, err error) (*objState, error) {
	if state.current {
		return nil, err
	}
	current, readErr := r.read(ctx)
	if readErr != nil {
		return nil, readErr
	}
	if current.rev == state.rev {
		return nil, err
	}
	return current, nil
}

// decode makes a state of etcd's value at the key. kv is nil if the key does not exist.
func (r *stateReader) decode(ctx context.Context, kv *mvccpb.KeyValue) (*objState, error) {
	state := &objState{obj: r.newObject(), current: true}
	if kv == nil {
		if err := notFound(ctx, r.key, r.ignoreNotFound); err != nil {
			return nil, err
		}
		return state, runtime.SetZeroValue(state.obj)
	}
	state.rev = kv.ModRevision
	state.meta.ResourceVersion = uint64(kv.ModRevision)
	data, stale, err := r.store.transformFromStorage(ctx, r.key, kv.Value, authenticatedDataString(r.key))
	if err != nil && r.expectCorrupt {
		state.obj, state.stale = nil, true
		return state, nil
	}
	if err != nil {
		return nil, err
	}
	state.data, state.stale = data, stale
	err = r.store.decode(ctx, r.key, data, state.obj, state.rev)
	switch {
	case err != nil && r.expectCorrupt:
		state.obj = nil
		return state, nil
	case err != nil:
		return nil, err
	case r.expectCorrupt:
		return nil, storage.NewInvalidObjError(r.key,
			"unsafe deletion is not allowed because the object is decodable from storage")
	}
	return state, nil
}

func (r *stateReader) newObject() runtime.Object {
	obj := reflect.New(r.objType).Interface().(runtime.Object)
	if u, ok := obj.(runtime.Unstructured); ok {
		return u.NewEmptyInstance()
	}
	return obj
}

// encodedGuess makes a state of a cached object. It returns nil if the object can't be read.
func (r *stateReader) encodedGuess(ctx context.Context, suggestion *object.Encoded) *objState {
	if suggestion.Err() != nil {
		return nil
	}
	state := &objState{
		obj:   r.newObject(),
		meta:  storage.ResponseMeta{ResourceVersion: uint64(suggestion.Revision())},
		rev:   suggestion.Revision(),
		data:  suggestion.Stored(),
		stale: suggestion.Stale(),
	}
	if r.store.decode(ctx, r.key, state.data, state.obj, state.rev) != nil {
		return nil
	}
	return state
}

// adopt makes the state of a deletion from an object that the caller has read and gives away. A deletion compares no
// bytes, so the state has none. It returns nil for any other suggestion.
func (r *stateReader) adopt(suggestion runtime.Object) *objState {
	if suggestion == nil || r.expectCorrupt || reflect.TypeOf(suggestion) != reflect.PointerTo(r.objType) {
		return nil
	}
	revision, err := r.store.versioner.ObjectResourceVersion(suggestion)
	if err != nil || revision == 0 {
		return nil
	}
	return &objState{obj: suggestion, meta: storage.ResponseMeta{ResourceVersion: revision}, rev: int64(revision)}
}

// guess makes a state of an object that the caller believes to be stored. It changes obj and changes it back, so obj
// must not be shared.
func (r *stateReader) guess(ctx context.Context, obj runtime.Object) (*objState, error) {
	versioner := r.store.versioner
	revision, err := versioner.ObjectResourceVersion(obj)
	if err != nil {
		return nil, fmt.Errorf("couldn't get resource version: %w", err)
	}
	// The stored bytes have no resourceVersion.
	if err := versioner.PrepareObjectForStorage(obj); err != nil {
		return nil, fmt.Errorf("PrepareObjectForStorage failed: %w", err)
	}
	data, err := r.store.encode(ctx, r.key, obj)
	if updateErr := versioner.UpdateObject(obj, revision); err == nil {
		err = updateErr
	}
	if err != nil {
		return nil, err
	}
	return &objState{
		obj:  obj,
		meta: storage.ResponseMeta{ResourceVersion: revision},
		rev:  int64(revision),
		data: data,
	}, nil
}
