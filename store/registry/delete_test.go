package registry

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/store/backend"
)

func TestDeleteAnswersWithAStatus(t *testing.T) {
	s := newStrategy()
	e, ctx := newStore(t, s, func(e *Store) {
		e.AfterDelete = func(obj runtime.Object, _ *metav1.DeleteOptions) {
			s.happened.add("AfterDelete " + obj.(*corev1.Pod).Name)
		}
	}), inNamespace(t, "ns")
	created := mustCreate(t, ctx, e, pod("a"))
	s.happened.take()
	out, now, err := del(ctx, e, "a", nil)
	if err != nil || !now {
		t.Fatal(now, err)
	}
	want := &metav1.Status{Status: metav1.StatusSuccess, Details: &metav1.StatusDetails{Name: "a", Kind: "pods", UID: created.UID}}
	if diff := cmp.Diff(want, out); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"AfterDelete a"}, s.happened.take()); diff != "" {
		t.Error(diff)
	}
	_, _, err = del(ctx, e, "a", nil)
	wantStatus(t, err, 404, metav1.StatusReasonNotFound, `pods "a" not found`)
}

func TestDeleteAnswersWithTheObject(t *testing.T) {
	e, ctx := newStore(t, newStrategy(), func(e *Store) {
		e.ReturnDeletedObject = true
		e.Decorator = func(obj runtime.Object) { obj.(*corev1.Pod).Status.Message = "decorated" }
	}), inNamespace(t, "ns")
	created := mustCreate(t, ctx, e, pod("a"))
	out, now, err := del(ctx, e, "a", &metav1.DeleteOptions{})
	if err != nil || !now {
		t.Fatal(now, err)
	}
	got := out.(*corev1.Pod)
	if got.UID != created.UID || got.ResourceVersion == created.ResourceVersion || got.Status.Message != "decorated" {
		t.Errorf("got %+v", got)
	}
}

func TestDeleteErrors(t *testing.T) {
	e, ctx := newStore(t, newStrategy()), inNamespace(t, "ns")
	created := mustCreate(t, ctx, e, pod("a"))
	pre := func(uid *types.UID, rv *string) *metav1.DeleteOptions {
		return &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: uid, ResourceVersion: rv}}
	}
	refuse := func(context.Context, runtime.Object) error {
		return apierrors.NewForbidden(pods, "a", errors.New("no"))
	}
	tests := []struct {
		name     string
		object   string
		validate rest.ValidateObjectFunc
		options  *metav1.DeleteOptions
		code     int32
		reason   metav1.StatusReason
		message  string
	}{
		{"missing", "none", rest.ValidateAllObjectFunc, &metav1.DeleteOptions{}, 404, metav1.StatusReasonNotFound, `pods "none" not found`},
		{"another UID", "a", rest.ValidateAllObjectFunc, pre(p(types.UID("x")), nil), 409, metav1.StatusReasonConflict,
			fmt.Sprintf(`Operation cannot be fulfilled on Pod "a": the UID in the precondition (x) does not match the UID in record (%s). The object might have been deleted and then recreated`, created.UID)},
		{"another resourceVersion", "a", rest.ValidateAllObjectFunc, pre(nil, p("1")), 409, metav1.StatusReasonConflict,
			fmt.Sprintf(`Operation cannot be fulfilled on Pod "a": the ResourceVersion in the precondition (1) does not match the ResourceVersion in record (%s). The object might have been modified`, created.ResourceVersion)},
		{"bad propagation", "a", rest.ValidateAllObjectFunc, &metav1.DeleteOptions{PropagationPolicy: p(metav1.DeletionPropagation("Up"))}, 422, metav1.StatusReasonInvalid,
			`DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Unsupported value: "Up": supported values: "Foreground", "Background", "Orphan", "nil"`},
		{"refused by admission", "a", refuse, &metav1.DeleteOptions{}, 403, metav1.StatusReasonForbidden, `pods "a" is forbidden: no`},
		{"refused by admission, to be marked", "a", refuse, &metav1.DeleteOptions{PropagationPolicy: p(metav1.DeletePropagationOrphan)}, 403, metav1.StatusReasonForbidden, `pods "a" is forbidden: no`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, dryRun := range [][]string{nil, {metav1.DryRunAll}} {
				options := tt.options.DeepCopy()
				options.DryRun = dryRun
				_, now, err := e.Delete(ctx, tt.object, tt.validate, options)
				wantStatus(t, err, tt.code, tt.reason, tt.message)
				if now {
					t.Error("said to be gone")
				}
			}
		})
	}
	if diff := cmp.Diff(created, mustGet(t, ctx, e, "a")); diff != "" {
		t.Error(diff)
	}
	if _, now, err := del(ctx, e, "a", pre(&created.UID, &created.ResourceVersion)); err != nil || !now {
		t.Error("preconditions that hold:", now, err)
	}
}

