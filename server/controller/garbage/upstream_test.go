package garbage_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kx-apiserver/kx/server/controller/controllertest"
)

// record is the kubeconfig of a kube-apiserver with its kube-controller-manager.
var record = flag.String("record", "", "kubeconfig of a Kubernetes API server whose answers are written to testdata/upstream.json")

const answers = "testdata/upstream.json"

// quiet is how long nothing must happen before what is there is taken for the end.
const quiet = 4 * time.Second

// scenes are what is done in a namespace of its own.
var scenes = map[string]func(c cluster, ns string){
	"background": func(c cluster, ns string) {
		owner := c.configMap(ns, "owner", nil)
		child := c.configMap(ns, "child", owns(true, owner))
		c.configMap(ns, "grandchild", owns(true, child))
		c.configMap(ns, "shared", owns(true, owner, c.configMap(ns, "other", nil)))
		c.configMap(ns, "held", owns(true, owner), held)
		c.remove(owner, background)
	},
	"background, and the owner is held": func(c cluster, ns string) {
		owner := c.configMap(ns, "owner", nil, held)
		c.configMap(ns, "child", owns(true, owner))
		c.remove(owner, background)
	},
	"foreground": func(c cluster, ns string) {
		owner := c.configMap(ns, "owner", nil)
		child := c.configMap(ns, "child", owns(true, owner))
		c.configMap(ns, "grandchild", owns(true, child), held)
		c.configMap(ns, "loose", owns(false, owner))
		c.configMap(ns, "shared", owns(true, owner, c.configMap(ns, "other", nil)))
		c.remove(owner, foreground)
	},
	"foreground, and nothing blocks": func(c cluster, ns string) {
		owner := c.configMap(ns, "owner", nil)
		c.configMap(ns, "child", owns(false, owner), held)
		c.remove(owner, foreground)
	},
	"orphan": func(c cluster, ns string) {
		owner := c.configMap(ns, "owner", nil)
		c.configMap(ns, "child", owns(true, owner))
		c.configMap(ns, "held", owns(true, owner), held)
		c.configMap(ns, "shared", owns(true, owner, c.configMap(ns, "other", nil)))
		c.remove(owner, orphan)
	},
	"a circle in the foreground": func(c cluster, ns string) {
		a := c.configMap(ns, "a", nil)
		c.give(ns, "a", owns(true, c.configMap(ns, "b", owns(true, a))))
		c.remove(a, foreground)
	},
	"a circle that nobody deletes": func(c cluster, ns string) {
		a := c.configMap(ns, "a", nil)
		c.give(ns, "a", owns(true, c.configMap(ns, "b", owns(true, a))))
	},
	"a name is used again": func(c cluster, ns string) {
		owner := c.configMap(ns, "owner", nil)
		c.remove(owner, background)
		c.configMap(ns, "owner", nil)
		c.configMap(ns, "late", owns(true, owner))
	},
	"references that are not right": func(c cluster, ns string) {
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
	"another namespace": func(c cluster, ns string) {
		owner := c.configMap("default", "owner-"+ns, nil)
		c.configMap(ns, "child", owns(true, owner))
		c.configMap(ns, "held", owns(true, owner), held)
		c.configMap(ns, "shared", owns(true, owner, c.configMap(ns, "other", nil)))
	},
}

// give gives an object other owners.
func (c cluster) give(namespace, name string, owners []metav1.OwnerReference) {
	c.t.Helper()
	references, _ := json.Marshal(owners)
	_, err := c.CoreV1().ConfigMaps(namespace).Patch(c.t.Context(), name, types.MergePatchType,
		[]byte(`{"metadata":{"ownerReferences":`+string(references)+`}}`), metav1.PatchOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
}

// state is what is there, in words.
func (there maps) state() (lines []string) {
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
	slices.Sort(lines)
	return lines
}

// play plays a scene in a namespace of its own.
func (c cluster) play(name string) (namespace string) {
	c.t.Helper()
	namespace = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' {
			return r
		}
		return '-'
	}, name)
	if _, err := c.CoreV1().Namespaces().Create(c.t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{}); err != nil {
		c.t.Fatal(err)
	}
	scenes[name](c, namespace)
	return namespace
}

// TestUpstream plays scenes, and waits for what is left of each with a kube-apiserver v1.37.1 and its kube-controller-manager.
func TestUpstream(t *testing.T) {
	want := map[string][]string{}
	if *record != "" {
		writeAnswers(t)
	}
	data, err := os.ReadFile(answers)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	if len(want) != len(scenes) {
		t.Errorf("there are answers to %d scenes of %d: -record", len(want), len(scenes))
	}
	server, _ := start(t, controllertest.ShortDir(t))
	for name := range scenes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := cluster{server.Clientset, t}
			var last []string
			defer func() {
				if t.Failed() {
					t.Logf("left are\n%s\nand not\n%s", strings.Join(last, "\n"), strings.Join(want[name], "\n"))
				}
			}()
			c.until(c.play(name), func(there maps) bool {
				last = there.state()
				return slices.Equal(last, want[name])
			})
		})
	}
}

// writeAnswers plays the scenes on the recorded server.
func writeAnswers(t *testing.T) {
	config, err := clientcmd.BuildConfigFromFlags("", *record)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	c := cluster{clients, t}
	left := map[string][]string{}
	for name := range scenes {
		namespace := c.play(name)
		left[name] = []string{}
		for ended := false; !ended; {
			before := c.there(namespace).state()
			ctx, cancel := context.WithTimeout(t.Context(), quiet)
			<-ctx.Done()
			cancel()
			left[name] = c.there(namespace).state()
			ended = slices.Equal(before, left[name])
		}
	}
	data, err := json.MarshalIndent(left, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(answers, append(data, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

// there is what is in a namespace now.
func (c cluster) there(namespace string) maps {
	c.t.Helper()
	list, err := c.CoreV1().ConfigMaps(namespace).List(c.t.Context(), metav1.ListOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	return mapsOf(list)
}
