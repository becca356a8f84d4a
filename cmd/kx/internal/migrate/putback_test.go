package migrate

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// noKinds is a mapper of a server that serves nothing.
type noKinds struct {
	meta.ResettableRESTMapper
	asked int
}

func (m *noKinds) RESTMapping(kind schema.GroupKind, _ ...string) (*meta.RESTMapping, error) {
	m.asked++
	return nil, &meta.NoKindMatchError{GroupKind: kind}
}

// TestKindsOfNoDefinition: objects of a kind that no definition of the snapshot has fail without a wait.
func TestKindsOfNoDefinition(t *testing.T) {
	t.Parallel()
	var objects []*unstructured.Unstructured
	for _, name := range []string{"a", "b"} {
		obj := &unstructured.Unstructured{}
		obj.SetAPIVersion("example.com/v1")
		obj.SetKind("CronTab")
		obj.SetName(name)
		objects = append(objects, obj)
	}
	mapper, failed := &noKinds{}, 0
	err := (&Restorer{Mapper: mapper}).Objects(t.Context(), objects, func(r Restoration) error {
		failed++
		if r.Outcome != "failed" || !strings.Contains(r.Error, "the server does not serve CronTab of example.com/v1") {
			return errors.New(r.Outcome + ": " + r.Error)
		}
		return nil
	})
	if err != nil || failed != 2 || mapper.asked != 2 { // who waits asks again and again
		t.Errorf("%d failed, %d questions: %v", failed, mapper.asked, err)
	}
}
