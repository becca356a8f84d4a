package controller

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/controller/feed"
	"github.com/kx-apiserver/kx/server/controller/work"
)

// legacyTokenCleaning retires unused tokens of service accounts in Secrets. A Secret first gets the label
// kubernetes.io/legacy-token-invalid-since: from that day on, authentication refuses the token. Later the
// Secret is deleted.
//
// It retires only tokens that were created automatically for an account, whose list names their Secret, as in
// Kubernetes before 1.24. A token that a client requested stays. So does one whose Secret a pod names. A Secret
// is labelled and deleted only in its judged state. If it changes meanwhile, it is judged again. A Secret is
// not examined before its day comes. From then on, a Secret that stays is examined once a day.
var legacyTokenCleaning = controller{
	name: "legacy-serviceaccount-token-cleaner-controller", short: "legacy-service-account-token-cleaner",
	does: "retire tokens of service accounts that nobody uses", account: "legacy-service-account-token-cleaner",
	follows: []schema.GroupVersionResource{secrets}, workers: 5, make: cleanLegacyTokens,
}

const (
	// unusedFor is the time that a token may be unused, and then invalid, before it goes: upstream's default.
	unusedFor = 365 * 24 * time.Hour
	// lookAgain is the pause between looks at a Secret whose day has come but that stays for now. Upstream has
	// the same.
	lookAgain = 24 * time.Hour
)

// legacyTokenCleaner marks tokens in Secrets that are not used, and deletes them later.
type legacyTokenCleaner struct {
	*work.Loop[types.NamespacedName]
	kit      *work.Kit
	secrets  *work.Objects[*corev1.Secret]
	accounts *work.Objects[*corev1.ServiceAccount]
	pods     *work.Objects[*corev1.Pod]
	maps     *work.Objects[*corev1.ConfigMap]
}

func cleanLegacyTokens(kit *work.Kit, self controller) follower {
	writer := self.writer(kit)
	c := &legacyTokenCleaner{
		kit: kit, secrets: work.ObjectsOf[*corev1.Secret](kit, writer, secrets),
		maps:     work.ObjectsOf[*corev1.ConfigMap](kit, writer, configMaps),
		accounts: work.ObjectsOf[*corev1.ServiceAccount](kit, writer, accounts), pods: work.ObjectsOf[*corev1.Pod](kit, writer, pods),
	}
	c.Loop = loopOf(kit, self, c.try)
	return c
}

// Begin and End do nothing: each key stands for itself.
func (c *legacyTokenCleaner) Begin() {}

func (c *legacyTokenCleaner) End(int64) {}

// Put schedules the look at a Secret with a token, for its day.
func (c *legacyTokenCleaner) Put(p feed.Pair) {
	if p.Value == nil {
		return
	}
	s, err := work.Value[*corev1.Secret](c.kit, p.Key, p.Value)
	if err != nil || s.Type != corev1.SecretTypeServiceAccountToken || s.DeletionTimestamp != nil {
		return // unreadable until it is written again
	}
	cause := p.Revision
	if !p.Changed {
		cause = 0
	}
	if comes, ok := tokenComesUp(s); ok {
		c.AddAfter(types.NamespacedName{Namespace: s.Namespace, Name: s.Name}, cause, max(0, time.Until(comes)))
	}
}

// tokenComesUp returns the time from which a token counts as unused for long enough. It is unknown if the label
// holds no day.
func tokenComesUp(s *corev1.Secret) (time.Time, bool) {
	comes := s.CreationTimestamp.Add(unusedFor)
	used, ok := s.Labels[tokenUsedLabel]
	if !ok {
		return comes, true
	}
	over, ok := longUnusedAt(used)
	if over.After(comes) {
		comes = over
	}
	return comes, ok
}

// longUnusedAt returns the time at which a day is long enough ago.
func longUnusedAt(text string) (time.Time, bool) {
	began, err := time.Parse(tokenDay, text)
	return began.AddDate(0, 0, 1).Add(unusedFor), err == nil
}

var (
	tokenUnused = trace.Because("token-unused",
		"nobody has used its token for a year",
		"它的令牌一年来无人使用")
	tokenInvalid = trace.Because("token-invalid",
		"its token has been invalid for a year",
		"它的令牌失效已有一年")
)

