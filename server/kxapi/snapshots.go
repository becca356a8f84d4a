package kxapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/store/admin"
)

const (
	// snapshotsMost limits the snapshots of a server.
	snapshotsMost = 64
	// snapshotSeconds and snapshotSecondsMost are how long a snapshot lives by default, and at most.
	snapshotSeconds, snapshotSecondsMost = 60 * 60, 24 * 60 * 60
)

var snapshotResource = groupResource("snapshots")

var snapshotColumns = []builtin.Column{
	builtin.NameColumn,
	{Name: "Revision", Type: "integer", Description: "The revision of etcd."},
	{Name: "Keys", Type: "integer", Description: "How many keys etcd had."},
	{Name: "Until", Type: "string", Description: "When it ends by itself."},
}

func snapshotRow(s *v1alpha1.Snapshot) metav1.TableRow {
	return builtin.Row(s.Name, s.Status.Revision, s.Status.Keys, s.Status.Until.Format(time.RFC3339))
}

// snapshots are the snapshots of this process. They are only in its memory. mu guards entries.
type snapshots struct {
	*Etcd
	rewinds Rewinds
	// turn holds the one rewind that runs.
	turn chan struct{}

	mu      sync.Mutex
	entries map[string]*snapshot
}

// snapshot is one of them. Its rewinder belongs to the goroutine that has the turn.
type snapshot struct {
	object   *v1alpha1.Snapshot
	rewinder admin.Rewinder
	unpin    func()
	timer    *time.Timer
}

func newSnapshots(etcd *Etcd, rewinds Rewinds) *snapshots {
	return &snapshots{Etcd: etcd, rewinds: rewinds, turn: make(chan struct{}, 1), entries: map[string]*snapshot{}}
}

// SnapshotREST is the storage of snapshots.
type SnapshotREST struct {
	lister
	*snapshots
}

func (s *snapshots) storage() *SnapshotREST {
	r := declare(resource[*v1alpha1.Snapshot]{
		plural: snapshotResource.Resource, singular: "snapshot", empty: &v1alpha1.SnapshotList{},
		columns: snapshotColumns, row: snapshotRow, get: s.get, all: s.all,
	})
	return &SnapshotREST{newLister(r), s}
}

// Destroy ends all snapshots.
func (r *SnapshotREST) Destroy() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.entries {
		r.end(e)
	}
}

func (s *snapshots) find(name string) *snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.entries[name]
}

func (s *snapshots) get(_ context.Context, name string) (*v1alpha1.Snapshot, error) {
	if e := s.find(name); e != nil {
		return e.object.DeepCopy(), nil
	}
	return nil, nil
}

