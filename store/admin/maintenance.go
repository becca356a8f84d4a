package admin

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/status"
)

// MemberStatus is the state of one member.
type MemberStatus struct {
	Endpoint       string `json:"endpoint"`
	ID             string `json:"id,omitempty"`
	Version        string `json:"version,omitempty"`
	StorageVersion string `json:"storageVersion,omitempty"`
	// DBSize is the size of the file, InUse the used part of it, Quota its limit; 0 means unknown.
	DBSize int64 `json:"dbSize"`
	InUse  int64 `json:"inUse"`
	Quota  int64 `json:"quota,omitempty"`
	Leader bool  `json:"leader"`
	// HasLeader says that the member knows a leader.
	HasLeader   bool     `json:"hasLeader"`
	Learner     bool     `json:"learner,omitempty"`
	RaftTerm    uint64   `json:"raftTerm"`
	RaftIndex   uint64   `json:"raftIndex"`
	RaftApplied uint64   `json:"raftApplied"`
	Revision    int64    `json:"revision"`
	Errors      []string `json:"errors,omitempty"`
	LatencyUs   int64    `json:"latencyUs"`
}

// answerTimeout is the time after which a member counts as silent: etcd's client waits for one that is down until the
// context ends.
const answerTimeout = 2 * time.Second

// Status asks all named members at once. A silent one has only Errors.
func (l *Live) Status(ctx context.Context) []MemberStatus {
	out := make([]MemberStatus, len(l.urls))
	var asking sync.WaitGroup
	for i, url := range l.urls {
		asking.Go(func() { out[i] = l.statusOf(ctx, url, answerTimeout) })
	}
	asking.Wait()
	return out
}

// statusOf asks one member. The ID of a member that does not answer within the time is empty.
func (l *Live) statusOf(ctx context.Context, url string, within time.Duration) MemberStatus {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	start := time.Now()
	s, err := l.Client.Status(ctx, url)
	if err != nil {
		return MemberStatus{Endpoint: url, Errors: []string{status.Convert(err).Message()}}
	}
	return MemberStatus{
		Endpoint: url, ID: hexID(s.Header.MemberId), Version: s.Version, StorageVersion: s.StorageVersion,
		DBSize: s.DbSize, InUse: s.DbSizeInUse, Quota: s.DbSizeQuota,
		Leader: s.Leader == s.Header.MemberId, HasLeader: s.Leader != 0, Learner: s.IsLearner,
		RaftTerm: s.RaftTerm, RaftIndex: s.RaftIndex, RaftApplied: s.RaftAppliedIndex, Revision: s.Header.Revision,
		Errors: s.Errors, LatencyUs: time.Since(start).Microseconds(),
	}
}

// checkStatus returns the status of a member, or an error if it is silent. A request without a timeout needs it first.
func (l *Live) checkStatus(ctx context.Context, url string) (MemberStatus, error) {
	s := l.statusOf(ctx, url, requestTimeout)
	if s.ID == "" {
		return s, fmt.Errorf("the member does not answer: %s", strings.Join(s.Errors, ", "))
	}
	return s, nil
}

func hexID(id uint64) string { return fmt.Sprintf("%x", id) }

// Member is a member of the cluster.
type Member struct {
	ID         string   `json:"id"`
	Name       string   `json:"name"`
	Learner    bool     `json:"learner,omitempty"`
	PeerURLs   []string `json:"peerURLs"`
	ClientURLs []string `json:"clientURLs"`
}

// Members returns all members of the cluster.
func (l *Live) Members(ctx context.Context) ([]Member, error) {
	resp, err := l.Client.MemberList(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: list the members: %w", l.Name(), err)
	}
	var out []Member
	for _, m := range resp.Members {
		out = append(out, Member{ID: hexID(m.ID), Name: m.Name, Learner: m.IsLearner, PeerURLs: m.PeerURLs, ClientURLs: m.ClientURLs})
	}
	return out, nil
}

// Alarm is an alarm that a member has raised.
type Alarm struct {
	Member string `json:"member"`
	Alarm  string `json:"alarm"`
}

// Alarms returns the raised alarms. With disarm, it also ends them.
func (l *Live) Alarms(ctx context.Context, disarm bool) ([]Alarm, error) {
	resp, err := l.Client.AlarmList(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: list the alarms: %w", l.Name(), err)
	}
	var out []Alarm
	for _, a := range resp.Alarms {
		out = append(out, Alarm{Member: hexID(a.MemberID), Alarm: a.Alarm.String()})
		if !disarm {
			continue
		}
		if _, err := l.Client.AlarmDisarm(ctx, &clientv3.AlarmMember{MemberID: a.MemberID, Alarm: a.Alarm}); err != nil {
			return out, fmt.Errorf("%s: disarm %s of member %x: %w", l.Name(), a.Alarm, a.MemberID, err)
		}
	}
	return out, nil
}

