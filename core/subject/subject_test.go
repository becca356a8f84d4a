package subject_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/filter"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/subject"
	"github.com/kx-apiserver/kx/core/trace"
)

func object(text string) *runtime.RawExtension { return &runtime.RawExtension{Raw: []byte(text)} }

func journey() *v1alpha1.Journey {
	j := &v1alpha1.Journey{
		Spec: v1alpha1.JourneySpec{
			Method: "PUT", URI: "/apis/apps/v1/namespaces/n/deployments/d/scale?dryRun=All", Verb: "update", Group: "apps", Version: "v1",
			Resource: "deployments", Subresource: "scale", Namespace: "n", Name: "d", ContentType: "application/json",
			User: "alice", UserAgent: "kubectl/v1", SourceIP: "127.0.0.1", AuditID: "a-1", TraceID: "4bf9",
		},
		Status: v1alpha1.JourneyStatus{
			Phase: v1alpha1.JourneyComplete, TookMicros: 5500, Code: 409, Bytes: 10,
			Steps: []v1alpha1.Step{
				{ID: "store.update", Layer: "store", Subject: "/deployments/n/d", Error: "conflict", TookNanos: 5e6},
				{ID: "store.try-update", Layer: "store", Parent: 0, TookNanos: 1000, Before: object(`{"spec":{"replicas":1}}`), After: object(`{"spec":{"replicas":2}}`)},
				{ID: "etcd.txn", Layer: "etcd", Why: "the key is at revision 5", Reason: &v1alpha1.Reason{Kind: "guard-held"}, Attributes: []v1alpha1.Attribute{{Name: "revision", Value: "7"}}, TookNanos: -1},
			},
			Cause:      &v1alpha1.Cause{Journey: "p-41"},
			Marks:      []v1alpha1.Mark{{ID: "m"}},
			Deliveries: []v1alpha1.Delivery{{Watcher: "w", UserAgent: "an-informer/v1"}},
		},
	}
	j.Name = "p-42"
	return j
}

// TestEveryFieldHasAValue asks for each field that the language knows: none may be forgotten here.
func TestEveryFieldHasAValue(t *testing.T) {
	s := subject.NewSubject(journey())
	for _, f := range filter.Fields() {
		_, ok := s.Field(f.Name)
		for i := 0; i < s.Steps().Len() && f.OfSteps && !ok; i++ {
			_, ok = s.Steps().Field(i, f.Name)
		}
		if !ok {
			t.Errorf("%s has no value", f.Name)
		}
		if subject.InSteps(f.Name) != (f.OfSteps || f.Name == "steps" || f.Name == "touched" || f.Name == "delivered") {
			t.Errorf("%s is in lists: %v", f.Name, !subject.InSteps(f.Name))
		}
	}
	if _, ok := s.Field("nonsense"); ok {
		t.Error("a field that does not exist has a value")
	}
}

func TestSubject(t *testing.T) {
	running := &v1alpha1.Journey{Status: v1alpha1.JourneyStatus{Phase: v1alpha1.JourneyRunning}}
	for _, test := range []struct {
		filter string
		j      *v1alpha1.Journey
		want   bool
	}{
		{"verb:update code:409", journey(), true},
		{"dur>5ms dur<6ms", journey(), true},
		{"step:etcd.* layer:store", journey(), true},
		{`why:"revision 5" error:conflict`, journey(), true},
		{"step:etcd.lease", journey(), false},
		{"id:p-42 phase:done steps:3", journey(), true},
		{"took>4ms took<1s", journey(), true},
		{"step(took>4ms why:revision)", journey(), false},
		{"step(etcd.txn took>=0s)", journey(), false},
		{"layer:store -> etcd.txn", journey(), true},
		{"etcd.txn -> layer:store", journey(), false},
		{"steps(layer:store)=2 steps(etcd.*)<2", journey(), true},
		{"steps(layer:store)=0", running, false},
		{"changed:1 step(store.try-update changed>0)", journey(), true},
		{"changed>1", journey(), false},
		{"touched:spec.replicas touched:spec touched:spec.*", journey(), true},
		{"touched:spec.paused", journey(), false},
		{"touched:*", running, false},
		{"delivered:informer", journey(), true},
		{"delivered:kubectl", journey(), false},
		{"after:p-41 !after:p-42 !after:p-43 !after:other-1", journey(), true},
		{"phase:running", running, true},
		{"code:0", running, false},
		{"dur<1h", running, false},
		{"alice", journey(), true},
	} {
		f, err := filter.Parse(test.filter, trace.Names)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Match(subject.NewSubject(test.j)); got != test.want {
			t.Errorf("%s: %v, want %v", test.filter, got, test.want)
		}
	}
}

// TestSelect orders requests by their numbers, or by their time where another process served them.
func TestSelect(t *testing.T) {
	var all []*v1alpha1.Journey
	for i, name := range []string{"p-1", "p-2", "q-1", "q-2"} {
		j := &v1alpha1.Journey{}
		j.Name = name
		j.Status.Started = metav1.NewMicroTime(time.UnixMicro(int64(1000 + i)))
		all = append(all, j)
	}
	for text, want := range map[string]string{
		"after:p-1": "p-2 q-1 q-2", "after:q-1": "q-2", "after:p-0": "p-1 p-2", "after:p-2,q-1": "q-1 q-2", "": "p-1 p-2 q-1 q-2",
		"after:r-1": "filter, column 7: no request \"r-1\" is known here; expected the ID of a request, as kx trace ls shows it",
	} {
		f, err := filter.Parse(text, trace.Names)
		if err != nil {
			t.Fatal(err)
		}
		selected, err := subject.Select(all, f)
		var got []string
		for _, j := range selected {
			got = append(got, j.Name)
		}
		if err != nil {
			got = append(got, err.Error())
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// TestFunctions: a text without a field finds a step by the whole name of its function, here, upstream or in articles.
func TestFunctions(t *testing.T) {
	j := &v1alpha1.Journey{}
	j.Status.Steps = []v1alpha1.Step{
		{ID: steps.CacherWait.String(), Function: "store/cacher.(*watchCache).waitUntilFresh"},
		{ID: "of.another-version", Function: "store/cacher.guess.func1.2"},
	}
	for text, want := range map[string]bool{
		"waitUntilFresh": true, "WAITUNTILFRESHLOCKED": true, "watchCache.waitUntilFreshLocked": true, "WaitUntilFreshAndGet": true, "waitUntil*Get": true,
		"guess": true, "WaitUntilFreshAndGet -> of.another-version": false, `step("WaitUntilFreshAndGet")`: true,
		"waitUntil": false, "FreshAndGet": false, "func1": false, "watchCache": false, "!WaitUntilFreshAndGet": false,
	} {
		f, err := filter.Parse(text, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Match(subject.NewSubject(j)); got != want {
			t.Errorf("%s matches: %v, want %v", text, got, want)
		}
	}
}