func (s *snapshots) all(context.Context) (all []*v1alpha1.Snapshot, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.entries {
		all = append(all, e.object.DeepCopy())
	}
	slices.SortFunc(all, func(a, b *v1alpha1.Snapshot) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil
}

// refuse returns why this server rewinds nothing, or nil.
func (s *snapshots) refuse(name string) error {
	if s.rewinds.Allowed {
		return nil
	}
	return apierrors.NewForbidden(snapshotResource, name,
		errors.New("a rewind overwrites what clients stored, so only a server that keeps nothing takes snapshots: "+
			"start one with kx serve --ephemeral, on the etcd inside"))
}

// Create notes a revision of etcd, and keeps its history from there on.
func (r *SnapshotREST) Create(ctx context.Context, obj runtime.Object, validate rest.ValidateObjectFunc,
	options *metav1.CreateOptions) (runtime.Object, error) {
	made := obj.(*v1alpha1.Snapshot).DeepCopy()
	generateName(made)
	if err := r.refuse(made.Name); err != nil {
		return nil, err
	}
	if errs := checkSnapshot(made); len(errs) > 0 {
		return nil, apierrors.NewInvalid(v1alpha1.SchemeGroupVersion.WithKind("Snapshot").GroupKind(), made.Name, errs)
	}
	made.UID = uuid.NewUUID()
	life := time.Duration(made.Spec.Seconds) * time.Second
	made.CreationTimestamp = metav1.Now()
	until := metav1.NewTime(made.CreationTimestamp.Add(life))
	made.Status = v1alpha1.SnapshotStatus{Revision: made.Spec.Revision, Until: &until}
	if err := validate(ctx, made.DeepCopy()); err != nil {
		return nil, err
	}
	e := &snapshot{object: made}
	if err := r.take(ctx, e); err != nil {
		return nil, err
	}
	if err := r.add(e, life, len(options.DryRun) > 0); err != nil {
		e.unpin()
		return nil, err
	}
	return made.DeepCopy(), nil
}

// checkSnapshot fills in the defaults.
func checkSnapshot(made *v1alpha1.Snapshot) (errs field.ErrorList) {
	errs = checkName(made)
	spec := field.NewPath("spec")
	if made.Spec.Seconds == 0 {
		made.Spec.Seconds = snapshotSeconds
	}
	if made.Spec.Seconds < 0 || made.Spec.Seconds > snapshotSecondsMost {
		errs = append(errs, field.Invalid(spec.Child("seconds"), made.Spec.Seconds,
			fmt.Sprintf("must be from 1 to %d", snapshotSecondsMost)))
	}
	return append(errs, atLeast(spec.Child("revision"), made.Spec.Revision, 0)...)
}

// take pins the revision, and verifies that etcd has it.
func (s *snapshots) take(ctx context.Context, e *snapshot) (err error) {
	status := &e.object.Status
	if status.Revision == 0 {
		if status.Revision, err = s.Live.Revision(ctx); err != nil {
			return keyError(err)
		}
	}
	e.unpin = s.rewinds.Pin(status.Revision)
	if status.Keys, _, err = s.Live.Count(ctx, status.Revision); err != nil {
		e.unpin()
		return keyError(err)
	}
	e.rewinder = admin.Rewinder{Live: s.Live, Decoder: s.Decoder, Revision: status.Revision, Stays: s.rewinds.Stays}
	return nil
}

func (s *snapshots) add(e *snapshot, life time.Duration, dryRun bool) error {
	name := e.object.Name
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.entries[name] != nil:
		return apierrors.NewAlreadyExists(snapshotResource, name)
	case len(s.entries) >= snapshotsMost:
		return apierrors.NewForbidden(snapshotResource, name,
			fmt.Errorf("there are %d snapshots already, and no more may be: delete one", snapshotsMost))
	case dryRun:
		e.unpin()
		return nil
	}
	s.entries[name] = e
	e.timer = time.AfterFunc(life, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.end(e)
	})
	return nil
}

// end ends a snapshot, unless it has ended. The caller holds mu.
func (s *snapshots) end(e *snapshot) {
	if s.entries[e.object.Name] != e {
		return
	}
	delete(s.entries, e.object.Name)
	e.timer.Stop()
	e.unpin()
}

// Delete ends a snapshot. etcd's history may be compacted then.
func (r *SnapshotREST) Delete(ctx context.Context, name string, validate rest.ValidateObjectFunc,
	options *metav1.DeleteOptions) (runtime.Object, bool, error) {
	e := r.find(name)
	if e == nil {
		return nil, false, apierrors.NewNotFound(snapshotResource, name)
	}
	if err := validate(ctx, e.object.DeepCopy()); err != nil {
		return nil, false, err
	}
	if err := checkUID(snapshotResource, e.object, options); err != nil {
		return nil, false, err
	}
	if options != nil && len(options.DryRun) > 0 {
		return e.object.DeepCopy(), true, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.end(e)
	return e.object.DeepCopy(), true, nil
}

// checkCompaction returns an error if a compaction to a revision, 0 being the present one, would drop that of a
// snapshot.
func (s *snapshots) checkCompaction(revision int64) error {
	if revision == 0 {
		revision = math.MaxInt64
	}
	all, _ := s.all(context.Background())
	for _, one := range all {
		if one.Status.Revision < revision {
			return fmt.Errorf("the snapshot %s needs the history from revision %d on: delete it first, or compact no further",
				one.Name, one.Status.Revision)
		}
	}
	return nil
}
