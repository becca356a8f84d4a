package diff

import (
	"encoding/json"
	"slices"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/lang"
	"github.com/kx-apiserver/kx/core/steps"
)

// Reasons returns why two requests took a step as they did. If one was refused as a conflict, the two differ in their
// revisions: then the reason of the other has its revision, and the revision of the object.
func Reasons(a, b *v1alpha1.Journey, p StepPair, in lang.Language) (whys [2]string) {
	journeys, taken := [2]*v1alpha1.Journey{a, b}, [2]*v1alpha1.Step{&a.Status.Steps[p.A], &b.Status.Steps[p.B]}
	for i, j := range journeys {
		if refusedAsConflict(journeys[1-i], taken[1-i]) {
			whys[i] = acceptance(j, taken[i], in)
		}
		if whys[i] == "" {
			whys[i] = in.Why(j, taken[i])
		}
	}
	return whys
}

// refusedAsConflict reports whether a request was refused at a step because the object had moved on.
func refusedAsConflict(j *v1alpha1.Journey, s *v1alpha1.Step) bool {
	return s.ID == steps.StoreTryUpdate.String() && s.Error != "" && j.Status.Code == 409
}

// acceptance says on which revision a request was made that passed a step, and which one the object had. It is empty
// if that is not known, and if there was no object.
func acceptance(j *v1alpha1.Journey, s *v1alpha1.Step, in lang.Language) string {
	if s.ID != steps.StoreTryUpdate.String() || s.Error != "" {
		return ""
	}
	stored := s.Attribute("revision")
	for i := range j.Status.Steps { // the last attempt succeeded
		if later := &j.Status.Steps[i]; later.ID == s.ID && later.Error == "" {
			stored = later.Attribute("revision")
		}
	}
	sent, known := sentRevision(j)
	switch {
	case stored == "" || stored == "0":
		return ""
	case j.Spec.Verb == "patch":
		return in.Phrase("the patch was applied to the object as it was stored, at revision %s", stored)
	case known && sent == "":
		return in.Phrase("the request named no revision, so that any was good, and the object was at revision %s", stored)
	case known && sent != stored:
		return ""
	case known, slices.ContainsFunc(j.Status.Steps, func(s v1alpha1.Step) bool { return s.ID == steps.HandlerUpdate.String() }):
		// Even without its object: the handler says of an update if that names no revision, and another one is refused.
		return in.Phrase("the request was made on revision %s, and the object was still at it", stored)
	}
	return "" // such as a controller's, which does not come through the handler
}

// reasonUnconditionalUpdate is the reason of an update without a revision.
const reasonUnconditionalUpdate = "unconditional-update"

// sentRevision returns the revision in the object that a request sent, "" for none. It is known if that object was
// recorded. It is also known if the server recorded the reason that the object has no revision.
func sentRevision(j *v1alpha1.Journey) (revision string, known bool) {
	for i := range j.Status.Steps {
		s := &j.Status.Steps[i]
		if s.Reason != nil && s.Reason.Kind == reasonUnconditionalUpdate {
			return "", true
		}
		if steps.InfoOf(s.ID).Object.Input != steps.Body || s.After == nil {
			continue
		}
		var o struct {
			Metadata struct{ ResourceVersion string }
		}
		if json.Unmarshal(s.After.Raw, &o) == nil {
			if o.Metadata.ResourceVersion == "0" { // as good as none
				return "", true
			}
			return o.Metadata.ResourceVersion, true
		}
	}
	return "", false
}
