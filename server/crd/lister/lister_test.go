package lister_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/crd/definition"
	"github.com/kx-apiserver/kx/server/crd/lister"
	"github.com/kx-apiserver/kx/server/internal/builtintest"
	"github.com/kx-apiserver/kx/store/embedded/embedtest"
)

func TestMain(m *testing.M) { embedtest.Main(m) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// storage are the definitions in etcd, with a watch that can be broken and reads that can be held.
type storage struct {
	*definition.REST

	mu      sync.Mutex
	watches []watch.Interface
	failing error         // of List and Watch
	failed  chan struct{} // if there is one, told of each List that fails
	gets    atomic.Int64
	hold    chan struct{} // nil, or Get waits for it
}

func newStorage(t testing.TB) *storage {
	t.Helper()
	crds, _, err := definition.NewREST(builtintest.NewEtcd(t))
	must(t, err)
	t.Cleanup(crds.Destroy)
	return &storage{REST: crds}
}

func (s *storage) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failing
}

func (s *storage) List(ctx context.Context, options *metainternalversion.ListOptions) (runtime.Object, error) {
	if err := s.failure(); err != nil {
		if s.failed != nil {
			s.failed <- struct{}{}
		}
		return nil, err
	}
	return s.REST.List(ctx, options)
}

func (s *storage) Watch(ctx context.Context, options *metainternalversion.ListOptions) (watch.Interface, error) {
	w, err := s.REST.Watch(ctx, options)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil && s.failing != nil {
		w.Stop()
		return nil, s.failing
	}
	s.watches = append(s.watches, w)
	return w, err
}

func (s *storage) Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error) {
	s.gets.Add(1)
	if s.hold != nil {
		<-s.hold
	}
	return s.REST.Get(ctx, name, options)
}

// breakOff ends the watch. With an error lists and watches fail from then on, until mend.
func (s *storage) breakOff(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failing = err
	for _, w := range s.watches {
		w.Stop()
	}
	s.watches = nil
}

func (s *storage) mend() { s.breakOff(nil) }

func (s *storage) ctx(verb string) context.Context {
	return request.WithRequestInfo(request.WithNamespace(context.Background(), ""), &request.RequestInfo{IsResourceRequest: true, Verb: verb,
		APIGroup: apiextensions.GroupName, APIVersion: "v1", Resource: "customresourcedefinitions"})
}

func nameOf(kind string) string { return strings.ToLower(kind) + "s.example.com" }

// create makes a definition of a kind.
func (s *storage) create(t testing.TB, kind string) *apiextensions.CustomResourceDefinition {
	t.Helper()
	d := &apiextensions.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: nameOf(kind)},
		Spec: apiextensions.CustomResourceDefinitionSpec{
			Group: "example.com", Scope: apiextensions.NamespaceScoped, PreserveUnknownFields: new(false),
			Names:    apiextensions.CustomResourceDefinitionNames{Plural: strings.ToLower(kind) + "s", Singular: strings.ToLower(kind), Kind: kind, ListKind: kind + "List"},
			Versions: []apiextensions.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true}},
			Validation: &apiextensions.CustomResourceValidation{
				OpenAPIV3Schema: &apiextensions.JSONSchemaProps{Type: "object"},
			},
			Conversion: &apiextensions.CustomResourceConversion{Strategy: apiextensions.NoneConverter},
		},
	}
	obj, err := s.REST.Create(s.ctx("create"), d, rest.ValidateAllObjectFunc, &metav1.CreateOptions{})
	must(t, err)
	return builtintest.Own[*apiextensions.CustomResourceDefinition](t, obj)
}

func (s *storage) change(t testing.TB, kind string, change func(*apiextensions.CustomResourceDefinition)) {
	t.Helper()
	_, _, err := s.REST.Update(s.ctx("update"), nameOf(kind), rest.DefaultUpdatedObjectInfo(nil,
		func(_ context.Context, _, old runtime.Object) (runtime.Object, error) {
			d := old.DeepCopyObject().(*apiextensions.CustomResourceDefinition)
			change(d)
			return d, nil
		}), rest.UpdateAdmission{}, &metav1.UpdateOptions{})
	must(t, err)
}

func (s *storage) label(t testing.TB, kind, value string) {
	s.change(t, kind, func(d *apiextensions.CustomResourceDefinition) { d.Labels = map[string]string{"l": value} })
}