func TestFinalizersKeepAnObject(t *testing.T) {
	s := newStrategy()
	e, ctx := newStore(t, s, func(e *Store) {
		e.AfterDelete = func(runtime.Object, *metav1.DeleteOptions) { t.Error("AfterDelete: it is not gone") }
	}), inNamespace(t, "ns")
	created := mustCreate(t, ctx, e, pod("a", finalizers("kx.dev/wait")))
	options := &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &created.ResourceVersion}}
	out, now, err := del(ctx, e, "a", options)
	if err != nil || now {
		t.Fatal(now, err)
	}
	got := out.(*corev1.Pod)
	if got.DeletionTimestamp == nil || *got.DeletionGracePeriodSeconds != 0 || got.Generation != created.Generation+1 {
		t.Errorf("got %+v", got.ObjectMeta)
	}
	if diff := cmp.Diff(got, mustGet(t, ctx, e, "a")); diff != "" {
		t.Error(diff)
	}
	// Once more: nothing is moved again, and nothing is written.
	out, now, err = del(ctx, e, "a", &metav1.DeleteOptions{})
	if err != nil || now {
		t.Fatal(now, err)
	}
	if diff := cmp.Diff(got, out); diff != "" {
		t.Error(diff)
	}
}

func TestPropagation(t *testing.T) {
	const orphan, foreground, other = metav1.FinalizerOrphanDependents, metav1.FinalizerDeleteDependents, "kx.dev/wait"
	policy := func(p metav1.DeletionPropagation) *metav1.DeleteOptions {
		return &metav1.DeleteOptions{PropagationPolicy: &p}
	}
	orphanDependents := func(orphan bool) *metav1.DeleteOptions {
		//lint:ignore SA1019 Old clients say it this way.
		return &metav1.DeleteOptions{OrphanDependents: &orphan}
	}
	tests := []struct {
		name    string
		gc      rest.GarbageCollectionPolicy
		off     bool
		had     []string
		options *metav1.DeleteOptions
		want    []string // nil: it is gone
	}{
		{"nothing said", "", false, nil, &metav1.DeleteOptions{}, nil},
		{"orphan", "", false, nil, policy(metav1.DeletePropagationOrphan), []string{orphan}},
		{"foreground", "", false, nil, policy(metav1.DeletePropagationForeground), []string{foreground}},
		{"background", "", false, nil, policy(metav1.DeletePropagationBackground), nil},
		{"background takes orphan away", "", false, []string{orphan}, policy(metav1.DeletePropagationBackground), nil},
		{"background takes foreground away", "", false, []string{foreground, other}, policy(metav1.DeletePropagationBackground), []string{other}},
		{"foreground in place of orphan", "", false, []string{orphan, other}, policy(metav1.DeletePropagationForeground), []string{other, foreground}},
		{"finalizer stays", "", false, []string{orphan}, &metav1.DeleteOptions{}, []string{orphan}},
		{"old: orphan", "", false, nil, orphanDependents(true), []string{orphan}},
		{"old: do not orphan", "", false, []string{orphan}, orphanDependents(false), nil},
		{"the resource orphans", rest.OrphanDependents, false, nil, &metav1.DeleteOptions{}, []string{orphan}},
		{"the client overrides it", rest.OrphanDependents, false, nil, policy(metav1.DeletePropagationBackground), nil},
		{"a finalizer overrides it", rest.OrphanDependents, false, []string{foreground}, &metav1.DeleteOptions{}, []string{foreground}},
		{"not collected", rest.Unsupported, false, nil, policy(metav1.DeletePropagationOrphan), nil},
		{"no collector", rest.OrphanDependents, true, nil, policy(metav1.DeletePropagationForeground), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newStrategy()
			s.gc = tt.gc
			e, ctx := newStore(t, s), inNamespace(t, "ns")
			e.options.EnableGarbageCollection = !tt.off
			mustCreate(t, ctx, e, pod("a", finalizers(tt.had...)))
			dry := tt.options.DeepCopy()
			dry.DryRun = []string{metav1.DryRunAll}
			if _, now, err := del(ctx, e, "a", dry); err != nil || now != (tt.want == nil) {
				t.Error("dry run:", now, err)
			}
			if got := mustGet(t, ctx, e, "a"); got.DeletionTimestamp != nil {
				t.Error("the dry run marked it")
			}
			_, now, err := del(ctx, e, "a", tt.options)
			if err != nil || now != (tt.want == nil) {
				t.Fatal(now, err)
			}
			if tt.want == nil {
				wantGone(t, ctx, e, "a")
			} else if diff := cmp.Diff(tt.want, mustGet(t, ctx, e, "a").Finalizers); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A finalizer that the client's own options take away leaves nothing to mark, and its preconditions hold as they are.
func TestDeleteWithPreconditionAndNothingToMark(t *testing.T) {
	e, ctx := newStore(t, newStrategy()), inNamespace(t, "ns")
	created := mustCreate(t, ctx, e, pod("a", finalizers(metav1.FinalizerOrphanDependents)))
	options := &metav1.DeleteOptions{PropagationPolicy: p(metav1.DeletePropagationBackground), DryRun: []string{metav1.DryRunAll},
		Preconditions: &metav1.Preconditions{ResourceVersion: &created.ResourceVersion}}
	out, now, err := del(ctx, e, "a", options.DeepCopy())
	if status, ok := out.(*metav1.Status); err != nil || !now || !ok || status.Details.UID != created.UID {
		t.Fatal(out, now, err)
	}
	options.DryRun = nil
	if _, now, err := del(ctx, e, "a", options); err != nil || !now {
		t.Fatal(now, err)
	}
	wantGone(t, ctx, e, "a")
}

func TestGracefulLife(t *testing.T) {
	s := newStrategy()
	e, ctx := newStore(t, s, graceful, func(e *Store) {
		e.AfterDelete = func(runtime.Object, *metav1.DeleteOptions) { s.happened.add("AfterDelete") }
	}), inNamespace(t, "ns")
	created := mustCreate(t, ctx, e, pod("a", onNode("n")))
	grace := func(seconds int64) *metav1.DeleteOptions { return &metav1.DeleteOptions{GracePeriodSeconds: &seconds} }
	s.happened.take()

	steps := []struct {
		name    string
		options *metav1.DeleteOptions
		grace   int64
		gen     int64
	}{
		{"asked for", &metav1.DeleteOptions{}, 30, 2},
		{"asked for again", &metav1.DeleteOptions{}, 30, 2},
		{"longer", grace(60), 30, 2},
		{"shorter", grace(10), 10, 2},
		{"shorter than has passed", grace(-5), 1, 2},
	}
	for _, tt := range steps {
		before := mustGet(t, ctx, e, "a")
		dry := tt.options.DeepCopy()
		dry.DryRun = []string{metav1.DryRunAll}
		if _, now, err := del(ctx, e, "a", dry); err != nil || now {
			t.Fatal(tt.name, now, err)
		}
		if diff := cmp.Diff(before, mustGet(t, ctx, e, "a")); diff != "" {
			t.Errorf("%s: the dry run changed it: %s", tt.name, diff)
		}
		if _, now, err := del(ctx, e, "a", tt.options); err != nil || now {
			t.Fatal(tt.name, now, err)
		}
		got := mustGet(t, ctx, e, "a")
		if got.DeletionTimestamp == nil || *got.DeletionGracePeriodSeconds != tt.grace || got.Generation != tt.gen {
			t.Errorf("%s: got %+v", tt.name, got.ObjectMeta)
		}
		end := created.CreationTimestamp.Add(time.Duration(tt.grace) * time.Second)
		if got.DeletionTimestamp.Time.Before(end) {
			t.Errorf("%s: ends at %v, before %v", tt.name, got.DeletionTimestamp, end)
		}
	}
	if s.happened.take() != nil {
		t.Error("AfterDelete: it is not gone")
	}
	current := mustGet(t, ctx, e, "a")
	last := grace(0)
	last.Preconditions = &metav1.Preconditions{UID: &current.UID, ResourceVersion: &current.ResourceVersion}
	if _, now, err := del(ctx, e, "a", last); err != nil || !now {
		t.Fatal(now, err)
	}
	if diff := cmp.Diff([]string{"AfterDelete"}, s.happened.take()); diff != "" {
		t.Error(diff)
	}
	wantGone(t, ctx, e, "a")
}

func TestGracefulWithNothingToWaitFor(t *testing.T) {
	e, ctx := newStore(t, newStrategy(), graceful, func(e *Store) { e.ReturnDeletedObject = true }), inNamespace(t, "ns")
	created := mustCreate(t, ctx, e, pod("a"))
	options := &metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}, Preconditions: &metav1.Preconditions{ResourceVersion: &created.ResourceVersion}}
	out, now, err := del(ctx, e, "a", options.DeepCopy())
	if err != nil || !now || out.(*corev1.Pod).DeletionTimestamp == nil {
		t.Fatal(out, now, err)
	}
	if mustGet(t, ctx, e, "a").DeletionTimestamp != nil {
		t.Error("the dry run marked it")
	}
	options.DryRun = nil
	if out, now, err = del(ctx, e, "a", options); err != nil || !now || out.(*corev1.Pod).Name != "a" {
		t.Fatal(out, now, err)
	}
	wantGone(t, ctx, e, "a")
}

func TestGracefulWithFinalizers(t *testing.T) {
	e, ctx := newStore(t, newStrategy(), graceful), inNamespace(t, "ns")
	mustCreate(t, ctx, e, pod("a", onNode("n"), finalizers("kx.dev/wait")))
	if _, now, err := del(ctx, e, "a", &metav1.DeleteOptions{}); err != nil || now {
		t.Fatal(now, err)
	}
	got := mustGet(t, ctx, e, "a")
	got.Finalizers = nil
	got = mustPut(t, ctx, e, got)
	if *got.DeletionGracePeriodSeconds != 30 {
		t.Errorf("got %+v", got.ObjectMeta)
	}
	if mustGet(t, ctx, e, "a").Finalizers != nil {
		t.Error("its grace period is not over: it stays, without finalizers")
	}
	var zero int64
	if _, now, err := del(ctx, e, "a", &metav1.DeleteOptions{GracePeriodSeconds: &zero}); err != nil || !now {
		t.Fatal(now, err)
	}
	wantGone(t, ctx, e, "a")
}

// Somebody changes the object between the first look and the mark: the mark is made on what is there then.
func TestDeleteMarksTheLatestState(t *testing.T) {
	e, ctx := newStore(t, newStrategy()), inNamespace(t, "ns")
	mustCreate(t, ctx, e, pod("a", finalizers("kx.dev/wait")))
	first := true
	validate := func(_ context.Context, obj runtime.Object) error {
		if first {
			first = false
			next := obj.DeepCopyObject().(*corev1.Pod)
			next.Labels = map[string]string{"changed": "meanwhile"}
			mustPut(t, ctx, e, next)
		}
		return nil
	}
	if _, now, err := e.Delete(ctx, "a", validate, &metav1.DeleteOptions{}); err != nil || now {
		t.Fatal(now, err)
	}
	if got := mustGet(t, ctx, e, "a"); got.Labels["changed"] != "meanwhile" || got.DeletionTimestamp == nil || got.Generation != 2 {
		t.Errorf("got %+v", got.ObjectMeta)
	}
}

// Somebody gives the object a finalizer between the first look and its removal: it is marked instead. Its next life is another matter.
func TestDeleteMeetsANewFinalizer(t *testing.T) {
	e, ctx := newStore(t, newStrategy()), inNamespace(t, "ns")
	created := mustCreate(t, ctx, e, pod("a"))
	first := true
	validate := func(_ context.Context, obj runtime.Object) error {
		if first {
			first = false
			next := obj.DeepCopyObject().(*corev1.Pod)
			next.Finalizers = []string{"kx.dev/wait"}
			mustPut(t, ctx, e, next)
		}
		return nil
	}
	options := &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &created.UID}}
	if _, now, err := e.Delete(ctx, "a", validate, options); err != nil || now {
		t.Fatal(now, err)
	}
	got := mustGet(t, ctx, e, "a")
	if got.DeletionTimestamp == nil || len(got.Finalizers) != 1 {
		t.Errorf("got %+v", got.ObjectMeta)
	}
	got.Finalizers = nil
	if _, _, err := put(ctx, e, got); err != nil {
		t.Fatal(err)
	}
	wantGone(t, ctx, e, "a")
}

