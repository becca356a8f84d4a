//go:build linux

package torture

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/kx-apiserver/kx/server/testdata/torture/system"
)

// manner is how a link is harmed.
type manner func(*rand.Rand) system.Mode

func cut(*rand.Rand) system.Mode     { return system.Mode{Cut: true} }
func deaf(*rand.Rand) system.Mode    { return system.Mode{HoldDown: true} }
func mute(*rand.Rand) system.Mode    { return system.Mode{HoldUp: true} }
func silence(*rand.Rand) system.Mode { return system.Mode{HoldUp: true, HoldDown: true} }
func slow(random *rand.Rand) system.Mode {
	return system.Mode{Delay: time.Millisecond + moment(random, 100*time.Millisecond)}
}

// harmMost is how long a link is harmed at most: kx waits longer than that for etcd when it starts.
const harmMost = 6 * time.Second

// harm sets proxies to a mode for a while. Some are cut when it is over, as connections are that were idle too long.
func harm(ctx context.Context, random *rand.Rand, mode system.Mode, set func(system.Mode)) error {
	set(mode)
	err := pause(ctx, moment(random, harmMost))
	if random.IntN(2) == 0 {
		set(system.Mode{Cut: true})
	}
	set(system.Mode{})
	return err
}

// front harms the link between clients and a server.
func front(m manner) func(context.Context, *world, *rand.Rand) error {
	return func(ctx context.Context, w *world, random *rand.Rand) error {
		s := w.anyone(random)
		return harm(ctx, random, m(random), s.Front.Set)
	}
}

// between harms the links between a server and one etcd, or all.
func between(m manner) func(context.Context, *world, *rand.Rand) error {
	return func(ctx context.Context, w *world, random *rand.Rand) error {
		links := w.anyone(random).Etcds
		if random.IntN(2) == 0 {
			one := random.IntN(len(links))
			links = links[one : one+1]
		}
		return harm(ctx, random, m(random), func(mode system.Mode) {
			for _, link := range links {
				link.Set(mode)
			}
		})
	}
}

// isolate harms the links of a member with the others: those that they opened, and those that it opened.
func isolate(theirs, its manner) func(context.Context, *world, *rand.Rand) error {
	return func(ctx context.Context, w *world, random *rand.Rand) error {
		e := w.etcds[random.IntN(len(w.etcds))]
		in, out := theirs(random), its(random)
		return harm(ctx, random, in, func(mode system.Mode) {
			if mode == in {
				e.Isolate(w.etcds, in, out)
			} else {
				e.Isolate(w.etcds, mode, mode)
			}
		})
	}
}
