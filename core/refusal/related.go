package refusal

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/steps"
)

// relatedMost bounds how many other requests a card is made of.
const relatedMost = 8

// RelatedFilter returns a filter that finds the requests that [RelatedRequests] picks, and few others; empty if no
// other request matters.
func RelatedFilter(j *v1alpha1.Journey) string {
	switch refusalCode(j) {
	case codeConflict, codeNotFound:
	default:
		return ""
	}
	if j.Spec.Resource == "" || j.Spec.Name == "" {
		return ""
	}
	wanted := fmt.Sprintf("resource:%q name:%q step:%s", j.Spec.Resource, j.Spec.Name, steps.EtcdTxn)
	if j.Spec.Namespace != "" {
		wanted += fmt.Sprintf(" ns:%q", j.Spec.Namespace)
	}
	return wanted
}

// RelatedRequests picks the requests that changed the object before j was refused over it: the latest of them, the
// oldest first. Their steps need not be known.
func RelatedRequests(j *v1alpha1.Journey, all iter.Seq[*v1alpha1.Journey]) []*v1alpha1.Journey {
	if RelatedFilter(j) == "" {
		return nil
	}
	var found []*v1alpha1.Journey
	for other := range all {
		if changed(j, other) {
			found = append(found, other)
		}
	}
	slices.SortStableFunc(found, func(a, b *v1alpha1.Journey) int { return cmp.Compare(a.Status.Revision, b.Status.Revision) })
	if over := len(found) - relatedMost; over > 0 {
		found = found[over:]
	}
	return found
}

// changed says whether another request changed the object that j was about, before j ended.
func changed(j, other *v1alpha1.Journey) bool {
	q, o := &j.Spec, &other.Spec
	switch {
	case other.Name == j.Name, other.Status.Revision == 0, other.Status.Code >= 400:
		return false
	case q.Group != o.Group || q.Resource != o.Resource || q.Namespace != o.Namespace || q.Name != o.Name || q.Name == "":
		return false
	}
	return other.Status.Started.Sub(j.Status.Started.Time).Microseconds() <= j.Status.TookMicros
}
