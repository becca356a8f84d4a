package kxapi

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/server/builtin"
)

const (
	// momentEvery is the time between queries of etcd's revision, and so the precision of a moment.
	momentEvery = time.Second
	// mostMoments limits the remembered moments: an hour of them, if there are writes in each second.
	mostMoments = 3600
)

// Moments remembers when etcd reached which revision, since etcd keeps no times. It is in memory, and bounded. It
// begins anew when etcd's revision goes back, because its moments belong to one history of etcd. mu guards ring.
type Moments struct {
	revision func(context.Context) (int64, error) // etcd's revision, confirmed by a majority

	mu   sync.Mutex
	ring []moment // ordered by time and by revision
}

type moment struct {
	at       time.Time
	revision int64
}

// NewMoments remembers the results of revision.
func NewMoments(revision func(context.Context) (int64, error)) *Moments {
	return &Moments{revision: revision}
}

// Run queries etcd's revision until ctx ends. An etcd that does not answer makes no moments.
func (m *Moments) Run(ctx context.Context) {
	tick := time.NewTicker(momentEvery)
	defer tick.Stop()
	for {
		asked := time.Now()
		limited, cancel := context.WithTimeout(ctx, momentEvery)
		if revision, err := m.revision(limited); err == nil {
			m.saw(asked, revision)
		}
		cancel()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// saw remembers a revision that is newer than the last one. An older one belongs to another history, for example after
// a restore. Within a history the revisions only grow: Run queries one at a time, and a majority of the members
// answers.
func (m *Moments) saw(at time.Time, revision int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := len(m.ring); n > 0 {
		switch last := m.ring[n-1].revision; {
		case last == revision:
			return
		case last > revision:
			m.ring = m.ring[:0]
		}
	}
	if len(m.ring) == mostMoments {
		m.ring = m.ring[:copy(m.ring, m.ring[1:])]
	}
	m.ring = append(m.ring, moment{at, revision})
}

// at returns the last moment that is not after t. If there is none, ok is false and oldest is the first one remembered.
func (m *Moments) at(t time.Time) (found, oldest moment, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.ring) > 0 {
		oldest = m.ring[0]
	}
	i := sort.Search(len(m.ring), func(i int) bool { return m.ring[i].at.After(t) })
	if i == 0 {
		return moment{}, oldest, false
	}
	return m.ring[i-1], oldest, true
}

func (m *Moments) resource() *anyResource {
	return declare(resource[*v1alpha1.Moment]{
		plural: "moments", singular: "moment", empty: &v1alpha1.MomentList{},
		columns: momentColumns, row: momentRow, get: m.get, all: m.all,
	})
}

// get returns the moment of a time, or of a duration before now, by this server's clock.
func (m *Moments) get(_ context.Context, name string) (*v1alpha1.Moment, error) {
	t, err := parseMoment(name, time.Now())
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	found, oldest, ok := m.at(t)
	switch {
	case ok:
		return momentOf(name, found), nil
	case oldest.at.IsZero():
		return nil, apierrors.NewServiceUnavailable("this server has not seen any revision of etcd yet")
	}
	return nil, expired("this server does not know which revision etcd had at %s: the oldest that it has seen is %d, at %s",
		t.UTC().Format(time.RFC3339), oldest.revision, oldest.at.UTC().Format(time.RFC3339))
}

// parseMoment parses a time, or a duration before now.
func parseMoment(name string, now time.Time) (time.Time, error) {
	if ago, err := time.ParseDuration(strings.TrimPrefix(name, "-")); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	t, err := time.Parse(time.RFC3339Nano, name)
	switch {
	case err != nil:
		return t, fmt.Errorf("%q is no time: give one such as 2026-01-02T15:04:05Z, or how long ago such as 5m", name)
	case t.After(now):
		return t, fmt.Errorf("%s has not come yet: this server has %s", name, now.UTC().Format(time.RFC3339))
	}
	return t, nil
}

func (m *Moments) all(context.Context) (all []*v1alpha1.Moment, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, one := range m.ring {
		all = append(all, momentOf(one.at.UTC().Format(time.RFC3339Nano), one))
	}
	return all, nil
}

func momentOf(name string, m moment) *v1alpha1.Moment {
	return &v1alpha1.Moment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Status:     v1alpha1.MomentStatus{Time: metav1.NewMicroTime(m.at), Revision: m.revision},
	}
}

var momentColumns = []builtin.Column{
	builtin.NameColumn,
	{Name: "Revision", Type: "integer", Description: "The revision that etcd had come to."},
	{Name: "Ago", Type: "string", Description: "How long ago that was."},
}

func momentRow(m *v1alpha1.Moment) metav1.TableRow {
	return builtin.Row(m.Name, m.Status.Revision, builtin.MicroAge(m.Status.Time))
}
