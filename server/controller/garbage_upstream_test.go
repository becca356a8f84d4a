package controller_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kx-apiserver/kx/server/internal/controllertest"
)

// garbageScenes are what is done in a namespace of its own.
var garbageScenes = map[string]func(c garbageCluster, ns string){
	"background": func(c garbageCluster, ns string) {
		owner := c.configMap(ns, "owner", nil)
		child := c.configMap(ns, "child", owns(true, owner))
		c.configMap(ns, "grandchild", owns(true, child))
		c.configMap(ns, "shared", owns(true, owner, c.configMap(ns, "other", nil)))
		c.configMap(ns, "held", owns(true, owner), finalizer)
		c.remove(owner, background)
	},
	"background, and the owner is held": func(c garbageCluster, ns string) {
		owner := c.configMap(ns, "owner", nil, finalizer)
		c.configMap(ns, "child", owns(true, owner))
		c.remove(owner, background)
	},
	"foreground": func(c garbageCluster, ns string) {
		owner := c.configMap(ns, "owner", nil)
		child := c.configMap(ns, "child", owns(true, owner))
		c.configMap(ns, "grandchild", owns(true, child), finalizer)
		c.configMap(ns, "loose", owns(false, owner))
		c.configMap(ns, "shared", owns(true, owner, c.configMap(ns, "other", nil)))
		c.remove(owner, foreground)
	},
	"foreground, and nothing blocks": func(c garbageCluster, ns string) {
		owner := c.configMap(ns, "owner", nil)
		c.configMap(ns, "child", owns(false, owner), finalizer)
		c.remove(owner, foreground)
	},
	"orphan": func(c garbageCluster, ns string) {
		owner := c.configMap(ns, "owner", nil)
		c.configMap(ns, "child", owns(true, owner))
		c.configMap(ns, "held", owns(true, owner), finalizer)
		c.configMap(ns, "shared", owns(true, owner, c.configMap(ns, "other", nil)))
		c.remove(owner, orphan)
	},
	"a circle in the foreground": func(c garbageCluster, ns string) {
		a := c.configMap(ns, "a", nil)
		c.give(ns, "a", owns(true, c.configMap(ns, "b", owns(true, a))))
		c.remove(a, foreground)
	},
	"a circle that nobody deletes": func(c garbageCluster, ns string) {
		a := c.configMap(ns, "a", nil)
		c.give(ns, "a", owns(true, c.configMap(ns, "b", owns(true, a))))
	},
	"a name is used again": func(c garbageCluster, ns string) {
		owner := c.configMap(ns, "owner", nil)
		c.remove(owner, background)
		c.configMap(ns, "owner", nil)
		c.configMap(ns, "late", owns(true, owner))
	},
	"references that are not right": func(c garbageCluster, ns string) {
		owner := c.configMap(ns, "owner", nil)
		for name, change := range map[string]func(*metav1.OwnerReference){
			"kind":     func(r *metav1.OwnerReference) { r.Kind = "Secret" },
			"no-kind":  func(r *metav1.OwnerReference) { r.Kind = "NoSuchKind" },
			"version":  func(r *metav1.OwnerReference) { r.APIVersion = "v9" },
			"group":    func(r *metav1.OwnerReference) { r.APIVersion = "example.com/v1" },
			"name":     func(r *metav1.OwnerReference) { r.Name = "else" },
			"bad-name": func(r *metav1.OwnerReference) { r.Name = "a/b" },
			"uid":      func(r *metav1.OwnerReference) { r.UID = "else" },
			"right":    func(*metav1.OwnerReference) {},
		} {
			references := owns(true, owner)
			change(&references[0])
			c.configMap(ns, name, references)
		}
	},
	"an owner of the cluster": func(c garbageCluster, ns string) {
		owner, err := c.RbacV1().ClusterRoles().Create(c.t.Context(), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "owner-" + ns}}, metav1.CreateOptions{})
		if err != nil {
			c.t.Fatal(err)
		}
		of := []metav1.OwnerReference{{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRole", Name: owner.Name, UID: owner.UID, BlockOwnerDeletion: new(true)}}
		child := c.configMap(ns, "child", of)
		c.configMap(ns, "grandchild", owns(true, child))
		c.configMap(ns, "held", of, finalizer)
		if err := c.RbacV1().ClusterRoles().Delete(c.t.Context(), owner.Name, metav1.DeleteOptions{PropagationPolicy: new(background)}); err != nil {
			c.t.Fatal(err)
		}
	},
	"another namespace": func(c garbageCluster, ns string) {
		owner := c.configMap("default", "owner-"+ns, nil)
		c.configMap(ns, "child", owns(true, owner))
		c.configMap(ns, "held", owns(true, owner), finalizer)
		c.configMap(ns, "shared", owns(true, owner, c.configMap(ns, "other", nil)))
	},
}

