//go:build linux

package torture

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/kx-apiserver/kx/server/testdata/torture/history"
)

// guestsEach is how many guests there are for each server.
const guestsEach = 2

// holder is the finalizer that guests give to what must not go yet.
const holder = "torture.kx.dev/guest"

// guest works in the guarded namespace.
type guest struct {
	id     int
	random *rand.Rand
	world  *world
	writes int
	// held are names of objects that have the finalizer, or may have it.
	held map[string]bool
}

// deeds are what guests do, each on one server.
var deeds = []func(*guest, context.Context, dynamic.ResourceInterface){
	(*guest).make, (*guest).make, (*guest).trespass, (*guest).change, (*guest).mistake, (*guest).hold, (*guest).adopt, (*guest).clear,
}

func (g *guest) run(ctx context.Context) {
	for ctx.Err() == nil {
		asking, cancel := context.WithTimeout(context.Background(), requestPatience)
		deeds[g.random.IntN(len(deeds))](g, asking, g.in(g.random.IntN(len(g.world.kxs))))
		cancel()
		_ = pause(ctx, time.Duration(g.random.IntN(20))*time.Millisecond)
	}
}

func (g *guest) in(server int) dynamic.ResourceInterface {
	return g.world.kxs[server].dynamic.Resource(configMaps.resource).Namespace(guardedNamespace)
}

// object is a new one whose name the server chooses.
func (g *guest) object(color string) *unstructured.Unstructured {
	g.writes++
	u := configMaps.object(guardedNamespace, "", fmt.Sprintf("%s-%d-%d", color, g.id, g.writes))
	u.SetGenerateName("g-")
	return u
}

func (g *guest) color() string { return colors[g.random.IntN(len(colors))] }

// make creates an object. A name that the server chooses is nobody else's.
func (g *guest) make(ctx context.Context, in dynamic.ResourceInterface) {
	u := g.object(g.color())
	o := history.Operation{Client: g.id, Verb: history.Create, Call: g.world.round.now()}
	made, err := in.Create(ctx, u, metav1.CreateOptions{})
	if err != nil {
		if apierrors.IsForbidden(err) && strings.Contains(err.Error(), "exceeded quota") {
			g.world.count("guarded: refused by the quota")
		}
		return
	}
	seen, err := configMaps.seen(made)
	if err != nil {
		g.world.round.fail("a guest's object can't be read: %v", err)
		return
	}
	o.Key, o.Value, o.Revision, o.Return = seen.Key, seen.Value, seen.Revision, g.world.round.now()
	if want, _, _ := unstructured.NestedString(u.Object, configMaps.field...); seen.Value != want || !strings.HasPrefix(made.GetName(), "g-") {
		g.world.round.fail("a create of %q was answered with %+v", want, seen)
	}
	g.world.round.note(o)
	g.world.count("guarded: created")
}

// trespass writes what must be refused. Etcd's log says whether it was: an error is no proof.
func (g *guest) trespass(ctx context.Context, in dynamic.ResourceInterface) {
	color := forbidden
	if g.random.IntN(2) == 0 {
		color = unwanted
	}
	u := g.object(color)
	var err error
	if victim := g.pick(ctx, in); victim != nil && g.random.IntN(2) == 0 {
		u.SetName(victim.GetName())
		u.SetGenerateName("")
		_, err = in.Update(ctx, u, metav1.UpdateOptions{})
	} else {
		_, err = in.Create(ctx, u, metav1.CreateOptions{})
	}
	if err == nil {
		g.world.round.fail("what is %s was accepted", color)
	} else if refused(err) {
		g.world.count("guarded: refused as " + color)
	}
}

// pick is one of the objects of guests; nil if there is none, or nobody says.
func (g *guest) pick(ctx context.Context, in dynamic.ResourceInterface) *unstructured.Unstructured {
	list, err := in.List(ctx, metav1.ListOptions{ResourceVersion: "0", LabelSelector: "color"})
	if err != nil || len(list.Items) == 0 {
		return nil
	}
	return &list.Items[g.random.IntN(len(list.Items))]
}

