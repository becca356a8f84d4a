package etcd3_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/store"
	"github.com/kx-apiserver/kx/store/embedded/embedtest"
)

// TestHistory reads what was, with the states before; and nothing of what etcd has compacted, or whose state before it has.
func TestHistory(t *testing.T) {
	client := embedtest.New(t).Client()
	t.Cleanup(func() { _ = client.Close() })
	s := open(t, client, embedtest.Prefix(), nil)
	other := open(t, client, embedtest.Prefix(), nil)
	revisions := map[string]int64{}
	note := func(name string, obj *corev1.ConfigMap) {
		var err error
		if revisions[name], err = strconv.ParseInt(obj.ResourceVersion, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	update := func(name, data string) {
		out := &corev1.ConfigMap{}
		if err := s.GuaranteedUpdate(t.Context(), key(name), out, setData(data), store.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		note(data, out)
	}
	note("a1", create(t, s, "a", "a1"))
	update("a", "a2")
	note("b1", create(t, s, "b", "b1"))
	note("other", create(t, other, "x", ""))
	update("a", "a3")
	gone := &corev1.ConfigMap{}
	if err := s.Delete(t.Context(), key("b"), gone, store.ValidateAllObjectFunc, store.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	note("b-", gone)
	note("other", create(t, other, "y", ""))
	update("a", "a4")

	for _, test := range []struct {
		after, until string
		want         []string
	}{
		{"a1", "a4", []string{"a1 a2", "- b1", "a2 a3", "b1 -", "a3 a4"}},
		{"a1", "other", []string{"a1 a2", "- b1", "a2 a3", "b1 -"}},
		{"a2", "b-", []string{"- b1", "a2 a3", "b1 -"}},
		{"b-", "other", nil},
		{"b-", "a4", []string{"a3 a4"}},
	} {
		got, err := past(t, s, revisions[test.after], revisions[test.until])
		if err != nil || !slices.Equal(got, test.want) {
			t.Errorf("after %s until %s: %v, %v, want %v", test.after, test.until, got, err, test.want)
		}
	}

	if _, err := client.Compact(t.Context(), revisions["a3"]); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		after, oldest string // "" is the revision before a3
		want          []string
	}{
		{"a1", "", nil},
		{"", "a3", nil}, // etcd has a3, and not what was before it
		{"a3", "", []string{"b1 -", "a3 a4"}},
	} {
		after, oldest := revisions[test.after], revisions[test.oldest]
		if test.after == "" {
			after = revisions["a3"] - 1
		}
		if test.oldest == "" {
			oldest = revisions["a3"] - 1
		}
		got, err := past(t, s, after, revisions["a4"])
		var compacted *store.CompactedError
		if errors.As(err, &compacted) == (test.want != nil) || compacted != nil && compacted.Oldest != oldest || !slices.Equal(got, test.want) {
			t.Errorf("after %d: %v, %v, want %v, %d", after, got, err, test.want, oldest)
		}
	}
}

// past reads a history: of each change the data before and after, - where there was nothing.
func past(t *testing.T, s store.Interface, after, until int64) (changes []string, err error) {
	t.Helper()
	data := func(obj *object.Encoded) string {
		if obj == nil {
			return "-"
		}
		decoded, err := obj.Object()
		if err != nil {
			t.Fatal(err)
		}
		return decoded.(*corev1.ConfigMap).Data["data"]
	}
	seen := after
	err = s.(store.EncodedSource).History(t.Context(), "/configmaps", after, until, func(batch store.PastChanges) error {
		for _, c := range batch.Changes {
			changes = append(changes, data(c.Before)+" "+data(c.Object))
		}
		seen = batch.Revision
		return nil
	})
	if err == nil && seen != until {
		t.Errorf("the history after %d ends at %d, not at %d", after, seen, until)
	}
	return changes, err
}

// hasty is a watcher that is sent events without what was before, as etcd sends those that come while it puts up the watch.
type hasty struct{ clientv3.Watcher }

func (h hasty) Watch(ctx context.Context, key string, opts ...clientv3.OpOption) clientv3.WatchChan {
	out := make(chan clientv3.WatchResponse)
	go func() {
		defer close(out)
		for resp := range h.Watcher.Watch(ctx, key, opts...) {
			for i, e := range resp.Events {
				resp.Events[i] = &clientv3.Event{Type: e.Type, Kv: e.Kv}
			}
			select {
			case out <- resp:
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

// TestEventsWithoutWhatWasBefore: what etcd did not send with an event is read, and is only too old if that is compacted.
func TestEventsWithoutWhatWasBefore(t *testing.T) {
	client := embedtest.New(t).Client()
	t.Cleanup(func() { _ = client.Close() })
	client.Watcher = hasty{client.Watcher}
	s := open(t, client, embedtest.Prefix(), nil)
	first := create(t, s, "a", "a1")
	second := &corev1.ConfigMap{}
	if err := s.GuaranteedUpdate(t.Context(), key("a"), second, setData("a2"), store.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(t.Context(), key("a"), &corev1.ConfigMap{}, store.ValidateAllObjectFunc, store.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	events := func() (events []string) {
		w, err := s.Watch(t.Context(), "/configmaps", store.ListOptions{
			Recursive: true, ResourceVersion: first.ResourceVersion, Predicate: store.Everything,
		})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Stop()
		for e := range w.ResultChan() {
			text := string(e.Type)
			if err := apierrors.FromObject(e.Object); e.Type == watch.Error && apierrors.IsResourceExpired(err) {
				text += " expired"
			}
			if events = append(events, text); len(events) == 2 {
				break
			}
		}
		return events
	}
	if got := events(); !slices.Equal(got, []string{"MODIFIED", "DELETED"}) {
		t.Error(got)
	}
	revision, err := strconv.ParseInt(second.ResourceVersion, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	changes, err := past(t, s, revision-1, revision+1)
	if want := []string{"a1 a2", "a2 -"}; err != nil || !slices.Equal(changes, want) {
		t.Errorf("%v, %v", changes, err)
	}
	if _, err := client.Compact(t.Context(), revision); err != nil {
		t.Fatal(err)
	}
	if got := events(); !slices.Equal(got, []string{"ERROR expired"}) {
		t.Error(got)
	}
}
