package controller_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kx-apiserver/kx/server/internal/controllertest"
)

type protectionStage struct{ *controllertest.Stage }

// claim makes a claim that nobody provides for; with a volume, it names that.
func (s protectionStage) claim(name, volume string, finalizers ...string) {
	s.T.Helper()
	class := "claims-" + s.Namespace // no volume has it
	if volume != "" {
		class = "pair-" + s.Namespace
	}
	must[*corev1.PersistentVolumeClaim](s.T)(s.CoreV1().PersistentVolumeClaims(s.Namespace).Create(s.T.Context(), &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: finalizers},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: &class, VolumeName: volume, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Mi")}},
		},
	}, metav1.CreateOptions{}))
}

// volume makes a volume for a claim. Volumes are in no namespace.
func (s protectionStage) volume(name, claim string) string {
	s.T.Helper()
	v := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: s.Namespace + "-" + name},
		Spec: corev1.PersistentVolumeSpec{
			StorageClassName:              "volumes-" + s.Namespace, // no claim has it
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Mi")},
			AccessModes:                   []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			PersistentVolumeSource:        corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/tmp"}},
		},
	}
	if claim != "" {
		v.Spec.StorageClassName = "pair-" + s.Namespace
		v.Spec.ClaimRef = &corev1.ObjectReference{Namespace: s.Namespace, Name: claim}
	}
	must[*corev1.PersistentVolume](s.T)(s.CoreV1().PersistentVolumes().Create(s.T.Context(), v, metav1.CreateOptions{}))
	return v.Name
}

const boundStatus = `{"status":{"phase":"Bound"}}`

// bind binds a claim and a volume, which only a cluster with a binder does itself.
func (s protectionStage) bind(claim string) {
	s.T.Helper()
	volume := s.volume(claim, claim)
	s.claim(claim, volume)
	must[*corev1.PersistentVolume](s.T)(s.CoreV1().PersistentVolumes().Patch(s.T.Context(), volume, types.MergePatchType, []byte(boundStatus), metav1.PatchOptions{}, "status"))
	must[*corev1.PersistentVolumeClaim](s.T)(s.CoreV1().PersistentVolumeClaims(s.Namespace).Patch(s.T.Context(), claim, types.MergePatchType, []byte(boundStatus), metav1.PatchOptions{}, "status"))
}

// pod makes a pod that names claims, on a node or on none.
func (s protectionStage) pod(name, node string, claims ...string) {
	s.T.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{
		NodeName: node, Containers: []corev1.Container{{Name: "c", Image: "i"}},
	}}
	for _, claim := range claims {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: claim, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
		}})
	}
	must[*corev1.Pod](s.T)(s.CoreV1().Pods(s.Namespace).Create(s.T.Context(), pod, metav1.CreateOptions{}))
}

func (s protectionStage) end(pod string, phase corev1.PodPhase) {
	s.T.Helper()
	must[*corev1.Pod](s.T)(s.CoreV1().Pods(s.Namespace).Patch(s.T.Context(), pod, types.MergePatchType,
		[]byte(`{"status":{"phase":"`+string(phase)+`"}}`), metav1.PatchOptions{}, "status"))
}

func (s protectionStage) removePod(name string) {
	s.T.Helper()
	if err := s.CoreV1().Pods(s.Namespace).Delete(s.T.Context(), name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}); err != nil {
		s.T.Fatal(err)
	}
}

func (s protectionStage) remove(claims ...string) {
	s.T.Helper()
	for _, name := range claims {
		if err := s.CoreV1().PersistentVolumeClaims(s.Namespace).Delete(s.T.Context(), name, metav1.DeleteOptions{}); err != nil {
			s.T.Fatal(err)
		}
	}
}

func (s protectionStage) removeVolume(name string) {
	s.T.Helper()
	if err := s.CoreV1().PersistentVolumes().Delete(s.T.Context(), s.Namespace+"-"+name, metav1.DeleteOptions{}); err != nil {
		s.T.Fatal(err)
	}
}

const (
	someNode = "no-such-node"
)

