package garbage

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/google/uuid"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// objects enters many objects into an index: pods of replica sets, ten each.
func objects(x *index, n int) {
	x.wake, x.release, x.invalid = func(*node) {}, func(*node) {}, func(*node, id) {}
	var owner *metav1.OwnerReference
	for i := range n {
		f := &storedParts{apiVersion: "v1", kind: "Pod", uid: types.UID(uuid.NewString())}
		key := fmt.Sprintf("pods/namespace-%d/deployment-5d9c7b8f6d-%05d", i%100, i)
		if i%11 == 0 {
			f.apiVersion, f.kind = "apps/v1", "ReplicaSet"
			key = fmt.Sprintf("replicasets/namespace-%d/deployment-%05d", i%100, i)
			owner = &metav1.OwnerReference{APIVersion: f.apiVersion, Kind: f.kind, Name: key, UID: f.uid, BlockOwnerDeletion: new(true)}
		} else {
			f.owners = []metav1.OwnerReference{*owner}
		}
		x.put(key, f, 1, true)
	}
}

// BenchmarkMemory is what an object takes in the index.
func BenchmarkMemory(b *testing.B) {
	const many = 50_000
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	for b.Loop() {
		before := heap()
		x := newIndex()
		objects(x, many)
		b.ReportMetric(float64(heap()-before)/many, "heap-B/object")
		runtime.KeepAlive(x)
	}
}

// BenchmarkPut is what a created pod costs: its value is read and entered.
func BenchmarkPut(b *testing.B) {
	value := pods(b)[3] // one with owners, in protobuf
	x := newIndex()
	objects(x, 1000)
	for i := range b.N {
		f, err := scan(decoder, podKey, value)
		if err != nil {
			b.Fatal(err)
		}
		f.uid = types.UID(uuid.NewString())
		x.put(fmt.Sprint("pods/default/p-", i%1000), f, 1, true)
	}
}

// TestEmptyAgain has nothing left of objects that are gone.
func TestEmptyAgain(t *testing.T) {
	x := newIndex()
	objects(x, 500)
	for key := range x.byKey {
		x.remove(key)
	}
	if len(x.byKey)+len(x.byUID)+len(x.dependents)+len(x.gone) != 0 {
		t.Errorf("left are %d keys, %d UIDs and the dependents of %d", len(x.byKey), len(x.byUID), len(x.dependents))
	}
}
