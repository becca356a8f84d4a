package admin

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	bolt "go.etcd.io/bbolt"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"github.com/kx-apiserver/kx/store/datadir"
)

// copyBatch is the number of bytes in one transaction of the copy.
const copyBatch = 16 << 20

// unreadableError says why nothing of a database can be read.
type unreadableError struct{ error }

// copyPages copies the readable part of a database to a new one, bucket by bucket, and returns what it lost. An error
// is an *unreadableError, or says that the new database can't be written.
func copyPages(from, to string) (lost []datadir.LostPages, err error) {
	pages, err := datadir.OpenPages(from)
	if err != nil {
		return nil, &unreadableError{err}
	}
	defer pages.Close()
	db, err := bolt.Open(to, 0o600, &bolt.Options{Timeout: lockWait, NoSync: true})
	if err != nil {
		return nil, err
	}
	c := &copier{db: db, pages: pages}
	err = pages.Buckets(c.begin, c.copy)
	if err == nil {
		err = c.commit()
	}
	if err == nil && (!c.had[string(keyBucket)] || !c.had[string(metaBucket)]) {
		err = &unreadableError{errors.New("its bucket of keys, or that of metadata, cannot be read")}
	}
	if c.tx != nil {
		err = errors.Join(err, c.tx.Rollback()) // Close would wait for it
	}
	return pages.Lost, errors.Join(err, db.Sync(), db.Close())
}

// copier writes in the order of keys.
type copier struct {
	db    *bolt.DB
	pages *datadir.Pages
	tx    *bolt.Tx
	bytes int
	had   map[string]bool
}

func (c *copier) bucket(name string) (*bolt.Bucket, error) {
	if c.tx == nil {
		var err error
		if c.tx, err = c.db.Begin(true); err != nil {
			return nil, err
		}
	}
	b, err := c.tx.CreateBucketIfNotExists([]byte(name))
	if err == nil {
		b.FillPercent = 0.9 // keys come in order
	}
	return b, err
}

func (c *copier) begin(name string) error {
	if c.had == nil {
		c.had = map[string]bool{}
	}
	if name == "" {
		c.pages.Lose(name, nil, nil, errors.New("one of them has no name"))
		return nil
	}
	c.had[name] = true
	_, err := c.bucket(name)
	return err
}

func (c *copier) copy(name string, key, value []byte) error {
	if !c.had[name] {
		return nil
	}
	lose := func(err error) error {
		c.pages.Lose(name, key, append(bytes.Clone(key), 0), err)
		return nil
	}
	if name == string(keyBucket) {
		if err := checkRecord(key, value); err != nil {
			return lose(err)
		}
	}
	b, err := c.bucket(name)
	if err != nil {
		return err
	}
	if err := b.Put(key, bytes.Clone(value)); err != nil {
		return lose(err) // no database has such a key
	}
	if c.bytes += len(key) + len(value); c.bytes < copyBatch {
		return nil
	}
	return c.commit()
}

func (c *copier) commit() error {
	if c.tx == nil {
		return nil
	}
	tx := c.tx
	c.tx, c.bytes = nil, 0
	return tx.Commit()
}

// checkRecord refuses what can't be a change. It can't find every damaged value, since the database has no checksums.
func checkRecord(key, value []byte) error {
	at, err := parsePlace(key)
	if err != nil {
		return err
	}
	r, err := parseRecord(value)
	if err != nil {
		return err
	}
	// The record of a deletion holds only the key.
	if !at.deleted && r.mod != at.main || at.deleted && r.mod != 0 {
		return fmt.Errorf("it says that it is of revision %d", r.mod)
	}
	return nil
}

// lossText says which keys may be lost. In the bucket of changes, keys are revisions.
func lossText(l datadir.LostPages) string {
	what := fmt.Sprintf("the database's bucket %q", l.Bucket)
	switch {
	case l.Bucket == "":
		what = "buckets of the database"
	case l.Bucket == string(keyBucket):
		what = "the database's revisions"
		if from, err := parsePlace(l.From); err == nil {
			what += fmt.Sprintf(" from %d", from.main)
		}
		if to, err := parsePlace(l.To); err == nil {
			what += fmt.Sprintf(" to before %d", to.main)
		}
	}
	return what + ": " + l.Why
}

// mostNames limits the keys that a loss names.
const mostNames = 1000

// unusedEntries are readable entries of the log that follow unreadable ones.
type unusedEntries struct {
	first, last uint64
	count       int
	keys        []string
	seen        map[string]bool
	more        int
}

func (u *unusedEntries) add(e *raftpb.Entry) {
	if u.count++; u.first == 0 {
		u.first = e.GetIndex()
	}
	u.last = e.GetIndex()
	var request pb.InternalRaftRequest
	if e.GetType() != raftpb.EntryNormal || proto.Unmarshal(e.Data, &request) != nil {
		return
	}
	if r := request.Put; r != nil {
		u.name(r.Key)
	}
	if r := request.DeleteRange; r != nil {
		u.name(r.Key)
	}
	if r := request.Txn; r != nil {
		u.nameAll(append(r.Success, r.Failure...))
	}
}

// nameAll notes the keys that a transaction may write.
func (u *unusedEntries) nameAll(ops []*pb.RequestOp) {
	for _, op := range ops {
		if r := op.GetRequestPut(); r != nil {
			u.name(r.Key)
		}
		if r := op.GetRequestDeleteRange(); r != nil {
			u.name(r.Key)
		}
	}
}

func (u *unusedEntries) name(key []byte) {
	if u.seen[string(key)] {
		return
	}
	if len(u.keys) == mostNames {
		u.more++
		return
	}
	if u.seen == nil {
		u.seen = map[string]bool{}
	}
	u.seen[string(key)] = true
	u.keys = append(u.keys, strings.Clone(string(key)))
}

func (u *unusedEntries) names() []string {
	if u.more > 0 {
		return append(u.keys, fmt.Sprintf("and %d more", u.more))
	}
	return u.keys
}
