package controller_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/kx-apiserver/kx/server/internal/controllertest"
)

// namespaceScene has what is done on a stage.
type namespaceScene struct {
	namespaceCluster
	*controllertest.Stage
	ns string
}

// namespaceScenes are what is done in a namespace of its own, which most of them delete.
var namespaceScenes = map[string]func(s namespaceScene){
	"content of all kinds": func(s namespaceScene) {
		s.fill(s.ns)
		s.remove(s.ns)
	},
	"finalizers that nobody removes": func(s namespaceScene) {
		s.configMap(s.ns, "a", finalizer)
		s.configMap(s.ns, "b", finalizer, finalizer2)
		s.configMap(s.ns, "c")
		s.secret("d", finalizer2)
		s.service("e", finalizer)
		s.remove(s.ns)
	},
	"finalizers that go one by one": func(s namespaceScene) {
		s.configMap(s.ns, "a", finalizer)
		s.configMap(s.ns, "b", finalizer, finalizer2)
		s.secret("c", finalizer2)
		s.remove(s.ns)
		s.noteConditions("configmaps. has 2 resource instances, secrets. has 1 resource instances")
		s.releaseConfigMap(s.ns, "a")
		s.noteConditions("configmaps. has 1 resource instances, secrets. has 1 resource instances")
		s.release(corev1.SchemeGroupVersion.WithResource("secrets"), "c")
		s.noteConditions("Some resources are remaining: configmaps. has 1 resource instances")
		s.releaseConfigMap(s.ns, "b")
		s.Await("the namespace is gone")
	},
	"pods are held": func(s namespaceScene) {
		s.pod(s.ns, "held", "", finalizer)
		s.pod(s.ns, "free", "")
		s.configMap(s.ns, "needed")
		s.secret("needed")
		s.remove(s.ns)
	},
	"pods go before the rest": func(s namespaceScene) {
		s.pod(s.ns, "held", "", finalizer)
		s.configMap(s.ns, "needed")
		s.secret("needed")
		s.service("needed")
		order := s.follow("pods", "configmaps", "secrets", "services")
		s.remove(s.ns)
		s.Await("pods held: deleted, waits for example.com/wait")
		s.release(corev1.SchemeGroupVersion.WithResource("pods"), "held")
		s.Await("the namespace is gone")
		first := order(4)
		s.Note("first goes %s", first[0])
	},
	"a pod that may take its time": func(s namespaceScene) {
		s.pod(s.ns, "scheduled", "some-node")
		s.configMap(s.ns, "needed")
		s.remove(s.ns)
	},
	"a pod whose time is over": func(s namespaceScene) {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{
			NodeName: "some-node", TerminationGracePeriodSeconds: new(int64(1)), Containers: []corev1.Container{{Name: "c", Image: "i"}},
		}}
		must[*corev1.Pod](s.t)(s.CoreV1().Pods(s.ns).Create(s.t.Context(), pod, metav1.CreateOptions{}))
		s.remove(s.ns)
	},
	"what is refused meanwhile": func(s namespaceScene) {
		s.configMap(s.ns, "held", finalizer)
		s.pod(s.ns, "done", "")
		s.definition("Before")
		s.remove(s.ns)
		s.Await("configmaps. has 1 resource instances")
		s.tryAll()
	},
	"it is deleted again": func(s namespaceScene) {
		s.configMap(s.ns, "held", finalizer)
		was := must[*corev1.Namespace](s.t)(s.CoreV1().Namespaces().Get(s.t.Context(), s.ns, metav1.GetOptions{}))
		wrong := types.UID("wrong")
		s.Note("with another UID: %s", strings.ReplaceAll(controllertest.Refusal(s.CoreV1().Namespaces().Delete(s.t.Context(), s.ns,
			metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &wrong}})), string(was.UID), "UID"))
		s.remove(s.ns)
		s.Await("configmaps. has 1 resource instances")
		s.Note("again: %s", controllertest.Refusal(s.CoreV1().Namespaces().Delete(s.t.Context(), s.ns, metav1.DeleteOptions{})))
		s.Note("at once: %s", controllertest.Refusal(s.CoreV1().Namespaces().Delete(s.t.Context(), s.ns, *metav1.NewDeleteOptions(0))))
	},
	"a finalizer among its metadata": func(s namespaceScene) {
		s.configMap(s.ns, "a")
		must[*corev1.Namespace](s.t)(s.CoreV1().Namespaces().Patch(s.t.Context(), s.ns, types.MergePatchType,
			[]byte(`{"metadata":{"finalizers":["`+finalizer+`"]}}`), metav1.PatchOptions{}))
		s.remove(s.ns)
	},
	"a finalizer of somebody else in its spec": func(s namespaceScene) {
		ns := must[*corev1.Namespace](s.t)(s.CoreV1().Namespaces().Get(s.t.Context(), s.ns, metav1.GetOptions{}))
		ns.Spec.Finalizers = append(ns.Spec.Finalizers, finalizer)
		must[*corev1.Namespace](s.t)(s.CoreV1().Namespaces().Finalize(s.t.Context(), ns, metav1.UpdateOptions{}))
		s.configMap(s.ns, "a")
		s.remove(s.ns)
	},
	"custom resources": func(s namespaceScene) {
		things := s.definition("Thing")
		s.custom(things, "held", finalizer)
		s.custom(things, "free")
		s.remove(s.ns)
	},
	"the definition is deleted meanwhile": func(s namespaceScene) {
		things := s.definition("Gone")
		s.custom(things, "held", finalizer)
		s.remove(s.ns)
		s.Await("has 1 resource instances")
		s.try("delete the definition", s.Dynamic.Resource(definitions).Delete(s.t.Context(), things.Resource+"."+things.Group, metav1.DeleteOptions{}))
		s.release(things, "held")
		s.Await("the namespace is gone")
		s.untilNotFound(s.Dynamic.Resource(definitions), things.Resource+"."+things.Group)
		s.Note("the definition is gone")
	},
	"a definition is made meanwhile": func(s namespaceScene) {
		s.configMap(s.ns, "held", finalizer)
		s.remove(s.ns)
		s.Await("configmaps. has 1 resource instances")
		things := s.definition("Late")
		_, err := s.Dynamic.Resource(things).Namespace(s.ns).Create(s.t.Context(), customResource(things, "Late", "o"), metav1.CreateOptions{})
		s.try("create one", err)
		s.releaseConfigMap(s.ns, "held")
	},
}

