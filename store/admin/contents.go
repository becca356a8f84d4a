package admin

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/kx-apiserver/kx/store/datadir"
)

// storageVersionKey is the key of the meta bucket that names the version of etcd's files, from 3.6 on.
var storageVersionKey = []byte("storageVersion")

// Contents describes the contents of a snapshot.
type Contents struct {
	Head
	Keys int64
	// Database is the size of the database, without the sum behind it.
	Database int64
	// StorageVersion is the version of etcd's files, empty before 3.6.
	StorageVersion string
	// Encryption counts the values by the key that they need. Values in the clear are left out.
	Encryption []NeededKey
}

// NeededKey is a key of an encryption configuration, and how many values need it.
type NeededKey struct {
	Provider string `json:"provider"`
	Key      string `json:"key"`
	Values   int64  `json:"values"`
}

// nameBytes is the length of a hash prefix that identifies a key.
const nameBytes = 16

// contentsReader sums up the changes of a database.
type contentsReader struct {
	Contents
	// alive has the hash of each key that exists, and the index in needs of what its value needs.
	alive map[[nameBytes]byte]int32
	needs []NeededKey
	index map[NeededKey]int32
}

// ReadSnapshot reads a snapshot of size bytes from end to end. It verifies the sum at its end, each page, and that each
// change can be read. The snapshot may be a part of a file, so nothing of it is mapped into memory.
func ReadSnapshot(ctx context.Context, snapshot io.ReaderAt, size int64) (*Contents, error) {
	if size < sumBytes {
		return nil, errCutOff
	}
	database := size - sumBytes
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(snapshot, 0, database)); err != nil {
		return nil, err
	}
	sum := make([]byte, sumBytes)
	if _, err := snapshot.ReadAt(sum, database); err != nil {
		return nil, err
	}
	if !bytes.Equal(sum, h.Sum(nil)) {
		return nil, errWrongSum
	}
	return readDatabase(ctx, snapshot, database)
}

var (
	errCutOff   = errors.New("the snapshot is cut off")
	errWrongSum = errors.New("the SHA-256 of the snapshot is not the one at its end")
)

func readDatabase(ctx context.Context, file io.ReaderAt, size int64) (*Contents, error) {
	pages, err := datadir.NewPages(file, size)
	if err != nil {
		return nil, err
	}
	c := &contentsReader{alive: map[[nameBytes]byte]int32{}, index: map[NeededKey]int32{{}: 0}, needs: make([]NeededKey, 1)}
	c.Database, c.Revision = size, 1 // etcd starts at revision 1 with nothing in it
	missing := map[string]bool{string(keyBucket): true, string(metaBucket): true}
	err = pages.Buckets(func(bucket string) error {
		delete(missing, bucket)
		return ctx.Err()
	}, c.visit)
	switch {
	case err != nil:
		return nil, err
	case len(pages.Lost) > 0:
		return nil, errors.New(pages.Lost[0].Why)
	case len(missing) > 0:
		return nil, fmt.Errorf("etcd's bucket %s is missing", slices.Sorted(maps.Keys(missing))[0])
	}
	c.finish()
	return &c.Contents, nil
}

func (c *contentsReader) visit(bucket string, key, value []byte) error {
	switch bucket {
	case string(metaBucket):
		c.meta(key, value)
	case string(keyBucket):
		return c.change(key, value)
	}
	return nil
}

func (c *contentsReader) meta(key, value []byte) {
	switch {
	case bytes.Equal(key, storageVersionKey):
		c.StorageVersion = string(value)
	case (bytes.Equal(key, finishedCompact) || bytes.Equal(key, scheduledCompact)) && len(value) >= 8:
		c.Compacted = max(c.Compacted, int64(binary.BigEndian.Uint64(value)))
	}
}

func (c *contentsReader) change(key, value []byte) error {
	at, err := parsePlace(key)
	if err != nil {
		return err
	}
	r, err := parseRecord(value)
	if err != nil {
		return fmt.Errorf("revision %d: %w", at.main, err)
	}
	c.Revision = max(c.Revision, at.main)
	if len(r.key) == 0 {
		return nil // a restore by etcdutl raised the revision with it
	}
	full := sha256.Sum256(r.key)
	name := [nameBytes]byte(full[:nameBytes])
	if at.deleted {
		delete(c.alive, name)
		return nil
	}
	c.alive[name] = c.needed(r.value)
	return nil
}

func (c *contentsReader) needed(value []byte) int32 {
	need, encrypted := neededBy(value)
	if !encrypted {
		return 0
	}
	i, ok := c.index[need]
	if !ok {
		i = int32(len(c.needs))
		c.index[need], c.needs = i, append(c.needs, need)
	}
	return i
}

// neededBy returns the key that an encrypted value needs.
func neededBy(value []byte) (need NeededKey, encrypted bool) {
	provider, key := storedBy(value)
	return NeededKey{Provider: provider, Key: key}, provider != identity
}

func (c *contentsReader) finish() {
	c.Keys = int64(len(c.alive))
	c.Revision = max(c.Revision, c.Compacted)
	for _, i := range c.alive {
		c.needs[i].Values++
	}
	c.Encryption = sortNeeds(c.needs[1:])
}

// sortNeeds sorts keys by their names and leaves out those that no value needs.
func sortNeeds(all []NeededKey) []NeededKey {
	all = slices.DeleteFunc(all, func(n NeededKey) bool { return n.Values == 0 })
	slices.SortFunc(all, func(a, b NeededKey) int {
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.Key, b.Key))
	})
	return all
}

// Needs reads all keys and values of a running etcd, and returns how many keys there are and which keys of an
// encryption configuration they need.
func (l *Live) Needs(ctx context.Context) (c *Contents, err error) {
	c = &Contents{}
	if c.Head, err = l.Head(ctx); err != nil {
		return nil, err
	}
	counts := map[NeededKey]int64{}
	for kv, err := range l.Range(ctx, Range{Revision: c.Revision}) {
		if err != nil {
			return nil, err
		}
		c.Keys++
		if need, encrypted := neededBy(kv.Value); encrypted {
			counts[need]++
		}
	}
	for need, n := range counts {
		need.Values = n
		c.Encryption = append(c.Encryption, need)
	}
	c.Encryption = sortNeeds(c.Encryption)
	return c, nil
}

// Count returns how many keys etcd has at a revision, and the ID of its cluster.
func (l *Live) Count(ctx context.Context, revision int64) (keys int64, cluster string, err error) {
	resp, err := l.get(ctx, "\x00", clientv3.WithFromKey(), clientv3.WithCountOnly(), clientv3.WithRev(revision))
	if err != nil {
		return 0, "", readError("", revision, err)
	}
	return resp.Count, hexID(resp.Header.ClusterId), nil
}
