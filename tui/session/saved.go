package session

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kx-apiserver/kx/core/filter"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/lang"
	"github.com/kx-apiserver/kx/core/subject"
	"github.com/kx-apiserver/kx/core/trace"
)

// saved serves the journeys of a saved capture. They never change.
type saved struct {
	all  []*v1alpha1.Journey
	byID map[string]*v1alpha1.Journey
	// names lists the names in journeys that another version of kx recorded.
	names *subject.Names
}

func newSaved(all []*v1alpha1.Journey, reasons trace.Catalogue) *saved {
	s := &saved{all: all, byID: make(map[string]*v1alpha1.Journey, len(all)), names: subject.NewNames(reasons.Known)}
	for _, j := range all {
		clean(j)
		lang.Complete(j, reasons)
		s.byID[j.Name] = j
		s.names.Add(j)
	}
	return s
}

func (s *saved) get(_ context.Context, id string) (*v1alpha1.Journey, error) {
	if j := s.byID[id]; j != nil {
		return j, nil
	}
	return nil, errors.New("the capture does not have this journey")
}

func (s *saved) list(_ context.Context, text string) ([]*v1alpha1.Journey, string, error) {
	f, err := filter.Parse(text, s.known)
	if err != nil {
		return nil, "", err
	}
	rows, err := subject.Select(s.all, f)
	return rows, "0", err
}

func (s *saved) watch(ctx context.Context, _, rv string, _ func(watch.EventType, *v1alpha1.Journey)) (string, error) {
	<-ctx.Done()
	return rv, nil
}

func (s *saved) known(field string) []string { return s.names.Known(field) }

func (s *saved) phase() Phase { return AsSaved }

func (s *saved) close() {}