// damagedNamespaceScenes are scenes that hinder others upstream: where an object can't be read, no list of its resource can, in any
// namespace.
var damagedNamespaceScenes = map[string]func(s namespaceScene){
	"what is stored is damaged": func(s namespaceScene) {
		for _, name := range []string{"damaged", "whole"} {
			must[*corev1.PodTemplate](s.t)(s.CoreV1().PodTemplates(s.ns).Create(s.t.Context(), &corev1.PodTemplate{
				ObjectMeta: metav1.ObjectMeta{Name: name},
				Template:   corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}},
			}, metav1.CreateOptions{}))
		}
		s.configMap(s.ns, "free")
		s.damage("/registry/podtemplates/" + s.ns + "/damaged")
		s.remove(s.ns)
	},
	"a webhook that converts does not answer": func(s namespaceScene) {
		// What is stored is of the older version, and the newer one is what clients prefer.
		things := s.definition("Stuck")
		s.custom(things, "a")
		s.custom(things, "b", finalizer)
		s.addVersion(things, "v2", "v1")
		s.remove(s.ns)
	},
	"a webhook that converts for the storage does not answer": func(s namespaceScene) {
		// What is stored is of the older version, and can't be made into what is to be stored.
		things := s.definition("Unread")
		s.custom(things, "a")
		s.addVersion(things, "v2", "v2")
		s.configMap(s.ns, "free")
		s.remove(s.ns)
	},
}

