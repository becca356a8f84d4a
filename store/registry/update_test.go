package registry

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/rest"
)

func TestUpdateKeepsWhatIsTheServers(t *testing.T) {
	e, ctx := newStore(t, newStrategy()), inNamespace(t, "ns")
	created := mustCreate(t, ctx, e, pod("a"))
	sent := created.DeepCopy()
	sent.UID, sent.CreationTimestamp, sent.Generation = "", metav1.Unix(1, 0), 77
	sent.Labels = map[string]string{"a": "b"}
	got := mustPut(t, ctx, e, sent)
	want := created.DeepCopy()
	want.Labels, want.ResourceVersion = sent.Labels, got.ResourceVersion
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got.ResourceVersion == created.ResourceVersion {
		t.Error("nothing was written")
	}
	got.Spec.NodeName = "n"
	if moved := mustPut(t, ctx, e, got); moved.Generation != 2 {
		t.Errorf("the strategy moved the generation to 2, got %d", moved.Generation)
	}
}

func TestUpdateErrors(t *testing.T) {
	s := newStrategy()
	s.conditionalOnly = true
	e, ctx := newStore(t, s), inNamespace(t, "ns")
	created := mustCreate(t, ctx, e, pod("a"))
	current := mustPut(t, ctx, e, func() *corev1.Pod { c := created.DeepCopy(); c.Spec.NodeName = "n"; return c }())
	changed := func(f func(*corev1.Pod)) *corev1.Pod { c := current.DeepCopy(); f(c); return c }
	tests := []struct {
		name    string
		pod     *corev1.Pod
		code    int32
		reason  metav1.StatusReason
		message string
	}{
		{"missing", pod("none"), 404, metav1.StatusReasonNotFound, `pods "none" not found`},
		{"stale", created, 409, metav1.StatusReasonConflict, `Operation cannot be fulfilled on pods "a": ` + OptimisticLockErrorMsg},
		{"unconditional", changed(func(p *corev1.Pod) { p.ResourceVersion = "" }), 422, metav1.StatusReasonInvalid,
			`pods "a" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update`},
		{"another namespace", changed(func(p *corev1.Pod) { p.Namespace = "other" }), 400, metav1.StatusReasonBadRequest,
			"the namespace of the provided object does not match the namespace sent on the request"},
		{"refused by the strategy", changed(func(p *corev1.Pod) { p.Spec.Hostname = "bad" }), 422, metav1.StatusReasonInvalid,
			`Pod "a" is invalid: spec.hostname: Invalid value: "bad": is bad`},
		{"bad label", changed(func(p *corev1.Pod) { p.Labels = map[string]string{"a": "b c"} }), 422, metav1.StatusReasonInvalid,
			`Pod "a" is invalid: metadata.labels: Invalid value: "b c": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`},
		{"deleting by update", changed(func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: p.CreationTimestamp.Time} }), 422, metav1.StatusReasonInvalid,
			fmt.Sprintf(`Pod "a" is invalid: metadata.deletionTimestamp: Invalid value: %s: field is immutable`, quotedTime(current.CreationTimestamp))},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, dryRun := range [][]string{nil, {metav1.DryRunAll}} {
				_, _, err := putWith(ctx, e, tt.pod, &metav1.UpdateOptions{DryRun: dryRun})
				wantStatus(t, err, tt.code, tt.reason, tt.message)
			}
		})
	}
	if diff := cmp.Diff(current, mustGet(t, ctx, e, "a")); diff != "" {
		t.Error(diff)
	}
}

func quotedTime(at metav1.Time) string {
	data, _ := at.MarshalJSON()
	return string(data)
}

func TestUpdateOfAnotherUID(t *testing.T) {
	e, ctx := newStore(t, newStrategy()), inNamespace(t, "ns")
	created := mustCreate(t, ctx, e, pod("a"))
	sent := created.DeepCopy()
	sent.UID = "other"
	for _, dryRun := range [][]string{nil, {metav1.DryRunAll}} {
		_, _, err := putWith(ctx, e, sent, &metav1.UpdateOptions{DryRun: dryRun})
		if !apierrors.IsConflict(err) {
			t.Fatal(err)
		}
		// The storage names the whole key, the dry run what it knows of it.
		message := regexp.MustCompile(`Key: (/registry-[0-9]+)?/pods/ns/a,`).ReplaceAllString(err.Error(), "KEY")
		want := `Operation cannot be fulfilled on pods "a": StorageError: invalid object, Code: 4, KEY ResourceVersion: 0, ` +
			`AdditionalErrorMsg: Precondition failed: UID in precondition: other, UID in object meta: ` + string(created.UID)
		if message != want {
			t.Errorf("got  %s\nwant %s", message, want)
		}
	}
}

