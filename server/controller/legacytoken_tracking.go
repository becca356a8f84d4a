package controller

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/controller/feed"
	"github.com/kx-apiserver/kx/server/controller/work"
)

// legacyTokenTracking keeps the config map with the day since which the use of tokens is recorded. Like
// [MarkTokens], which records the use, it belongs to a Kubernetes API server.
var legacyTokenTracking = controller{
	name: "legacy-token-tracking-controller", follows: []schema.GroupVersionResource{configMaps}, workers: 1, make: trackLegacyTokens,
}

const (
	tokenUsedLabel    = "kubernetes.io/legacy-token-last-used"
	tokenInvalidLabel = "kubernetes.io/legacy-token-invalid-since"
	// tokenDay is the format of days in labels and in the config map, in UTC. A label that holds no day counts
	// as missing.
	tokenDay = time.DateOnly

	tokenTrackingName  = "kube-apiserver-legacy-service-account-token-tracking"
	tokenTrackingKey   = "configmaps/" + metav1.NamespaceSystem + "/" + tokenTrackingName
	tokensTrackedSince = "since"
	// trackingSeldom is the shortest pause between creations of the config map: a Kubernetes API server that
	// does not track tokens deletes it.
	trackingSeldom = 30 * time.Minute
)

// legacyTokenTracker keeps the config map.
type legacyTokenTracker struct {
	*work.Loop[string]
	maps *work.Objects[*corev1.ConfigMap]
	// found means that the present look has found it. Only the feed's goroutine uses it.
	found bool
	// created is the time of its last creation. Only the worker of the loop uses it.
	created time.Time
}

func trackLegacyTokens(kit *work.Kit, self controller) follower {
	c := &legacyTokenTracker{maps: work.ObjectsOf[*corev1.ConfigMap](kit, self.writer(kit), configMaps)}
	c.Loop = loopOf(kit, self, c.try)
	return c
}

// Begin begins a look at all keys.
func (c *legacyTokenTracker) Begin() { c.found = false }

// End queues the config map if it was not put.
func (c *legacyTokenTracker) End(int64) {
	if !c.found {
		c.Add(tokenTrackingKey, 0)
	}
}

// Put queues the config map.
func (c *legacyTokenTracker) Put(p feed.Pair) {
	if p.Key != tokenTrackingKey {
		return
	}
	c.found = true
	cause := p.Revision
	if !p.Changed {
		cause = 0
	}
	c.Add(tokenTrackingKey, cause)
}

var trackingBegins = trace.Because("tracking-begins",
	"no day is known since which the use of tokens is written down",
	"不知道从哪一天起记录令牌的使用")

// try creates the config map, or replaces a value in it that is no day.
func (c *legacyTokenTracker) try(ctx context.Context, _ string, cause int64) error {
	is, found, err := c.maps.Get(ctx, metav1.NamespaceSystem, tokenTrackingName)
	if err != nil {
		return fmt.Errorf("read the config map %s/%s: %w", metav1.NamespaceSystem, tokenTrackingName, err)
	}
	why := work.Decide(cause, trackingBegins)
	why.Quiet = cause == 0
	today := time.Now().UTC().Format(tokenDay)
	if found {
		if isTokenDay(is.Data[tokensTrackedSince]) {
			return nil
		}
		return c.maps.Update(ctx, is, "", why, func(now *corev1.ConfigMap) (bool, error) {
			if isTokenDay(now.Data[tokensTrackedSince]) {
				return false, nil
			}
			if now.Data == nil {
				now.Data = map[string]string{}
			}
			now.Data[tokensTrackedSince] = today
			return true, nil
		})
	}
	if left := trackingSeldom - time.Since(c.created); left > 0 {
		return work.After(left)
	}
	err = c.maps.Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: tokenTrackingName},
		Data:       map[string]string{tokensTrackedSince: today},
	}, why)
	if err == nil {
		c.created = time.Now()
	}
	return err
}

func isTokenDay(text string) bool {
	_, err := time.Parse(tokenDay, text)
	return err == nil
}

var tokenUsed = trace.Because("token-used",
	"its token has authenticated somebody today",
	"它的令牌今天通过了身份认证")

// MarkTokens returns a function that labels a Secret with the day on which its token was last used, unless the
// label already has it. The clock of another server may already be at tomorrow. A token stays valid if its use
// can't be recorded: that is logged, and retried at the next use.
func MarkTokens(kit *work.Kit) func(context.Context, *corev1.Secret) {
	all := work.ObjectsOf[*corev1.Secret](kit, kit.ServerWriter("legacy-token-tracking"), secrets)
	return func(ctx context.Context, secret *corev1.Secret) {
		now := time.Now().UTC()
		today, tomorrow := now.Format(tokenDay), now.AddDate(0, 0, 1).Format(tokenDay)
		isMarked := func(s *corev1.Secret) bool {
			return s.Labels[tokenUsedLabel] == today || s.Labels[tokenUsedLabel] == tomorrow
		}
		if isMarked(secret) {
			return
		}
		err := all.Update(ctx, secret, "", work.Decide(0, tokenUsed), func(s *corev1.Secret) (bool, error) {
			if isMarked(s) {
				return false, nil
			}
			metav1.SetMetaDataLabel(&s.ObjectMeta, tokenUsedLabel, today)
			return true, nil
		})
		if err != nil {
			kit.Log.Warn("cannot write down that the token of a secret was used: it may be taken for unused", "namespace", secret.Namespace,
				"name", secret.Name, "error", err)
		}
	}
}
