package server

import (
	"context"
	"fmt"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/server/bootstrap"
	"github.com/kx-apiserver/kx/server/controller/lease"
	"github.com/kx-apiserver/kx/server/kxapi"
)

// rewinds returns what rewinds need. A server that keeps its data, or uses an etcd of others, allows none.
func (c *chain) rewinds() kxapi.Rewinds {
	return kxapi.Rewinds{
		Allowed: c.options.Ephemeral && len(c.options.Etcd.Servers) == 0,
		Pin:     c.storage.etcd.shared.Pins.Add,
		Stays:   ownKeys(c.options.Etcd.KeyPrefix()),
		Gate:    &c.storage.etcd.shared.Gate,
		Learn:   c.learn,
		Settle:  c.settle,
	}
}

// ownKeys reports whether a key is about the servers on an etcd, and not about what clients stored: the addresses of
// servers, and which of them runs the controllers.
func ownKeys(prefix string) func(key string) bool {
	prefix = strings.TrimSuffix(prefix, "/")
	addresses := prefix + bootstrap.LeasesPrefix + "/"
	elected := prefix + "/leases/" + metav1.NamespaceSystem + "/" + lease.Name
	return func(key string) bool { return key == elected || strings.HasPrefix(key, addresses) }
}

// learn waits until all by which the server decides has the writes up to a revision of each resource: the watch
// caches, the definitions of custom resources, and the state of the controllers. It needs no write.
func (c *chain) learn(ctx context.Context, latest map[schema.GroupResource]int64) error {
	if revision, written := latest[definitions]; written {
		if err := c.customResources.Learn(ctx, uint64(revision)); err != nil {
			return fmt.Errorf("the definitions of custom resources: %w", err)
		}
	}
	last := int64(0)
	for resource, revision := range latest {
		last = max(last, revision)
		cache := c.storage.caches.Get(resource)
		if cache == nil {
			continue
		}
		if err := cache.WaitUntilFresh(ctx, revision); err != nil {
			return fmt.Errorf("the watch cache of %s: %w", resource, err)
		}
	}
	if running := c.controllers.Load(); running != nil {
		if err := running.Learn(ctx, last); err != nil {
			return fmt.Errorf("the controllers: %w", err)
		}
	}
	return nil
}

// settle waits until the definitions that a rewind wrote are served. Their controllers may have to write their status.
func (c *chain) settle(ctx context.Context, latest map[schema.GroupResource]int64) error {
	if _, written := latest[definitions]; !written {
		return nil
	}
	if err := c.customResources.CatchUp(ctx); err != nil {
		return fmt.Errorf("the definitions of custom resources: %w", err)
	}
	return nil
}

// definitions is the resource of definitions of custom resources.
var definitions = apiextensionsv1.Resource("customresourcedefinitions")