const (
	nothingRemains = "condition NamespaceContentRemaining=False ContentRemoved: All content successfully removed"
	noFinalizers   = "condition NamespaceFinalizersRemaining=False ContentHasNoFinalizers: All content-preserving finalizers finished"
	podRemains     = "condition NamespaceContentRemaining=True SomeResourcesRemain: Some resources are remaining: pods. has 1 resource instances"
	waits          = "condition NamespaceFinalizersRemaining=True SomeFinalizersRemain: " +
		"Some content in the namespace has finalizers remaining: example.com/wait in 1 resource instances"

	stuck  = "a-webhook-that-converts-does-not-answer"
	unread = "a-webhook-that-converts-for-the-storage-does-not-answer"
)

// namespaceDiffers has what kx does otherwise.
var namespaceDiffers = map[string]map[string]string{
	// As long as there are pods, upstream's conditions say that nothing remains.
	"a pod that may take its time": {nothingRemains: podRemains},
	"a pod whose time is over":     {nothingRemains: podRemains},
	"pods are held":                {nothingRemains: podRemains, noFinalizers: waits},
	// Upstream reads objects in the version that clients prefer. kx reads them as they are stored, and needs no webhook for that.
	"a webhook that converts does not answer": {
		"condition NamespaceDeletionContentFailure=True": "condition NamespaceDeletionContentFailure=False ContentDeleted: " +
			"All content successfully deleted, may be waiting on finalization",
		nothingRemains: "condition NamespaceContentRemaining=True SomeResourcesRemain: " +
			"Some resources are remaining: stucks." + stuck + ".example.com has 1 resource instances",
		noFinalizers: waits,
		"stored is /registry/" + stuck + ".example.com/stucks/" + stuck + "/a": "",
	},
	// To upstream, what can't be converted is as corrupt as what can't be decoded.
	"a webhook that converts for the storage does not answer": {
		"condition NamespaceDeletionContentFailure=True": "condition NamespaceDeletionContentFailure=True ContentDeletionFailed: " +
			"Failed to delete all resource types, 1 remaining: Internal error occurred: conversion webhook for " + unread + `.example.com/v1, ` +
			`Kind=Unread failed: Post "https://127.0.0.1:1/convert?timeout=30s": dial tcp 127.0.0.1:1: connect: connection refused`,
	},
}

func TestNamespaceUpstream(t *testing.T) {
	t.Parallel()
	compareNamespaces(t, controllertest.Scenes{Answers: "namespace.json"}, namespaceScenes, ordinary.Clients)
}

func TestNamespaceUpstreamDamaged(t *testing.T) {
	t.Parallel()
	start := func(t *testing.T) controllertest.Clients {
		clients, _ := controllertest.Serve(t, withAll(), "")
		return clients
	}
	compareNamespaces(t, controllertest.Scenes{Answers: "namespace-damaged.json", Serial: true}, damagedNamespaceScenes, start)
}

func compareNamespaces(
	t *testing.T, all controllertest.Scenes, scenes map[string]func(namespaceScene), start func(*testing.T) controllertest.Clients,
) {
	t.Helper()
	all.Play = map[string]func(*controllertest.Stage){}
	all.State = func(s *controllertest.Stage) []string { return newNamespaceScene(s).state() }
	all.Quiet, all.Differs = 15*time.Second, namespaceDiffers
	all.Begun = func(lines []string) bool {
		return slices.ContainsFunc(lines, func(line string) bool {
			return strings.HasPrefix(line, "condition") || strings.HasPrefix(line, "the namespace is gone")
		})
	}
	for name, play := range scenes {
		all.Play[name] = func(s *controllertest.Stage) { play(newNamespaceScene(s)) }
	}
	all.Compare(t, start)
}

func newNamespaceScene(s *controllertest.Stage) namespaceScene {
	return namespaceScene{namespaceCluster{s.Clientset, s.T}, s, s.Namespace}
}

// state is the namespace, its conditions, and what is in it.
func (s namespaceScene) state() (lines []string) {
	ns, err := s.CoreV1().Namespaces().Get(s.t.Context(), s.ns, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		lines = append(lines, "the namespace is gone")
	case err != nil:
		s.t.Fatal(err)
	default:
		lines = append(lines, fmt.Sprintf("the namespace is %s, waits for %v and %v", ns.Status.Phase, ns.Spec.Finalizers, ns.Finalizers))
		lines = append(lines, namespaceConditions(ns)...)
	}
	return append(append(lines, s.objects()...), s.keys()...)
}

