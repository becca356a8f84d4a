package controller

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestEphemeralClaims has a pod with a volume for which a claim is made: only that claim is the pod's, and only until the pod is gone from its node.
func TestEphemeralClaims(t *testing.T) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "pod", UID: "1"},
		Spec:       corev1.PodSpec{NodeName: "n", Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}}}},
	}
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "pod-data"}}
	if usesClaim(pod, claim) || refersToClaim(pod, claim) {
		t.Error("somebody else's claim has the name that the pod's would have, and is used")
	}
	claim.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "pod", UID: "1", Controller: new(true)}}
	if !usesClaim(pod, claim) || !refersToClaim(pod, claim) {
		t.Error("the pod's claim is not used")
	}
	if got := claimsOf(pod); len(got) != 1 || got[0] != claim.Name {
		t.Errorf("the claims are %v", got)
	}
	now := metav1.Now()
	pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &now, new(int64(0))
	if usesClaim(pod, claim) {
		t.Error("a pod that is gone from its node uses its claim")
	}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
	if !refersToClaim(pod, claim) {
		t.Error("a container runs, and the claim is not referred to")
	}
	pod.Status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}
	if refersToClaim(pod, claim) {
		t.Error("no container runs, and the claim is referred to")
	}
}