// try retires a token, or schedules the next look.
func (c *legacyTokenCleaner) try(ctx context.Context, name types.NamespacedName, cause int64) error {
	s, found, err := c.secrets.Get(ctx, name.Namespace, name.Name)
	if err != nil {
		return fmt.Errorf("read the secret %s: %w", name, err)
	}
	if !found || s.Type != corev1.SecretTypeServiceAccountToken || s.DeletionTimestamp != nil {
		return nil
	}
	comes, ok := tokenComesUp(s)
	if !ok {
		return nil // it is looked at when the label changes
	}
	tracked, err := c.trackedLongSince(ctx)
	if err != nil {
		return err
	}
	if tracked.After(comes) {
		comes = tracked
	}
	if left := time.Until(comes); left > 0 {
		return work.After(left)
	}
	if needed, err := c.needed(ctx, s); err != nil || needed {
		c.AddAfter(name, 0, lookAgain)
		return err
	}
	gone, ok := longUnusedAt(s.Labels[tokenInvalidLabel])
	if !ok {
		return c.secrets.Update(ctx, s, "", work.Decide(cause, tokenUnused), func(now *corev1.Secret) (bool, error) {
			if now.ResourceVersion != s.ResourceVersion {
				return false, nil // it is looked at again because of that
			}
			metav1.SetMetaDataLabel(&now.ObjectMeta, tokenInvalidLabel, time.Now().UTC().Format(tokenDay))
			return true, nil
		})
	}
	if left := time.Until(gone); left > 0 {
		return work.After(left)
	}
	return c.secrets.Delete(ctx, s, metav1.DeletePropagationBackground, work.Decide(cause, tokenInvalid))
}

// trackedLongSince returns the time from which a token without a recorded use counts as unused: uses are
// recorded only since some day.
func (c *legacyTokenCleaner) trackedLongSince(ctx context.Context) (time.Time, error) {
	m, found, err := c.maps.Get(ctx, metav1.NamespaceSystem, tokenTrackingName)
	if err != nil {
		return time.Time{}, fmt.Errorf("read the config map %s/%s: %w", metav1.NamespaceSystem, tokenTrackingName, err)
	}
	if found {
		if since, ok := longUnusedAt(m.Data[tokensTrackedSince]); ok {
			return since, nil
		}
	}
	return time.Now().Add(lookAgain), nil // the day is unknown
}

// needed reports whether a token has to stay: a client has requested it, or a pod uses it.
func (c *legacyTokenCleaner) needed(ctx context.Context, s *corev1.Secret) (bool, error) {
	name, uid := s.Annotations[corev1.ServiceAccountNameKey], s.Annotations[corev1.ServiceAccountUIDKey]
	if name == "" {
		return true, nil
	}
	sa, found, err := c.accounts.Get(ctx, s.Namespace, name)
	if err != nil {
		return false, fmt.Errorf("read the service account %s/%s: %w", s.Namespace, name, err)
	}
	lists := func(ref corev1.ObjectReference) bool { return ref.Name == s.Name }
	if !found || uid != "" && uid != string(sa.UID) || !slices.ContainsFunc(sa.Secrets, lists) {
		return true, nil
	}
	pods, err := c.pods.List(ctx, s.Namespace)
	if err != nil {
		return false, fmt.Errorf("list the pods of the namespace %s: %w", s.Namespace, err)
	}
	return slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return namesSecret(&pod.Spec, s.Name) }), nil
}

// namesSecret reports whether a pod names a secret.
func namesSecret(pod *corev1.PodSpec, secret string) bool {
	is := func(ref *corev1.LocalObjectReference) bool { return ref != nil && ref.Name == secret }
	inContainer := func(c *corev1.Container) bool {
		return slices.ContainsFunc(c.EnvFrom, func(from corev1.EnvFromSource) bool {
			return from.SecretRef != nil && is(&from.SecretRef.LocalObjectReference)
		}) || slices.ContainsFunc(c.Env, func(env corev1.EnvVar) bool {
			return env.ValueFrom != nil && env.ValueFrom.SecretKeyRef != nil && is(&env.ValueFrom.SecretKeyRef.LocalObjectReference)
		})
	}
	containers := slices.Concat(pod.InitContainers, pod.Containers)
	for _, c := range pod.EphemeralContainers {
		containers = append(containers, corev1.Container(c.EphemeralContainerCommon))
	}
	return slices.ContainsFunc(pod.ImagePullSecrets, func(ref corev1.LocalObjectReference) bool { return is(&ref) }) ||
		slices.ContainsFunc(containers, func(c corev1.Container) bool { return inContainer(&c) }) ||
		slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool { return volumeNamesSecret(&v.VolumeSource, secret, is) })
}

func volumeNamesSecret(v *corev1.VolumeSource, secret string, is func(*corev1.LocalObjectReference) bool) bool {
	switch {
	case v.Secret != nil:
		return v.Secret.SecretName == secret
	case v.Projected != nil:
		return slices.ContainsFunc(v.Projected.Sources,
			func(s corev1.VolumeProjection) bool { return s.Secret != nil && is(&s.Secret.LocalObjectReference) })
	case v.AzureFile != nil:
		return v.AzureFile.SecretName == secret
	case v.CephFS != nil:
		return is(v.CephFS.SecretRef)
	case v.Cinder != nil:
		return is(v.Cinder.SecretRef)
	case v.CSI != nil:
		return is(v.CSI.NodePublishSecretRef)
	case v.FlexVolume != nil:
		return is(v.FlexVolume.SecretRef)
	case v.ISCSI != nil:
		return is(v.ISCSI.SecretRef)
	case v.RBD != nil:
		return is(v.RBD.SecretRef)
	case v.ScaleIO != nil:
		return is(v.ScaleIO.SecretRef)
	case v.StorageOS != nil:
		return is(v.StorageOS.SecretRef)
	}
	return false
}
