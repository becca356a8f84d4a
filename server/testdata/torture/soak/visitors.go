//go:build linux

package soak

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// open opens a watch of something, in one of the ways that there are.
func (c *crowd) open(ctx context.Context, random *rand.Rand, seconds int64) (watch.Interface, error) {
	options := metav1.ListOptions{TimeoutSeconds: &seconds, AllowWatchBookmarks: random.IntN(2) == 0}
	if random.IntN(2) == 0 {
		options.LabelSelector = "half=1"
	}
	if random.IntN(3) == 0 {
		yes := true
		options.SendInitialEvents, options.AllowWatchBookmarks = &yes, true
		options.ResourceVersionMatch = metav1.ResourceVersionMatchNotOlderThan
	}
	switch random.IntN(4) {
	case 0:
		return c.typed.CoreV1().ConfigMaps(home).Watch(ctx, options)
	case 1:
		return c.typed.CoreV1().Namespaces().Watch(ctx, options)
	case 2:
		return c.dynamic.Resource(definitions).Watch(ctx, options)
	default:
		return c.dynamic.Resource(widgets).Watch(ctx, options)
	}
}

// watchToTheEnd reads until the server ends the watch.
func (c *crowd) watchToTheEnd(ctx context.Context, random *rand.Rand, _ int) error {
	w, err := c.open(ctx, random, 5+random.Int64N(30))
	if err != nil {
		return err
	}
	defer w.Stop()
	for e := range w.ResultChan() {
		if e.Type == watch.Error {
			return apierrors.FromObject(e.Object)
		}
	}
	return nil
}

// leaveWatch leaves without a word, often before anything came.
func (c *crowd) leaveWatch(ctx context.Context, random *rand.Rand, _ int) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second+time.Duration(random.Int64N(int64(20*time.Second))))
	defer cancel()
	w, err := c.open(ctx, random, 3600)
	if err != nil {
		return err
	}
	defer w.Stop()
	for {
		select {
		case e, ok := <-w.ResultChan():
			if ok && e.Type == watch.Error && ctx.Err() == nil {
				return apierrors.FromObject(e.Object)
			}
			if !ok {
				return nil
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// forms are those that an answer can take.
var forms = []string{
	"application/json", "application/vnd.kubernetes.protobuf", "application/yaml", "application/json;as=Table;g=meta.k8s.io;v=v1",
	"application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", "application/cbor",
}

var lists = []string{"/api/v1/configmaps", "/apis/soak.kx.dev/v1/widgets", "/api/v1/namespaces", "/apis/coordination.k8s.io/v1beta1/leases",
	"/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "/api/v1/events", "/openapi/v3", "/apis", "/version"}

// list reads a list in a form, all of it or in pages.
func (c *crowd) list(ctx context.Context, random *rand.Rand, _ int) error {
	path := lists[random.IntN(len(lists))]
	ask := c.typed.Discovery().RESTClient().Get().AbsPath(path).SetHeader("Accept", forms[random.IntN(len(forms))]+",*/*")
	for key, value := range map[string]string{"pretty": "true", "limit": "20", "resourceVersion": "0"} {
		if random.IntN(3) == 0 {
			ask.Param(key, value)
		}
	}
	_, err := ask.Do(ctx).Raw()
	if apierrors.IsNotFound(err) {
		return nil // a version that is not served
	}
	return err
}

// define makes a definition with objects, adds a version that it is stored in from then on, and ends it all.
func (c *crowd) define(ctx context.Context, random *rand.Rand, _ int) error {
	group := fmt.Sprintf("g%d.soak.kx.dev", random.IntN(10))
	first := schema.GroupVersionResource{Group: group, Version: "v1", Resource: "things"}
	all := c.dynamic.Resource(definitions)
	made, err := all.Create(ctx, definition(group, "things", "Thing", version("v1", true)), metav1.CreateOptions{})
	if err != nil {
		return err
	}
	name := made.GetName()
	thing := func(v string, i int) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"apiVersion": group + "/" + v, "kind": "Thing",
			"metadata": map[string]any{"name": fmt.Sprintf("thing-%s-%d", v, i)}, "spec": map[string]any{"text": "one"}}}
	}
	for i := range 5 {
		err := c.until(ctx, "a thing is created", func() error {
			_, err := c.dynamic.Resource(first).Namespace(home).Create(ctx, thing("v1", i), metav1.CreateOptions{})
			return err
		})
		if err != nil {
			return err
		}
	}
	err = c.until(ctx, "a version is added", func() error {
		u, err := all.Get(ctx, name, metav1.GetOptions{})
		if err == nil {
			u.Object["spec"].(map[string]any)["versions"] = []any{version("v1", false), version("v2", true)}
			_, err = all.Update(ctx, u, metav1.UpdateOptions{})
		}
		return err
	})
	if err != nil {
		return err
	}
	second := first.GroupResource().WithVersion("v2")
	err = c.until(ctx, "a thing of the second version is created", func() error {
		_, err := c.dynamic.Resource(second).Namespace(home).Create(ctx, thing("v2", 0), metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return err
	}
	if err := all.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		return err
	}
	return c.until(ctx, name+" ends", func() error { return gone(all.Get(ctx, name, metav1.GetOptions{})) })
}

// inhabit makes a namespace with objects in it, ends it, and waits until it is gone.
func (c *crowd) inhabit(ctx context.Context, random *rand.Rand, _ int) error {
	all := c.typed.CoreV1().Namespaces()
	made, err := all.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "soak-"}}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	name := made.Name
	for i := range 5 + random.IntN(10) {
		object := metav1.ObjectMeta{Name: fmt.Sprintf("object-%d", i)}
		_, err := c.typed.CoreV1().ConfigMaps(name).Create(ctx, &corev1.ConfigMap{ObjectMeta: object, Data: map[string]string{"a": "b"}}, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		_, err = c.typed.CoreV1().Secrets(name).Create(ctx, &corev1.Secret{ObjectMeta: object, Data: map[string][]byte{"a": []byte("b")}}, metav1.CreateOptions{})
		if err != nil {
			return err
		}
	}
	if err := all.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		return err
	}
	return c.until(ctx, name+" ends", func() error { return gone(all.Get(ctx, name, metav1.GetOptions{})) })
}