// remove deletes a definition at once: it has no objects.
func (s *storage) remove(t testing.TB, kind string) {
	t.Helper()
	_, _, err := s.REST.Delete(s.ctx("delete"), nameOf(kind), rest.ValidateAllObjectFunc, &metav1.DeleteOptions{})
	must(t, err)
	s.change(t, kind, func(d *apiextensions.CustomResourceDefinition) { d.Finalizers = nil })
}

// run runs l until the test ends: by then all that it has started must have ended.
func run(t testing.TB, l *lister.Lister) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { l.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	must(t, l.WaitSynced(t.Context()))
}

// eventually waits until what is true.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("in three minutes it was not so that %s", what)
		}
	}
}

func names(l *lister.Lister) string {
	var all []string
	for _, d := range l.List() {
		all = append(all, strings.TrimSuffix(d.Name, ".example.com"))
	}
	return strings.Join(all, " ")
}

// TestFollows: what is there at the start, what comes, changes and goes is known; and subscribers are told of each, in order.
func TestFollows(t *testing.T) {
	s := newStorage(t)
	s.create(t, "Old")
	l := lister.New(s)
	told := make(chan string, 100)
	l.Subscribe(func(old, now *lister.Definition) {
		switch {
		case old == nil:
			told <- "new " + now.Spec.Names.Kind
			if l.Get(now.Name) == nil {
				t.Errorf("told of %s before it is known", now.Name)
			}
		case now == nil:
			told <- "gone " + old.Spec.Names.Kind
		default:
			told <- "changed " + now.Spec.Names.Kind + " from " + old.Labels["l"] + " to " + now.Labels["l"]
		}
	})
	run(t, l)
	expect := func(want string) {
		t.Helper()
		if got := <-told; got != want {
			t.Fatalf("told: %s; want: %s", got, want)
		}
	}
	expect("new Old")
	if d := l.Get("olds.example.com"); d == nil || d.Kind != "CustomResourceDefinition" || d.APIVersion != "apiextensions.k8s.io/v1" || d.Spec.Versions[0].Schema == nil {
		t.Fatalf("known: %+v", d)
	}
	s.create(t, "Next")
	expect("new Next")
	s.label(t, "Next", "a")
	expect("changed Next from  to a")
	s.label(t, "Next", "b")
	expect("changed Next from a to b")
	if got := names(l); got != "nexts olds" {
		t.Errorf("known: %s", got)
	}
	_, _, err := s.REST.Delete(s.ctx("delete"), nameOf("Old"), rest.ValidateAllObjectFunc, &metav1.DeleteOptions{})
	must(t, err)
	expect("changed Old from  to ")
	s.change(t, "Old", func(d *apiextensions.CustomResourceDefinition) { d.Finalizers = nil })
	expect("gone Old")
	if got := names(l); got != "nexts" || l.Get("olds.example.com") != nil {
		t.Errorf("known: %s", got)
	}
}

// TestFollowsAgain: when the watch ends, what was missed is caught up with, deletions too.
func TestFollowsAgain(t *testing.T) {
	s := newStorage(t)
	for _, kind := range []string{"Stays", "Changes", "Goes"} {
		s.create(t, kind)
	}
	l := lister.New(s)
	gone := make(chan string, 10)
	l.Subscribe(func(old, now *lister.Definition) {
		if now == nil {
			gone <- old.Spec.Names.Kind
		}
	})
	run(t, l)
	s.breakOff(errors.New("etcd is gone"))
	s.remove(t, "Goes")
	s.label(t, "Changes", "x")
	s.create(t, "Comes")
	s.mend()
	if kind := <-gone; kind != "Goes" {
		t.Errorf("gone: %s", kind)
	}
	eventually(t, "all is known", func() bool {
		return names(l) == "changess comess stayss" && l.Get(nameOf("Changes")).Labels["l"] == "x"
	})
	s.label(t, "Stays", "later")
	eventually(t, "it goes on", func() bool { return l.Get(nameOf("Stays")).Labels["l"] == "later" })
}

// TestListsAgainQuietly: what has expired since it was listed is listed again, of which nobody need read in the log, as of what
// is wrong with etcd.
func TestListsAgainQuietly(t *testing.T) {
	s := newStorage(t)
	s.failed = make(chan struct{})
	s.breakOff(apierrors.NewResourceExpired("too old resource version: 1 (5)"))
	var log bytes.Buffer
	l := lister.New(s)
	l.Log = slog.New(slog.NewTextHandler(&log, nil))
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { l.Run(ctx) })
	<-s.failed
	s.breakOff(errors.New("etcd is gone"))
	<-s.failed
	<-s.failed
	cancel()
	running.Wait()
	if got := log.String(); strings.Contains(got, "too old") || !strings.Contains(got, "etcd is gone") {
		t.Errorf("logged: %s", got)
	}
}

