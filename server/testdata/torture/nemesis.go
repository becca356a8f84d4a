//go:build linux

package torture

import (
	"context"
	"math/rand/v2"
	"syscall"
	"time"

	"github.com/kx-apiserver/kx/server/testdata/torture/system"
)

// nemesis is one way to harm a world and to heal it again.
type nemesis struct {
	name string
	lane lane
	fits func(*world) bool
	act  func(context.Context, *world, *rand.Rand) error
}

// lane keeps those apart that would undo each other: in each lane one acts at a time.
type lane int

const (
	// servers are about processes of kx.
	servers lane = iota
	// surroundings are about all else.
	surroundings
	lanes
)

func always(*world) bool      { return true }
func clustered(w *world) bool { return len(w.etcds) > 0 }
func alone(w *world) bool     { return len(w.etcds) == 0 }

// nemeses are all there are. A seed decides which come, in which order, and upon whom.
var nemeses = []nemesis{
	{"kill kx", servers, always, killKX},
	{"kill kx while it starts", servers, always, killStart},
	{"terminate kx", servers, always, restartBy(syscall.SIGTERM)},
	{"interrupt kx", servers, always, restartBy(syscall.SIGINT)},
	{"pause kx", servers, always, pauseKX},
	{"rotate keys", servers, encrypted, rotateKeys},
	{"disk of kx is full", servers, alone, fillDisk},
	{"disk of kx is slow", servers, alone, slowDisk},

	{"clients are cut off", surroundings, always, front(cut)},
	{"clients hear nothing", surroundings, always, front(deaf)},
	{"clients are not heard", surroundings, always, front(mute)},
	{"clients are slow", surroundings, always, front(slow)},
	{"etcd is cut off from kx", surroundings, clustered, between(cut)},
	{"etcd is not heard by kx", surroundings, clustered, between(deaf)},
	{"kx is not heard by etcd", surroundings, clustered, between(mute)},
	{"etcd is slow", surroundings, clustered, between(slow)},
	{"member is cut off", surroundings, clustered, isolate(cut, cut)},
	{"member hears nothing", surroundings, clustered, isolate(mute, deaf)},
	{"member is not heard", surroundings, clustered, isolate(deaf, mute)},
	{"member is away", surroundings, clustered, isolate(silence, silence)},
	{"member is slow", surroundings, clustered, isolate(slow, slow)},
	{"kill leader", surroundings, clustered, killLeader},
	{"kill members", surroundings, clustered, killMembers},
	{"stop member", surroundings, clustered, stopMember},
	{"pause member", surroundings, clustered, pauseMember},
	{"disk of member is full", surroundings, clustered, fillMember},
	{"disk of member is slow", surroundings, clustered, slowMember},
	{"move leader", surroundings, clustered, moveLeader},
	{"etcd has no space", surroundings, always, raiseAlarm},
	{"compact", surroundings, always, compact},
	{"defragment", surroundings, always, defragment},
	{"cache is behind", surroundings, always, fault(staleCache)},
	{"cache misses what was compacted", surroundings, always, refill},
	{"cache loses its watch", surroundings, always, fault(dropReflector)},
	{"watches are dropped", surroundings, always, fault(dropWatches)},
	{"writes are not answered", surroundings, always, fault(timeout)},
	{"etcd fails", surroundings, always, fault(failTxn)},
}

func (w *world) anyone(random *rand.Rand) *server { return w.kxs[random.IntN(len(w.kxs))] }

// moment is a while, mostly short.
func moment(random *rand.Rand, most time.Duration) time.Duration {
	return time.Duration(random.Float64() * random.Float64() * float64(most))
}

func killKX(ctx context.Context, w *world, random *rand.Rand) error {
	s := w.anyone(random)
	w.kill(s)
	if err := pause(ctx, moment(random, time.Second)); err != nil {
		return err
	}
	return w.start(ctx, s)
}

// killStart kills a server at a moment of its start, and starts it again.
func killStart(ctx context.Context, w *world, random *rand.Rand) error {
	s := w.anyone(random)
	w.kill(s)
	for range 1 + random.IntN(3) {
		if err := s.Launch(); err != nil {
			return err
		}
		if err := pause(ctx, moment(random, 300*time.Millisecond)); err != nil {
			return err
		}
		w.kill(s)
	}
	return w.start(ctx, s)
}

func restartBy(sig syscall.Signal) func(context.Context, *world, *rand.Rand) error {
	return func(ctx context.Context, w *world, random *rand.Rand) error {
		s := w.anyone(random)
		if err := w.stop(s, sig); err != nil {
			return err
		}
		return w.start(ctx, s)
	}
}

func pauseKX(ctx context.Context, w *world, random *rand.Rand) error {
	s := w.anyone(random)
	if err := s.Process.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	err := pause(ctx, moment(random, 6*time.Second))
	if cont := s.Process.Signal(syscall.SIGCONT); cont != nil {
		return cont
	}
	return err
}

// slowDisk lets the syncs of a server's own etcd take long for a while.
func slowDisk(ctx context.Context, w *world, random *rand.Rand) error {
	return w.slowSyncs(ctx, random, &w.anyone(random).Process.Disk)
}

func (w *world) slowSyncs(ctx context.Context, random *rand.Rand, disk *system.Disk) error {
	before := disk.Delayed()
	disk.Slow(moment(random, syncMost))
	defer func() {
		disk.Slow(0)
		w.add("delayed syncs", disk.Delayed()-before)
	}()
	return pause(ctx, moment(random, harmMost))
}

// limit is a size that files may have: as on a full disk, whole blocks can be written.
func limit(random *rand.Rand) uint64 { return blockSize * random.Uint64N(16) }

const blockSize = 4096

// syncMost is how long a sync takes at most on a slow disk.
const syncMost = 800 * time.Millisecond

// fillDisk lets a server write no more, waits until it has ended for that, and starts it again.
func fillDisk(ctx context.Context, w *world, random *rand.Rand) error {
	s := w.anyone(random)
	s.down.Store(true)
	if err := s.Process.LimitFiles(limit(random)); err != nil {
		return err
	}
	ended, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	code, err := s.Process.Wait(ended)
	if err != nil {
		_ = s.Process.Signal(syscall.SIGQUIT) // its log then says what it waits for
		return err
	}
	if code != 1 {
		w.round.fail("with a full disk %s ended with %d", s.Name, code)
	}
	return w.start(ctx, s)
}