func TestUpdateUnconditionally(t *testing.T) {
	e, ctx := newStore(t, newStrategy()), inNamespace(t, "ns")
	mustCreate(t, ctx, e, pod("a"))
	got, created, err := put(ctx, e, pod("a", onNode("n")))
	if err != nil || created || got.Spec.NodeName != "n" {
		t.Error(got, created, err)
	}
}

func TestCreateOnUpdate(t *testing.T) {
	s := newStrategy()
	s.createOnUpdate = true
	e, ctx := newStore(t, s, func(e *Store) {
		e.AfterCreate = func(_ runtime.Object, o *metav1.CreateOptions) {
			s.happened.add("AfterCreate " + o.Kind + " " + o.FieldManager)
		}
		e.AfterUpdate = func(runtime.Object, *metav1.UpdateOptions) { s.happened.add("AfterUpdate") }
		e.BeginCreate = func(context.Context, runtime.Object, *metav1.CreateOptions) (FinishFunc, error) {
			s.happened.add("BeginCreate")
			return func(_ context.Context, success bool) { s.happened.add(fmt.Sprint("finish ", success)) }, nil
		}
	}), inNamespace(t, "ns")
	sent := pod("a")
	sent.CreationTimestamp = metav1.Unix(1, 0)
	got, created, err := putWith(ctx, e, sent, &metav1.UpdateOptions{FieldManager: "me"})
	if err != nil || !created || got.UID == "" || got.CreationTimestamp.Unix() == 1 {
		t.Fatal(got, created, err)
	}
	want := []string{"BeginCreate", "PrepareForCreate", "Validate", "WarningsOnCreate", "Canonicalize", "finish true", "AfterCreate CreateOptions me"}
	if diff := cmp.Diff(want, s.happened.take()); diff != "" {
		t.Error(diff)
	}
	_, created, err = put(ctx, e, got)
	if err != nil || created || !slices.Contains(s.happened.take(), "AfterUpdate") {
		t.Error(created, err)
	}
	_, _, err = put(ctx, e, pod("b", func(p *corev1.Pod) { p.Spec.Hostname = "bad" }))
	if !apierrors.IsInvalid(err) {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"BeginCreate", "PrepareForCreate", "Validate", "finish false"}, s.happened.take()); diff != "" {
		t.Error(diff)
	}
	// A UID is a precondition, and what is not there has none.
	if _, _, err = put(ctx, e, pod("b", func(p *corev1.Pod) { p.UID = "u" })); !apierrors.IsConflict(err) {
		t.Error(err)
	}

	s.createOnUpdate = false
	_, created, err = e.Update(ctx, "c", rest.DefaultUpdatedObjectInfo(pod("c")), rest.UpdateAdmission{ForceAllowCreate: true}, &metav1.UpdateOptions{})
	if err != nil || !created {
		t.Error("forceAllowCreate:", created, err)
	}
}