// TestSlowSubscriber: changes that come meanwhile become one, and nobody waits.
func TestSlowSubscriber(t *testing.T) {
	s := newStorage(t)
	l := lister.New(s)
	told, wait := make(chan [2]string, 10), make(chan struct{})
	l.Subscribe(func(old, now *lister.Definition) {
		was := "nothing"
		if old != nil {
			was = old.Labels["l"]
		}
		told <- [2]string{was, now.Labels["l"]}
		<-wait
	})
	run(t, l)
	s.create(t, "Slow")
	if got := <-told; got != [2]string{"nothing", ""} {
		t.Fatal(got)
	}
	for i := range 5 {
		s.label(t, "Slow", fmt.Sprint(i))
	}
	eventually(t, "the last change is known", func() bool { return l.Get(nameOf("Slow")).Labels["l"] == "4" })
	close(wait)
	if got := <-told; got != [2]string{"", "4"} {
		t.Errorf("told %v", got)
	}
}

// TestPanickingSubscriber: the others are told nevertheless.
func TestPanickingSubscriber(t *testing.T) {
	s := newStorage(t)
	l := lister.New(s)
	told := make(chan string, 10)
	l.Subscribe(func(_, now *lister.Definition) { panic(now.Name) })
	l.Subscribe(func(_, now *lister.Definition) { told <- now.Name })
	run(t, l)
	s.create(t, "Evil")
	s.create(t, "Good")
	if first, second := <-told, <-told; first != nameOf("Evil") || second != nameOf("Good") {
		t.Errorf("told of %s, %s", first, second)
	}
}

// TestGetFresh: what the watch has not told of is read, and known from then on; and a deletion is believed.
func TestGetFresh(t *testing.T) {
	s := newStorage(t)
	l := lister.New(s)
	run(t, l)
	s.breakOff(errors.New("no news"))
	made := s.create(t, "New")
	d, err := l.GetFresh(t.Context(), nameOf("New"))
	must(t, err)
	if d.UID != made.UID || l.Get(d.Name) != d || names(l) != "news" {
		t.Errorf("read %s, known %s", d.Name, names(l))
	}
	s.label(t, "New", "changed")
	if d, err = l.GetFresh(t.Context(), nameOf("New")); err != nil || d.Labels["l"] != "changed" || l.Get(d.Name) != d {
		t.Errorf("read %v, %v", d.Labels, err)
	}
	s.remove(t, "New")
	if _, err := l.GetFresh(t.Context(), nameOf("New")); !apierrors.IsNotFound(err) {
		t.Errorf("read what is gone: %v", err)
	}
	s.mend()
	eventually(t, "it is forgotten", func() bool { return l.Get(nameOf("New")) == nil })
}

// TestOldNews: neither a late read nor a late event brings back what is over.
func TestOldNews(t *testing.T) {
	s := newStorage(t)
	l := lister.New(s)
	run(t, l)
	s.create(t, "Brief")
	eventually(t, "it is known", func() bool { return l.Get(nameOf("Brief")) != nil })

	// The read has its answer from before the deletion, which is known before the reader goes on.
	old := &storage{REST: s.REST}
	read, _ := old.REST.Get(s.ctx("get"), nameOf("Brief"), &metav1.GetOptions{})
	s.remove(t, "Brief")
	eventually(t, "it is gone", func() bool { return l.Get(nameOf("Brief")) == nil })
	late := lister.New(lateReader{s, read})
	run(t, late)
	eventually(t, "the deletion has been heard of", func() bool { return late.Revision() >= l.Revision() })
	if _, err := late.GetFresh(t.Context(), nameOf("Brief")); err != nil {
		t.Fatal(err)
	}
	if d := late.Get(nameOf("Brief")); d != nil {
		t.Errorf("a deleted definition is back: %v", d)
	}
}

// lateReader answers reads with what it has.
type lateReader struct {
	*storage
	has runtime.Object
}

func (r lateReader) Get(context.Context, string, *metav1.GetOptions) (runtime.Object, error) {
	return r.has, nil
}

