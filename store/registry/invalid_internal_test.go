package registry

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// TestManyErrorsMakeAShortAnswer has more errors, or longer ones, than an answer has room for.
func TestManyErrorsMakeAShortAnswer(t *testing.T) {
	list := func(n, length int) (errs field.ErrorList) {
		for i := range n {
			errs = append(errs, field.Duplicate(field.NewPath("spec").Index(i), strings.Repeat("x", length)))
		}
		return errs
	}
	for _, tt := range []struct {
		name   string
		errs   field.ErrorList
		causes int
		last   string
	}{
		{"few", list(3, 1), 3, `Duplicate value: "x"`},
		{"as many as there may be", list(128, 1), 128, `Duplicate value: "x"`},
		{"many", list(200_000, 1), 129, "Too many: 199872 more errors are not shown"},
		{"long", list(100, 100<<10), 3, "Too many: 98 more errors are not shown"},
		{"a very long one", list(1, 3<<20), 1, "Duplicate value"},
		{"very long ones", list(2, 3<<20), 2, "Too many: 1 more errors are not shown"},
		{"a long detail", field.ErrorList{field.NotSupported(field.NewPath("a"), "b", []string{strings.Repeat("x", 3<<20)})}, 1, "Unsupported value: supported values"},
	} {
		status := invalid(context.Background(), schema.GroupKind{Kind: "Thing"}, "one", tt.errs).(apierrors.APIStatus).Status()
		causes := status.Details.Causes
		if len(causes) != tt.causes || !strings.HasPrefix(causes[len(causes)-1].Message, tt.last) || len(status.Message) > maxErrorText+10_000 {
			t.Errorf("%s: %d causes, the last %.200s; %d bytes", tt.name, len(causes), causes[len(causes)-1].Message, len(status.Message))
		}
	}
}

// TestInvalidAfterTheEnd has a client that left while its object was validated.
func TestInvalidAfterTheEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := invalid(ctx, schema.GroupKind{}, "one", field.ErrorList{field.Required(nil, "")}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

type declaring bool

func (d declaring) DeclaresRules() bool { return bool(d) }

// TestArranged: only strategies whose types declare rules tell errors once, those of declared rules last.
func TestArranged(t *testing.T) {
	path := field.NewPath("a")
	errs := field.ErrorList{
		field.Required(path, "").MarkCoveredByDeclarative(),
		field.Invalid(path, []string{"x"}, "is bad"),
		field.Invalid(path, []string{"x"}, "is bad"),
		field.Invalid(path, []string{"y"}, "is bad"),
		field.Required(path, "").MarkCoveredByDeclarative(),
	}
	if got := arrange(nil, errs); len(got) != len(errs) {
		t.Errorf("a strategy without declared rules: %v", got)
	}
	if got := arrange(declaring(false), errs); len(got) != len(errs) {
		t.Errorf("a strategy that says so: %v", got)
	}
	if got := arrange(declaring(true), errs); !slices.Equal(got, field.ErrorList{errs[1], errs[3], errs[0]}) {
		t.Errorf("a declaring strategy: %v", got)
	}
}

// TestManyErrorsAreArranged has as many invalid labels as an object may have, each reported twice. Comparing each error
// with each would take minutes.
func TestManyErrorsAreArranged(t *testing.T) {
	const n = 100_000
	var errs field.ErrorList
	for i := range 2 * n {
		errs = append(errs, field.Invalid(field.NewPath("metadata", "labels"), strconv.Itoa(i%n), "is bad"))
	}
	if got := arrange(declaring(true), errs); !slices.Equal(got, errs[:n]) {
		t.Errorf("%d errors of %d", len(got), n)
	}
}
