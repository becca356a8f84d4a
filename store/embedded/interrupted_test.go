package embedded_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.etcd.io/etcd/server/v3/storage/wal/walpb"
	"go.etcd.io/raft/v3/raftpb"
	"go.uber.org/zap"
	"google.golang.org/protobuf/proto"

	"github.com/kx-apiserver/kx/store/datadir"
	"github.com/kx-apiserver/kx/store/embedded"
)

// putAll starts an etcd, writes values of 2 KB, and stops it.
func putAll(t *testing.T, dir string, from, to int) {
	t.Helper()
	server, err := embedded.Start(t.Context(), embedded.Config{Dir: dir, Ephemeral: true})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	c := server.Client()
	defer func() { _ = c.Close() }()
	for i := from; i < to; i++ {
		if _, err := c.Put(t.Context(), fmt.Sprintf("/registry/%04d", i), strings.Repeat("x", 2000)); err != nil {
			t.Fatal(err)
		}
	}
}

func segmentNames(t *testing.T, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(datadir.LogPath(dir), "*.wal"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no log: %v", err)
	}
	return names
}

// writeBatch writes entries to the log of a stopped etcd in one write, as one that is not finished when the machine loses
// its power. It returns where in the newest file they begin.
func writeBatch(t *testing.T, dir string, entries int) (begin int64) {
	t.Helper()
	last := segmentNames(t, dir)
	data, err := os.ReadFile(last[len(last)-1])
	if err != nil {
		t.Fatal(err)
	}
	snapshots, err := wal.ValidSnapshotEntries(zap.NewNop(), datadir.LogPath(dir))
	if err != nil {
		t.Fatal(err)
	}
	from := &walpb.Snapshot{}
	if len(snapshots) > 0 {
		from = snapshots[len(snapshots)-1]
	}
	log, err := wal.Open(zap.NewNop(), datadir.LogPath(dir), from)
	if err != nil {
		t.Fatal(err)
	}
	_, state, existing, err := log.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	index := existing[len(existing)-1].GetIndex()
	request, err := proto.Marshal(&pb.InternalRaftRequest{
		Header: &pb.RequestHeader{ID: 1}, Put: &pb.PutRequest{Key: []byte("/lost"), Value: bytes.Repeat([]byte("x"), 1000)},
	})
	if err != nil {
		t.Fatal(err)
	}
	var batch []*raftpb.Entry
	for range entries {
		index++
		batch = append(batch, &raftpb.Entry{Type: raftpb.EntryNormal.Enum(), Term: state.Term, Index: proto.Uint64(index), Data: request})
	}
	// All that was written before is on the disk by then, and so committed.
	state.Commit = proto.Uint64(index - uint64(entries))
	if err := errors.Join(log.Save(state, batch), log.Close()); err != nil {
		t.Fatal(err)
	}
	return int64(len(bytes.TrimRight(data, "\x00")))
}

func zero(t *testing.T, path string, from, to int64) {
	t.Helper()
	overwrite(t, path, from, make([]byte, to-from))
}

// TestStartsAfterAnything makes what a crash may leave. It is no damage: a start must take it, and have all keys.
func TestStartsAfterAnything(t *testing.T) {
	defer func(before int64) { wal.SegmentSizeBytes = before }(wal.SegmentSizeBytes)
	wal.SegmentSizeBytes = 64 << 10 // so that there are several
	const keys = 80
	for name, crash := range map[string]func(t *testing.T, dir string){
		"an orderly stop": func(*testing.T, string) {},
		"a database that is behind the log": func(t *testing.T, dir string) {
			database, err := os.ReadFile(datadir.DatabasePath(dir))
			if err != nil {
				t.Fatal(err)
			}
			putAll(t, dir, keys, keys+10)
			if err := os.WriteFile(datadir.DatabasePath(dir), database, 0o600); err != nil {
				t.Fatal(err)
			}
		},
		"a last write that is cut off": func(t *testing.T, dir string) {
			begin := writeBatch(t, dir, 3)
			names := segmentNames(t, dir)
			if err := os.Truncate(names[len(names)-1], begin+1500); err != nil {
				t.Fatal(err)
			}
		},
		"a last write of which the end is missing": func(t *testing.T, dir string) {
			begin := writeBatch(t, dir, 3)
			names := segmentNames(t, dir)
			zero(t, names[len(names)-1], (begin+1500)&^511, begin+4096)
		},
		"a last write of which the beginning is missing": func(t *testing.T, dir string) {
			begin := writeBatch(t, dir, 10)
			names := segmentNames(t, dir)
			zero(t, names[len(names)-1], begin, (begin+2048)&^511)
		},
		"a last write of which the middle is missing": func(t *testing.T, dir string) {
			begin := writeBatch(t, dir, 10)
			names := segmentNames(t, dir)
			zero(t, names[len(names)-1], (begin+2500)&^511, (begin+3600)&^511)
		},
		"a log that was repaired": func(t *testing.T, dir string) {
			begin := writeBatch(t, dir, 3)
			names := segmentNames(t, dir)
			if err := os.Truncate(names[len(names)-1], begin+1500); err != nil {
				t.Fatal(err)
			}
			putAll(t, dir, 0, 1)
			if broken, _ := filepath.Glob(filepath.Join(datadir.LogPath(dir), "*.broken")); len(broken) == 0 {
				t.Fatal("nothing was repaired")
			}
		},
		"snapshots that were not written": func(t *testing.T, dir string) {
			putAll(t, dir, 0, 150) // past the first
			names, err := filepath.Glob(filepath.Join(dir, "member", "snap", "*.snap"))
			if err != nil || len(names) == 0 {
				t.Fatalf("no snapshots: %v", err)
			}
			for _, name := range names {
				if err := os.Remove(name); err != nil {
					t.Fatal(err)
				}
			}
		},
		"a next file of the log that has no name yet": func(t *testing.T, dir string) {
			names := segmentNames(t, dir)
			data, err := os.ReadFile(names[len(names)-1])
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(datadir.LogPath(dir), "0.tmp"), data[:256], 0o600); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			putAll(t, dir, 0, keys)
			if n := len(segmentNames(t, dir)); n < 2 {
				t.Fatalf("the log has %d files", n)
			}
			crash(t, dir)
			if _, err := datadir.Check(dir); err != nil {
				t.Fatal(err)
			}
			if log, err := datadir.ReadLog(dir, nil); err != nil || len(log.Gaps) > 0 {
				t.Errorf("gaps: %v, %v", log, err)
			}
			c := client(t, start(t, embedded.Config{Dir: dir, Ephemeral: true}))
			got, err := c.Get(t.Context(), "/registry/", clientv3.WithPrefix(), clientv3.WithCountOnly())
			if err != nil || got.Count < keys {
				t.Errorf("%d keys, %v", got.Count, err)
			}
		})
	}
}

