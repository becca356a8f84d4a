package v1alpha1

import (
	"reflect"
	"testing"

	"github.com/kx-apiserver/kx/core/filter"
)

func journey() *Journey {
	j := &Journey{
		Spec: JourneySpec{
			Method: "PUT", URI: "/apis/apps/v1/namespaces/n/deployments/d/scale?dryRun=All", Verb: "update", Group: "apps", Version: "v1",
			Resource: "deployments", Subresource: "scale", Namespace: "n", Name: "d", ContentType: "application/json",
			User: "alice", UserAgent: "kubectl/v1", SourceIP: "127.0.0.1", AuditID: "a-1",
		},
		Status: JourneyStatus{
			Phase: JourneyComplete, TookMicros: 5500, Code: 409, Bytes: 10,
			Steps: []Step{
				{ID: "store.update", Layer: "store", Subject: "/deployments/n/d", Error: "conflict"},
				{ID: "etcd.txn", Layer: "etcd", Why: "the key is at revision 5", Reason: &Reason{Kind: "key-moved"}, Attributes: []Attribute{{"a", "b"}}},
			},
			Marks:      []Mark{{ID: "m"}},
			Deliveries: []Delivery{{Watcher: "w"}},
		},
	}
	j.Name = "p-42"
	return j
}

// TestEveryFieldHasAValue asks for each field that the language knows: none may be forgotten here.
func TestEveryFieldHasAValue(t *testing.T) {
	s := Subject(journey())
	for _, f := range filter.Fields() {
		if _, ok := s.Field(f.Name); !ok {
			t.Errorf("%s has no value", f.Name)
		}
	}
	if _, ok := s.Field("nonsense"); ok {
		t.Error("a field that does not exist has a value")
	}
}

func TestSubject(t *testing.T) {
	running := &Journey{Status: JourneyStatus{Phase: JourneyRunning}}
	for _, test := range []struct {
		filter string
		j      *Journey
		want   bool
	}{
		{"verb:update code:409", journey(), true},
		{"dur>5ms dur<6ms", journey(), true},
		{"step:etcd.* layer:store", journey(), true},
		{`why:"revision 5" error:conflict`, journey(), true},
		{"step:etcd.lease", journey(), false},
		{"id:p-42 phase:done steps:2", journey(), true},
		{"phase:running", running, true},
		{"code:0", running, false},
		{"dur<1h", running, false},
		{"alice", journey(), true},
	} {
		f, err := filter.Parse(test.filter)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Match(Subject(test.j)); got != test.want {
			t.Errorf("%s: %v, want %v", test.filter, got, test.want)
		}
	}
}

func TestDeepCopy(t *testing.T) {
	list := &JourneyList{Items: []Journey{*journey()}}
	c := list.DeepCopyObject().(*JourneyList)
	if !reflect.DeepEqual(list, c) {
		t.Fatalf("%+v is not a copy of %+v", c, list)
	}
	c.Items[0].Status.Steps[1].Attributes[0].Value = "other"
	c.Items[0].Status.Marks[0].ID = "other"
	c.Items[0].Status.Deliveries[0].Watcher = "other"
	if !reflect.DeepEqual(list.Items[0], *journey()) {
		t.Error("the copy shares memory with the original")
	}
}
