package garbage

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kx-apiserver/kx/server/builtin/scheme"
	"github.com/kx-apiserver/kx/store/admin"
)

var decoder = &admin.Decoder{Prefix: "/registry"}

const podKey = "/registry/pods/default/p"

// pods are stored values, in each format.
func pods(t testing.TB) (values [][]byte) {
	t.Helper()
	now := metav1.NewTime(time.Unix(1, 0))
	meta := metav1.ObjectMeta{
		Name: `"a{}[],:\`, Namespace: "default", UID: "0fd2a4a4-3c4f-4d5c-8b5c-0a4f6b7c8d9e", Generation: 3,
		Labels: map[string]string{"uid": "no", "}": "{"}, Annotations: map[string]string{"ownerReferences": `[{"uid":"no"}]`},
	}
	owned := *meta.DeepCopy()
	owned.OwnerReferences = []metav1.OwnerReference{
		{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "r", UID: "1", Controller: new(true), BlockOwnerDeletion: new(true)},
		{APIVersion: "v1", Kind: "Node", Name: "n", UID: "2"},
	}
	ending := *owned.DeepCopy()
	ending.DeletionTimestamp, ending.DeletionGracePeriodSeconds = &now, new(int64(0))
	ending.Finalizers = []string{"example.com/x", metav1.FinalizerOrphanDependents}
	waiting := *ending.DeepCopy()
	waiting.Finalizers = []string{metav1.FinalizerDeleteDependents}
	for _, m := range []metav1.ObjectMeta{meta, owned, ending, waiting} {
		pod := &corev1.Pod{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: m,
			Spec: corev1.PodSpec{NodeName: "metadata", Containers: []corev1.Container{{Name: "c", Image: "i"}}},
		}
		var b bytes.Buffer
		if err := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(pod, &b); err != nil {
			t.Fatal(err)
		}
		compact, err := json.Marshal(pod)
		if err != nil {
			t.Fatal(err)
		}
		indented, err := json.MarshalIndent(pod, " ", "\t")
		if err != nil {
			t.Fatal(err)
		}
		values = append(values, b.Bytes(), compact, indented)
	}
	return values
}

// whole is what the decoder of whole metadata finds.
func whole(value []byte) (*storedParts, error) {
	f := &storedParts{}
	return f, f.whole(decoder, podKey, value)
}

func TestScan(t *testing.T) {
	for _, value := range pods(t) {
		got, err := scan(decoder, podKey, value)
		if err != nil {
			t.Errorf("%q: %v", value, err)
			continue
		}
		want, err := whole(value)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, want %+v", value, got, want)
		}
	}
}

// FuzzScan has values that anybody may have put into etcd: whatever they are, reading them ends, and what both ways can read they read
// alike.
func FuzzScan(f *testing.F) {
	for _, value := range pods(f) {
		f.Add(value)
		f.Add(value[:len(value)/2])
	}
	for _, text := range []string{"", "{", `{"metadata"`, `{"metadata":{"uid":"\`, `{"metadata":[}`, "k8s\x00", "k8s\x00\x0a\x01", `{"a":1,"metadata":{"uid":"u","x":[1,{"y":"]"}]}}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		got, err := scan(decoder, podKey, value)
		if err != nil || !bytes.HasPrefix(value, []byte("k8s\x00")) {
			return // in JSON a member may come twice, in other cases, or written in escapes: no API server writes it so
		}
		if want, err := whole(value); err == nil && want.uid == got.uid && len(want.owners) != len(got.owners) {
			t.Errorf("%d owners, want %d", len(got.owners), len(want.owners))
		}
	})
}

func TestUnreadable(t *testing.T) {
	for _, value := range []string{
		"", "text", `{"apiVersion":"v1","kind":"Pod","metadata":{}}`, `{"metadata":{"uid":5}}`, `{"metadata":{"uid":"u","ownerReferences":5}}`,
		"k8s\x00\xff\xff", "k8s:enc:aescbc:v1:key:x",
	} {
		if f, err := scan(decoder, podKey, []byte(value)); err == nil {
			t.Errorf("%q is %+v", value, f)
		}
	}
}

func TestID(t *testing.T) {
	const uid = "0fd2a4a4-3c4f-4d5c-8b5c-0a4f6b7c8d9e"
	ids := map[id]bool{}
	for _, u := range []string{uid, "0FD2a4a4-3c4f-4d5c-8b5c-0a4f6b7c8d9e", "{" + uid + "}", "urn:uuid:" + uid, "", "x"} {
		ids[idOf(types.UID(u))] = true
	}
	if len(ids) != 6 {
		t.Errorf("%d UIDs differ, want 6", len(ids))
	}
}

// TestSet holds a set against a slice, beyond the size at which it changes its form.
func TestSet(t *testing.T) {
	var s set
	nodes := make([]*node, 3*fewMost)
	for i := range nodes {
		nodes[i] = &node{}
		if s.has(nodes[i]) {
			t.Fatal("it has what was not added")
		}
		s.add(nodes[i])
	}
	for i, n := range nodes {
		if got := slices.Collect(s.all); len(got) != len(nodes)-i || !slices.Contains(got, n) {
			t.Fatalf("%d are in it, want %d", len(got), len(nodes)-i)
		}
		if s.remove(n) != (i == len(nodes)-1) {
			t.Fatalf("it is empty after %d of %d", i+1, len(nodes))
		}
	}
}