var protectionScenes = map[string]func(s protectionStage){
	"claims are protected": func(s protectionStage) {
		s.claim("new", "")
		s.claim("held", "", held)
		s.claim("taken", "")
		s.AwaitPart("taken Pending, has kubernetes.io/pvc-protection")
		must[*corev1.PersistentVolumeClaim](s.T)(s.CoreV1().PersistentVolumeClaims(s.Namespace).Patch(s.T.Context(), "taken",
			types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}))
	},
	"unused claims go": func(s protectionStage) {
		s.claim("unused", "")
		s.claim("held", "", held)
		s.claim("elsewhere", "")
		s.pod("elsewhere", "", "elsewhere")
		s.AwaitPart("unused Pending, has kubernetes.io/pvc-protection")
		s.AwaitPart("held Pending, has example.com/held kubernetes.io/pvc-protection")
		s.AwaitPart("elsewhere Pending, has kubernetes.io/pvc-protection")
		s.remove("unused", "held", "elsewhere")
	},
	"used claims stay": func(s protectionStage) {
		for _, name := range []string{"used", "ended", "failed", "freed"} {
			s.claim(name, "")
			s.pod(name, someNode, name)
			s.AwaitPart(name + " Pending, has kubernetes.io/pvc-protection")
		}
		s.end("ended", corev1.PodSucceeded)
		s.end("failed", corev1.PodFailed)
		s.remove("used", "ended", "failed", "freed")
		s.AwaitPart("freed Pending deleted")
		s.removePod("freed")
	},
	"the last of two pods": func(s protectionStage) {
		s.claim("one", "")
		s.claim("two", "")
		s.pod("a", someNode, "one", "two")
		s.pod("b", someNode, "two")
		s.AwaitPart("one Pending, has kubernetes.io/pvc-protection")
		s.AwaitPart("two Pending, has kubernetes.io/pvc-protection")
		s.remove("one", "two")
		s.AwaitPart("one Pending deleted")
		s.AwaitPart("two Pending deleted")
		s.removePod("a")
	},
	"use of bound claims": func(s protectionStage) {
		for _, name := range []string{"idle", "used", "ended", "waiting", "again"} {
			s.bind(name)
			s.AwaitPart(name + " Bound Unused=True")
		}
		s.pod("used", someNode, "used")
		s.pod("ended", someNode, "ended")
		s.pod("waiting", "", "waiting")
		s.pod("again", someNode, "again")
		s.AwaitPart("again Bound Unused=False")
		s.AwaitPart("ended Bound Unused=False")
		s.end("ended", corev1.PodSucceeded)
		s.removePod("again")
	},
	"volumes are protected": func(s protectionStage) {
		s.volume("new", "")
		s.bind("bound")
		s.volume("taken", "")
		s.AwaitPart("taken Available, has kubernetes.io/pv-protection")
		must[*corev1.PersistentVolume](s.T)(s.CoreV1().PersistentVolumes().Patch(s.T.Context(), s.Namespace+"-taken",
			types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}))
	},
	"volumes stay while they are bound": func(s protectionStage) {
		s.bind("bound")
		s.volume("free", "")
		s.AwaitPart("bound Bound, has kubernetes.io/pv-protection")
		s.AwaitPart("free Available, has kubernetes.io/pv-protection")
		s.removeVolume("bound")
		s.removeVolume("free")
	},
}

// protectionState is what there is in words. A volume is Available once somebody says so, which no binder does in kx.
func protectionState(s *controllertest.Stage) (lines []string) {
	s.T.Helper()
	is := func(obj metav1.Object, phase string) string {
		line := obj.GetName() + " " + phase
		if obj.GetDeletionTimestamp() != nil {
			line += " deleted"
		}
		return line
	}
	has := func(obj metav1.Object) string {
		return ", has " + strings.Join(slices.Sorted(slices.Values(obj.GetFinalizers())), " ")
	}
	claims := must[*corev1.PersistentVolumeClaimList](s.T)(s.CoreV1().PersistentVolumeClaims(s.Namespace).List(s.T.Context(), metav1.ListOptions{}))
	for i := range claims.Items {
		claim := &claims.Items[i]
		line := "claim " + is(claim, string(claim.Status.Phase))
		for _, c := range claim.Status.Conditions {
			line += fmt.Sprintf(" %s=%s %s %q", c.Type, c.Status, c.Reason, c.Message)
		}
		lines = append(lines, line+has(claim))
	}
	volumes := must[*corev1.PersistentVolumeList](s.T)(s.CoreV1().PersistentVolumes().List(s.T.Context(), metav1.ListOptions{}))
	for i := range volumes.Items {
		volume := &volumes.Items[i]
		phase := volume.Status.Phase
		if phase == corev1.VolumePending {
			phase = corev1.VolumeAvailable
		}
		if strings.HasPrefix(volume.Name, s.Namespace+"-") {
			lines = append(lines, "volume "+is(volume, string(phase))+has(volume))
		}
	}
	return lines
}

// TestProtectionUpstream plays scenes, and waits for what is left of each with a kube-apiserver v1.37.1 and its kube-controller-manager.
func TestProtectionUpstream(t *testing.T) {
	t.Parallel()
	all := controllertest.Scenes{
		Answers: "protection.json", Play: map[string]func(*controllertest.Stage){}, State: protectionState, Quiet: 4 * time.Second,
	}
	for name, play := range protectionScenes {
		all.Play[name] = func(s *controllertest.Stage) { play(protectionStage{s}) }
	}
	all.Compare(t, ordinary.Clients)
}
