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

// keyEventsMost is how many events may wait for a client.
const keyEventsMost = 1024

// keyFollower is one watch of keys: etcd's own, without values.
//
// It takes what etcd sends as it comes, since etcd's client keeps without limit what is not taken. A client that leaves more
// than keyEventsMost of it lying is told 410 Expired.
type keyFollower struct {
	events chan watch.Event
	stop   context.CancelFunc
}

func (f *keyFollower) ResultChan() <-chan watch.Event { return f.events }
func (f *keyFollower) Stop()                          { f.stop() }

// Watch follows the keys that begin with ?prefix=, or the one of ?key=, from the revision on that is the resourceVersion, or from now
// on. There is no present state to begin with: that of a level of the tree is no list of keys.
func (r *KeyREST) Watch(ctx context.Context, options *metainternalversion.ListOptions) (watch.Interface, error) {
	if err := mayReadKeys(ctx, ""); err != nil {
		return nil, err
	}
	if options == nil {
		options = &metainternalversion.ListOptions{}
	}
	if options.SendInitialEvents != nil && *options.SendInitialEvents {
		return nil, apierrors.NewBadRequest("sendInitialEvents: a watch of keys begins with the next change: list first, and watch from the list's resourceVersion on")
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
	f := &keyFollower{events: make(chan watch.Event, keyEventsMost+1), stop: stop}
	go func() {
		defer close(f.events)
		defer stop()
		for e, err := range r.etcd.Live.WatchPrefix(ctx, prefix, from, nil) {
			if err == nil && q.key != "" && e.Key != q.key {
				continue
			}
			if !f.take(r.etcd, options, e, err) {
				return
			}
		}
	}()
	return f, nil
}

// take hands on what etcd sent. It says false if that was the last.
func (f *keyFollower) take(etcd *Etcd, options *metainternalversion.ListOptions, e admin.Event, err error) bool {
	if err != nil {
		f.fail(keyError(err))
		return false
	}
	k := etcd.keyOf(&e.KV, int64(len(e.Value)), e.ModRevision)
	if !selectsKey(options, k) {
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

// fail ends the watch. There is room for one event more than wait.
func (f *keyFollower) fail(err error) {
	var carrier apierrors.APIStatus
	if !errors.As(err, &carrier) {
		carrier = apierrors.NewInternalError(err)
	}
	status := carrier.Status()
	f.events <- watch.Event{Type: watch.Error, Object: runtime.Object(&status)}
}