// keys are those of objects that can't be read through the API.
func (s namespaceScene) keys() (lines []string) {
	for _, prefix := range []string{"podtemplates/", s.ns + ".example.com/stucks/", s.ns + ".example.com/unreads/"} {
		prefix = "/registry/" + prefix + s.ns + "/"
		got, err := s.Etcd.Get(s.t.Context(), prefix, clientv3.WithPrefix(), clientv3.WithKeysOnly())
		if err != nil {
			s.t.Fatal(err)
		}
		for _, kv := range got.Kvs {
			lines = append(lines, "stored is "+string(kv.Key))
		}
	}
	return lines
}

var revisions = regexp.MustCompile(`revision=[0-9]+`)

func namespaceConditions(ns *corev1.Namespace) (lines []string) {
	for _, c := range ns.Status.Conditions {
		message := revisions.ReplaceAllString(c.Message, "revision=N")
		lines = append(lines, fmt.Sprintf("condition %s=%s %s: %s", c.Type, c.Status, c.Reason, message))
	}
	return lines
}

// objects are those that scenes make.
func (s namespaceScene) objects() (lines []string) {
	for _, resource := range []string{"pods", "configmaps", "secrets", "services"} {
		list, err := s.Dynamic.Resource(corev1.SchemeGroupVersion.WithResource(resource)).Namespace(s.ns).List(s.t.Context(), metav1.ListOptions{})
		if err != nil {
			s.t.Fatal(err)
		}
		for _, o := range list.Items {
			if o.GetName() == "kube-root-ca.crt" {
				continue
			}
			line := resource + " " + o.GetName() + ": there"
			if o.GetDeletionTimestamp() != nil {
				line = resource + " " + o.GetName() + ": deleted, waits for " + strings.Join(o.GetFinalizers(), ", ")
			}
			lines = append(lines, line)
		}
	}
	return lines
}

// noteConditions notes the conditions when one of them says something.
func (s namespaceScene) noteConditions(text string) {
	s.t.Helper()
	for _, line := range s.Await(text) {
		if strings.HasPrefix(line, "condition") && strings.Contains(line, "=True") {
			s.Note("%s", line)
		}
	}
}

func (s namespaceScene) secret(name string, finalizers ...string) {
	s.t.Helper()
	must[*corev1.Secret](s.t)(s.CoreV1().Secrets(s.ns).Create(s.t.Context(),
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: finalizers}}, metav1.CreateOptions{}))
}

func (s namespaceScene) service(name string, finalizers ...string) {
	s.t.Helper()
	must[*corev1.Service](s.t)(s.CoreV1().Services(s.ns).Create(s.t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: finalizers}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 1}}},
	}, metav1.CreateOptions{}))
}

// release takes the finalizers of an object away.
func (s namespaceScene) release(resource schema.GroupVersionResource, name string) {
	s.t.Helper()
	must[*unstructured.Unstructured](s.t)(s.Dynamic.Resource(resource).Namespace(s.ns).Patch(s.t.Context(), name, types.MergePatchType, withoutFinalizers, metav1.PatchOptions{}))
}

// try notes what became of something.
func (s namespaceScene) try(what string, err error) {
	s.Note("%s: %s", what, controllertest.Refusal(err))
}

