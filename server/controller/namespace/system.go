package namespace

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/controller/work"
)

// systemNamespaces lists the namespaces that every cluster has.
var systemNamespaces = []string{metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic, corev1.NamespaceNodeLease}

// makeMissing creates the missing ones concurrently, so that etcd syncs its disk once.
func (c *Controller) makeMissing(ctx context.Context, there map[string]bool) error {
	var group errgroup.Group
	for _, name := range systemNamespaces {
		if !there[name] {
			group.Go(func() error { return c.make(ctx, name) })
		}
	}
	return group.Wait()
}

// makeAgain creates a deleted namespace again if every cluster has it.
func (c *Controller) makeAgain(ctx context.Context, name string) error {
	if !slices.Contains(systemNamespaces, name) {
		return nil
	}
	return c.make(ctx, name)
}

// make creates a namespace. Another process may be faster.
func (c *Controller) make(ctx context.Context, name string) error {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	_, err := c.namespaces.Create(c.request(ctx, work.APIServer, "create", ""), ns, rest.ValidateAllObjectFunc, &metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("make the namespace %s: %w", name, err)
	}
	return nil
}