// change gives an object another color.
func (g *guest) change(ctx context.Context, in dynamic.ResourceInterface) {
	if victim := g.pick(ctx, in); victim != nil {
		u := g.object(g.color())
		u.SetName(victim.GetName())
		u.SetGenerateName("")
		u.SetFinalizers(victim.GetFinalizers())
		u.SetOwnerReferences(victim.GetOwnerReferences())
		u.SetResourceVersion(victim.GetResourceVersion())
		_, _ = in.Update(ctx, u, metav1.UpdateOptions{})
	}
}

// mistake deletes an object by the UID of another one.
func (g *guest) mistake(ctx context.Context, in dynamic.ResourceInterface) {
	victim := g.pick(ctx, in)
	if victim == nil {
		return
	}
	other := types.UID("00000000-0000-4000-8000-" + fmt.Sprintf("%012d", g.writes))
	err := in.Delete(ctx, victim.GetName(), metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &other}})
	if err == nil {
		g.world.round.fail("%s was deleted by another UID than its own", victim.GetName())
	}
}

// hold creates an object with a finalizer and deletes it: it stays until its finalizer is taken away. Those of earlier turns go first.
func (g *guest) hold(ctx context.Context, in dynamic.ResourceInterface) {
	for name := range g.held {
		g.release(ctx, in, name)
	}
	u := g.object(g.color())
	name := "held-" + strconv.Itoa(g.id) + "-" + strconv.Itoa(g.writes)
	u.SetName(name)
	u.SetGenerateName("")
	u.SetFinalizers([]string{holder})
	_, err := in.Create(ctx, u, metav1.CreateOptions{})
	o, _ := outcome(err)
	if o == history.OK || o == history.Unknown {
		g.held[name] = true
	}
	if o != history.OK {
		return
	}
	if in.Delete(ctx, name, metav1.DeleteOptions{}) != nil {
		return
	}
	switch got, err := in.Get(ctx, name, metav1.GetOptions{}); {
	case apierrors.IsNotFound(err):
		g.world.round.fail("%s is gone, and nobody took its finalizer away", name)
	case err == nil && got.GetDeletionTimestamp() == nil:
		g.world.round.fail("%s was deleted, and is not marked", name)
	case err == nil:
		g.world.count("guarded: held by a finalizer")
	}
}

// release takes the finalizer of an object away, if it is there.
func (g *guest) release(ctx context.Context, in dynamic.ResourceInterface, name string) {
	_, err := in.Patch(ctx, name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	if o, _ := outcome(err); o == history.OK || o == history.NotFound {
		delete(g.held, name)
	}
}

// adopt applies an object that has an owner, and deletes the owner in one of the three ways.
func (g *guest) adopt(ctx context.Context, in dynamic.ResourceInterface) {
	owner, err := in.Create(ctx, g.object(g.color()), metav1.CreateOptions{})
	if err != nil {
		return
	}
	child := g.object(g.color())
	child.SetName("child-of-" + owner.GetName())
	child.SetGenerateName("")
	child.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: owner.GetName(), UID: owner.GetUID()}})
	if _, err := in.Apply(ctx, child.GetName(), child, metav1.ApplyOptions{FieldManager: fieldManager, Force: true}); err == nil {
		g.world.count("guarded: applied with an owner")
	}
	ways := []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan}
	_ = in.Delete(ctx, owner.GetName(), metav1.DeleteOptions{PropagationPolicy: &ways[g.random.IntN(len(ways))]})
}

// clear deletes the objects of a color.
func (g *guest) clear(ctx context.Context, in dynamic.ResourceInterface) {
	_ = in.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "color=" + g.color()})
}

// leave waits until what guests left behind can be taken away: nothing is held for ever, no owner is missed, and the quota gives its
// room back.
func (w *world) leave(ctx context.Context, guests []*guest) error {
	in := guests[0].in(0)
	err := within(ctx, "the guarded namespace is empty", func(ctx context.Context) error {
		for _, g := range guests {
			for name := range g.held {
				g.release(ctx, in, name)
			}
		}
		if err := in.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "color"}); err != nil {
			return err
		}
		list, err := in.List(ctx, metav1.ListOptions{LabelSelector: "color"})
		if err == nil && len(list.Items) > 0 {
			err = fmt.Errorf("%d objects are there, one of them is %s", len(list.Items), list.Items[0].GetName())
		}
		return err
	})
	if err != nil {
		return err
	}
	return within(ctx, "the quota has its room back", func(ctx context.Context) error { return w.quotaCounts(ctx, 1) })
}