// raised says whether an alarm of a kind is in the list.
func raised(alarms []Alarm, kind etcdserverpb.AlarmType) bool {
	for _, a := range alarms {
		if a.Alarm == kind.String() {
			return true
		}
	}
	return false
}

// Compact removes the history before a revision, and returns when the space is free for new values.
func (l *Live) Compact(ctx context.Context, revision int64) error {
	if _, err := l.Client.Compact(ctx, revision, clientv3.WithCompactPhysical()); err != nil {
		return fmt.Errorf("%s: compact to revision %d: %w", l.Name(), revision, err)
	}
	return nil
}

// Defragmentation is the result for one member.
type Defragmentation struct {
	Endpoint string `json:"endpoint"`
	Before   int64  `json:"before"`
	After    int64  `json:"after"`
	TookMs   int64  `json:"tookMs"`
}

// Defragment shrinks the files of the named members, one after the other: a member answers no requests meanwhile. It
// ends at the first failure.
func (l *Live) Defragment(ctx context.Context) iter.Seq2[Defragmentation, error] {
	return func(yield func(Defragmentation, error) bool) {
		for _, url := range l.urls {
			before, err := l.checkStatus(ctx, url)
			d := Defragmentation{Endpoint: url, Before: before.DBSize}
			start := time.Now()
			if err == nil {
				_, err = l.Client.Defragment(ctx, url)
			}
			if err != nil {
				yield(d, fmt.Errorf("%s: defragment: %w", url, err))
				return
			}
			d.TookMs = time.Since(start).Milliseconds()
			d.After = l.statusOf(ctx, url, requestTimeout).DBSize
			if !yield(d, nil) {
				return
			}
		}
	}
}

// Hash is a hash of one member's keys and values.
type Hash struct {
	Endpoint string `json:"endpoint"`
	Hash     string `json:"hash"`
	// The hash covers the history from Compacted to Revision. Only hashes of the same history can be compared.
	Revision  int64 `json:"revision"`
	Compacted int64 `json:"compacted"`
}

// errHashesDiffer marks the error about members with different contents.
var errHashesDiffer = errors.New("the members do not have the same keys and values")

// Hashes returns the hashes of the named members at one revision.
func (l *Live) Hashes(ctx context.Context, revision int64) ([]Hash, error) {
	if revision == 0 {
		head, err := l.Head(ctx)
		if err != nil {
			return nil, err
		}
		revision = head.Revision
	}
	var out []Hash
	for _, url := range l.urls {
		if _, err := l.checkStatus(ctx, url); err != nil {
			return out, fmt.Errorf("%s: hash at revision %d: %w", url, revision, err)
		}
		resp, err := l.Client.HashKV(ctx, url, revision)
		if err != nil {
			return out, fmt.Errorf("%s: hash at revision %d: %w", url, revision, err)
		}
		out = append(out, Hash{Endpoint: url, Hash: fmt.Sprintf("%08x", resp.Hash), Revision: revision,
			Compacted: max(resp.CompactRevision, 0)})
	}
	first := map[int64]Hash{} // of those with the same Compacted
	for _, h := range out {
		f, ok := first[h.Compacted]
		if !ok {
			first[h.Compacted] = h
		} else if h.Hash != f.Hash {
			return out, fmt.Errorf("%w: %s has %s and %s has %s at revision %d", errHashesDiffer, f.Endpoint, f.Hash, h.Endpoint, h.Hash,
				revision)
		}
	}
	return out, nil
}

// Lease is a lease, and how many keys end with it.
type Lease struct {
	ID string `json:"id"`
	// GrantedSeconds is the lease's time to live after a renewal, RemainingSeconds its time to live from now.
	GrantedSeconds   int64    `json:"grantedSeconds"`
	RemainingSeconds int64    `json:"remainingSeconds"`
	Keys             int      `json:"keys"`
	Names            []string `json:"names,omitempty"`
}

// Leases streams all leases. With names, it includes their keys.
func (l *Live) Leases(ctx context.Context, names bool) iter.Seq2[Lease, error] {
	return func(yield func(Lease, error) bool) {
		all, err := l.Client.Leases(ctx)
		if err != nil {
			yield(Lease{}, fmt.Errorf("%s: list the leases: %w", l.Name(), err))
			return
		}
		for _, lease := range all.Leases {
			ttl, err := l.Client.TimeToLive(ctx, lease.ID, clientv3.WithAttachedKeys())
			if err != nil {
				yield(Lease{}, fmt.Errorf("%s: lease %x: %w", l.Name(), int64(lease.ID), err))
				return
			}
			if ttl.TTL < 0 {
				continue // it has ended meanwhile
			}
			out := Lease{ID: fmt.Sprintf("%x", int64(lease.ID)), GrantedSeconds: ttl.GrantedTTL, RemainingSeconds: ttl.TTL,
				Keys: len(ttl.Keys)}
			for _, key := range ttl.Keys {
				if names {
					out.Names = append(out.Names, string(key))
				}
			}
			if !yield(out, nil) {
				return
			}
		}
	}
}
