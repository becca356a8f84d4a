package controller_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// garbageModel says what must be there: the owners that each object has, by name. An owner is a name too, of an object that need not be.
type garbageModel map[string][]string

// settle removes those whose owners are all gone, and the references to owners that are gone from those that have others.
func (m garbageModel) settle() {
	for again := true; again; {
		again = false
		for name, owners := range m {
			if len(owners) > 0 && !slices.ContainsFunc(owners, m.has) {
				delete(m, name)
				again = true
			}
		}
	}
	for name, owners := range m {
		m[name] = slices.DeleteFunc(owners, func(owner string) bool { return !m.has(owner) })
	}
}

func (m garbageModel) has(name string) bool { _, ok := m[name]; return ok }

func (m garbageModel) remove(name string, policy metav1.DeletionPropagation) {
	delete(m, name)
	if policy == orphan {
		for of, owners := range m {
			m[of] = slices.DeleteFunc(owners, func(owner string) bool { return owner == name })
		}
	}
	m.settle()
}

// is says whether the same is there, with the same owners, and nothing is being deleted.
func (m garbageModel) is(there configMaps) bool {
	for name, owners := range m {
		cm := there[name]
		if cm == nil || cm.DeletionTimestamp != nil || len(cm.OwnerReferences) != len(owners) {
			return false
		}
		for _, r := range cm.OwnerReferences {
			if !slices.Contains(owners, r.Name) {
				return false
			}
		}
	}
	return len(there) == len(m)
}

// TestGarbageModel makes random graphs of owners, whose names are used again, deletes one object after the other in a random way, with
// finalizers that somebody takes away in the meantime, and compares what remains with the model. Two servers on one etcd do the work.
func TestGarbageModel(t *testing.T) {
	t.Parallel()
	const graphs, steps = 6, 25
	c, _ := serveGarbage(t, "")
	other, _ := startGarbage(t, "", c.Etcd.Endpoints()...)
	for seed := range uint64(graphs) {
		name := fmt.Sprint("graph-", seed)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			walkGarbage(t, garbageCluster{c.Clientset, t}, garbageCluster{other.Clientset, t}, name, rand.New(rand.NewPCG(seed, 0)), steps)
		})
	}
}

func walkGarbage(t *testing.T, c, other garbageCluster, namespace string, random *rand.Rand, steps int) {
	createNamespace(t, c, namespace)
	m, there := garbageModel{}, configMaps{}
	// absent never was, and shares a name with nobody.
	absent := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "absent", UID: "no-such-uid"}}
	for step := range steps {
		var log []string
		for range 1 + random.IntN(6) {
			name := fmt.Sprint("o-", random.IntN(40))
			if m.has(name) {
				continue
			}
			var owners []metav1.OwnerReference
			for _, owner := range slices.Sorted(modelKeys(m)) {
				if random.IntN(len(m)) < 2 {
					owners = append(owners, owns(random.IntN(2) == 0, there[owner])...)
				}
			}
			if random.IntN(8) == 0 {
				owners = append(owners, owns(random.IntN(2) == 0, absent)...)
			}
			var finalizers []string
			if random.IntN(4) == 0 {
				finalizers = []string{finalizer}
			}
			there[name] = c.configMap(namespace, name, owners, finalizers...)
			m[name] = nil
			for _, r := range owners {
				m[name] = append(m[name], r.Name)
			}
			log = append(log, fmt.Sprint("create ", name, m[name], finalizers))
		}
		m.settle()
		// So that what is deleted next has the owners that the model says. Those with finalizers that should go are let go.
		other.untilModel(namespace, m, log)
		if len(m) == 0 {
			continue
		}
		names := slices.Sorted(modelKeys(m))
		victim := names[random.IntN(len(names))]
		policy := []metav1.DeletionPropagation{background, foreground, orphan}[random.IntN(3)]
		m.remove(victim, policy)
		log = append(log, fmt.Sprint("step ", step, ": delete ", victim, " ", policy))
		other.remove(there[victim], policy)
		c.untilModel(namespace, m, log)
	}
}

func modelKeys(m garbageModel) func(func(string) bool) {
	return func(yield func(string) bool) {
		for name := range m {
			if !yield(name) {
				return
			}
		}
	}
}

// untilModel waits for what the model says, and takes the finalizer of a test away from whatever is being deleted.
func (c garbageCluster) untilModel(namespace string, m garbageModel, log []string) {
	c.t.Helper()
	let := map[types.UID]bool{}
	defer func() {
		if c.t.Failed() {
			c.t.Logf("%s; wanted %v", strings.Join(log, "; "), m)
		}
	}()
	c.until(namespace, func(there configMaps) bool {
		for _, cm := range there {
			if cm.DeletionTimestamp != nil && slices.Contains(cm.Finalizers, finalizer) && !let[cm.UID] {
				let[cm.UID] = true
				c.takeHeld(cm)
			}
		}
		return m.is(there)
	})
}

// takeHeld takes the finalizer of a test away, and leaves those of the garbage collector.
func (c garbageCluster) takeHeld(cm *corev1.ConfigMap) {
	c.t.Helper()
	for {
		now, err := c.CoreV1().ConfigMaps(cm.Namespace).Get(c.t.Context(), cm.Name, metav1.GetOptions{})
		if err != nil || now.UID != cm.UID {
			return
		}
		now.Finalizers = slices.DeleteFunc(now.Finalizers, func(f string) bool { return f == finalizer })
		if _, err := c.CoreV1().ConfigMaps(cm.Namespace).Update(c.t.Context(), now, metav1.UpdateOptions{}); err == nil {
			return
		}
	}
}
