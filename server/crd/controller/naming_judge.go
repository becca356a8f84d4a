package controller

import (
	"fmt"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
)

var (
	noConflicts = condition{Type: apiextensionsv1.NamesAccepted, Status: apiextensionsv1.ConditionTrue,
		Reason: "NoConflicts", Message: "no conflicts found"}
	notAccepted = condition{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionFalse,
		Reason: "NotAccepted", Message: "not all names are accepted"}
	installing = condition{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionFalse,
		Reason: "Installing", Message: "the initial names have been accepted"}
)

// nameVerdict is the part of a definition's status that naming decides.
type nameVerdict struct {
	names    names
	accepted condition
}

// judgeNames decides which names d gets. d keeps the names that it holds already, unless another definition has a
// better claim. If several names are taken, the condition reports the last one.
func judgeNames(d *Definition, h *nameHolders) nameVerdict {
	wants, has := &d.Spec.Names, acceptedNames(d, h)
	v := nameVerdict{names: has, accepted: noConflicts}
	v.names.Categories = wants.Categories
	for _, n := range []struct {
		reason     string
		kind       bool
		wants, has string
		accepted   *string
	}{
		{"PluralConflict", false, wants.Plural, has.Plural, &v.names.Plural},
		{"SingularConflict", false, wants.Singular, has.Singular, &v.names.Singular},
		{reason: "ShortNamesConflict"},
		{"KindConflict", true, wants.Kind, has.Kind, &v.names.Kind},
		{"ListKindConflict", true, wants.ListKind, has.ListKind, &v.names.ListKind},
	} {
		var err error
		if n.accepted == nil {
			v.names.ShortNames, err = shortNames(d, has.ShortNames, h)
		} else if n.wants != n.has && h.isUsed(nameKey{d.Spec.Group, n.kind, n.wants}) {
			err = errInUse(n.wants)
		} else {
			*n.accepted = n.wants
		}
		if err != nil {
			v.accepted.Status, v.accepted.Reason, v.accepted.Message = apiextensionsv1.ConditionFalse, n.reason, err.Error()
		}
	}
	return v
}

// shortNames returns all short names that d requests, or else those that it holds.
func shortNames(d *Definition, has []string, h *nameHolders) ([]string, error) {
	wants := d.Spec.Names.ShortNames
	var errs []error
	for _, short := range wants {
		if !slices.Contains(has, short) && h.isUsed(nameKey{d.Spec.Group, false, short}) {
			errs = append(errs, errInUse(short))
		}
	}
	if len(errs) > 0 {
		return has, utilerrors.NewAggregate(errs)
	}
	return wants, nil
}

func errInUse(name string) error { return fmt.Errorf("%q is already in use", name) }

// acceptedNames returns the names that d holds and need not give up. An established definition never loses its plural
// and kind, since its objects have them.
func acceptedNames(d *Definition, h *nameHolders) names {
	n := d.Status.AcceptedNames
	lost := func(kind bool, name string) bool { return h.isLost(d, nameKey{d.Spec.Group, kind, name}) }
	keep := func(kind bool, name *string) {
		if lost(kind, *name) {
			*name = ""
		}
	}
	if !isEstablished(d) {
		keep(false, &n.Plural)
		keep(true, &n.Kind)
	}
	keep(false, &n.Singular)
	keep(true, &n.ListKind)
	if slices.ContainsFunc(n.ShortNames, func(short string) bool { return lost(false, short) }) {
		n.ShortNames = slices.DeleteFunc(slices.Clone(n.ShortNames), func(short string) bool { return lost(false, short) })
	}
	return n
}

// isSaid reports whether d's status equals the verdict already.
func (v nameVerdict) isSaid(d *Definition) bool {
	return apiequality.Semantic.DeepEqual(v.names, d.Status.AcceptedNames) &&
		apihelpers.IsCRDConditionEquivalent(&v.accepted, apihelpers.FindCRDCondition(d, apiextensionsv1.NamesAccepted))
}

// apply writes the verdict into d's status. An established definition stays established.
func (v nameVerdict) apply(d *Definition) {
	d.Status.AcceptedNames = *v.names.DeepCopy()
	apihelpers.SetCRDCondition(d, v.accepted)
	switch {
	case isEstablished(d):
	case isAccepted(d):
		apihelpers.SetCRDCondition(d, installing)
	default:
		apihelpers.SetCRDCondition(d, notAccepted)
	}
}
