package controller_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kx-apiserver/kx/server/controller"
	"github.com/kx-apiserver/kx/server/internal/controllertest"
)

const (
	background = metav1.DeletePropagationBackground
	foreground = metav1.DeletePropagationForeground
	orphan     = metav1.DeletePropagationOrphan
	ns         = "default"
)

func TestGarbageBackground(t *testing.T) {
	t.Parallel()
	c, ns := sharedGarbage(t)
	owner := c.configMap(ns, "owner", nil)
	other := c.configMap(ns, "other", nil)
	child := c.configMap(ns, "child", owns(false, owner))
	c.configMap(ns, "grandchild", owns(false, child))
	c.configMap(ns, "shared", owns(false, owner, other))
	c.configMap(ns, "stranger", nil)
	c.remove(owner, background)
	c.until(ns, only("other", "shared", "stranger"))
	c.until(ns, func(there configMaps) bool { return len(there["shared"].OwnerReferences) == 1 })
	c.remove(other, background)
	c.until(ns, only("stranger"))
}

// TestGarbageNameIsUsedAgain has an owner that is another one than the dependents'.
func TestGarbageNameIsUsedAgain(t *testing.T) {
	t.Parallel()
	c, ns := sharedGarbage(t)
	owner := c.configMap(ns, "owner", nil, finalizer)
	c.configMap(ns, "child", owns(false, owner))
	c.remove(owner, background)
	c.letGo(owner)
	again := c.configMap(ns, "owner", nil)
	c.configMap(ns, "new", owns(false, again))
	c.configMap(ns, "late", owns(false, owner)) // its owner has been gone for some time
	c.until(ns, only("owner", "new"))
}

func TestGarbageForeground(t *testing.T) {
	t.Parallel()
	c, ns := sharedGarbage(t)
	owner := c.configMap(ns, "owner", nil)
	child := c.configMap(ns, "child", owns(true, owner))
	grandchild := c.configMap(ns, "grandchild", owns(true, child), finalizer)
	c.remove(owner, foreground)
	c.until(ns, func(there configMaps) bool {
		return len(there) == 3 && there["grandchild"].DeletionTimestamp != nil &&
			strings.Join(there["child"].Finalizers, " ") == metav1.FinalizerDeleteDependents
	})
	if o, err := c.CoreV1().ConfigMaps(ns).Get(t.Context(), "owner", metav1.GetOptions{}); err != nil || o.DeletionTimestamp == nil {
		t.Errorf("the owner is %v, %v", o, err)
	}
	c.letGo(grandchild)
	c.until(ns, only())
}

// TestGarbageNotBlocking has dependents that their owner does not wait for.
func TestGarbageNotBlocking(t *testing.T) {
	t.Parallel()
	c, ns := sharedGarbage(t)
	owner := c.configMap(ns, "owner", nil)
	child := c.configMap(ns, "child", owns(false, owner), finalizer)
	c.remove(owner, foreground)
	c.until(ns, func(there configMaps) bool { return len(there) == 1 && there["child"].DeletionTimestamp != nil })
	c.letGo(child)
	c.until(ns, only())
}