// tryAll notes what becomes of requests in a namespace that is ending.
func (s namespaceScene) tryAll() {
	s.t.Helper()
	ctx, core, maps := s.t.Context(), s.CoreV1(), s.CoreV1().ConfigMaps(s.ns)
	named := func(name string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
	}
	_, err := maps.Create(ctx, named("new"), metav1.CreateOptions{})
	s.try("create a config map", err)
	_, err = maps.Create(ctx, named("held"), metav1.CreateOptions{})
	s.try("create one that is there", err)
	_, err = maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "new-"}}, metav1.CreateOptions{})
	s.try("create one without a name", err)
	_, err = maps.Create(ctx, named("new"), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	s.try("create one, but not really", err)
	_, err = maps.Patch(ctx, "new", types.ApplyPatchType, []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"new"}}`), metav1.PatchOptions{FieldManager: "me"})
	s.try("apply a new one", err)
	_, err = maps.Patch(ctx, "held", types.ApplyPatchType, []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"held"},"data":{"a":"b"}}`), metav1.PatchOptions{FieldManager: "me"})
	s.try("apply one that is there", err)
	_, err = maps.Patch(ctx, "held", types.MergePatchType, []byte(`{"metadata":{"finalizers":["`+finalizer+`","`+finalizer2+`"]}}`), metav1.PatchOptions{})
	s.try("add a finalizer", err)
	_, err = maps.Update(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "held", Finalizers: []string{finalizer}}, Data: map[string]string{"a": "c"}}, metav1.UpdateOptions{})
	s.try("update it", err)
	_, err = core.Events(s.ns).Create(ctx, &corev1.Event{ObjectMeta: metav1.ObjectMeta{Name: "new"}, InvolvedObject: corev1.ObjectReference{Namespace: s.ns}}, metav1.CreateOptions{})
	s.try("create an event", err)
	err = s.PolicyV1().Evictions(s.ns).Evict(ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "done", Namespace: s.ns}})
	s.try("evict a pod", err)
	_, err = s.AuthorizationV1().LocalSubjectAccessReviews(s.ns).Create(ctx, &authorizationv1.LocalSubjectAccessReview{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.ns},
		Spec:       authorizationv1.SubjectAccessReviewSpec{User: "me", ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: s.ns, Verb: "get", Resource: "pods"}},
	}, metav1.CreateOptions{})
	s.try("ask what somebody may", err)
	things := s.resource("Before")
	_, err = s.Dynamic.Resource(things).Namespace(s.ns).Create(ctx, customResource(things, "Before", "new"), metav1.CreateOptions{})
	s.try("create a custom resource", err)
	_, err = core.Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.ns}}, metav1.CreateOptions{})
	s.try("create the namespace again", err)
	_, err = core.Namespaces().Patch(ctx, s.ns, types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{})
	s.try("label the namespace", err)
}

// follow watches resources. What it returns waits until so many of their objects were deleted, and has them in that order.
func (s namespaceScene) follow(resources ...string) func(n int) []string {
	s.t.Helper()
	type deletion struct {
		what     string
		revision string
	}
	found := make(chan deletion)
	for _, resource := range resources {
		w, err := s.Dynamic.Resource(corev1.SchemeGroupVersion.WithResource(resource)).Namespace(s.ns).Watch(s.t.Context(), metav1.ListOptions{})
		if err != nil {
			s.t.Fatal(err)
		}
		s.t.Cleanup(w.Stop)
		go func() {
			for event := range w.ResultChan() {
				if o, ok := event.Object.(*unstructured.Unstructured); ok && event.Type == "DELETED" && o.GetName() != "kube-root-ca.crt" {
					select {
					case found <- deletion{resource + " " + o.GetName(), o.GetResourceVersion()}:
					case <-s.t.Context().Done():
						return
					}
				}
			}
		}()
	}
	return func(n int) (order []string) {
		var all []deletion
		for range n {
			select {
			case d := <-found:
				all = append(all, d)
			case <-time.After(controllertest.Patience):
				s.t.Fatalf("only %v were deleted", all)
			}
		}
		slices.SortFunc(all, func(a, b deletion) int {
			return len(a.revision)*1e6 - len(b.revision)*1e6 + strings.Compare(a.revision, b.revision)
		})
		for _, d := range all {
			order = append(order, d.what)
		}
		return order
	}
}

// resource is that of a definition of the scene: its group is the scene's own.
func (s namespaceScene) resource(kind string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: s.ns + ".example.com", Version: "v1", Resource: strings.ToLower(kind) + "s"}
}