// TestManyReaders: etcd is asked for one name once at a time, however many ask, and nobody gets an answer from before they
// asked.
func TestManyReaders(t *testing.T) {
	s := newStorage(t)
	l := lister.New(s)
	run(t, l)
	s.hold = make(chan struct{})
	var readers sync.WaitGroup
	ask := func(n int) {
		for range n {
			readers.Go(func() {
				if _, err := l.GetFresh(context.Background(), "nothings.example.com"); !apierrors.IsNotFound(err) {
					t.Error(err)
				}
			})
		}
	}
	ask(1)
	eventually(t, "the first reads", func() bool { return s.gets.Load() == 1 })
	ask(100)
	// One of them waits to read next, with the others behind it; how many have come can't be seen from here.
	s.hold <- struct{}{}
	eventually(t, "the next reads", func() bool { return s.gets.Load() >= 2 })
	close(s.hold)
	readers.Wait()
	if reads := s.gets.Load(); reads > 50 {
		t.Errorf("%d reads for 101 readers", reads)
	}
}

// TestReaderGivesUp: whoever waits behind somebody who gives up is answered.
func TestReaderGivesUp(t *testing.T) {
	s := newStorage(t)
	s.create(t, "Wanted")
	l := lister.New(s)
	s.hold = make(chan struct{})
	done := make(chan error, 3)
	get := func(ctx context.Context) {
		_, err := l.GetFresh(ctx, nameOf("Wanted"))
		done <- err
	}
	go get(t.Context())
	eventually(t, "the first reads", func() bool { return s.gets.Load() == 1 })
	impatient, cancel := context.WithCancel(t.Context())
	go get(impatient)
	go get(t.Context())
	cancel()
	close(s.hold)
	var errs []error
	for range 3 {
		errs = append(errs, <-done)
	}
	if n := len(slices.DeleteFunc(errs, func(err error) bool { return err != nil })); n < 2 {
		t.Errorf("%d of 2 readers were answered: %v", n, errs)
	}
}

// TestListIsShared: it is sorted once for all who ask between two changes.
func TestListIsShared(t *testing.T) {
	s := newStorage(t)
	for _, kind := range []string{"B", "A", "C"} {
		s.create(t, kind)
	}
	l := lister.New(s)
	run(t, l)
	if got := names(l); got != "as bs cs" {
		t.Fatal(got)
	}
	if n := testing.AllocsPerRun(1000, func() { l.List(); l.Get("as.example.com") }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestDamaged damages definitions while they are followed. What is known of one stays, others are followed as before, and it is followed
// again when it is mended. One that is deleted as it is, is gone.
func TestDamaged(t *testing.T) {
	etcd := builtintest.NewEtcd(t)
	crds, _, err := definition.NewREST(etcd)
	must(t, err)
	t.Cleanup(crds.Destroy)
	s := &storage{REST: crds}
	s.create(t, "Bad")
	s.create(t, "Good")
	l := lister.New(s)
	run(t, l)
	key := etcd.Prefix + "/apiextensions.k8s.io/customresourcedefinitions/" + nameOf("Bad")
	got, err := etcd.Client.Get(t.Context(), key)
	must(t, err)
	for label, value := range map[string]string{"text": "it was a definition", "empty": ""} {
		_, err := etcd.Client.Put(t.Context(), key, value)
		must(t, err)
		eventually(t, "it is said that it can't be read", func() bool { return l.Unreadable(nameOf("Bad")) != nil })
		if names(l) != "bads goods" || len(l.AllUnreadable()) != 1 {
			t.Errorf("known are %s; unreadable are %v", names(l), l.AllUnreadable())
		}
		s.label(t, "Good", label)
		eventually(t, "another one is followed", func() bool { return l.Get(nameOf("Good")).Labels["l"] == label })
		_, err = etcd.Client.Put(t.Context(), key, string(got.Kvs[0].Value))
		must(t, err)
		eventually(t, "it can be read again", func() bool { return l.Unreadable(nameOf("Bad")) == nil })
	}
	_, err = etcd.Client.Put(t.Context(), key, "it was a definition")
	must(t, err)
	eventually(t, "it is said that it can't be read", func() bool { return l.Unreadable(nameOf("Bad")) != nil })
	_, err = etcd.Client.Delete(t.Context(), key)
	must(t, err)
	eventually(t, "it is gone", func() bool { return names(l) == "goods" && l.Unreadable(nameOf("Bad")) == nil })
}
