package schema

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/kube-openapi/pkg/validation/validate"
)

// Limits limits the cost of one object. A zero field stands for the value in defaultLimits.
type Limits struct {
	// Bytes limits the size, as JSON, of the defaults that a schema may add to an object.
	Bytes int64
	// Steps limits the validation of an object: about one step for each value and each schema that applies to
	// it.
	Steps int64
}

// defaultLimits are far above the needs of real projects. An object that exceeds Bytes could not be stored
// anyway: a write to etcd has the same limit.
var defaultLimits = Limits{Bytes: 8 << 20, Steps: 2_000_000}

func (l Limits) orDefault() Limits {
	if l.Bytes == 0 {
		l.Bytes = defaultLimits.Bytes
	}
	if l.Steps == 0 {
		l.Steps = defaultLimits.Steps
	}
	return l
}

// maxErrors limits the reported errors of one object. Strict decoding has the same limit.
const maxErrors = 100

var tooManyErrors = fmt.Sprintf("too many errors: only the first %d are shown", maxErrors)

var errTooManySteps = errors.New("too many steps")

// walkAdapter adapts a walk to the library's interface, and returns its errors.
type walkAdapter struct {
	*walk
	root    *node
	related *common.CorrelatedObject
}

func (w *walkAdapter) Validate(value any, _ ...validation.ValidationOption) *validate.Result {
	found := w.value(w.root, nil, value, w.related)
	if found.more {
		found.errs = append(found.errs, errors.New(tooManyErrors))
	}
	return &validate.Result{Errors: found.errs}
}

// walk validates a value by a schema, which may be nil. If related is not nil, errors of unchanged values are
// dropped.
func (s *Schema) walk(ctx context.Context, path *field.Path, root *node, value any, related *common.CorrelatedObject) field.ErrorList {
	if root == nil {
		return nil
	}
	w := &walk{ctx: ctx, left: s.limits.Steps}
	errs := validation.ValidateCustomResource(path, value, &walkAdapter{w, root, related})
	switch {
	case errors.Is(w.err, errTooManySteps):
		return field.ErrorList{field.Forbidden(path, fmt.Sprintf(
			"validating the object by its schema takes more than %d steps, the limit that --max-validation-steps sets", s.limits.Steps))}
	case w.err != nil:
		return ended(w.err)
	}
	return errs
}

// cut keeps the first errors of many.
func cut(errs field.ErrorList) field.ErrorList {
	if len(errs) <= maxErrors {
		return errs
	}
	if last := errs[len(errs)-1]; len(errs) == maxErrors+1 && last.Detail == tooManyErrors {
		return errs
	}
	return append(errs[:maxErrors:maxErrors], field.Invalid(nil, field.OmitValueType{}, tooManyErrors))
}

// ended returns the error of a request that was cancelled or timed out.
func ended(err error) field.ErrorList {
	return field.ErrorList{field.InternalError(nil, fmt.Errorf("validate the object: %w", err))}
}
