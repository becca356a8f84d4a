package controller

import (
	"context"
	"errors"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/controller/feed"
	"github.com/kx-apiserver/kx/server/controller/work"
)

// claimProtection keeps claims of persistent volumes while pods use them. It also sets the condition Unused of
// bound claims.
//
// A pod uses a claim if it is on a node and names the claim, or has it for an ephemeral volume. The controller
// remembers only the claim names of pods, so that the end of a pod wakes these claims and no others. The pods
// that exist at that moment decide whether a claim is used: if they can't be read, the claim stays. A claim
// that can't be read or written delays no other.
var claimProtection = controller{
	name: "persistentvolumeclaim-protection-controller", short: "pvc-protection", does: "keep claims of volumes while pods use them",
	account: "pvc-protection-controller", workers: 1, follows: []schema.GroupVersionResource{claimResource, pods}, make: protectClaims,
}

var claimResource = corev1.SchemeGroupVersion.WithResource("persistentvolumeclaims")

const claimFinalizer = "kubernetes.io/pvc-protection"

// claimProtector keeps claims that pods use.
type claimProtector struct {
	*work.Loop[types.NamespacedName]
	kit    *work.Kit
	claims *work.Objects[*corev1.PersistentVolumeClaim]
	pods   *work.Objects[*corev1.Pod]

	// users holds the pods that name claims, and round counts the looks at all keys. Only the feed's goroutine
	// uses them.
	users map[types.NamespacedName]claimUser
	round int
}

// claimUser is a pod with the names of its claims.
type claimUser struct {
	claims []string
	round  int
}

func protectClaims(kit *work.Kit, self controller) follower {
	writer := self.writer(kit)
	c := &claimProtector{
		kit: kit, users: map[types.NamespacedName]claimUser{},
		claims: work.ObjectsOf[*corev1.PersistentVolumeClaim](kit, writer, claimResource),
		pods:   work.ObjectsOf[*corev1.Pod](kit, writer, pods),
	}
	c.Loop = loopOf(kit, self, c.try)
	return c
}

// Begin begins a look at all pods and claims.
func (c *claimProtector) Begin() { c.round++ }

// End wakes the claims of pods that are gone.
func (c *claimProtector) End(int64) {
	for pod, u := range c.users {
		if u.round != c.round {
			c.wake(pod.Namespace, u.claims, 0)
			delete(c.users, pod)
		}
	}
}

// Put queues a claim, or the claims that a pod names or named.
func (c *claimProtector) Put(p feed.Pair) {
	if strings.HasPrefix(p.Key, pods.Resource+"/") {
		c.putPod(p)
		return
	}
	if p.Value != nil {
		namespace, name := p.Name(claimResource.GroupResource())
		c.wake(namespace, []string{name}, p.Revision)
	}
}

func (c *claimProtector) putPod(p feed.Pair) {
	namespace, name := p.Name(pods.GroupResource())
	key := types.NamespacedName{Namespace: namespace, Name: name}
	was := c.users[key]
	delete(c.users, key)
	is := claimUser{round: c.round}
	if p.Value != nil {
		pod, err := work.Value[*corev1.Pod](c.kit, p.Key, p.Value)
		if err != nil {
			c.kit.Log.Warn("a pod cannot be read: the claims of its namespace stay", "key", p.Key, "error", err)
			is.claims = was.claims
		} else {
			is.claims = claimsOf(pod)
		}
	}
	if len(is.claims) > 0 {
		c.users[key] = is
	}
	c.wake(namespace, was.claims, p.Revision)
	c.wake(namespace, is.claims, p.Revision)
}

func (c *claimProtector) wake(namespace string, claims []string, cause int64) {
	for _, name := range claims {
		c.Add(types.NamespacedName{Namespace: namespace, Name: name}, cause)
	}
}

// claimsOf returns the names of a pod's claims.
func claimsOf(pod *corev1.Pod) (names []string) {
	for i := range pod.Spec.Volumes {
		switch v := &pod.Spec.Volumes[i]; {
		case v.PersistentVolumeClaim != nil:
			names = append(names, v.PersistentVolumeClaim.ClaimName)
		case v.Ephemeral != nil:
			names = append(names, ephemeralClaim(pod, v))
		}
	}
	return names
}

// ephemeralClaim returns the name of the claim for an ephemeral volume of a pod.
func ephemeralClaim(pod *corev1.Pod, v *corev1.Volume) string { return pod.Name + "-" + v.Name }

var (
	protectionMissing = trace.Because("protection-missing",
		"nothing keeps it from being deleted while it is used",
		"还没有什么能阻止它在使用中被删除")
	notInUse = trace.Because("not-in-use",
		"it is being deleted, and is not in use",
		"它正在删除，而且没有被使用")
)

