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

// replayLog renumbers entries.
type replayLog struct {
	log   *wal.WAL
	last  uint64
	batch []*raftpb.Entry
}

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
	w.last = 1
	entry := &raftpb.Entry{Type: raftpb.EntryConfChange.Enum(), Term: proto.Uint64(replayTerm), Index: proto.Uint64(1), Data: change}
	return w.log.Save(&raftpb.HardState{Term: proto.Uint64(replayTerm), Vote: proto.Uint64(0), Commit: proto.Uint64(1)},
		[]*raftpb.Entry{entry})
}

func (w *replayLog) add(e *raftpb.Entry) error {
	var request pb.InternalRaftRequest
	if e.GetType() != raftpb.EntryNormal || len(e.Data) == 0 || proto.Unmarshal(e.Data, &request) != nil {
		return nil
	}
	if request.ClusterMemberAttrSet != nil || request.ClusterVersionSet != nil || request.DowngradeInfoSet != nil || request.Alarm != nil {
		return nil
	}
	w.last++
	e.Term, e.Index = proto.Uint64(replayTerm), proto.Uint64(w.last)
	if w.batch = append(w.batch, e); len(w.batch) < replayBatch {
		return nil
	}
	return w.flush()
}

func (w *replayLog) flush() error {
	err := w.log.Save(&raftpb.HardState{}, w.batch)
	w.batch = nil
	return err
}