// definition makes a definition of namespaced objects, and waits until it is served.
func (s namespaceScene) definition(kind string) schema.GroupVersionResource {
	s.t.Helper()
	r := s.resource(kind)
	crd := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": r.Resource + "." + r.Group},
		"spec": map[string]any{
			"group": r.Group, "scope": "Namespaced",
			"names":    map[string]any{"plural": r.Resource, "singular": strings.ToLower(kind), "kind": kind, "listKind": kind + "List"},
			"versions": []any{definitionVersion("v1", true)},
		},
	}}
	must[*unstructured.Unstructured](s.t)(s.Dynamic.Resource(definitions).Create(s.t.Context(), crd, metav1.CreateOptions{}))
	s.untilServed(r)
	return r
}

func definitionVersion(name string, stored bool) map[string]any {
	return map[string]any{"name": name, "served": true, "storage": stored, "schema": map[string]any{
		"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}
}

// untilServed waits until discovery has a resource: that is what upstream's controller asks.
func (s namespaceScene) untilServed(r schema.GroupVersionResource) {
	s.t.Helper()
	eventually(s.t, fmt.Sprint(r, " is served"), func() bool {
		list, err := s.Discovery().ServerResourcesForGroupVersion(r.GroupVersion().String())
		return err == nil && slices.ContainsFunc(list.APIResources, func(a metav1.APIResource) bool { return a.Name == r.Resource })
	})
}

// addVersion has the definition serve another version, converted by a webhook that does not answer.
func (s namespaceScene) addVersion(r schema.GroupVersionResource, version, stored string) {
	s.t.Helper()
	name := r.Resource + "." + r.Group
	crd := must[*unstructured.Unstructured](s.t)(s.Dynamic.Resource(definitions).Get(s.t.Context(), name, metav1.GetOptions{}))
	spec := crd.Object["spec"].(map[string]any)
	spec["versions"] = []any{definitionVersion(version, stored == version), definitionVersion(r.Version, stored == r.Version)}
	spec["conversion"] = map[string]any{"strategy": "Webhook", "webhook": map[string]any{
		"conversionReviewVersions": []any{"v1"}, "clientConfig": map[string]any{"url": "https://127.0.0.1:1/convert"},
	}}
	must[*unstructured.Unstructured](s.t)(s.Dynamic.Resource(definitions).Update(s.t.Context(), crd, metav1.UpdateOptions{}))
	s.untilServed(r.GroupResource().WithVersion(version))
	s.t.Cleanup(func() {
		// Nobody else is to be hindered.
		_, _ = s.Etcd.Delete(context.Background(), "/registry/"+r.Group+"/"+r.Resource+"/", clientv3.WithPrefix())
		_ = s.Dynamic.Resource(definitions).Delete(context.Background(), name, metav1.DeleteOptions{})
	})
}

func customResource(r schema.GroupVersionResource, kind, name string, finalizers ...string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"a": "b"}}}
	o.SetGroupVersionKind(r.GroupVersion().WithKind(kind))
	o.SetName(name)
	o.SetFinalizers(finalizers)
	return o
}

// custom makes a custom resource.
func (s namespaceScene) custom(r schema.GroupVersionResource, name string, finalizers ...string) {
	s.t.Helper()
	kind := strings.ToUpper(r.Resource[:1]) + strings.TrimSuffix(r.Resource[1:], "s")
	// Upstream lists a resource in discovery a moment before it serves it.
	eventually(s.t, r.Resource+" are served", func() bool {
		made := customResource(r, kind, name, finalizers...)
		_, err := s.Dynamic.Resource(r).Namespace(s.ns).Create(s.t.Context(), made, metav1.CreateOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			s.t.Fatal(err)
		}
		return err == nil
	})
}

func (s namespaceScene) untilNotFound(resource dynamic.ResourceInterface, name string) {
	s.t.Helper()
	eventually(s.t, name+" is gone", func() bool {
		_, err := resource.Get(s.t.Context(), name, metav1.GetOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			s.t.Fatal(err)
		}
		return err != nil
	})
}

// damage cuts off what is stored under a key.
func (s namespaceScene) damage(key string) {
	s.t.Helper()
	value := s.stored(key)
	s.put(key, value[:len(value)/2])
	s.t.Cleanup(func() { _, _ = s.Etcd.Delete(context.Background(), key) })
}
