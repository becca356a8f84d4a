package kxapi

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/store/admin"
)

const (
	// revisionsMost limits the revisions of a history to the latest ones.
	revisionsMost = 1000
	// revisionBytesMost limits the memory for their values.
	revisionBytesMost = 32 << 20
)

// histories is the subresource history of keys.
func (k *keys) histories() *anyResource {
	return declare(resource[*v1alpha1.KeyHistory]{plural: keysPlural, get: k.history})
}

// history returns the revisions of a key that etcd still has. The key may be deleted.
func (k *keys) history(ctx context.Context, name string) (*v1alpha1.KeyHistory, error) {
	key, head, err := k.open(ctx, name)
	if err != nil {
		return nil, err
	}
	out := &v1alpha1.KeyHistory{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: v1alpha1.KeyHistoryStatus{
		Key: key, Etcd: v1alpha1.EtcdHead{Revision: head.Revision, Compacted: head.Compacted},
	}}
	var kept []admin.Event
	bytes := 0
	for e, err := range k.Live.History(ctx, key) {
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
		return nil, nil
	}
	var teller admin.Teller
	for _, e := range kept {
		out.Status.Revisions = append(out.Status.Revisions, k.revisionOf(e, teller.Tell(k.Decoder, e)))
	}
	return out, nil
}

func (k *keys) revisionOf(e admin.Event, c admin.Change) v1alpha1.KeyRevision {
	out := v1alpha1.KeyRevision{
		Revision: c.Revision, Operation: c.Operation, CreateRevision: e.CreateRevision, Version: c.Version, Bytes: int64(c.Bytes),
		Lease: lease(e.Lease), Journey: k.journeys.Writer(c.Revision), Time: timeOf(c.Time), Error: c.Error,
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
