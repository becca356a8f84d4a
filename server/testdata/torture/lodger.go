//go:build linux

package torture

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/kx-apiserver/kx/server/testdata/torture/history"
)

const (
	// livesNamespace is where lodgers are.
	livesNamespace = "torture-lives"
	// lodgersEach is how many there are for each server.
	lodgersEach = 2
	// livesAtOnce is how many objects they fight for at a time, and livesLong for how many deeds: porcupine's work grows with the
	// deeds on a key, and most with those whose outcome is unknown.
	livesAtOnce, livesLong = 3, 90
	// generation is the label of objects that are fought for at the same time.
	generation = "generation"
)

// lodgings are what lodgers share: how many deeds were done, and the last known UID of each life.
type lodgings struct {
	mu    sync.Mutex
	deeds int
	last  map[string]lodging
}

type lodging struct {
	uid   types.UID
	value string
}

// lodger begins, holds, releases and ends objects: with finalizers, by UID, and all at once.
type lodger struct {
	id       int
	random   *rand.Rand
	world    *world
	lodgings *lodgings
	writes   int
}

func (l *lodger) run(ctx context.Context) {
	for ctx.Err() == nil {
		asking, cancel := context.WithTimeout(context.Background(), requestPatience)
		failed := l.act(asking, l.world.kxs[l.random.IntN(len(l.world.kxs))].dynamic.Resource(configMaps.resource).Namespace(livesNamespace))
		cancel()
		wait := time.Duration(l.random.IntN(20)) * time.Millisecond
		if failed {
			wait += 50 * time.Millisecond
		}
		_ = pause(ctx, wait)
	}
}

// target is the next object, and the one whose life was last seen at its key.
func (l *lodgings) target(random *rand.Rand) (turn int, name string, last lodging) {
	l.mu.Lock()
	defer l.mu.Unlock()
	turn = l.deeds / livesLong
	l.deeds++
	name = lodgingName(turn, random.IntN(livesAtOnce))
	return turn, name, l.last[name]
}

func lodgingName(turn, n int) string { return fmt.Sprintf("life-%d-%d", turn, n) }

func (l *lodgings) note(u *unstructured.Unstructured, value string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last[u.GetName()] = lodging{u.GetUID(), value}
}

// act does one deed; failed is whether it had no answer.
func (l *lodger) act(ctx context.Context, in dynamic.ResourceInterface) (failed bool) {
	acts := []history.Act{
		history.Look, history.Look, history.Look, history.Begin, history.Begin, history.Hold, history.Release, history.Release, history.End, history.End, history.EndAll,
	}
	turn, name, last := l.lodgings.target(l.random)
	d := history.Deed{Client: l.id, Key: configMaps.key(livesNamespace, name), Act: acts[l.random.IntN(len(acts))], Call: l.world.round.now()}
	if d.Act == history.EndAll {
		return l.endAll(ctx, in, turn, d.Call)
	}
	answer, err := l.perform(ctx, in, turn, name, last, &d)
	d.Return = l.world.round.now()
	known := true
	if d.Outcome, known = outcome(err); !known {
		l.world.round.fail("a deed that is in order was refused: %s: %v", &d, err)
	}
	if d.Outcome == history.OK && answer != nil {
		seen, err := configMaps.seen(answer)
		if err != nil || seen.Key != d.Key {
			l.world.round.fail("%s was answered with %+v: %v", &d, seen, err)
		}
		if d.Act != history.Begin {
			d.Life = history.Life{Value: seen.Value, Held: len(answer.GetFinalizers()) > 0, Doomed: answer.GetDeletionTimestamp() != nil}
		}
		l.lodgings.note(answer, seen.Value)
	}
	l.world.round.noteDeed(d)
	return d.Outcome == history.Unknown || d.Outcome == history.Refused
}

// perform sends the request of a deed.
func (l *lodger) perform(ctx context.Context, in dynamic.ResourceInterface, turn int, name string, last lodging, d *history.Deed) (*unstructured.Unstructured, error) {
	patch := func(finalizers string) (*unstructured.Unstructured, error) {
		return in.Patch(ctx, name, types.MergePatchType, []byte(`{"metadata":{"finalizers":`+finalizers+`}}`), metav1.PatchOptions{})
	}
	switch d.Act {
	case history.Look:
		return in.Get(ctx, name, metav1.GetOptions{})
	case history.Begin:
		l.writes++
		d.Life = history.Life{Value: fmt.Sprintf("%s-%d-%d", colors[l.random.IntN(len(colors))], l.id, l.writes), Held: l.random.IntN(2) == 0}
		u := configMaps.object(livesNamespace, name, d.Value)
		u.SetLabels(map[string]string{"color": history.Color(d.Value), generation: fmt.Sprint(turn)})
		if d.Held {
			u.SetFinalizers([]string{holder})
		}
		return in.Create(ctx, u, metav1.CreateOptions{})
	case history.Hold:
		return patch(`["` + holder + `"]`)
	case history.Release:
		return patch("null")
	default:
		options := metav1.DeleteOptions{}
		if last.uid != "" && l.random.IntN(2) == 0 {
			options.Preconditions, d.Value = metav1.NewUIDPreconditions(string(last.uid)), last.value
		}
		return nil, in.Delete(ctx, name, options)
	}
}

// endAll deletes the objects of a generation. What it is told is not of one of them: all that did not work may have worked in part.
func (l *lodger) endAll(ctx context.Context, in dynamic.ResourceInterface, turn int, call int64) (failed bool) {
	err := in.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: fmt.Sprintf("%s=%d", generation, turn)})
	o, known := outcome(err)
	if !known {
		l.world.round.fail("a deletion of a collection that is in order was refused: %v", err)
	}
	switch o {
	case history.OK:
	case history.Refused:
		return true
	default:
		o = history.Unknown
	}
	for n := range livesAtOnce {
		key := configMaps.key(livesNamespace, lodgingName(turn, n))
		l.world.round.noteDeed(history.Deed{Client: l.id, Key: key, Act: history.EndAll, Outcome: o, Call: call, Return: l.world.round.now()})
	}
	return o == history.Unknown
}

// vacate takes away what lodgers left behind.
func (w *world) vacate(ctx context.Context) error {
	in := w.kxs[0].dynamic.Resource(configMaps.resource).Namespace(livesNamespace)
	return within(ctx, "the lodgers' objects are gone", func(ctx context.Context) error {
		list, err := in.List(ctx, metav1.ListOptions{LabelSelector: generation})
		if err != nil || len(list.Items) == 0 {
			return err
		}
		for _, u := range list.Items {
			_, err := in.Patch(ctx, u.GetName(), types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
			if o, _ := outcome(err); o != history.OK && o != history.NotFound {
				return err
			}
		}
		if err := in.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: generation}); err != nil {
			return err
		}
		return errors.New("some were there")
	})
}
