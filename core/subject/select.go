package subject

import (
	"time"

	"github.com/kx-apiserver/kx/core/filter"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
)

// Select returns those of all journeys that a filter selects, as a server does. A request that the filter names and
// that neither is among them nor can be ordered by its number is a [filter.Error].
func Select(all []*v1alpha1.Journey, f filter.Filter) ([]*v1alpha1.Journey, error) {
	f, err := f.Resolve(func(id string) (at time.Time, known bool) {
		for _, j := range all {
			if j.Name == id {
				return j.Status.Started.Time, true
			}
			known = known || filter.SameProcess(j.Name, id)
		}
		return at, known
	})
	if err != nil {
		return nil, err
	}
	var selected []*v1alpha1.Journey
	for _, j := range all {
		if f.Match(NewSubject(j)) {
			selected = append(selected, j)
		}
	}
	return selected, nil
}
