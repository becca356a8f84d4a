package embedded

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/client/pkg/v3/types"
	"go.etcd.io/etcd/server/v3/etcdserver/api/membership"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.etcd.io/raft/v3/raftpb"
	"go.uber.org/zap"
	"google.golang.org/protobuf/proto"

	"github.com/kx-apiserver/kx/store/datadir"
)

const (
	// replayTerm is the term of the entries in a log that Replay writes.
	replayTerm = 1
	// replayBatch is the number of entries in one write.
	replayBatch = 100
)

// Replay applies the entries of another etcd's log to the database in dir, as etcd itself applies them. The database
// must belong to no cluster: afterwards it belongs to one of a single member, as after any start. Entries about a
// cluster are left out. each calls its argument with the entries in their order.
func Replay(ctx context.Context, dir string, each func(func(*raftpb.Entry) error) error) error {
	if err := writeLog(dir, each); err != nil {
		return fmt.Errorf("embedded etcd: write a log for the entries to replay: %w", err)
	}
	s, err := Start(ctx, Config{Dir: dir, Ephemeral: true})
	if err != nil {
		return err
	}
	s.Close()
	return nil
}

// writeLog writes a log that begins a cluster and continues with the entries. To a start, it looks like the log of an
// etcd that was killed before it applied them.
func writeLog(dir string, each func(func(*raftpb.Entry) error) error) (err error) {
	urls, err := types.NewURLs([]string{peerURL})
	if err != nil {
		return err
	}
	member := membership.NewMember(memberName, urls, "", nil)
	id := uint64(member.ID)
	metadata, err := proto.Marshal(&pb.Metadata{NodeID: &id, ClusterID: &id})
	if err != nil {
		return err
	}
	log, err := wal.Create(zap.NewNop(), datadir.LogPath(dir), metadata)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	log.SetUnsafeNoFsync()
	w := &replayLog{log: log}
	if err := w.begin(id, member); err != nil {
		return err
	}
	if err := each(w.add); err != nil {
		return err
	}
	return w.flush()
}

// replayLog renumbers entries. An entry that replaces earlier ones in the old log replaces them here too.
type replayLog struct {
	log *wal.WAL
	// first is the old index of the first entry, 0 before it.
	first uint64
	batch []*raftpb.Entry
}

// firstReplayed is the new index of the first entry: it follows the one that adds the member.
const firstReplayed = 2

// begin writes the beginning of a new log: the only member.
func (w *replayLog) begin(id uint64, member *membership.Member) error {
	who, err := json.Marshal(member)
	if err != nil {
		return err
	}
	change, err := proto.Marshal(&raftpb.ConfChange{Type: raftpb.ConfChangeAddNode.Enum(), NodeId: &id, Context: who})
	if err != nil {
		return err
	}
	entry := &raftpb.Entry{Type: raftpb.EntryConfChange.Enum(), Term: proto.Uint64(replayTerm), Index: proto.Uint64(1), Data: change}
	return w.log.Save(&raftpb.HardState{Term: proto.Uint64(replayTerm), Vote: proto.Uint64(0), Commit: proto.Uint64(1)},
		[]*raftpb.Entry{entry})
}

// add writes an entry. One that is left out keeps its index, and is empty, as those that begin a term are.
func (w *replayLog) add(e *raftpb.Entry) error {
	if w.first == 0 {
		w.first = e.GetIndex()
	}
	entry := &raftpb.Entry{Type: raftpb.EntryNormal.Enum(), Term: proto.Uint64(replayTerm),
		Index: proto.Uint64(e.GetIndex() - w.first + firstReplayed)}
	if replays(e) {
		entry.Data = e.Data
	}
	if w.batch = append(w.batch, entry); len(w.batch) < replayBatch {
		return nil
	}
	return w.flush()
}

// replays reports whether an entry is applied again: one of keys, leases or users, and not of the cluster.
func replays(e *raftpb.Entry) bool {
	var request pb.InternalRaftRequest
	return e.GetType() == raftpb.EntryNormal && len(e.Data) > 0 && proto.Unmarshal(e.Data, &request) == nil &&
		request.ClusterMemberAttrSet == nil && request.ClusterVersionSet == nil && request.DowngradeInfoSet == nil && request.Alarm == nil
}

func (w *replayLog) flush() error {
	err := w.log.Save(&raftpb.HardState{}, w.batch)
	w.batch = nil
	return err
}
