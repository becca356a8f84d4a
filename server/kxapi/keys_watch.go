package kxapi

import (
	"context"
	"errors"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/store/admin"
)

// keyEventsMost limits the events that wait for a client.
const keyEventsMost = 1024

// keyFollower is one watch of keys. It is etcd's own watch, without values.
//
// It takes events as fast as etcd sends them, because etcd's client keeps every event that is not taken. A client with
// more than keyEventsMost unread events gets 410 Expired.
type keyFollower struct {
	versionFeed
	keys    *keys
	wants   *anyResource
	options *metainternalversion.ListOptions
}

// watch follows the keys below ?prefix=, or the one of ?key=, after the resourceVersion or from now on. It does not
// send the existing keys first: a list shows one level of the tree, and a watch follows all levels.
func (k *keys) watch(ctx context.Context, options *metainternalversion.ListOptions) (watch.Interface, error) {
	if options.SendInitialEvents != nil && *options.SendInitialEvents {
		return nil, apierrors.NewBadRequest("sendInitialEvents: a watch of keys begins with the next change: list first, and watch " +
			"from the list's resourceVersion on")
	}
	from := int64(0)
	if version := options.ResourceVersion; version != "" && version != "0" {
		number, err := strconv.ParseInt(version, 10, 64)
		if err != nil || number < 0 {
			return nil, apierrors.NewBadRequest("invalid resourceVersion: " + strconv.Quote(version) + " is no revision of etcd")
		}
		from = number + 1
	}
	q := keyQueryOf(ctx)
	prefix := q.prefix
	if q.key != "" {
		prefix = q.key
	}
	ctx, stop := context.WithCancel(ctx)
	f := &keyFollower{versionFeed{make(chan watch.Event, keyEventsMost+1), stop}, k, k.resource(), options}
	go func() {
		defer close(f.events)
		defer stop()
		for e, err := range k.Live.WatchPrefix(ctx, prefix, from, nil) {
			if err == nil && q.key != "" && e.Key != q.key {
				continue
			}
			if !f.take(e, err) {
				return
			}
		}
	}()
	return f, nil
}

// take passes an event of etcd on. It returns false after the last one.
func (f *keyFollower) take(e admin.Event, err error) bool {
	if err != nil {
		f.fail(keyError(err))
		return false
	}
	k := f.keys.keyOf(&e.KV, int64(len(e.Value)), e.ModRevision)
	if !f.wants.selects(f.options, k) {
		return true
	}
	if len(f.events) >= keyEventsMost {
		f.fail(expired("the watch was too slow: more than %d events wait for its client: list again", keyEventsMost))
		return false
	}
	f.events <- watch.Event{Type: keyEventType(e, k), Object: k}
	return true
}

func keyEventType(e admin.Event, k *v1alpha1.Key) watch.EventType {
	switch {
	case e.Deleted:
		k.Status.Keys, k.Status.Measured = 0, 0
		return watch.Deleted
	case e.CreateRevision == e.ModRevision:
		return watch.Added
	}
	return watch.Modified
}

// fail ends the watch. The channel has room for this event after keyEventsMost others.
func (f *keyFollower) fail(err error) {
	var carrier apierrors.APIStatus
	if !errors.As(err, &carrier) {
		carrier = apierrors.NewInternalError(err)
	}
	status := carrier.Status()
	f.events <- watch.Event{Type: watch.Error, Object: runtime.Object(&status)}
}
