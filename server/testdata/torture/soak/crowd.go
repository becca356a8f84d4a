//go:build linux

package soak

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// crowd are all who work on a server.
type crowd struct {
	config  *rest.Config
	typed   kubernetes.Interface
	dynamic dynamic.Interface

	mu     sync.Mutex
	done   map[string]int
	faults []string
}

// job is what somebody does again and again, with a pause of up to twice a time in between.
type job struct {
	name   string
	people int
	pause  time.Duration
	do     func(*crowd, context.Context, *rand.Rand, int) error
}

var jobs = []job{
	{"widgets created, changed and deleted", 1, 80 * time.Millisecond, (*crowd).changeWidget},
	{"watches to their end", 10, 10 * time.Millisecond, (*crowd).watchToTheEnd},
	{"watches left", 10, 10 * time.Millisecond, (*crowd).leaveWatch},
	{"lists", 2, 500 * time.Millisecond, (*crowd).list},
	{"definitions", 1, 5 * time.Second, (*crowd).define},
	{"namespaces", 1, 3 * time.Second, (*crowd).inhabit},
	{"tokens", 1, 2 * time.Second, (*crowd).renewToken},
	{"leases renewed", 5, time.Second, (*crowd).renewLease},
	{"events", 1, 500 * time.Millisecond, (*crowd).tell},
	{"journeys read", 1, 10 * time.Second, (*crowd).readJourneys},
}

func newCrowd(config *rest.Config) (c *crowd, err error) {
	c = &crowd{config: config, done: map[string]int{}}
	binary := rest.CopyConfig(config)
	binary.ContentType = runtime.ContentTypeProtobuf
	if c.typed, err = kubernetes.NewForConfig(binary); err != nil {
		return nil, err
	}
	c.dynamic, err = dynamic.NewForConfig(config)
	return c, err
}

// work lets everybody work until the context ends, and returns when all have stopped.
func (c *crowd) work(ctx context.Context) error {
	if err := c.waitForRoles(ctx); err != nil {
		return err
	}
	if err := c.furnish(ctx); err != nil {
		return err
	}
	var all sync.WaitGroup
	for i := range operators {
		o, err := c.newOperator(i)
		if err != nil {
			return err
		}
		all.Go(func() { o.run(ctx) })
	}
	for n, j := range jobs {
		for i := range j.people {
			all.Go(func() { c.repeat(ctx, j, rand.New(rand.NewPCG(uint64(n), uint64(i))), i) })
		}
	}
	all.Wait()
	return nil
}

// waitForRoles waits until the roles that every cluster has count: a server that has just begun writes them while it serves.
func (c *crowd) waitForRoles(ctx context.Context) error {
	const lookAgain = 10 * time.Millisecond
	for {
		review, err := c.typed.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
			Spec: authorizationv1.SubjectAccessReviewSpec{
				User: "anybody", Groups: []string{"system:authenticated"},
				ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "create", Group: "authentication.k8s.io", Resource: "selfsubjectreviews"},
			},
		}, metav1.CreateOptions{})
		if err != nil || review.Status.Allowed {
			return err
		}
		select {
		case <-time.After(lookAgain):
		case <-ctx.Done():
			return fmt.Errorf("no role lets anybody ask who they are: %w", ctx.Err())
		}
	}
}

func (c *crowd) repeat(ctx context.Context, j job, random *rand.Rand, i int) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Duration(random.Int64N(int64(2 * j.pause)))):
		}
		c.note(ctx, j.name, j.do(c, ctx, random, i))
	}
}

// note counts what was done. An error counts, unless the soak is over.
func (c *crowd) note(ctx context.Context, what string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err == nil:
		c.done[what]++
	case ctx.Err() == nil:
		c.faults = append(c.faults, fmt.Sprintf("%s: %v", what, err))
	}
}

var (
	definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	widgets     = schema.GroupVersionResource{Group: "soak.kx.dev", Version: "v1", Resource: "widgets"}
)

const home = "default"

func definition(group, plural, kind string, versions ...any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": plural + "." + group},
		"spec": map[string]any{
			"group": group, "scope": "Namespaced",
			"names":    map[string]any{"plural": plural, "kind": kind, "listKind": kind + "List"},
			"versions": versions,
		},
	}}
}

func version(name string, storage bool) any {
	return map[string]any{"name": name, "served": true, "storage": storage, "subresources": map[string]any{"status": map[string]any{}},
		"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "properties": map[string]any{
			"spec": map[string]any{"type": "object", "properties": map[string]any{
				"text":  map[string]any{"type": "string"},
				"count": map[string]any{"type": "integer", "minimum": int64(0), "default": int64(1)},
			}},
			"status": map[string]any{"type": "object", "properties": map[string]any{"seen": map[string]any{"type": "integer"}}},
		}}}}
}

// furnish makes the definition that the operators are for.
func (c *crowd) furnish(ctx context.Context) error {
	d := definition(widgets.Group, widgets.Resource, "Widget", version(widgets.Version, true))
	if _, err := c.dynamic.Resource(definitions).Create(ctx, d, metav1.CreateOptions{}); err != nil {
		return err
	}
	return c.until(ctx, "widgets are served", func() error {
		_, err := c.dynamic.Resource(widgets).List(ctx, metav1.ListOptions{})
		return err
	})
}

// patience is how long anything may take that others must do first.
const patience = 2 * time.Minute

func (c *crowd) until(ctx context.Context, what string, try func() error) error {
	late := time.Now().Add(patience)
	for {
		err := try()
		if err == nil || ctx.Err() != nil {
			return ctx.Err()
		}
		if time.Now().After(late) {
			return fmt.Errorf("not in time: %s: %w", what, err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// gone is nil for the error of an object that isn't there.
func gone(_ any, err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err == nil {
		return fmt.Errorf("it is still there")
	}
	return err
}
