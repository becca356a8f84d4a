package protection

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/controller/feed"
	"github.com/kx-apiserver/kx/server/controller/work"
)

const (
	// Claims is what kube-controller-manager calls the controller of claims.
	Claims        = "persistentvolumeclaim-protection-controller"
	claimsAccount = "pvc-protection-controller"

	claimFinalizer = "kubernetes.io/pvc-protection"
)

// ClaimResource and PodResource are what the controller of claims follows.
var (
	ClaimResource = corev1.SchemeGroupVersion.WithResource("persistentvolumeclaims")
	PodResource   = corev1.SchemeGroupVersion.WithResource("pods")
)

// ClaimController protects claims.
type ClaimController struct {
	kit    *work.Kit
	claims *work.Objects[*corev1.PersistentVolumeClaim]
	pods   *work.Objects[*corev1.Pod]
	log    *slog.Logger
	loop   *work.Loop[types.NamespacedName]

	// users are the pods that name claims, and round counts the looks at all. Only the feed's goroutine uses them.
	users map[types.NamespacedName]user
	round int
}

// user is a pod with the names of its claims.
type user struct {
	claims []string
	round  int
}

// NewClaims makes a controller of claims, which does nothing until it runs.
func NewClaims(kit *work.Kit) *ClaimController {
	writer := kit.Writer(Claims, claimsAccount)
	c := &ClaimController{
		kit: kit, log: kit.Log, users: map[types.NamespacedName]user{},
		claims: work.ObjectsOf[*corev1.PersistentVolumeClaim](kit, writer, ClaimResource),
		pods:   work.ObjectsOf[*corev1.Pod](kit, writer, PodResource),
	}
	c.loop = work.NewLoop(Claims, 1, kit.Metrics, kit.Log, c.try)
	return c
}

// Run works until ctx ends.
func (c *ClaimController) Run(ctx context.Context) { c.loop.Run(ctx) }

// State returns what it is about.
func (c *ClaimController) State() work.State { return c.loop.State() }

// Begin begins a look at all pods and claims.
func (c *ClaimController) Begin() { c.round++ }

// End wakes the claims of pods that are gone.
func (c *ClaimController) End(int64) {
	for pod, u := range c.users {
		if u.round != c.round {
			c.wake(pod.Namespace, u.claims, 0)
			delete(c.users, pod)
		}
	}
}

// Put has a claim looked at, or the claims that a pod names or named.
func (c *ClaimController) Put(p feed.Pair) {
	if strings.HasPrefix(p.Key, PodResource.Resource+"/") {
		c.putPod(p)
		return
	}
	if p.Value != nil {
		namespace, name := p.Name(ClaimResource.GroupResource())
		c.wake(namespace, []string{name}, p.Revision)
	}
}

func (c *ClaimController) putPod(p feed.Pair) {
	namespace, name := p.Name(PodResource.GroupResource())
	key := types.NamespacedName{Namespace: namespace, Name: name}
	was := c.users[key]
	delete(c.users, key)
	is := user{round: c.round}
	if p.Value != nil {
		pod, err := work.Value[*corev1.Pod](c.kit, p.Key, p.Value)
		if err != nil {
			c.log.Warn("a pod cannot be read: the claims of its namespace stay", "key", p.Key, "error", err)
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

func (c *ClaimController) wake(namespace string, claims []string, cause int64) {
	for _, name := range claims {
		c.loop.Add(types.NamespacedName{Namespace: namespace, Name: name}, cause)
	}
}

// claimsOf are the names of a pod's claims.
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

// ephemeralClaim is the name of the claim that is made for a volume of a pod.
func ephemeralClaim(pod *corev1.Pod, v *corev1.Volume) string { return pod.Name + "-" + v.Name }

// try keeps a claim, or lets it go.
func (c *ClaimController) try(ctx context.Context, key types.NamespacedName, cause int64) error {
	claim, found, err := c.claims.Get(ctx, key.Namespace, key.Name)
	if err != nil || !found {
		return err
	}
	if work.LacksFinalizer(claim, claimFinalizer) {
		err = c.claims.Update(ctx, claim, "", work.Decide(cause, trace.ProtectionMissing), func(now *corev1.PersistentVolumeClaim) (bool, error) {
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
		return errors.Join(err, c.tellUse(ctx, claim, slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return refers(pod, claim) }), cause))
	}
	if slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return uses(pod, claim) }) {
		return err
	}
	return c.claims.Update(ctx, claim, "", work.Decide(cause, trace.NotInUse), func(now *corev1.PersistentVolumeClaim) (bool, error) {
		return work.RemoveFinalizer(now, claimFinalizer), nil
	})
}

// names says whether a volume of a pod is a claim, which an ephemeral one is only if it was made for this pod.
func names(pod *corev1.Pod, claim *corev1.PersistentVolumeClaim, ephemeral bool) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
		if v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == claim.Name {
			return true
		}
		return ephemeral && v.Ephemeral != nil && ephemeralClaim(pod, &v) == claim.Name && metav1.IsControlledBy(claim, pod)
	})
}

