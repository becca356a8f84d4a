package kxapi

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/store/admin"
)

const (
	// revisionsMost is how many revisions of a key are told of: the latest.
	revisionsMost = 1000
	// revisionBytesMost is how much of their values is held while they are looked at.
	revisionBytesMost = 32 << 20
)

// KeyHistoryREST is the subresource history of keys.
type KeyHistoryREST struct {
	etcd     *Etcd
	journeys *trace.Recorder
}

var _ rest.Getter = &KeyHistoryREST{}

func (r *KeyHistoryREST) New() runtime.Object { return &v1alpha1.KeyHistory{} }
func (r *KeyHistoryREST) Destroy()            {}

// Get returns the revisions of a key that etcd still has, those of a key that was deleted too.
func (r *KeyHistoryREST) Get(ctx context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	if err := mayReadKeys(ctx, name); err != nil {
		return nil, err
	}
	key, err := v1alpha1.KeyOfName(name)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	head, err := r.etcd.Live.Head(ctx)
	if err != nil {
		return nil, keyError(err)
	}
	out := &v1alpha1.KeyHistory{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: v1alpha1.KeyHistoryStatus{
		Key: key, Etcd: v1alpha1.EtcdHead{Revision: head.Revision, Compacted: head.Compacted},
	}}
	var kept []admin.Event
	bytes := 0
	for e, err := range r.etcd.Live.History(ctx, key) {
		if err != nil {
			return nil, keyError(err)
		}
		kept = append(kept, e)
		bytes += len(e.Value)
		for len(kept) > revisionsMost || bytes > revisionBytesMost && len(kept) > 1 {
			bytes -= len(kept[0].Value)
			kept[0] = admin.Event{}
			kept = kept[1:]
			out.Status.Cut++
		}
	}
	if len(kept) == 0 {
		return nil, apierrors.NewNotFound(keyResource, name)
	}
	var teller admin.Teller
	for _, e := range kept {
		out.Status.Revisions = append(out.Status.Revisions, r.revisionOf(e, teller.Tell(r.etcd.Decoder, e)))
	}
	return out, nil
}

func (r *KeyHistoryREST) revisionOf(e admin.Event, c admin.Change) v1alpha1.KeyRevision {
	out := v1alpha1.KeyRevision{
		Revision: c.Revision, Operation: c.Operation, CreateRevision: e.CreateRevision, Version: c.Version, Bytes: int64(c.Bytes),
		Lease: lease(e.Lease), Journey: r.journeys.Writer(c.Revision), Time: timeOf(c.Time), Error: c.Error,
	}
	for _, a := range c.Authors {
		out.Authors = append(out.Authors, v1alpha1.KeyAuthor{
			Manager: a.Manager, Operation: a.Operation, Subresource: a.Subresource, Time: timeOf(a.Time),
		})
	}
	return out
}

func timeOf(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	return &metav1.Time{Time: t}
}
