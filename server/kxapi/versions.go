package kxapi

import (
	"context"
	"fmt"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// versions converts the numbers of this process's changes into resourceVersions, by adding its value. The value is the
// time of the start of the process, and so is above all versions of an earlier process. A client that comes back after
// a restart gets an error and lists again, instead of waiting for a number that is still to come.
type versions uint64

func newVersions() versions { return versions(time.Now().UnixMicro()) }

func (v versions) text(number uint64) string { return strconv.FormatUint(uint64(v)+number, 10) }

// number returns the change of a resourceVersion. last is the latest change.
func (v versions) number(resourceVersion string, last uint64) (uint64, error) {
	version, err := strconv.ParseUint(resourceVersion, 10, 64)
	if err != nil {
		return 0, apierrors.NewBadRequest("invalid resourceVersion: " + err.Error())
	}
	if base := uint64(v); version < base || version > base+last {
		return 0, expired("the resource version %d is not of this process, whose last is %d: list again", version, base+last)
	}
	return version - uint64(v), nil
}

// start returns the change after which a watch begins, and whether the existing objects come first.
func (v versions) start(options *metainternalversion.ListOptions, last uint64) (number uint64, initial bool, err error) {
	version := options.ResourceVersion
	initial = version == "" || version == "0"
	number = last
	if !initial {
		number, err = v.number(version, last)
	}
	if send := options.SendInitialEvents; send != nil {
		initial = *send
	}
	return number, initial, err
}

func expired(format string, args ...any) *apierrors.StatusError {
	return apierrors.NewResourceExpired(fmt.Sprintf(format, args...))
}

// batchEvery is the time between batches of a watch, the same as between frames of a screen.
const batchEvery = 33 * time.Millisecond

// versionFeed is a watch. One goroutine feeds it at the client's pace, so no other goroutine waits for the client.
type versionFeed struct {
	events chan watch.Event
	stop   context.CancelFunc
}

func (f *versionFeed) ResultChan() <-chan watch.Event { return f.events }
func (f *versionFeed) Stop()                          { f.stop() }

// send returns false if the client has disconnected.
func (f *versionFeed) send(ctx context.Context, eventType watch.EventType, object runtime.Object) bool {
	select {
	case f.events <- watch.Event{Type: eventType, Object: object}:
		return true
	case <-ctx.Done():
		return false
	}
}

// fallBehind ends the watch of a client that has not kept up.
func (f *versionFeed) fallBehind(ctx context.Context) {
	f.send(ctx, watch.Error, &expired("too old resource version: the watch fell behind: list again").ErrStatus)
}

// run calls wait and send in turn until one of them returns false. The first change is sent at once, later ones in
// batches.
func (f *versionFeed) run(ctx context.Context, wait, send func(context.Context) bool) {
	pause := time.NewTimer(batchEvery)
	defer pause.Stop()
	for wait(ctx) && send(ctx) {
		pause.Reset(batchEvery)
		select {
		case <-pause.C:
		case <-ctx.Done():
			return
		}
	}
}

// endsInitial reports whether a watch asks for a bookmark that ends the initial events.
func endsInitial(options *metainternalversion.ListOptions) bool {
	return options.SendInitialEvents != nil && options.AllowWatchBookmarks
}

// setEndOfInitial marks the bookmark that ends the initial events.
func setEndOfInitial(bookmark metav1.Object) {
	bookmark.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
}