// TestDamagedSegments takes away files of a log that has several.
func TestDamagedSegments(t *testing.T) {
	defer func(before int64) { wal.SegmentSizeBytes = before }(wal.SegmentSizeBytes)
	wal.SegmentSizeBytes = 64 << 10
	for name, c := range map[string]struct {
		damage func(names []string) error
		want   string
	}{
		"the last is missing":         {func(names []string) error { return os.Remove(names[len(names)-1]) }, "it ends at byte "},
		"one between is missing":      {func(names []string) error { return os.Remove(names[1]) }, "it has no next file but "},
		"one before is cut off":       {func(names []string) error { return os.Truncate(names[1], 20_000) }, "it has a record that is cut off at byte "},
		"the last has another's name": {func(names []string) error { return os.Rename(names[0], names[len(names)-1]) }, "is damaged: "},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			putAll(t, dir, 0, 90) // before the first snapshot, from which on etcd would read
			names := segmentNames(t, dir)
			if len(names) < 3 {
				t.Fatalf("the log has %d files", len(names))
			}
			if err := c.damage(names); err != nil {
				t.Fatal(err)
			}
			server, err := embedded.Start(t.Context(), embedded.Config{Dir: dir, Ephemeral: true})
			if err == nil {
				server.Close()
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "kx etcd salvage "+dir) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// TestFirstStartInterrupted kills a process at each moment of its first start. The next start must serve.
func TestFirstStartInterrupted(t *testing.T) {
	for after := time.Duration(0); after < 150*time.Millisecond; after += 10 * time.Millisecond {
		dir := filepath.Join(t.TempDir(), "etcd")
		if err := killAfter(t.Context(), dir, after); err != nil {
			t.Fatal(err)
		}
		putAll(t, dir, 0, 1)
	}
}

// killAfter kills a process some time after it has made its directory.
func killAfter(ctx context.Context, dir string, after time.Duration) error {
	child := exec.CommandContext(ctx, os.Args[0])
	child.Env = append(os.Environ(), childDir+"="+dir)
	in, err := child.StdinPipe()
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	child.Stdout = io.Discard
	if err := child.Start(); err != nil {
		return err
	}
	for ctx.Err() == nil {
		if _, err := os.Stat(dir); err == nil {
			break
		}
	}
	time.Sleep(after) // the moment is what is tried, nothing is waited for
	_ = child.Process.Kill()
	_ = child.Wait()
	return ctx.Err()
}

// TestRestoreInterrupted begins a log over a database that has keys and belongs to no cluster, as the first start after a
// restore does. The keys must be there after the start that follows.
func TestRestoreInterrupted(t *testing.T) {
	dir := t.TempDir()
	putAll(t, dir, 0, 3)
	detach(t, datadir.DatabasePath(dir))
	beginLog(t, dir, nil)
	c := client(t, start(t, embedded.Config{Dir: dir, Ephemeral: true}))
	got, err := c.Get(t.Context(), "/registry/", clientv3.WithPrefix(), clientv3.WithCountOnly())
	if err != nil || got.Count != 3 {
		t.Errorf("%d keys, %v", got.Count, err)
	}
}

// TestFirstEntryNotWritten has a database that knows its only member, and a log without the entry that says so: a first start
// applies that entry while it is being written.
func TestFirstEntryNotWritten(t *testing.T) {
	dir := t.TempDir()
	putAll(t, dir, 0, 1)
	written, err := datadir.ReadLog(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	update(t, datadir.DatabasePath(dir), func(tx *bolt.Tx) error {
		return tx.Bucket([]byte("meta")).Put([]byte("consistent_index"), []byte{0, 0, 0, 0, 0, 0, 0, 1})
	})
	beginLog(t, dir, written.Metadata)
	putAll(t, dir, 1, 2)
}

// beginLog puts a log in the place of another that has no entries yet.
func beginLog(t *testing.T, dir string, metadata []byte) {
	t.Helper()
	if err := os.RemoveAll(datadir.LogPath(dir)); err != nil {
		t.Fatal(err)
	}
	log, err := wal.Create(zap.NewNop(), datadir.LogPath(dir), metadata)
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
}

// detach takes a database out of its cluster, as a restore does.
func detach(t *testing.T, path string) {
	t.Helper()
	update(t, path, func(tx *bolt.Tx) error {
		if err := tx.DeleteBucket([]byte("members")); err != nil {
			return err
		}
		return tx.Bucket([]byte("meta")).Put([]byte("consistent_index"), make([]byte, 8))
	})
}

func update(t *testing.T, path string, do func(*bolt.Tx) error) {
	t.Helper()
	db, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Update(do), db.Close()); err != nil {
		t.Fatal(err)
	}
}
