package torture

import (
	"context"
	"math/rand/v2"
	"syscall"
)

// nemesis is one way to harm a world, and to heal it again.
type nemesis struct {
	name string
	fits func(*world) bool
	act  func(context.Context, *world, *rand.Rand) error
}

func always(*world) bool      { return true }
func clustered(w *world) bool { return len(w.etcds) > 0 }

// nemeses are all there are. A seed decides which come, in which order, and upon whom.
var nemeses = []nemesis{
	{"kill kx", always, killKX},
	{"terminate kx", always, func(ctx context.Context, w *world, random *rand.Rand) error {
		return restart(ctx, w, random, syscall.SIGTERM)
	}},
	{"interrupt kx", always, func(ctx context.Context, w *world, random *rand.Rand) error {
		return restart(ctx, w, random, syscall.SIGINT)
	}},
}

func (w *world) anyone(random *rand.Rand) *server { return w.kxs[random.IntN(len(w.kxs))] }

func killKX(ctx context.Context, w *world, random *rand.Rand) error {
	s := w.anyone(random)
	w.look(s)
	s.Kill()
	return w.start(ctx, s)
}

func restart(ctx context.Context, w *world, random *rand.Rand, sig syscall.Signal) error {
	s := w.anyone(random)
	if err := w.stop(s, sig); err != nil {
		return err
	}
	return w.start(ctx, s)
}