// give gives an object other owners.
func (c garbageCluster) give(namespace, name string, owners []metav1.OwnerReference) {
	c.t.Helper()
	references, _ := json.Marshal(owners)
	_, err := c.CoreV1().ConfigMaps(namespace).Patch(c.t.Context(), name, types.MergePatchType,
		[]byte(`{"metadata":{"ownerReferences":`+string(references)+`}}`), metav1.PatchOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
}

// state is what is there, in words.
func (there configMaps) state() (lines []string) {
	for name, cm := range there {
		if name == "kube-root-ca.crt" {
			continue
		}
		line := name
		for _, r := range cm.OwnerReferences {
			line += fmt.Sprintf(" of %s %s (blocks: %v)", r.Kind, strings.TrimSuffix(r.Name, cm.Namespace), *r.BlockOwnerDeletion)
		}
		if cm.DeletionTimestamp != nil {
			line += " deleted, waits for " + strings.Join(cm.Finalizers, ", ")
		}
		lines = append(lines, line)
	}
	return lines
}

// chainedGarbage has the order in which four objects go that own each other, after the first of them was deleted.
func chainedGarbage(s *controllertest.Stage, policy metav1.DeletionPropagation) {
	c := garbageCluster{s.Clientset, s.T}
	first := c.configMap(s.Namespace, "first", nil)
	second := c.configMap(s.Namespace, "second", owns(true, first))
	third := c.configMap(s.Namespace, "third", owns(true, second))
	last := c.configMap(s.Namespace, "last", owns(true, third))
	w, err := c.CoreV1().ConfigMaps(s.Namespace).Watch(s.T.Context(), metav1.ListOptions{ResourceVersion: last.ResourceVersion})
	if err != nil {
		s.T.Fatal(err)
	}
	defer w.Stop()
	c.remove(first, policy)
	for left := 4; left > 0; {
		select {
		case event := <-w.ResultChan():
			if cm, ok := event.Object.(*corev1.ConfigMap); ok && event.Type == watch.Deleted && cm.Name != "kube-root-ca.crt" {
				s.Note("%s goes", cm.Name)
				left--
			}
		case <-time.After(controllertest.Patience):
			s.T.Fatal("not all go")
		}
	}
}

// uids are not the same twice.
var uids = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}`)

// told are the events of a namespace, each once.
func (c garbageCluster) told(namespace string) (lines []string) {
	c.t.Helper()
	list, err := c.CoreV1().Events(namespace).List(c.t.Context(), metav1.ListOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	for _, e := range list.Items {
		line := fmt.Sprintf("event of %s: %s %s about %s %s: %s", e.Source.Component, e.Type, e.Reason, e.InvolvedObject.Kind, e.InvolvedObject.Name, uids.ReplaceAllString(e.Message, "<uid>"))
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return lines
}

// TestGarbageUpstream plays scenes, and waits for what is left of each with a kube-apiserver v1.37.1 and its kube-controller-manager.
func TestGarbageUpstream(t *testing.T) {
	t.Parallel()
	all := controllertest.Scenes{
		Answers: "garbage.json",
		Play: map[string]func(*controllertest.Stage){
			"the order in the background": func(s *controllertest.Stage) { chainedGarbage(s, background) },
			"the order in the foreground": func(s *controllertest.Stage) { chainedGarbage(s, foreground) },
		},
		State: func(s *controllertest.Stage) []string {
			c := garbageCluster{s.Clientset, s.T}
			return append(c.there(s.Namespace).state(), c.told(s.Namespace)...)
		},
		Quiet: 4 * time.Second,
	}
	for name, play := range garbageScenes {
		all.Play[name] = func(s *controllertest.Stage) { play(garbageCluster{s.Clientset, s.T}, s.Namespace) }
	}
	all.Compare(t, ordinary.Clients)
}

// there is what is in a namespace now.
func (c garbageCluster) there(namespace string) configMaps {
	c.t.Helper()
	list, err := c.CoreV1().ConfigMaps(namespace).List(c.t.Context(), metav1.ListOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	return configMapsOf(list)
}