// TestGarbageUnblocked has an owner wait for one that is given to somebody else, and for one that stops to block.
func TestGarbageUnblocked(t *testing.T) {
	t.Parallel()
	c, ns := sharedGarbage(t)
	owner := c.configMap(ns, "owner", nil)
	c.configMap(ns, "given", owns(true, owner), finalizer)
	c.configMap(ns, "stops", owns(true, owner), finalizer)
	c.remove(owner, foreground)
	c.until(ns, func(there configMaps) bool {
		return len(there) == 3 && there["given"].DeletionTimestamp != nil && there["stops"].DeletionTimestamp != nil
	})
	patch := func(name, references string) {
		_, err := c.CoreV1().ConfigMaps(ns).Patch(t.Context(), name, types.MergePatchType,
			[]byte(`{"metadata":{"ownerReferences":`+references+`}}`), metav1.PatchOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	patch("given", "null")
	references, _ := json.Marshal(owns(false, owner))
	patch("stops", string(references))
	c.until(ns, only("given", "stops"))
}

func TestGarbageOrphan(t *testing.T) {
	t.Parallel()
	c, ns := sharedGarbage(t)
	owner := c.configMap(ns, "owner", nil)
	other := c.configMap(ns, "other", nil)
	c.configMap(ns, "child", owns(true, owner))
	c.configMap(ns, "shared", owns(true, owner, other))
	c.remove(owner, orphan)
	c.until(ns, func(there configMaps) bool {
		return only("other", "child", "shared")(there) && len(there["child"].OwnerReferences) == 0 && len(there["shared"].OwnerReferences) == 1
	})
}

// TestGarbageCircles has objects that own each other: they stay until one of them is deleted.
func TestGarbageCircles(t *testing.T) {
	t.Parallel()
	for _, policy := range []metav1.DeletionPropagation{background, foreground} {
		t.Run(string(policy), func(t *testing.T) {
			c, ns := sharedGarbage(t)
			a := c.configMap(ns, "a", nil)
			b := c.configMap(ns, "b", owns(true, a))
			references, _ := json.Marshal(owns(true, b))
			_, err := c.CoreV1().ConfigMaps(ns).Patch(t.Context(), "a", types.MergePatchType,
				[]byte(`{"metadata":{"ownerReferences":`+string(references)+`}}`), metav1.PatchOptions{})
			if err != nil {
				t.Fatal(err)
			}
			c.remove(a, policy)
			c.until(ns, only())
		})
	}
}

// TestGarbageWrongNamespace has owners that are somewhere else, which is as if they were not, and events that say so.
func TestGarbageWrongNamespace(t *testing.T) {
	t.Parallel()
	c, _ := startGarbage(t, "")
	ctx, cancel := context.WithTimeout(t.Context(), controllertest.Patience)
	defer cancel()
	events, err := c.CoreV1().Events("").Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer events.Stop()
	createNamespace(t, c, "a")
	owner := c.configMap("a", "owner", nil)
	child := c.configMap(ns, "child", owns(false, owner), finalizer)
	role, err := c.RbacV1().ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "role", OwnerReferences: owns(false, owner)},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		ns + "/ConfigMap/child":    fmt.Sprintf(`ownerRef [v1/ConfigMap, namespace: default, name: owner, uid: %s] does not exist in namespace "default"`, owner.UID),
		"default/ClusterRole/role": fmt.Sprintf(`ownerRef [v1/ConfigMap, namespace: , name: owner, uid: %s] does not exist in namespace ""`, owner.UID),
	}
	for event := range events.ResultChan() {
		e := event.Object.(*corev1.Event)
		of := e.Namespace + "/" + e.InvolvedObject.Kind + "/" + e.InvolvedObject.Name
		if e.Reason != "OwnerRefInvalidNamespace" || e.Type != corev1.EventTypeWarning || e.Message != want[of] ||
			e.InvolvedObject.UID != child.UID && e.InvolvedObject.UID != role.UID {
			t.Errorf("an event of %s: %+v", of, e)
		}
		if delete(want, of); len(want) == 0 {
			break
		}
	}
	if len(want) > 0 {
		t.Fatalf("no event: %v", want)
	}
	c.until(ns, func(there configMaps) bool { return there["child"] != nil && there["child"].DeletionTimestamp != nil })
	// No owner of something that is in no namespace can be in one: nothing is concluded from that.
	if role, err := c.RbacV1().ClusterRoles().Get(t.Context(), "role", metav1.GetOptions{}); err != nil || role.DeletionTimestamp != nil {
		t.Errorf("the cluster role is %v, %v", role, err)
	}
}

const thingDefinition = `{"metadata":{"name":"things.b.example.com"},"spec":{"group":"b.example.com","scope":"Namespaced","names":{"plural":"things","singular":"thing","kind":"Thing","listKind":"ThingList"},
	"versions":[{"name":"v2","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`

func (c garbageCluster) define() {
	c.t.Helper()
	err := c.RESTClient().Post().AbsPath("/apis/apiextensions.k8s.io/v1/customresourcedefinitions").
		SetHeader("Content-Type", "application/json").Body([]byte(thingDefinition)).Do(c.t.Context()).Error()
	if err != nil {
		c.t.Fatal(err)
	}
}

// TestGarbageUnknownKind has an owner of a kind that is not served: nobody knows whether it is gone until somebody defines it.
func TestGarbageUnknownKind(t *testing.T) {
	t.Parallel()
	c, _ := startGarbage(t, "")
	c.configMap(ns, "child", []metav1.OwnerReference{{APIVersion: "b.example.com/v2", Kind: "Thing", Name: "gone", UID: "1"}})
	witness := c.configMap(ns, "witness", nil)
	c.configMap(ns, "other", owns(false, witness))
	c.remove(witness, background)
	c.until(ns, only("child"))
	c.define()
	c.until(ns, only())
}

