package v1alpha1

import (
	"reflect"
	"testing"
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
			Cause:      &Cause{Journey: "c"},
			Effects:    []Effect{{Journey: "e"}},
		},
	}
	j.Name = "p-42"
	return j
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
