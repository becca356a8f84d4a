//go:build linux

package torture

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"syscall"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/kx-apiserver/kx/server/testdata/torture/system"
)

// askPatience is how long etcd may take for what a nemesis asks. It may be in no state to answer: that is no violation.
const askPatience = 3 * time.Second

// revive starts members again after a while.
func revive(ctx context.Context, random *rand.Rand, members ...*system.Etcd) error {
	if err := pause(ctx, moment(random, 3*time.Second)); err != nil {
		return err
	}
	for _, e := range members {
		if err := e.Start(ctx); err != nil {
			return err
		}
	}
	return nil
}

// leader is the member that leads, or any if nobody can say.
func (w *world) leader(ctx context.Context, random *rand.Rand) *system.Etcd {
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	for _, e := range w.etcds {
		status, err := w.etcd.Status(ctx, e.Client)
		if err == nil && status.Leader == status.Header.MemberId {
			return e
		}
	}
	return w.etcds[random.IntN(len(w.etcds))]
}

func killLeader(ctx context.Context, w *world, random *rand.Rand) error {
	e := w.leader(ctx, random)
	w.count("kills of etcd")
	e.Kill()
	return revive(ctx, random, e)
}

// killMembers kills one member to all.
func killMembers(ctx context.Context, w *world, random *rand.Rand) error {
	var members []*system.Etcd
	for _, i := range random.Perm(len(w.etcds))[:1+random.IntN(len(w.etcds))] {
		members = append(members, w.etcds[i])
		w.count("kills of etcd")
		w.etcds[i].Kill()
	}
	return revive(ctx, random, members...)
}

func stopMember(ctx context.Context, w *world, random *rand.Rand) error {
	e := w.etcds[random.IntN(len(w.etcds))]
	if err := e.Stop(); err != nil {
		return err
	}
	return revive(ctx, random, e)
}

func pauseMember(ctx context.Context, w *world, random *rand.Rand) error {
	e := w.etcds[random.IntN(len(w.etcds))]
	if random.IntN(2) == 0 {
		e = w.leader(ctx, random)
	}
	if err := e.Process.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	err := pause(ctx, moment(random, harmMost))
	if cont := e.Process.Signal(syscall.SIGCONT); cont != nil {
		return cont
	}
	return err
}

// fillMember lets a member write no more until it has ended, and starts it again.
func fillMember(ctx context.Context, w *world, random *rand.Rand) error {
	e := w.etcds[random.IntN(len(w.etcds))]
	e.Down.Store(true)
	if err := e.Process.LimitFiles(limit(random)); err != nil {
		return err
	}
	ended, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	if _, err := e.Process.Wait(ended); err != nil {
		return err
	}
	return revive(ctx, random, e)
}

func moveLeader(ctx context.Context, w *world, random *rand.Rand) error {
	from, to := w.leader(ctx, random), w.etcds[random.IntN(len(w.etcds))]
	id, err := strconv.ParseUint(to.ID, 16, 64)
	if err != nil {
		return err
	}
	client, err := system.Connect(from.Client)
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	_, _ = client.MoveLeader(ctx, id)
	return nil
}

// raiseAlarm has etcd refuse writes as if its quota were used up, and takes that back.
func raiseAlarm(ctx context.Context, w *world, random *rand.Rand) error {
	alarm := func(action pb.AlarmRequest_AlarmAction) error {
		maintenance := pb.NewMaintenanceClient(w.etcd.ActiveConnection())
		return within(ctx, fmt.Sprintf("%s etcd's alarm", action), func(ctx context.Context) error {
			_, err := maintenance.Alarm(ctx, &pb.AlarmRequest{Action: action, Alarm: pb.AlarmType_NOSPACE})
			return err
		})
	}
	if err := alarm(pb.AlarmRequest_ACTIVATE); err != nil {
		return err
	}
	err := pause(ctx, moment(random, 2*time.Second))
	if disarm := alarm(pb.AlarmRequest_DEACTIVATE); disarm != nil {
		return disarm
	}
	return err
}

// compact has etcd forget what the witness has seen, but for the latest.
func compact(ctx context.Context, w *world, random *rand.Rand) error {
	revision := w.witness.at.Load() - random.Int64N(100)
	if revision <= w.round.begin {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	w.round.noteCompaction(revision)
	_, _ = w.etcd.Compact(ctx, revision, clientv3.WithCompactPhysical())
	return nil
}

func defragment(ctx context.Context, w *world, random *rand.Rand) error {
	endpoints := w.etcd.Endpoints()
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	_, _ = w.etcd.Defragment(ctx, endpoints[random.IntN(len(endpoints))])
	return nil
}

// slowMember lets the syncs of a member take long for a while.
func slowMember(ctx context.Context, w *world, random *rand.Rand) error {
	return w.slowSyncs(ctx, random, &w.etcds[random.IntN(len(w.etcds))].Process.Disk)
}