// decodings is a codec that counts what it decodes.
type decodings struct {
	runtime.Codec
	n atomic.Int64
}

func (d *decodings) Decode(data []byte, kind *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	d.n.Add(1)
	return d.Codec.Decode(data, kind, into)
}

// meanwhile is what happens to pod a between the first look of a deletion and its removal.
type meanwhile struct {
	name          string
	change        func(t *testing.T, ctx context.Context, e *Store)
	preconditions func(seen *corev1.Pod) *metav1.Preconditions
	want          string // gone, held, or the reason of an error, after which the object stays
	decodings     int64  // of the deletion; -1 for any number
}

const gone, held = "gone", "held"

// Somebody changes the object between the first look and its removal, through this server or another one on the same etcd:
// the checks are about the state that is there in the end, and so is the answer.
func TestDeleteMeetsAChange(t *testing.T) {
	put := func(change func(*corev1.Pod)) func(*testing.T, context.Context, *Store) {
		return func(t *testing.T, ctx context.Context, e *Store) {
			next := mustGet(t, ctx, e, "a")
			change(next)
			mustPut(t, ctx, e, next)
		}
	}
	label := put(func(p *corev1.Pod) { p.Labels = map[string]string{"changed": "meanwhile"} })
	remove := func(t *testing.T, ctx context.Context, e *Store) {
		if _, now, err := del(ctx, e, "a", nil); err != nil || !now {
			t.Fatal(now, err)
		}
	}
	replace := func(t *testing.T, ctx context.Context, e *Store) {
		remove(t, ctx, e)
		mustCreate(t, ctx, e, pod("a", onNode("other")))
	}
	damage := func(t *testing.T, ctx context.Context, e *Store) {
		if _, err := clientOf(t, e).Put(ctx, keyOf(e), "not an object"); err != nil {
			t.Fatal(err)
		}
	}
	uid := func(seen *corev1.Pod) *metav1.Preconditions { return &metav1.Preconditions{UID: &seen.UID} }
	revision := func(seen *corev1.Pod) *metav1.Preconditions {
		return &metav1.Preconditions{ResourceVersion: &seen.ResourceVersion}
	}
	const conflict, notFound = string(metav1.StatusReasonConflict), string(metav1.StatusReasonNotFound)
	tests := []meanwhile{
		{"nothing", nil, nil, gone, 1},
		{"nothing, at the resourceVersion that must hold", nil, revision, gone, 1},
		{"a label", label, nil, gone, 2},
		{"a label, and the UID must hold", label, uid, gone, 2},
		{"a label, and the resourceVersion must hold", label, revision, conflict, 2},
		{"a finalizer", put(finalizers("kx.dev/wait")), nil, held, -1},
		{"removed", remove, nil, notFound, 1},
		{"replaced", replace, nil, gone, 2},
		{"replaced, and the UID must hold", replace, uid, conflict, 2},
		{"unreadable", damage, nil, string(metav1.StatusReasonUnknown), 2},
	}
	for name, decorator := range map[string]backend.StorageDecorator{
		"no cache": backend.UndecoratedStorage, "cache": backend.StorageWithCacher(nil, true, nil, nil),
	} {
		for _, by := range []string{"this server", "another server"} {
			for _, tt := range tests {
				t.Run(name+"/"+by+"/"+tt.name, func(t *testing.T) { tt.run(t, decorator, by == "this server") })
			}
		}
	}
}

