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

// archive serves the journeys of a saved capture. They never change.
type archive struct {
	all  []*v1alpha1.Journey
	byID map[string]*v1alpha1.Journey
	// names lists the names in journeys that another version of kx recorded.
	names *subject.Names
}

func newSaved(all []*v1alpha1.Journey, reasons trace.Catalogue) *archive {
	s := &archive{all: all, byID: make(map[string]*v1alpha1.Journey, len(all)), names: subject.NewNames(reasons.Names)}
	for _, j := range all {
		Clean(j)
		lang.Complete(j, reasons)
		s.byID[j.Name] = j
		s.names.Add(j)
	}
	return s
}

func (s *archive) get(_ context.Context, id string) (*v1alpha1.Journey, error) {
	if j := s.byID[id]; j != nil {
		return j, nil
	}
	return nil, errors.New("the capture does not have this journey")
}

func (s *archive) list(_ context.Context, text string) ([]*v1alpha1.Journey, string, error) {
	f, err := filter.Parse(text, s.nameList)
	if err != nil {
		return nil, "", err
	}
	rows, err := subject.Select(s.all, f)
	return rows, "0", err
}

func (s *archive) watch(ctx context.Context, _, rv string, _ func(watch.EventType, *v1alpha1.Journey)) (string, error) {
	<-ctx.Done()
	return rv, nil
}

func (s *archive) nameList(field string) []string { return s.names.List(field) }

func (s *archive) phase() Phase { return AsSaved }

func (s *archive) close() {}
