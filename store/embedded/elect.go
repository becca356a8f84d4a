package embedded

import (
	"context"
	"time"

	"go.etcd.io/etcd/server/v3/etcdserver"
	"go.etcd.io/raft/v3/raftpb"
)

// electEvery is how often etcd is told to stand for election until it leads.
const electEvery = time.Millisecond

// elect makes etcd lead, which is the only member. By itself it would first wait as long as another leader might need to
// make itself heard, which was most of a start. So it is told what a leader that goes tells its successor: not to wait. Raft
// does not listen before it has applied who its members are, nor once it is a candidate.
func elect(ctx context.Context, etcd *etcdserver.EtcdServer) {
	self := uint64(etcd.MemberID())
	ticker := time.NewTicker(electEvery)
	defer ticker.Stop()
	for etcd.Lead() == 0 {
		if applied := etcd.AppliedIndex(); applied > 0 && applied >= etcd.CommittedIndex() {
			message := &raftpb.Message{Type: raftpb.MsgTimeoutNow.Enum(), From: &self, To: &self}
			if err := etcd.Process(ctx, message); err != nil {
				return // it stops
			}
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}