// uses says whether a pod keeps a claim from going: one on a node, as no kubelet starts a pod with a claim that is being deleted. A pod
// that is gone from its node, and only waits for finalizers, may wait for the claim of its ephemeral volume.
func uses(pod *corev1.Pod, claim *corev1.PersistentVolumeClaim) bool {
	shutDown := pod.DeletionTimestamp != nil && pod.DeletionGracePeriodSeconds != nil && *pod.DeletionGracePeriodSeconds == 0
	return pod.Spec.NodeName != "" && names(pod, claim, !shutDown)
}

// refers says whether a pod that has not ended has a claim, wherever it is.
func refers(pod *corev1.Pod, claim *corev1.PersistentVolumeClaim) bool {
	return !ended(pod) && names(pod, claim, true)
}

// ended says whether no container of a pod runs any more.
func ended(pod *corev1.Pod) bool {
	if pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded {
		return true
	}
	runs := func(s corev1.ContainerStatus) bool { return s.State.Terminated == nil && s.State.Waiting == nil }
	return pod.DeletionTimestamp != nil && !slices.ContainsFunc(pod.Status.InitContainerStatuses, runs) &&
		!slices.ContainsFunc(pod.Status.ContainerStatuses, runs) && !slices.ContainsFunc(pod.Status.EphemeralContainerStatuses, runs)
}

// tellUse sets the condition Unused of a bound claim.
func (c *ClaimController) tellUse(ctx context.Context, claim *corev1.PersistentVolumeClaim, used bool, cause int64) error {
	if !isNews(claim, used) {
		return nil
	}
	condition := corev1.PersistentVolumeClaimCondition{
		Type: corev1.PersistentVolumeClaimUnused, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now(),
		Reason: "NoPodsUsingPVC", Message: "No pods are currently referencing this PVC",
	}
	if used {
		condition.Status, condition.Reason, condition.Message = corev1.ConditionFalse, "PodUsingPVC", "A pod is currently referencing this PVC"
	}
	return c.claims.Update(ctx, claim, "status", work.Decide(cause, trace.UseChanged), func(now *corev1.PersistentVolumeClaim) (bool, error) {
		if !isNews(now, used) || now.DeletionTimestamp != nil || now.Status.Phase != corev1.ClaimBound {
			return false, nil
		}
		if i := unused(now); i >= 0 {
			now.Status.Conditions[i] = condition
		} else {
			now.Status.Conditions = append(now.Status.Conditions, condition)
		}
		return true, nil
	})
}

// unused is the index of the condition, -1 if there is none.
func unused(claim *corev1.PersistentVolumeClaim) int {
	return slices.IndexFunc(claim.Status.Conditions, func(c corev1.PersistentVolumeClaimCondition) bool {
		return c.Type == corev1.PersistentVolumeClaimUnused
	})
}

// isNews says whether the condition of a claim is to be set. One that is neither true nor false is left where the claim is used, as upstream
// does.
func isNews(claim *corev1.PersistentVolumeClaim, used bool) bool {
	i := unused(claim)
	if i < 0 {
		return true
	}
	isUnused := claim.Status.Conditions[i].Status == corev1.ConditionTrue
	return isUnused == used
}
