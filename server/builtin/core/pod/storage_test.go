package pod_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/core/pod"
	"github.com/kx-apiserver/kx/server/internal/builtintest"
	"github.com/kx-apiserver/kx/store/embedded/embedtest"
)

func TestMain(m *testing.M) { embedtest.Main(m) }

type storages struct {
	Pod    *builtin.REST
	Status *builtin.StatusREST
	etcd   *builtintest.Etcd
}

func newStorages(t *testing.T) storages {
	t.Helper()
	etcd := builtintest.NewEtcd(t)
	s := builtintest.Storages(t, builtin.Declare(pod.Resource), etcd)
	return storages{s[""].(*builtin.REST), s["status"].(*builtin.StatusREST), etcd}
}

func newPod(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx:1"}}},
	}
}

func (s storages) create(t *testing.T, p *corev1.Pod) *corev1.Pod {
	t.Helper()
	obj, err := s.Pod.Create(builtintest.Context(t, "default"), builtintest.Defaulted(p), rest.ValidateAllObjectFunc, &metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return builtintest.Own[*corev1.Pod](t, obj)
}

func (s storages) update(t *testing.T, to rest.Updater, p *corev1.Pod) (*corev1.Pod, error) {
	t.Helper()
	obj, _, err := to.Update(builtintest.Context(t, "default"), p.Name, rest.DefaultUpdatedObjectInfo(builtintest.Defaulted(p)), rest.UpdateAdmission{}, &metav1.UpdateOptions{})
	if err != nil {
		return nil, err
	}
	return builtintest.Own[*corev1.Pod](t, obj), nil
}

func (s storages) exists(t *testing.T, name string) bool {
	t.Helper()
	answer, err := s.etcd.Client.Get(t.Context(), s.etcd.Prefix+"/pods/default/"+name)
	if err != nil {
		t.Fatal(err)
	}
	return answer.Count == 1
}

func TestLife(t *testing.T) {
	s := newStorages(t)
	p := newPod("a")
	p.Status.Phase = corev1.PodRunning
	p = s.create(t, p)
	want := corev1.PodStatus{Phase: corev1.PodPending, QOSClass: corev1.PodQOSBestEffort}
	if diff := cmp.Diff(want, p.Status); diff != "" || p.Generation != 1 || !s.exists(t, "a") {
		t.Fatalf("created generation %d, %s", p.Generation, diff)
	}

	// PUT changes an image, and no status.
	changed := p.DeepCopy()
	changed.Spec.Containers[0].Image = "nginx:2"
	changed.Status.Phase = corev1.PodRunning
	changed, err := s.update(t, s.Pod, changed)
	if err != nil {
		t.Fatal(err)
	}
	if changed.Generation != 2 || changed.Status.Phase != corev1.PodPending || changed.Spec.Containers[0].Image != "nginx:2" {
		t.Fatalf("updated to %+v", changed)
	}

	// The subresource changes the status, and nothing else.
	running := changed.DeepCopy()
	running.Spec.Containers[0].Image = "nginx:3"
	running.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.0.0.1"}
	running, err = s.update(t, s.Status, running)
	if err != nil {
		t.Fatal(err)
	}
	want = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.0.0.1", PodIPs: []corev1.PodIP{{IP: "10.0.0.1"}}, QOSClass: corev1.PodQOSBestEffort}
	if diff := cmp.Diff(want, running.Status); diff != "" || running.Generation != 2 || running.Spec.Containers[0].Image != "nginx:2" {
		t.Fatalf("status updated to generation %d, %s", running.Generation, diff)
	}

	// What may not change is refused.
	running.Spec.HostNetwork = true
	_, err = s.update(t, s.Pod, running)
	if !apierrors.IsInvalid(err) {
		t.Fatalf("host network changed: %v", err)
	}
}

func TestDelete(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*corev1.Pod)
		phase  corev1.PodPhase
		grace  *int64
		// want is the grace period that the deleted pod is left with; negative if it is gone at once.
		want int64
	}{
		"unscheduled":     {func(*corev1.Pod) {}, "", nil, -1},
		"scheduled":       {func(p *corev1.Pod) { p.Spec.NodeName = "n" }, "", nil, 30},
		"own period":      {func(p *corev1.Pod) { p.Spec.NodeName, p.Spec.TerminationGracePeriodSeconds = "n", new(int64(7)) }, "", nil, 7},
		"client's period": {func(p *corev1.Pod) { p.Spec.NodeName = "n" }, "", new(int64(3)), 3},
		"now":             {func(p *corev1.Pod) { p.Spec.NodeName = "n" }, "", new(int64(0)), -1},
		"done":            {func(p *corev1.Pod) { p.Spec.NodeName = "n" }, corev1.PodSucceeded, nil, -1},
		"failed":          {func(p *corev1.Pod) { p.Spec.NodeName = "n" }, corev1.PodFailed, new(int64(3)), -1},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStorages(t)
			p := newPod("a")
			tc.change(p)
			p = s.create(t, p)
			if tc.phase != "" {
				p.Status.Phase = tc.phase
				if _, err := s.update(t, s.Status, p); err != nil {
					t.Fatal(err)
				}
			}
			obj, gone, err := s.Pod.Delete(builtintest.Context(t, "default"), "a", rest.ValidateAllObjectFunc, &metav1.DeleteOptions{GracePeriodSeconds: tc.grace})
			if err != nil {
				t.Fatal(err)
			}
			deleted := obj.(*corev1.Pod)
			if gone != (tc.want < 0) || s.exists(t, "a") == gone {
				t.Fatalf("gone: %v, still stored: %v", gone, s.exists(t, "a"))
			}
			if !gone && (deleted.DeletionTimestamp == nil || *deleted.DeletionGracePeriodSeconds != tc.want) {
				t.Errorf("deleted at %v with grace %v, want %d", deleted.DeletionTimestamp, deleted.DeletionGracePeriodSeconds, tc.want)
			}
		})
	}
}

func TestSelectByField(t *testing.T) {
	s := newStorages(t)
	for _, name := range []string{"a", "b"} {
		p := newPod(name)
		p.Spec.NodeName = "node-" + name
		p.Spec.HostNetwork = name == "b"
		s.create(t, p)
	}
	for selector, want := range map[string][]string{
		"spec.nodeName=node-a":                       {"a"},
		"spec.nodeName!=node-a":                      {"b"},
		"spec.hostNetwork=true,status.phase=Pending": {"b"},
		"status.phase=Running":                       nil,
		"status.podIP=,spec.restartPolicy=Always":    {"a", "b"},
	} {
		obj, err := s.Pod.List(builtintest.Context(t, "default"), &metainternalversion.ListOptions{FieldSelector: fields.ParseSelectorOrDie(selector)})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range obj.(*corev1.PodList).Items {
			got = append(got, p.Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", selector, got, want)
		}
	}
}

func TestNames(t *testing.T) {
	s := newStorages(t)
	if !slices.Equal(s.Pod.ShortNames(), []string{"po"}) || !slices.Equal(s.Pod.Categories(), []string{"all"}) ||
		s.Pod.GetSingularName() != "pod" || !s.Pod.NamespaceScoped() || !s.Pod.DeleteReturnsDeletedObject() {
		t.Error("pods are known by other names")
	}
}
