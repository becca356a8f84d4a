package server_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/server/options"
)

// record makes a recording, and wants a code.
func (r *running) record(t testing.TB, name string, spec v1alpha1.RecordingSpec, code int, into any) {
	t.Helper()
	r.kx(t, "POST", "recordings", &v1alpha1.Recording{ObjectMeta: named(name), Spec: spec}, code, into)
}

// newest is the last journey that a filter selects, with its steps.
func (r *running) newest(t testing.TB, filter string) *v1alpha1.Journey {
	t.Helper()
	var list v1alpha1.JourneyList
	until(t, "a request of "+filter+" has ended", func() bool {
		r.kx(t, "GET", "journeys?filter="+strings.ReplaceAll(filter, " ", "+"), nil, 200, &list)
		return len(list.Items) > 0
	})
	return r.journeyOf(t, list.Items[len(list.Items)-1].Name)
}

// objectsIn is how many steps of a journey have objects.
func objectsIn(j *v1alpha1.Journey) (n int) {
	for _, s := range j.Status.Steps {
		if s.Before != nil || s.After != nil {
			n++
		}
	}
	return n
}

// TestRecording switches objects on and off while the server runs, for some requests, and looks at what is recorded before, meanwhile
// and after.
func TestRecording(t *testing.T) {
	t.Parallel()
	r := start(t)
	r.configMap(t, "default", "before")
	if j := r.newest(t, "verb:create name:before"); objectsIn(j) > 0 {
		t.Errorf("objects are recorded although nobody asked: %d steps have some", objectsIn(j))
	}
	var made v1alpha1.Recording
	r.record(t, "maps", v1alpha1.RecordingSpec{Filter: "verb:create resource:configmaps"}, 201, &made)
	if made.Spec.Seconds != 900 || made.Status.Until == nil || made.Status.Until.Sub(made.CreationTimestamp.Time).Seconds() != 900 {
		t.Errorf("%+v", made)
	}
	r.configMap(t, "default", "meanwhile")
	j := r.newest(t, "verb:create name:meanwhile")
	if objectsIn(j) == 0 {
		t.Error("no objects are recorded")
	}
	if why := stepsOf(j, "filter.tracing")[0].Why; why != "steps and objects are recorded, as the recording maps says" {
		t.Error(why)
	}
	r.namespace(t, "other")
	if j := r.newest(t, "verb:create resource:namespaces"); objectsIn(j) > 0 {
		t.Error("objects of another resource are recorded")
	}
	r.kx(t, "GET", "recordings/maps", nil, 200, &made)
	if made.Status.Requests != 1 || made.Status.Last != j.Name {
		t.Errorf("%+v, want one request, %s", made.Status, j.Name)
	}
	r.kx(t, "DELETE", "recordings/maps", nil, 200, nil)
	r.record(t, "word", v1alpha1.RecordingSpec{Filter: "worded"}, 201, nil)
	r.configMap(t, "default", "worded")
	if _, err := r.admin(t).CoreV1().ConfigMaps("default").Patch(within(t), "worded", types.MergePatchType, []byte(`{"data":{"a":"b"}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if j := r.newest(t, "verb:patch name:worded"); objectsIn(j) == 0 {
		t.Error("no objects are recorded of a request whose path or name has the word")
	}
	r.kx(t, "DELETE", "recordings/word", nil, 200, nil)
	r.configMap(t, "default", "after")
	if j := r.newest(t, "verb:create name:after"); objectsIn(j) > 0 {
		t.Error("objects are recorded after the recording was deleted")
	}
	r.record(t, "short", v1alpha1.RecordingSpec{Seconds: 1}, 201, nil)
	until(t, "the recording is over by itself", func() bool {
		var list v1alpha1.RecordingList
		r.kx(t, "GET", "recordings", nil, 200, &list)
		return len(list.Items) == 1 && list.Items[0].Name == "flags"
	})
}

// TestRecordingAllows has a recording allow breakpoints and faults, as the flags let it, and lets go what they held at its end.
func TestRecordingAllows(t *testing.T) {
	t.Parallel()
	r := start(t)
	spec := v1alpha1.BreakpointSpec{Filter: "step:etcd.txn name:held"}
	var status metav1.Status
	r.kx(t, "POST", "breakpoints", &v1alpha1.Breakpoint{ObjectMeta: named("b"), Spec: spec}, 403, &status)
	if !strings.Contains(status.Message, "breakpoints are off on this server: kx trace record --breakpoints") {
		t.Error(status.Message)
	}
	r.record(t, "a", v1alpha1.RecordingSpec{Filter: "name:none", Allow: []v1alpha1.Permission{v1alpha1.AllowBreakpoints}}, 201, nil)
	r.kx(t, "POST", "faults", &v1alpha1.Fault{ObjectMeta: named("f"), Spec: v1alpha1.FaultSpec{Effect: v1alpha1.FaultDropWatch}}, 403, nil)
	r.record(t, "b", v1alpha1.RecordingSpec{Filter: "name:none", Allow: []v1alpha1.Permission{v1alpha1.AllowBreakpoints, v1alpha1.AllowFaults}}, 201, nil)
	r.fault(t, "f", v1alpha1.FaultSpec{Effect: v1alpha1.FaultDropWatch})
	r.configMap(t, "default", "held")
	r.breakAt(t, "b", spec)
	ended := r.update(t, within(t), "default", "held", "1")
	r.heldBy(t, "b")
	r.kx(t, "DELETE", "recordings/b", nil, 200, nil)
	r.kx(t, "GET", "faults/f", nil, 404, nil)
	r.kx(t, "GET", "breakpoints/b", nil, 200, nil) // the other recording allows it
	r.kx(t, "DELETE", "recordings", nil, 200, nil)
	r.kx(t, "GET", "breakpoints/b", nil, 404, nil)
	if a := <-ended; a.err != nil {
		t.Error(a.err)
	}
	r.kx(t, "DELETE", "recordings/flags", nil, 403, &status)
	if !strings.Contains(status.Message, "flags of kx serve") {
		t.Error(status.Message)
	}
}

// TestRecordingIsRefused: what flags forbid, filters that come too late, times that are none.
func TestRecordingIsRefused(t *testing.T) {
	t.Parallel()
	r := start(t, func(o *options.Options) { o.Allow.Breakpoints, o.Allow.Faults = options.Never, options.Always })
	var flags v1alpha1.Recording
	r.kx(t, "GET", "recordings/flags", nil, 200, &flags)
	if len(flags.Spec.Allow) != 1 || flags.Spec.Allow[0] != v1alpha1.AllowFaults || flags.Status.Until != nil {
		t.Errorf("%+v", flags)
	}
	for _, refused := range []struct {
		spec v1alpha1.RecordingSpec
		code int
		want string
	}{
		{v1alpha1.RecordingSpec{Allow: []v1alpha1.Permission{v1alpha1.AllowBreakpoints}}, 403, "started with --allow-breakpoints=never"},
		{v1alpha1.RecordingSpec{Allow: []v1alpha1.Permission{"Everything"}}, 422, `supported values: "Breakpoints", "Faults"`},
		{v1alpha1.RecordingSpec{Allow: []v1alpha1.Permission{v1alpha1.AllowFaults, v1alpha1.AllowFaults}}, 422, "Duplicate value"},
		{v1alpha1.RecordingSpec{Filter: "code:409"}, 422, "code is known only later"},
		{v1alpha1.RecordingSpec{Filter: "step:etcd.txn"}, 422, "known only later"},
		{v1alpha1.RecordingSpec{Filter: "name:a | step(etcd.txn)"}, 422, "known only later"},
		{v1alpha1.RecordingSpec{Filter: "verb:creat"}, 422, "create"},
		{v1alpha1.RecordingSpec{Seconds: -1}, 422, "from 1 to 86400"},
		{v1alpha1.RecordingSpec{Seconds: 86401}, 422, "from 1 to 86400"},
	} {
		var status metav1.Status
		r.record(t, "x", refused.spec, refused.code, &status)
		if !strings.Contains(status.Message, refused.want) {
			t.Errorf("%+v: %s, want %s", refused.spec, status.Message, refused.want)
		}
	}
}
