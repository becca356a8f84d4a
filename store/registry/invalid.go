package registry

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/core/rest"
)

const (
	// maxErrorsTold limits the errors in one answer. A strategy that stops at 100 has room to say so.
	maxErrorsTold = 128
	// maxErrorText limits their total length, in bytes.
	maxErrorText = 256 << 10
)

// invalid returns the 422 for an object with errors. If the request has ended, validation is incomplete: that is no
// 422.
func invalid(ctx context.Context, kind schema.GroupKind, name string, errs field.ErrorList) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return apierrors.NewInvalid(kind, name, boundErrors(errs))
}

// arrange returns the errors in the order of a Kubernetes API server. If the type declares rules, each error appears
// once, and errors of declared rules come last. The library marks errors of metadata as declared too, although
// metadata declares no rules: they keep their place.
func arrange(strategy any, errs field.ErrorList) field.ErrorList {
	if s, ok := strategy.(rest.DeclaringStrategy); !ok || !s.DeclaresRules() {
		return errs
	}
	type text struct {
		kind          field.ErrorType
		field, detail string
		value         any // if it is scalar
	}
	seen := make(map[text][]any, len(errs))
	var written, declared field.ErrorList
	for _, err := range errs {
		key := text{err.Type, err.Field, err.Detail, nil}
		if isScalar(err.BadValue) {
			// All invalid labels of an object have the same field and detail: the key tells them apart.
			key.value = err.BadValue
		}
		if slices.ContainsFunc(seen[key], func(value any) bool { return reflect.DeepEqual(value, err.BadValue) }) {
			continue
		}
		seen[key] = append(seen[key], err.BadValue)
		if err.CoveredByDeclarative && !strings.HasPrefix(err.Field, "metadata.") {
			declared = append(declared, err)
		} else {
			written = append(written, err)
		}
	}
	return append(written, declared...)
}

// isScalar reports whether == compares values as reflect.DeepEqual does.
func isScalar(value any) bool {
	switch reflect.ValueOf(value).Kind() {
	case reflect.String, reflect.Bool, reflect.Int, reflect.Int32, reflect.Int64:
		return true
	}
	return false
}

// boundErrors are the errors that an answer has room for. The text of many errors takes time that grows with their
// square.
func boundErrors(errs field.ErrorList) field.ErrorList {
	left := maxErrorText
	for i, err := range errs {
		if i == maxErrorsTold {
			return append(errs[:i:i], notTold(len(errs)-i))
		}
		if left -= len(err.Error()); left >= 0 {
			continue
		}
		if i > 0 {
			return append(errs[:i:i], notTold(len(errs)-i))
		}
		first := field.ErrorList{shorten(err)}
		if len(errs) > 1 {
			first = append(first, notTold(len(errs)-1))
		}
		return first
	}
	return errs
}

// shorten is an error without its value, which is longer than an answer may be.
func shorten(err *field.Error) *field.Error {
	short := *err
	short.BadValue = field.OmitValueType{}
	short.Detail = short.Detail[:min(len(short.Detail), maxErrorText/2)]
	return &short
}

func notTold(n int) *field.Error {
	return &field.Error{Type: field.ErrorTypeTooMany, BadValue: field.OmitValueType{},
		Detail: fmt.Sprintf("%d more errors are not shown", n)}
}