func TestUpdateStagesInOrder(t *testing.T) {
	s := newStrategy()
	e, ctx := newStore(t, s, func(e *Store) {
		e.BeginUpdate = func(context.Context, runtime.Object, runtime.Object, *metav1.UpdateOptions) (FinishFunc, error) {
			s.happened.add("BeginUpdate")
			return func(_ context.Context, success bool) { s.happened.add(fmt.Sprint("finish ", success)) }, nil
		}
		e.AfterUpdate = func(runtime.Object, *metav1.UpdateOptions) { s.happened.add("AfterUpdate") }
		e.Decorator = func(runtime.Object) { s.happened.add("Decorator") }
	}), inNamespace(t, "ns")
	created := mustCreate(t, ctx, e, pod("a"))
	s.happened.take()
	info := rest.DefaultUpdatedObjectInfo(created, func(_ context.Context, obj, _ runtime.Object) (runtime.Object, error) {
		s.happened.add("UpdatedObject")
		obj.(*corev1.Pod).Spec.NodeName = "n"
		return obj, nil
	})
	admit := func(context.Context, runtime.Object, runtime.Object) error { s.happened.add("admission"); return nil }
	if _, _, err := e.Update(ctx, "a", info, rest.UpdateAdmission{Update: admit}, &metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	begin := []string{"UpdatedObject", "BeginUpdate", "PrepareForUpdate", "ValidateUpdate", "WarningsOnUpdate", "Canonicalize", "admission"}
	if diff := cmp.Diff(append(slices.Clone(begin), "finish true", "AfterUpdate", "Decorator"), s.happened.take()); diff != "" {
		t.Error(diff)
	}
	refuse := func(context.Context, runtime.Object, runtime.Object) error {
		s.happened.add("admission")
		return apierrors.NewForbidden(pods, "a", errors.New("no"))
	}
	created = mustGet(t, ctx, e, "a")
	s.happened.take()
	_, _, err := e.Update(ctx, "a", rest.WrapUpdatedObjectInfo(rest.DefaultUpdatedObjectInfo(created)), rest.UpdateAdmission{Update: refuse}, &metav1.UpdateOptions{})
	wantStatus(t, err, 403, metav1.StatusReasonForbidden, `pods "a" is forbidden: no`)
	if diff := cmp.Diff(append(slices.Clone(begin[1:]), "finish false"), s.happened.take()); diff != "" {
		t.Error(diff)
	}
}

// increment is what a PATCH does: it makes the next state from whatever the present one is.
func increment(meanwhile func()) rest.UpdatedObjectInfo {
	return rest.DefaultUpdatedObjectInfo(nil, func(_ context.Context, _, old runtime.Object) (runtime.Object, error) {
		next := old.(*corev1.Pod).DeepCopy()
		n, _ := strconv.Atoi(next.Annotations["n"])
		next.Annotations = map[string]string{"n": strconv.Itoa(n + 1)}
		if meanwhile != nil {
			meanwhile()
		}
		return next, nil
	})
}

func TestUpdateIsTriedAgainAfterAConflict(t *testing.T) {
	e, ctx := newStore(t, newStrategy()), inNamespace(t, "ns")
	mustCreate(t, ctx, e, pod("a"))
	attempts := 0
	out, _, err := e.Update(ctx, "a", increment(func() {
		if attempts++; attempts == 1 {
			if _, _, err := e.Update(ctx, "a", increment(nil), rest.UpdateAdmission{}, &metav1.UpdateOptions{}); err != nil {
				t.Error(err)
			}
		}
	}), rest.UpdateAdmission{}, &metav1.UpdateOptions{})
	if err != nil || attempts != 2 || ownPod(t, out).Annotations["n"] != "2" {
		t.Errorf("%d attempts, error %v, got %v", attempts, err, out)
	}
}

func TestConcurrentWritersLoseNothing(t *testing.T) {
	e, ctx := newStore(t, newStrategy()), inNamespace(t, "ns")
	mustCreate(t, ctx, e, pod("a"))
	const writers, each = 4, 10
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for range each {
				if _, _, err := e.Update(ctx, "a", increment(nil), rest.UpdateAdmission{}, &metav1.UpdateOptions{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if got := mustGet(t, ctx, e, "a").Annotations["n"]; got != strconv.Itoa(writers*each) {
		t.Errorf("%d increments came to %s", writers*each, got)
	}
}

func TestUpdateThatChangesNothingWritesNothing(t *testing.T) {
	e, ctx := newStore(t, newStrategy()), inNamespace(t, "ns")
	managed := func(at int64) []metav1.ManagedFieldsEntry {
		return []metav1.ManagedFieldsEntry{{Manager: "m", Operation: "Apply", APIVersion: "v1", Time: p(metav1.Unix(at, 0)),
			FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{}}`)}}
	}
	created := mustCreate(t, ctx, e, pod("a", func(p *corev1.Pod) { p.ManagedFields = managed(100) }))
	if got := mustPut(t, ctx, e, created); got.ResourceVersion != created.ResourceVersion {
		t.Error("the same object was written again")
	}
	later := created.DeepCopy()
	later.ManagedFields = managed(200)
	got := mustPut(t, ctx, e, later)
	if got.ResourceVersion != created.ResourceVersion || got.ManagedFields[0].Time.Unix() != 100 {
		t.Errorf("a time in managedFields alone was written: %+v", got.ObjectMeta)
	}
	later.Spec.NodeName = "n"
	if got = mustPut(t, ctx, e, later); got.ManagedFields[0].Time.Unix() != 200 {
		t.Error("the time was not written with a change")
	}
	other := got.DeepCopy()
	other.ManagedFields[0].Time, other.ManagedFields[0].Manager = p(metav1.Unix(300, 0)), "other"
	if put := mustPut(t, ctx, e, other); put.ManagedFields[0].Time.Unix() != 300 {
		t.Error("another manager took over: its time counts")
	}
}

func TestUpdateDryRunWritesNothing(t *testing.T) {
	e, ctx := newStore(t, newStrategy()), inNamespace(t, "ns")
	created := mustCreate(t, ctx, e, pod("a"))
	sent := created.DeepCopy()
	sent.Spec.NodeName = "n"
	got, _, err := putWith(ctx, e, sent, &metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil || got.Spec.NodeName != "n" || got.Generation != 2 || got.ResourceVersion != created.ResourceVersion {
		t.Errorf("got %+v, %v", got, err)
	}
	if diff := cmp.Diff(created, mustGet(t, ctx, e, "a")); diff != "" {
		t.Error(diff)
	}
}

func TestUpdateThatTakesTheLastFinalizerAwayDeletes(t *testing.T) {
	s := newStrategy()
	keep := false
	e, ctx := newStore(t, s, func(e *Store) {
		e.AfterDelete = func(obj runtime.Object, o *metav1.DeleteOptions) {
			s.happened.add("AfterDelete " + obj.(*corev1.Pod).Name + " " + o.Kind)
		}
		e.ShouldDeleteDuringUpdate = func(context.Context, string, runtime.Object, runtime.Object) bool { return !keep }
	}), inNamespace(t, "ns")
	mustCreate(t, ctx, e, pod("a", finalizers("kx.dev/one", "kx.dev/two")))
	if _, now, err := del(ctx, e, "a", &metav1.DeleteOptions{}); now || err != nil {
		t.Fatal(now, err)
	}
	going := mustGet(t, ctx, e, "a")
	if going.DeletionTimestamp == nil || *going.DeletionGracePeriodSeconds != 0 || going.Generation != 2 {
		t.Fatalf("got %+v", going.ObjectMeta)
	}
	added := going.DeepCopy()
	added.Finalizers = append(added.Finalizers, "kx.dev/three")
	_, _, err := put(ctx, e, added)
	wantStatus(t, err, 422, metav1.StatusReasonInvalid, `Pod "a" is invalid: metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"kx.dev/three"}`)

	going.Finalizers = []string{"kx.dev/two"}
	going = mustPut(t, ctx, e, going)
	going.Finalizers = nil
	if _, _, err = putWith(ctx, e, going, &metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
		t.Fatal(err)
	}
	if len(mustGet(t, ctx, e, "a").Finalizers) != 1 {
		t.Error("the dry run changed something")
	}
	s.happened.take()
	keep = true
	going = mustPut(t, ctx, e, going)
	if mustGet(t, ctx, e, "a").DeletionTimestamp == nil {
		t.Error("the store's own rule kept it, but its mark is lost")
	}
	keep = false
	s.happened.take()
	out, created, err := put(ctx, e, going)
	if err != nil || created || out.Name != "a" || len(out.Finalizers) != 0 {
		t.Fatal(out, created, err)
	}
	if list := s.happened.take(); list[len(list)-1] != "AfterDelete a DeleteOptions" {
		t.Errorf("got %v", list)
	}
	wantGone(t, ctx, e, "a")
}

// TestLastFinalizerOfAnother takes the last finalizer away while another update does, whereupon a new object takes the name: that one stays.
func TestLastFinalizerOfAnother(t *testing.T) {
	e, ctx := newStore(t, newStrategy()), inNamespace(t, "ns")
	mustCreate(t, ctx, e, pod("a", finalizers("kx.dev/one")))
	if _, now, err := del(ctx, e, "a", &metav1.DeleteOptions{}); now || err != nil {
		t.Fatal(now, err)
	}
	without := func(meanwhile func()) rest.UpdatedObjectInfo {
		return rest.DefaultUpdatedObjectInfo(nil, func(_ context.Context, _, old runtime.Object) (runtime.Object, error) {
			next := old.(*corev1.Pod).DeepCopy()
			next.Finalizers = nil
			meanwhile()
			return next, nil
		})
	}
	var later *corev1.Pod
	out, _, err := e.Update(ctx, "a", without(func() {
		if _, _, err := e.Update(ctx, "a", without(func() {}), rest.UpdateAdmission{}, &metav1.UpdateOptions{}); err != nil {
			t.Error(err)
		}
		later = mustCreate(t, ctx, e, pod("a"))
	}), rest.UpdateAdmission{}, &metav1.UpdateOptions{})
	if err != nil || len(ownPod(t, out).Finalizers) != 0 || ownPod(t, out).UID == later.UID {
		t.Errorf("%v %v", out, err)
	}
	if diff := cmp.Diff(later, mustGet(t, ctx, e, "a")); diff != "" {
		t.Error(diff)
	}
}
