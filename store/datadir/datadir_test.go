package datadir

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	bolt "go.etcd.io/bbolt"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.etcd.io/raft/v3/raftpb"
	"go.uber.org/zap"
	"google.golang.org/protobuf/proto"
)

// writeLog writes a log as etcd does: each entry is in one write with the commit of the one before.
func writeLog(t testing.TB, dir string, entries int) {
	t.Helper()
	log, err := wal.Create(zap.NewNop(), LogPath(dir), []byte("metadata"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint64(entries) {
		entry := &raftpb.Entry{Type: raftpb.EntryNormal.Enum(), Term: proto.Uint64(1), Index: proto.Uint64(i + 1), Data: bytes.Repeat([]byte{7}, 100)}
		if err := log.Save(&raftpb.HardState{Term: proto.Uint64(1), Vote: proto.Uint64(1), Commit: proto.Uint64(i)}, []*raftpb.Entry{entry}); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestReadsAsEtcdDoes compares what is read of whole and of torn logs with what etcd reads.
func TestReadsAsEtcdDoes(t *testing.T) {
	defer func(before int64) { wal.SegmentSizeBytes = before }(wal.SegmentSizeBytes)
	wal.SegmentSizeBytes = 2 << 10
	dir := t.TempDir()
	writeLog(t, dir, 50)
	all, err := segments(LogPath(dir))
	if err != nil || len(all) < 3 {
		t.Fatalf("%d files, %v", len(all), err)
	}
	last := all[len(all)-1].path
	data, err := os.ReadFile(last)
	if err != nil {
		t.Fatal(err)
	}
	for size := len(data); size >= 0; size -= 7 {
		if err := os.WriteFile(last, data[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		log, err := wal.OpenForRead(zap.NewNop(), LogPath(dir), nil)
		if err != nil {
			t.Fatal(err)
		}
		metadata, state, entries, err := log.ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		checked, err := Check(dir)
		if err != nil || checked.Last != uint64(len(entries)) {
			t.Fatalf("at %d bytes: %+v, %v; etcd reads %d entries", size, checked, err, len(entries))
		}
		read := 0
		got, err := ReadLog(dir, func(e *raftpb.Entry) error {
			if !proto.Equal(e, entries[read]) {
				t.Errorf("entry %d is %v", read, e)
			}
			read++
			return nil
		})
		if err != nil || len(got.Gaps) > 0 || read != len(entries) || got.Commit != state.GetCommit() || !bytes.Equal(got.Metadata, metadata) {
			t.Fatalf("at %d bytes: %+v, %v; etcd reads %d entries and %v", size, got, err, len(entries), state)
		}
	}
}

// TestResumeWantsProof puts a record after a gap whose own sum proves nothing: only what it proves is read.
func TestResumeWantsProof(t *testing.T) {
	rec := func(sum uint32, data string) []byte {
		message := []byte{0x08, entryRecord, 0x10}
		message = binary.AppendUvarint(message, uint64(sum))
		message = append(append(message, 0x1a, byte(len(data))), data...)
		padding := (8 - len(message)%8) % 8
		length := uint64(len(message))
		if padding > 0 {
			length |= uint64(0x80|padding) << 56
		}
		return append(binary.LittleEndian.AppendUint64(nil, length), append(message, make([]byte, padding)...)...)
	}
	path := filepath.Join(t.TempDir(), "log")
	first, second := rec(1234, "unproved"), rec(crc32.Update(1234, castagnoli, []byte("proved")), "proved")
	for _, c := range []struct {
		name string
		data [][]byte
		want string
	}{
		{"one record", [][]byte{make([]byte, 800), first}, ""},
		{"two", [][]byte{make([]byte, 800), first, second}, "proved"},
		{"two that do not belong together", [][]byte{make([]byte, 800), first, first}, ""},
		{"across windows", [][]byte{make([]byte, searchBytes-8), first, second}, "proved"},
	} {
		if err := os.WriteFile(path, bytes.Join(c.data, nil), 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := openRecords(path)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if r.resume(8, r.size) {
			rec, err := r.read()
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			got = string(rec.data)
		}
		if _, err := r.read(); got != "" && !errors.Is(err, io.EOF) {
			t.Errorf("%s: then %v", c.name, err)
		}
		if r.close(); got != c.want {
			t.Errorf("%s: resumed at %q, want %q", c.name, got, c.want)
		}
	}
}

// TestPages reads a database that bbolt wrote, whole and with garbage in it: a page is as it was, or lost.
func TestPages(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	db, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	const small, large = 3, 1000
	value := func(i int) []byte { return bytes.Repeat([]byte{byte(i)}, i%3000) }
	key := func(i int) []byte { return binary.BigEndian.AppendUint32(nil, uint32(i)) }
	err = db.Update(func(tx *bolt.Tx) error {
		for name, n := range map[string]int{"empty": 0, "small": small, "large": large} {
			b, err := tx.CreateBucket([]byte(name))
			for i := 0; i < n && err == nil; i++ {
				err = b.Put(key(i), value(i))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	read := func() (found map[string]int, lost []LostPages, err error) {
		p, err := OpenPages(path)
		if err != nil {
			return nil, nil, err
		}
		defer p.Close()
		found = map[string]int{}
		err = p.Buckets(func(name string) error { found[name] = 0; return nil }, func(name string, k, v []byte) error {
			if len(k) == 4 && bytes.Equal(v, value(int(binary.BigEndian.Uint32(k)))) {
				found[name]++
			}
			return nil
		})
		return found, p.Lost, err
	}
	if found, lost, err := read(); err != nil || len(lost) > 0 || len(found) != 3 || found["small"] != small || found["large"] != large {
		t.Fatalf("%v, lost %v, %v", found, lost, err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 0))
	losses := 0
	for range 30 {
		garbage := bytes.Clone(data)
		at := 4*os.Getpagesize() + random.IntN(len(data)-8*os.Getpagesize())
		for i := range 2 * os.Getpagesize() {
			garbage[at+i] = byte(random.Uint32())
		}
		if err := os.WriteFile(path, garbage, 0o600); err != nil {
			t.Fatal(err)
		}
		_, lost, err := read()
		if err != nil {
			t.Errorf("garbage at %d: %v", at, err)
		}
		losses += len(lost)
	}
	if losses == 0 {
		t.Error("garbage in thirty places is not noticed")
	}
}

// TestShortLog wants a log that ends before its database to be damage, unless the member is one of several.
func TestShortLog(t *testing.T) {
	for _, c := range []struct {
		members int
		log     bool
		whole   bool
	}{{1, true, false}, {3, true, true}, {3, false, false}} {
		s := State{Database: Database{Index: 9, Members: c.members}, HasLog: c.log, Last: 7}
		if err := s.tooShort("dir", "file", "it is short"); (err == nil) != c.whole {
			t.Errorf("of %d members, with a log: %v: %v", c.members, c.log, err)
		}
	}
}
