//go:build linux

package torture

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/kx-apiserver/kx/server/testdata/torture/history"
)

const (
	workersEach  = 2 // of each way of asking
	watchersEach = 4 // of each kind
)

// crowd are the clients of a round.
type crowd struct {
	workers   []*worker
	watchers  []*watcher
	informers []*informer
	guests    []*guest
	lodgers   []*lodger
	// working and watching end when their stop was called and all are done.
	working, watching sync.WaitGroup
	stopWorkers       context.CancelFunc
	stopWatchers      context.CancelFunc
}

// registers are a kind's, in one way of asking, on each server.
func (w *world) registers(make func(*server) []register) (all []register) {
	for _, s := range w.kxs {
		all = append(all, make(s)...)
	}
	return all
}

func ways() []func(*server) []register {
	return []func(*server) []register{
		func(s *server) []register { return []register{typedRegister{s.typed}} },
		func(s *server) []register {
			return []register{dynamicRegister{configMaps, s.dynamic}, dynamicRegister{widgets, s.dynamic}}
		},
		func(s *server) []register {
			return []register{rawRegister{configMaps, s.config.Host, s.raw}, rawRegister{secrets, s.config.Host, s.raw}}
		},
		func(s *server) []register {
			var all []register
			for _, k := range []kind{secrets, widgets} {
				all = append(all, socketRegister{rawRegister{k, s.config.Host, s.raw}, s.dialer})
			}
			return all
		},
	}
}

// gather makes the clients of a round and lets them begin.
func (w *world) gather(ctx context.Context, random *rand.Rand) (*crowd, error) {
	c := &crowd{}
	source := func() *rand.Rand { return rand.New(rand.NewPCG(random.Uint64(), random.Uint64())) }
	for _, way := range ways() {
		for range workersEach {
			c.workers = append(c.workers, &worker{id: len(c.workers), random: source(), registers: w.registers(way), round: w.round})
		}
	}
	for _, k := range kinds {
		for range watchersEach {
			ns, scope := w.round.scope(k, random)
			all := ways()
			registers := slices.DeleteFunc(w.registers(func(s *server) (r []register) {
				for _, way := range all {
					r = append(r, way(s)...)
				}
				return r
			}), func(r register) bool { return r.of().name != k.name })
			c.watchers = append(c.watchers, &watcher{id: 100 + len(c.watchers), random: source(), registers: registers, round: w.round, ns: ns, scope: scope})
		}
	}
	for _, s := range w.kxs {
		for _, k := range kinds {
			i, err := newInformer(s, k)
			if err != nil {
				return nil, err
			}
			c.informers = append(c.informers, i)
		}
	}
	for range guestsEach * len(w.kxs) {
		g := &guest{id: 200 + len(c.guests), random: source(), world: w, held: map[string]bool{}}
		c.guests = append(c.guests, g)
	}
	shared := &lodgings{last: map[string]lodging{}}
	for range lodgersEach * len(w.kxs) {
		c.lodgers = append(c.lodgers, &lodger{id: 300 + len(c.lodgers), random: source(), world: w, lodgings: shared})
	}
	working, stopWorkers := context.WithCancel(ctx)
	watching, stopWatchers := context.WithCancel(ctx)
	c.stopWorkers, c.stopWatchers = stopWorkers, stopWatchers
	for _, one := range c.workers {
		c.working.Go(func() { one.run(working) })
	}
	for _, one := range c.guests {
		c.working.Go(func() { one.run(working) })
	}
	for _, one := range c.lodgers {
		c.working.Go(func() { one.run(working) })
	}
	restarts := source()
	c.working.Go(func() { w.hook.restart(working, w, restarts) })
	for _, one := range c.watchers {
		c.watching.Go(func() { one.run(watching) })
	}
	for _, one := range c.informers {
		c.watching.Go(func() { one.shared.RunWithContext(watching) })
	}
	return c, nil
}

