package legacytoken

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/controller/feed"
	"github.com/kx-apiserver/kx/server/controller/work"
)

const (
	// Name is what kube-controller-manager calls the controller.
	Name    = "legacy-serviceaccount-token-cleaner-controller"
	account = "legacy-service-account-token-cleaner"

	workers = 5
	// unused is how long a token may be unused, and then invalid, before it goes: upstream's default.
	unused = 365 * 24 * time.Hour
	// again is how long it takes to look again at a Secret whose day has come, and that stays for now. Upstream looks as often.
	again = 24 * time.Hour
)

// Resource is what [Cleaner] follows.
var Resource = secretResource

// Cleaner retires tokens that nobody uses.
type Cleaner struct {
	kit      *work.Kit
	log      *slog.Logger
	secrets  *work.Objects[*corev1.Secret]
	accounts *work.Objects[*corev1.ServiceAccount]
	pods     *work.Objects[*corev1.Pod]
	maps     *work.Objects[*corev1.ConfigMap]
	loop     *work.Loop[types.NamespacedName]
}

// NewCleaner makes the controller, which does nothing until it runs.
func NewCleaner(kit *work.Kit) *Cleaner {
	writer := kit.Writer(Name, account)
	c := &Cleaner{
		kit: kit, log: kit.Log,
		secrets:  work.ObjectsOf[*corev1.Secret](kit, writer, Resource),
		accounts: work.ObjectsOf[*corev1.ServiceAccount](kit, writer, corev1.SchemeGroupVersion.WithResource("serviceaccounts")),
		pods:     work.ObjectsOf[*corev1.Pod](kit, writer, corev1.SchemeGroupVersion.WithResource("pods")),
		maps:     work.ObjectsOf[*corev1.ConfigMap](kit, writer, MapResource),
	}
	c.loop = work.NewLoop(Name, workers, kit.Metrics, kit.Log, c.try)
	return c
}

// Run works until ctx ends.
func (c *Cleaner) Run(ctx context.Context) { c.loop.Run(ctx) }

// State returns what it is about.
func (c *Cleaner) State() work.State { return c.loop.State() }

// Begin and End need not know what there was.
func (c *Cleaner) Begin() {}

// End ends a look at all keys.
func (c *Cleaner) End(int64) {}

// Put has a Secret with a token looked at when its day comes.
func (c *Cleaner) Put(p feed.Pair) {
	if p.Value == nil {
		return
	}
	s, err := work.Value[*corev1.Secret](c.kit, p.Key, p.Value)
	if err != nil || s.Type != corev1.SecretTypeServiceAccountToken || s.DeletionTimestamp != nil {
		return // whoever damaged it has to mend it first
	}
	cause := p.Revision
	if !p.Changed {
		cause = 0
	}
	if comes, ok := comesUp(s); ok {
		c.loop.AddAfter(types.NamespacedName{Namespace: s.Namespace, Name: s.Name}, cause, max(0, time.Until(comes)))
	}
}

// comesUp is when a token is unused for long enough. A label that is no day does not say.
func comesUp(s *corev1.Secret) (time.Time, bool) {
	comes := s.CreationTimestamp.Add(unused)
	used, ok := s.Labels[lastUsedLabel]
	if !ok {
		return comes, true
	}
	over, ok := longAfter(used)
	if over.After(comes) {
		comes = over
	}
	return comes, ok
}

// longAfter is when a day is over for long enough.
func longAfter(text string) (time.Time, bool) {
	began, err := time.Parse(day, text)
	return began.AddDate(0, 0, 1).Add(unused), err == nil
}

// try retires a token, or says when to look again.
func (c *Cleaner) try(ctx context.Context, name types.NamespacedName, cause int64) error {
	s, found, err := c.secrets.Get(ctx, name.Namespace, name.Name)
	if err != nil {
		return fmt.Errorf("read the secret %s: %w", name, err)
	}
	if !found || s.Type != corev1.SecretTypeServiceAccountToken || s.DeletionTimestamp != nil {
		return nil
	}
	comes, ok := comesUp(s)
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
		c.loop.AddAfter(name, cause, left)
		return nil
	}
	if needed, err := c.needed(ctx, s); err != nil || needed {
		c.loop.AddAfter(name, 0, again)
		return err
	}
	gone, ok := longAfter(s.Labels[invalidSinceLabel])
	if !ok {
		return c.secrets.Update(ctx, s, "", work.Decide(cause, trace.TokenUnused), func(now *corev1.Secret) (bool, error) {
			if now.ResourceVersion != s.ResourceVersion {
				return false, nil // it is looked at again because of that
			}
			metav1.SetMetaDataLabel(&now.ObjectMeta, invalidSinceLabel, time.Now().UTC().Format(day))
			return true, nil
		})
	}
	if left := time.Until(gone); left > 0 {
		c.loop.AddAfter(name, cause, left)
		return nil
	}
	return c.secrets.Delete(ctx, s, metav1.DeletePropagationBackground, work.Decide(cause, trace.TokenInvalid))
}

// trackedLongSince is when a token that was not used since its use is written down is unused for long enough.
func (c *Cleaner) trackedLongSince(ctx context.Context) (time.Time, error) {
	m, found, err := c.maps.Get(ctx, metav1.NamespaceSystem, trackingName)
	if err != nil {
		return time.Time{}, fmt.Errorf("read the config map %s/%s: %w", metav1.NamespaceSystem, trackingName, err)
	}
	if found {
		if since, ok := longAfter(m.Data[sinceKey]); ok {
			return since, nil
		}
	}
	return time.Now().Add(again), nil // nobody knows
}

// needed says whether a token has to stay: somebody has asked for it, or a pod uses it.
func (c *Cleaner) needed(ctx context.Context, s *corev1.Secret) (bool, error) {
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
	return slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return names(&pod.Spec, s.Name) }), nil
}
