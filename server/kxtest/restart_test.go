package kxtest_test

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/server/kxtest"
)

// TestRestart: a cache whose server ends and comes back has what is written then. Data, users and address stay.
func TestRestart(t *testing.T) {
	t.Parallel()
	s := kxtest.Start(t, kxtest.CRDs("testdata/crd"), kxtest.Objects("testdata/objects"))
	alice := s.User("alice", "system:masters")
	maps := clientOf(t, alice).CoreV1().ConfigMaps("default")
	m, err := maps.Create(within(t), configMap("settings"), metav1.CreateOptions{})
	must(t, err)
	cached := follow(t, maps)
	cached.until(t, "b")

	s.Restart(t)

	same, err := clientOf(t, alice).CoreV1().ConfigMaps("default").Get(within(t), "settings", metav1.GetOptions{})
	must(t, err)
	if same.UID != m.UID || same.ResourceVersion != m.ResourceVersion {
		t.Errorf("%+v is not %+v", same, m)
	}
	same.Data["a"] = "after the restart"
	_, err = clientOf(t, s.Config()).CoreV1().ConfigMaps("default").Update(within(t), same, metav1.UpdateOptions{})
	must(t, err)
	cached.until(t, "after the restart")
	s.MustSee(t, "verb:watch resource:configmaps user:alice") // it began again
	annotate(t, alice, "custom resources are served too")
}

// TestRestartForgets: what a server has in memory ends with its process. What is stored can be forked and rewound after
// a restart, and restarted once more.
func TestRestartForgets(t *testing.T) {
	t.Parallel()
	s := kxtest.Start(t)
	maps := clientOf(t, s.Config()).CoreV1().ConfigMaps("default")
	read := func() error {
		_, err := maps.Get(within(t), "none", metav1.GetOptions{})
		return err
	}
	gone := s.Fault(t, kxtest.Conflict().On("get", "configmaps"))
	if err := read(); !apierrors.IsConflict(err) {
		t.Errorf("the fault: %v", err)
	}
	s.Restart(t)
	if err := read(); !apierrors.IsNotFound(err) {
		t.Errorf("the fault is still there: %v", err)
	}
	if n := s.Count(t, "verb:get resource:configmaps"); n != 1 || gone.Hits() != 1 {
		t.Errorf("%d requests since then, %d hits before", n, gone.Hits())
	}
	clean := s.Snapshot(t)
	_, err := maps.Create(within(t), configMap("second"), metav1.CreateOptions{})
	must(t, err)
	s.Restart(t)
	fork := clientOf(t, s.Fork(t).Config())
	_, err = fork.CoreV1().ConfigMaps("default").Get(within(t), "second", metav1.GetOptions{})
	must(t, err)
	if said := failing(t, func(t testing.TB) { s.Rewind(t, clean) }); !strings.Contains(said, "not found") {
		t.Errorf("a snapshot of the process before: %q", said)
	}
	clean = s.Snapshot(t)
	must(t, maps.Delete(within(t), "second", metav1.DeleteOptions{}))
	s.Rewind(t, clean)
	_, err = maps.Get(within(t), "second", metav1.GetOptions{})
	must(t, err)
	said := failing(t, func(t testing.TB) { kxtest.Start(t, kxtest.Shared()).Restart(t) })
	if !strings.Contains(said, "other tests") {
		t.Errorf("a shared server: %q", said)
	}
	said = failing(t, func(t testing.TB) {
		s.Fault(t, kxtest.Conflict().On("update", "configmaps"))
		s.Restart(t)
	})
	if !strings.Contains(said, "hit no request") {
		t.Errorf("a fault that can't hit any more: %q", said)
	}
}