func (tt *meanwhile) run(t *testing.T, decorator backend.StorageDecorator, own bool) {
	ctx := inNamespace(t, "ns")
	options := restOptions(t)
	other := newStoreWith(t, newStrategy(), options)
	config, codec := *options.StorageConfig, &decodings{Codec: testCodec}
	config.Codec = codec
	options.StorageConfig, options.Decorator = &config, decorator
	e := newStoreWith(t, newStrategy(), options, func(e *Store) { e.ReturnDeletedObject = true })
	created := mustCreate(t, ctx, other, pod("a"))
	// A cache that is there has seen the object after that.
	if _, err := e.Get(ctx, "a", &metav1.GetOptions{ResourceVersion: created.ResourceVersion}); err != nil {
		t.Fatal(err)
	}
	writer := other
	if own {
		writer = e
	}
	asked, elsewhere, before := 0, int64(0), codec.n.Load()
	validate := func(_ context.Context, obj runtime.Object) error {
		if asked++; asked == 1 && tt.change != nil {
			elsewhere = -codec.n.Load()
			tt.change(t, ctx, writer)
			elsewhere += codec.n.Load()
		}
		return nil
	}
	deleteOptions := &metav1.DeleteOptions{}
	if tt.preconditions != nil {
		deleteOptions.Preconditions = tt.preconditions(created)
	}
	out, now, err := e.Delete(ctx, "a", validate, deleteOptions)
	if n := codec.n.Load() - elsewhere - before; tt.decodings >= 0 && n != tt.decodings {
		t.Errorf("decoded %d times, want %d", n, tt.decodings)
	}
	switch {
	case tt.want == gone && err == nil && now:
		wantGone(t, ctx, other, "a")
		last := lastState(t, e, out.(*corev1.Pod).ResourceVersion)
		if diff := cmp.Diff(last, out); diff != "" {
			t.Error(diff)
		}
	case tt.want == held && err == nil && !now:
		if got := mustGet(t, ctx, other, "a"); got.DeletionTimestamp == nil || len(got.Finalizers) != 1 {
			t.Errorf("got %+v", got.ObjectMeta)
		}
	case err == nil || string(apierrors.ReasonForError(err)) != tt.want:
		t.Errorf("got %t, %v, want %s", now, err, tt.want)
	case !apierrors.IsNotFound(err):
		resp, err := clientOf(t, e).Get(ctx, keyOf(e))
		if err != nil || len(resp.Kvs) != 1 {
			t.Errorf("it is gone: %v", err)
		}
	}
}