// renewToken asks for a token, and is somebody with it, over a connection of its own.
func (c *crowd) renewToken(ctx context.Context, _ *rand.Rand, _ int) error {
	seconds := int64(600)
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
	answer, err := c.typed.CoreV1().ServiceAccounts(home).CreateToken(ctx, "default", request, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	config := rest.AnonymousClientConfig(c.config)
	config.BearerToken = answer.Status.Token
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	as, err := kubernetes.NewForConfigAndClient(config, client)
	if err != nil {
		return err
	}
	review, err := as.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err == nil && !slices.Contains(review.Status.UserInfo.Groups, "system:serviceaccounts") {
		err = fmt.Errorf("the token is %s of %v", review.Status.UserInfo.Username, review.Status.UserInfo.Groups)
	}
	return err
}

// renewLease does it as a kubelet and a leader do.
func (c *crowd) renewLease(ctx context.Context, _ *rand.Rand, i int) error {
	all := c.typed.CoordinationV1().Leases(home)
	now, name := metav1.NowMicro(), fmt.Sprintf("lease-%d", i)
	lease, err := all.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = all.Create(ctx, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		return err
	}
	if err != nil {
		return err
	}
	lease.Spec.RenewTime = &now
	_, err = all.Update(ctx, lease, metav1.UpdateOptions{})
	return err
}

// tell makes an event, which ends by its lease in etcd.
func (c *crowd) tell(ctx context.Context, _ *rand.Rand, _ int) error {
	now := metav1.Now()
	e := &corev1.Event{ObjectMeta: metav1.ObjectMeta{GenerateName: "told-"}, InvolvedObject: corev1.ObjectReference{Namespace: home, Kind: "Widget", Name: "widget-1"},
		Reason: "Soaked", Message: "It is still there.", Type: corev1.EventTypeNormal, FirstTimestamp: now, LastTimestamp: now}
	_, err := c.typed.CoreV1().Events(home).Create(ctx, e, metav1.CreateOptions{})
	return err
}

// readJourneys reads as a screen does, and then one of them whole.
func (c *crowd) readJourneys(ctx context.Context, random *rand.Rand, _ int) error {
	all := c.dynamic.Resource(schema.GroupVersionResource{Group: "kx.dev", Version: "v1alpha1", Resource: "journeys"})
	list, err := all.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	if len(list.Items) == 0 {
		return errors.New("no request is recorded")
	}
	_, err = all.Get(ctx, list.Items[random.IntN(len(list.Items))].GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil // newer ones came meanwhile
	}
	return err
}
