package controller

import (
	"slices"
	"testing"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// holder is a definition that holds all that it asks for. accepted and established say since when, and whether.
func holder(uid string, accepted int64, established bool, n names) *Definition {
	d := &Definition{ObjectMeta: metav1.ObjectMeta{Name: n.Plural + ".g", UID: types.UID(uid)}}
	d.Spec.Group, d.Spec.Names, d.Status.AcceptedNames = "g", n, n
	if accepted > 0 {
		d.Status.Conditions = []condition{noConflicts}
		d.Status.Conditions[0].LastTransitionTime = metav1.NewTime(time.Unix(accepted, 0))
	}
	if established {
		d.Status.Conditions = append(d.Status.Conditions, condition{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue})
	}
	return d
}

func TestYields(t *testing.T) {
	of := func(plural string) names { return names{Plural: plural} }
	for _, tt := range []struct {
		why             string
		keeps, givesWay *Definition
	}{
		{"established", holder("b", 9, true, of("b")), holder("a", 1, false, of("a"))},
		{"all of its names are accepted", holder("b", 9, false, of("b")), holder("a", 0, false, of("a"))},
		{"accepted earlier", holder("b", 1, false, of("b")), holder("a", 2, false, of("a"))},
		{"the smaller UID", holder("a", 1, false, of("b")), holder("b", 1, false, of("a"))},
		{"the smaller name", holder("a", 1, false, of("a")), holder("a", 1, false, of("b"))},
	} {
		if yields(tt.keeps, tt.givesWay) || !yields(tt.givesWay, tt.keeps) || yields(tt.keeps, tt.keeps) {
			t.Errorf("%s: not as it should be", tt.why)
		}
	}
}

// TestWithdraw has two that hold the same names.
func TestWithdraw(t *testing.T) {
	shared := names{Plural: "as", Singular: "a", ShortNames: []string{"x", "y"}, Kind: "A", ListKind: "AList"}
	first := holder("a", 1, false, shared)
	mine := shared
	mine.Plural, mine.ShortNames = "bs", []string{"z", "y"}
	for _, tt := range []struct {
		established bool
		want        names
	}{
		{false, names{Plural: "bs", ShortNames: []string{"z"}}},
		{true, names{Plural: "bs", ShortNames: []string{"z"}, Kind: "A"}},
	} {
		d := holder("b", 2, tt.established, mine)
		rival := *first
		if tt.established {
			rival = *holder("a", 1, true, shared)
		}
		h := newNameHolders([]*Definition{&rival, d})
		if rivals := h.rivals(d); len(rivals) != 1 || rivals[0] != &rival {
			t.Errorf("its rivals are %v", rivals)
		}
		if v := judgeNames(&rival, h); !v.isSaid(&rival) {
			t.Errorf("who has the better claim gets %+v", v)
		}
		v := judgeNames(d, h)
		n := v.names
		if n.Plural != tt.want.Plural || n.Singular != "" || n.Kind != tt.want.Kind || n.ListKind != "" || !slices.Equal(n.ShortNames, tt.want.ShortNames) {
			t.Errorf("it keeps %+v", n)
		}
		v.apply(d)
		if isAccepted(d) || isEstablished(d) != tt.established {
			t.Errorf("its conditions are %+v", d.Status.Conditions)
		}
		if !tt.established && !apihelpers.IsCRDConditionEquivalent(&notAccepted, apihelpers.FindCRDCondition(d, apiextensionsv1.Established)) {
			t.Errorf("its conditions are %+v", d.Status.Conditions)
		}
		if !slices.Equal(mine.ShortNames, []string{"z", "y"}) {
			t.Error("what was judged has changed")
		}
	}
}