// TestGarbageCustomResources has them as owners and dependents.
func TestGarbageCustomResources(t *testing.T) {
	t.Parallel()
	c, _ := startGarbage(t, "")
	c.define()
	const path = "/apis/b.example.com/v2/namespaces/default/things"
	create := func(name string, owners []metav1.OwnerReference) *metav1.PartialObjectMetadata {
		t.Helper()
		body, _ := json.Marshal(metav1.PartialObjectMetadata{
			TypeMeta:   metav1.TypeMeta{APIVersion: "b.example.com/v2", Kind: "Thing"},
			ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: owners},
		})
		made := &metav1.PartialObjectMetadata{}
		eventually(t, name+" is created, once its kind is served", func() bool {
			raw, err := c.RESTClient().Post().AbsPath(path).SetHeader("Content-Type", "application/json").Body(body).Do(t.Context()).Raw()
			return err == nil && json.Unmarshal(raw, made) == nil
		})
		return made
	}
	owner := create("owner", nil)
	by := []metav1.OwnerReference{{APIVersion: "b.example.com/v2", Kind: "Thing", Name: "owner", UID: owner.UID, BlockOwnerDeletion: new(true)}}
	c.configMap(ns, "child", by)
	create("thing", by)
	err := c.RESTClient().Delete().AbsPath(path, "owner").SetHeader("Content-Type", "application/json").
		Body([]byte(`{"propagationPolicy":"Foreground"}`)).Do(t.Context()).Error()
	if err != nil {
		t.Fatal(err)
	}
	c.until(ns, only())
	eventually(t, "no custom resource is left", func() bool {
		raw, err := c.RESTClient().Get().AbsPath(path).SetHeader("Accept", "application/json").Do(t.Context()).Raw()
		var list metav1.PartialObjectMetadataList
		if err != nil || json.Unmarshal(raw, &list) != nil {
			t.Fatal(err)
		}
		return len(list.Items) == 0
	})
}

// TestGarbageRestart stops the server while an owner waits, and before it could act on a deletion.
func TestGarbageRestart(t *testing.T) {
	t.Parallel()
	dir := controllertest.ShortDir(t)
	c, stop := startGarbage(t, dir)
	owner := c.configMap(ns, "owner", nil)
	child := c.configMap(ns, "child", owns(true, owner), finalizer)
	c.remove(owner, foreground)
	c.until(ns, func(there configMaps) bool { return there["child"].DeletionTimestamp != nil })
	stop()
	nobody := withAll()
	nobody.Controllers = controller.Selection{"-*"}
	without, stop := controllertest.Serve(t, nobody, dir)
	u := garbageCluster{without.Clientset, t}
	u.letGo(child)
	lost := u.configMap(ns, "lost", nil)
	u.configMap(ns, "of-lost", owns(false, lost))
	freed := u.configMap(ns, "freed", nil)
	u.configMap(ns, "of-freed", owns(false, freed))
	u.remove(lost, background)
	u.remove(freed, orphan)
	u.until(ns, func(there configMaps) bool {
		return only("owner", "of-lost", "freed", "of-freed")(there) && there["freed"].DeletionTimestamp != nil
	})
	stop()
	c, _ = startGarbage(t, dir)
	c.until(ns, func(there configMaps) bool {
		return only("of-freed")(there) && len(there["of-freed"].OwnerReferences) == 0
	})
}

// TestGarbageJourneys asks who deleted a dependent, and why.
func TestGarbageJourneys(t *testing.T) {
	t.Parallel()
	c, _ := startGarbage(t, "")
	owner := c.configMap(ns, "owner", nil)
	c.configMap(ns, "child", owns(false, owner))
	c.remove(owner, background)
	c.until(ns, only())
	raw, err := c.RESTClient().Get().AbsPath("/apis/kx.dev/v1alpha1/journeys").SetHeader("Accept", "application/json").
		Param("filter", "verb:delete").Do(t.Context()).Raw()
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		Items []struct {
			Metadata metav1.ObjectMeta
			Spec     struct{ Name, User, UserAgent string }
			Status   struct {
				Code  int
				Cause struct{ Journey string }
			}
		}
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		t.Fatal(err)
	}
	var ofOwner string
	for _, j := range list.Items {
		if j.Spec.Name == "owner" {
			ofOwner = j.Metadata.Name
		}
	}
	for _, j := range list.Items {
		if j.Spec.Name == "child" && j.Spec.User == "system:serviceaccount:kube-system:generic-garbage-collector" &&
			j.Status.Code == 200 && j.Status.Cause.Journey == ofOwner && ofOwner != "" {
			return
		}
	}
	t.Errorf("no such journey: %s", raw)
}
