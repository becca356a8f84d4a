package legacytoken

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/controller/feed"
	"github.com/kx-apiserver/kx/server/controller/work"
)

const (
	trackingName = "kube-apiserver-legacy-service-account-token-tracking"
	sinceKey     = "since"
	// seldom is how often the config map is created at most: a Kubernetes API server that does not track tokens deletes it.
	seldom = 30 * time.Minute
)

// MapResource is what [Tracking] follows.
var MapResource = corev1.SchemeGroupVersion.WithResource("configmaps")

// trackingKey is where the config map is.
const trackingKey = "configmaps/" + metav1.NamespaceSystem + "/" + trackingName

// Tracking keeps the config map that says since when the use of tokens is written down.
type Tracking struct {
	maps *work.Objects[*corev1.ConfigMap]
	loop *work.Loop[string]
	// found says that the look at hand has shown it. Only the feed's goroutine uses it.
	found bool
	// created is when it was created last. Only the worker of the loop uses it.
	created time.Time
}

// NewTracking makes the controller, which does nothing until it runs.
func NewTracking(kit *work.Kit) *Tracking {
	c := &Tracking{maps: work.ObjectsOf[*corev1.ConfigMap](kit, kit.Self("legacy-token-tracking-controller"), MapResource)}
	c.loop = work.NewLoop("legacy-token-tracking-controller", 1, kit.Metrics, kit.Log, c.try)
	return c
}

// Run works until ctx ends.
func (c *Tracking) Run(ctx context.Context) { c.loop.Run(ctx) }

// State returns what it is about.
func (c *Tracking) State() work.State { return c.loop.State() }

// Begin begins a look at all keys.
func (c *Tracking) Begin() { c.found = false }

// End queues the config map if it was not put.
func (c *Tracking) End(int64) {
	if !c.found {
		c.loop.Add(trackingKey, 0)
	}
}

// Put queues the config map.
func (c *Tracking) Put(p feed.Pair) {
	if p.Key != trackingKey {
		return
	}
	c.found = true
	cause := p.Revision
	if !p.Changed {
		cause = 0
	}
	c.loop.Add(trackingKey, cause)
}

// try creates the config map, or replaces what is no day in it.
func (c *Tracking) try(ctx context.Context, key string, cause int64) error {
	is, found, err := c.maps.Get(ctx, metav1.NamespaceSystem, trackingName)
	if err != nil {
		return fmt.Errorf("read the config map %s/%s: %w", metav1.NamespaceSystem, trackingName, err)
	}
	why := work.Decide(cause, trace.TrackingBegins)
	why.Quiet = cause == 0
	today := time.Now().UTC().Format(day)
	if found {
		if isDay(is.Data[sinceKey]) {
			return nil
		}
		return c.maps.Update(ctx, is, "", why, func(now *corev1.ConfigMap) (bool, error) {
			if isDay(now.Data[sinceKey]) {
				return false, nil
			}
			if now.Data == nil {
				now.Data = map[string]string{}
			}
			now.Data[sinceKey] = today
			return true, nil
		})
	}
	if left := seldom - time.Since(c.created); left > 0 {
		c.loop.AddAfter(key, cause, left)
		return nil
	}
	err = c.maps.Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: trackingName}, Data: map[string]string{sinceKey: today},
	}, why)
	if err == nil {
		c.created = time.Now()
	}
	return err
}

func isDay(text string) bool {
	_, err := time.Parse(day, text)
	return err == nil
}