func keyOf(e *Store) string { return e.options.StorageConfig.Prefix + "/pods/ns/a" }

func clientOf(t *testing.T, e *Store) *clientv3.Client {
	client := e.options.StorageConfig.Transport.InProcess.Client()
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// lastState is pod a as it was before a revision, at that revision. It fails unless that is the one of its deletion.
func lastState(t *testing.T, e *Store, resourceVersion string) *corev1.Pod {
	t.Helper()
	revision, err := strconv.ParseInt(resourceVersion, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	client := clientOf(t, e)
	before, err := client.Get(t.Context(), keyOf(e), clientv3.WithRev(revision-1))
	if err != nil {
		t.Fatal(err)
	}
	at, err := client.Get(t.Context(), keyOf(e), clientv3.WithRev(revision))
	if err != nil {
		t.Fatal(err)
	}
	if len(before.Kvs) != 1 || len(at.Kvs) != 0 {
		t.Fatalf("the key has %d values before %d, and %d at it", len(before.Kvs), revision, len(at.Kvs))
	}
	last := &corev1.Pod{}
	if err := runtime.DecodeInto(testCodec, before.Kvs[0].Value, last); err != nil {
		t.Fatal(err)
	}
	last.ResourceVersion = resourceVersion
	return last
}

func TestDeleteCorruptObject(t *testing.T) {
	options := restOptions(t)
	e := newStoreWith(t, newStrategy(), options)
	ctx := inNamespace(t, "ns")
	mustCreate(t, ctx, e, pod("sound"))
	client := options.StorageConfig.Transport.InProcess.Client()
	defer func() { _ = client.Close() }()
	if _, err := client.Put(ctx, options.StorageConfig.Prefix+"/pods/ns/broken", "not an object"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := del(ctx, e, "broken", &metav1.DeleteOptions{}); !apierrors.IsInternalError(err) {
		t.Errorf("a plain delete: got %v", err)
	}
	if _, err := e.Create(ctx, pod("broken"), nil, &metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); !apierrors.IsAlreadyExists(err) {
		t.Errorf("a dry run in its place: got %v", err)
	}

	deleter := e.GetCorruptObjDeleter()
	ignore := &metav1.DeleteOptions{IgnoreStoreReadErrorWithClusterBreakingPotential: p(true)}
	dry := ignore.DeepCopy()
	dry.DryRun = []string{metav1.DryRunAll}
	for range 2 {
		out, now, err := deleter.Delete(ctx, "broken", nil, dry)
		if out != nil || !now || err != nil {
			t.Errorf("dry run: %v %t %v", out, now, err)
		}
	}
	if _, _, err := deleter.Delete(ctx, "broken", nil, &metav1.DeleteOptions{}); !apierrors.IsInternalError(err) {
		t.Errorf("without the option: got %v", err)
	}
	if _, _, err := deleter.Delete(ctx, "sound", nil, ignore); !apierrors.IsConflict(err) {
		t.Errorf("a sound object: got %v", err)
	}
	if out, now, err := deleter.Delete(ctx, "broken", nil, ignore); out != nil || !now || err != nil {
		t.Errorf("%v %t %v", out, now, err)
	}
	_, _, err := deleter.Delete(ctx, "broken", nil, ignore)
	wantStatus(t, err, 404, metav1.StatusReasonNotFound, `pods "broken" not found`)
	mustGet(t, ctx, e, "sound")
}