// torment lets nemeses at the world for a while: in each lane one after another.
func (w *world) torment(ctx context.Context, random *rand.Rand, duration time.Duration) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	end := time.Now().Add(duration)
	var acting sync.WaitGroup
	for l := range lanes {
		own := rand.New(rand.NewPCG(random.Uint64(), random.Uint64()))
		acting.Go(func() {
			for time.Now().Before(end) && ctx.Err() == nil {
				if err := w.harm(ctx, l, own); err != nil {
					cancel(err)
				}
			}
		})
	}
	acting.Wait()
	return context.Cause(ctx)
}

// harm waits for a moment and lets one nemesis act.
func (w *world) harm(ctx context.Context, l lane, random *rand.Rand) error {
	var fitting []nemesis
	for _, n := range nemeses {
		if n.lane == l && n.fits(w) {
			fitting = append(fitting, n)
		}
	}
	if err := pause(ctx, time.Duration(random.IntN(700))*time.Millisecond); err != nil {
		return err
	}
	n := fitting[random.IntN(len(fitting))]
	// Each has numbers of its own, so that what it draws does not change who comes next.
	own := rand.New(rand.NewPCG(random.Uint64(), random.Uint64()))
	w.log("%s", n.name)
	if err := n.act(ctx, w, own); err != nil {
		return fmt.Errorf("%s: %w", n.name, err)
	}
	w.count("nemesis: " + n.name)
	if err := w.alive(l); err != nil {
		return fmt.Errorf("after %q: %w", n.name, err)
	}
	return nil
}

// settle lets the clients finish after all was healed: each watcher must see the last of what it watches.
func (w *world) settle(ctx context.Context, c *crowd) error {
	c.stopWorkers()
	c.working.Wait()
	for _, s := range w.kxs {
		if err := s.ready(ctx); err != nil {
			return err
		}
	}
	if err := w.leave(ctx, c.guests); err != nil {
		return err
	}
	if err := w.vacate(ctx); err != nil {
		return err
	}
	marks, err := w.mark(ctx)
	if err != nil {
		return err
	}
	for _, one := range c.watchers {
		last := int64(0)
		for _, o := range marks {
			if one.scope.Has(o) {
				last = max(last, o.Revision)
			}
		}
		err := within(ctx, fmt.Sprintf("watcher %d of %+v sees revision %d", one.id, one.scope, last), func(context.Context) error {
			if at := one.at.Load(); at < last {
				return fmt.Errorf("it is at %d", at)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	for _, i := range c.informers {
		if err := i.settle(ctx, w); err != nil {
			return err
		}
	}
	c.stopWatchers()
	c.watching.Wait()
	return w.witness.reach(ctx, w.round.known.Load())
}

// mark creates an object of each color, in each namespace, of each kind.
func (w *world) mark(ctx context.Context) (marks []history.Object, err error) {
	for _, k := range kinds {
		for _, ns := range namespaces {
			for _, color := range colors {
				o := history.Operation{Client: -1, Verb: history.Apply, Key: k.key(ns, "mark-"+color), Value: color + "-mark"}
				err := within(ctx, "write "+o.Key, func(ctx context.Context) error {
					o.Call = w.round.now()
					seen, err := perform(ctx, dynamicRegister{k, w.kxs[0].dynamic}, &o, ns, "mark-"+color)
					o.Revision, o.Return = seen.Revision, w.round.now()
					return err
				})
				if err != nil {
					return nil, err
				}
				w.round.note(o)
				marks = append(marks, history.Object{Key: o.Key, Value: o.Value, Revision: o.Revision})
			}
		}
	}
	return marks, nil
}

// finish restarts the servers once more, reads what etcd has, and stops all in good order.
func (w *world) finish(ctx context.Context) (final map[string]history.Object, err error) {
	for _, s := range w.kxs {
		if err := w.stop(s, syscall.SIGTERM); err != nil {
			return nil, err
		}
		if err := w.start(ctx, s); err != nil {
			return nil, err
		}
	}
	if final, _, err = w.witness.read(ctx); err != nil {
		return nil, err
	}
	if err := w.witness.stop(); err != nil {
		return nil, err
	}
	for _, s := range w.kxs {
		if err := w.stop(s, syscall.SIGTERM); err != nil {
			return nil, err
		}
	}
	return final, nil
}

// pause waits, or ends with ctx.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