// try adds the finalizer to a claim, or removes it from a deleted claim that is not used.
func (c *claimProtector) try(ctx context.Context, key types.NamespacedName, cause int64) error {
	claim, found, err := c.claims.Get(ctx, key.Namespace, key.Name)
	if err != nil || !found {
		return err
	}
	if work.LacksFinalizer(claim, claimFinalizer) {
		err = c.claims.Update(ctx, claim, "", work.Decide(cause, protectionMissing),
			func(now *corev1.PersistentVolumeClaim) (bool, error) {
				return work.AddFinalizer(now, claimFinalizer), nil
			})
	}
	bound := claim.DeletionTimestamp == nil && claim.Status.Phase == corev1.ClaimBound
	deleted := work.WaitsForFinalizer(claim, claimFinalizer)
	if !bound && !deleted {
		return err
	}
	pods, listErr := c.pods.List(ctx, key.Namespace)
	if listErr != nil {
		return errors.Join(err, listErr)
	}
	if bound {
		return errors.Join(err,
			c.tellUse(ctx, claim, slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return refersToClaim(pod, claim) }), cause))
	}
	if slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return usesClaim(pod, claim) }) {
		return err
	}
	return c.claims.Update(ctx, claim, "", work.Decide(cause, notInUse), func(now *corev1.PersistentVolumeClaim) (bool, error) {
		return work.RemoveFinalizer(now, claimFinalizer), nil
	})
}

// namesClaim reports whether a pod has a volume with the claim. An ephemeral volume counts only if ephemeral is
// set and the claim was created for this pod.
func namesClaim(pod *corev1.Pod, claim *corev1.PersistentVolumeClaim, ephemeral bool) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
		if v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == claim.Name {
			return true
		}
		return ephemeral && v.Ephemeral != nil && ephemeralClaim(pod, &v) == claim.Name && metav1.IsControlledBy(claim, pod)
	})
}

// usesClaim reports whether a pod keeps a claim from being deleted. Only pods on a node do: no kubelet starts a
// pod with a claim that is being deleted. A pod that has left its node, and only waits for finalizers, may
// itself wait for the claim of its ephemeral volume.
func usesClaim(pod *corev1.Pod, claim *corev1.PersistentVolumeClaim) bool {
	shutDown := pod.DeletionTimestamp != nil && pod.DeletionGracePeriodSeconds != nil && *pod.DeletionGracePeriodSeconds == 0
	return pod.Spec.NodeName != "" && namesClaim(pod, claim, !shutDown)
}

// refersToClaim reports whether a pod that has not ended names a claim, whether or not it has a node.
func refersToClaim(pod *corev1.Pod, claim *corev1.PersistentVolumeClaim) bool {
	return !podEnded(pod) && namesClaim(pod, claim, true)
}

// podEnded reports whether all containers of a pod have ended.
func podEnded(pod *corev1.Pod) bool {
	if pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded {
		return true
	}
	runs := func(s corev1.ContainerStatus) bool { return s.State.Terminated == nil && s.State.Waiting == nil }
	return pod.DeletionTimestamp != nil && !slices.ContainsFunc(pod.Status.InitContainerStatuses, runs) &&
		!slices.ContainsFunc(pod.Status.ContainerStatuses, runs) && !slices.ContainsFunc(pod.Status.EphemeralContainerStatuses, runs)
}

var useChanged = trace.Because("use-changed",
	"whether a pod refers to the claim has changed",
	"是否有 Pod 引用该 PVC，情况已经改变")

// tellUse sets the condition Unused of a bound claim.
func (c *claimProtector) tellUse(ctx context.Context, claim *corev1.PersistentVolumeClaim, used bool, cause int64) error {
	if !useIsNews(claim, used) {
		return nil
	}
	condition := corev1.PersistentVolumeClaimCondition{
		Type: corev1.PersistentVolumeClaimUnused, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now(),
		Reason: "NoPodsUsingPVC", Message: "No pods are currently referencing this PVC",
	}
	if used {
		condition.Status, condition.Reason, condition.Message =
			corev1.ConditionFalse, "PodUsingPVC", "A pod is currently referencing this PVC"
	}
	return c.claims.Update(ctx, claim, "status", work.Decide(cause, useChanged),
		func(now *corev1.PersistentVolumeClaim) (bool, error) {
			if !useIsNews(now, used) || now.DeletionTimestamp != nil || now.Status.Phase != corev1.ClaimBound {
				return false, nil
			}
			if i := unusedCondition(now); i >= 0 {
				now.Status.Conditions[i] = condition
			} else {
				now.Status.Conditions = append(now.Status.Conditions, condition)
			}
			return true, nil
		})
}

// unusedCondition returns the index of the condition, -1 if there is none.
func unusedCondition(claim *corev1.PersistentVolumeClaim) int {
	return slices.IndexFunc(claim.Status.Conditions, func(c corev1.PersistentVolumeClaimCondition) bool {
		return c.Type == corev1.PersistentVolumeClaimUnused
	})
}

// useIsNews reports whether the condition of a claim needs an update. As upstream, a condition that is neither
// true nor false stays if the claim is used.
func useIsNews(claim *corev1.PersistentVolumeClaim, used bool) bool {
	i := unusedCondition(claim)
	if i < 0 {
		return true
	}
	isUnused := claim.Status.Conditions[i].Status == corev1.ConditionTrue
	return isUnused == used
}
