package builtin

import (
	"context"
	"reflect"
	"runtime"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/store"
)

// AnyResource is a [Resource] whose functions take any object and assert its type. It holds the code that all
// resources share: the compiler would repeat the methods of a generic type for each type argument, in each package
// that names one.
type AnyResource struct {
	// Resource lacks Row, RowInList and the values of Fields: they are in table and attrs.
	Resource[Object]

	// pointer is the Go type of the objects. kind is the name of the struct: Kubernetes names types after their
	// kinds.
	pointer reflect.Type
	kind    string
	// declared names the variable that declares the resource: "…/builtin/core.ConfigMap".
	declared string
	// attrs is nil without Fields, and table without Row and RowInList.
	attrs store.AttrFunc
	table rest.TableConvertor
}

var _ Declaration = &AnyResource{}

// Declare turns a resource into an entry for the table of all resources.
func Declare[T Object](r Resource[T]) *AnyResource {
	pointer := reflect.TypeFor[T]()
	return &AnyResource{
		pointer: pointer, kind: pointer.Elem().Name(), declared: placeOf(r.Validate, pointer.Elem().Name()),
		attrs: attrsOf(r.Fields), table: tableOf(r.Columns, r.Row, r.RowInList),
		Resource: Resource[Object]{
			Names: r.Names, List: r.List, Stored: r.Stored, Served: r.Served, Alike: r.Alike, ResetIn: r.ResetIn,
			ClusterScoped: r.ClusterScoped,

			Default: anyAction(r.Default), Fields: labelsOf(r.Fields), FieldError: r.FieldError, NoNamespaceField: r.NoNamespaceField,

			PrepareCreate: anyActionIn(r.PrepareCreate), PrepareUpdate: anyChange(r.PrepareUpdate), Canonicalize: anyAction(r.Canonicalize),
			Validate: anyAnswer(r.Validate), ValidateUpdate: anyComparison(r.ValidateUpdate), Undeclared: r.Undeclared,
			Warnings: anyWarnings(r.Warnings), CreateOnUpdate: r.CreateOnUpdate, ConditionalUpdate: r.ConditionalUpdate,
			Dependents: r.Dependents,

			Spec: anyAnswer(r.Spec), Status: anyStatus(r.Status), Sub: r.Sub,
			Columns: r.Columns, Sample: r.Sample,
			Special: r.Special, Hooks: r.Hooks, ReturnDeletedObject: r.ReturnDeletedObject, REST: r.REST,
		},
	}
}

// placeOf names the variable that declares a resource: "…/builtin/core.ConfigMap". Every resource has a function
// Validate: the variable is in the same package. Its name is the kind.
func placeOf(validate any, kind string) string {
	name := runtime.FuncForPC(reflect.ValueOf(validate).Pointer()).Name()
	slash := strings.LastIndexByte(name, '/')
	pkg, _, _ := strings.Cut(name[slash+1:], ".")
	return name[:slash+1] + pkg + "." + kind
}

// labelsOf copies fields without their values, whose functions depend on T.
func labelsOf[T Object](declared []Field[T]) (fields []Field[Object]) {
	for _, f := range declared {
		fields = append(fields, Field[Object]{Label: f.Label, AliasOf: f.AliasOf, Served: f.Served})
	}
	return fields
}

func tableOf[T Object](columns []Column, row func(T) metav1.TableRow,
	inList func(list apiruntime.Object) func(T) metav1.TableRow) rest.TableConvertor {
	switch {
	case inList != nil:
		return newTableInList(columns, inList)
	case row != nil:
		return NewTable(columns, row)
	}
	return nil
}

func anyStatus[T Object](s *Status[T]) *Status[Object] {
	if s == nil {
		return nil
	}
	return &Status[Object]{Of: anyAnswer(s.Of), Part: anyPart(s.Part)}
}

func anyPart[T Object](p Part[T]) Part[Object] {
	part := Part[Object]{Keep: anyChange(p.Keep), Reset: p.Reset, Check: anyComparison(p.Check), Warnings: anyAnswer(p.Warnings)}
	if p.Allow != nil {
		part.Allow = func(ctx context.Context, obj, old Object) field.ErrorList { return p.Allow(ctx, obj.(T), old.(T)) }
	}
	return part
}

// A function that is not declared stays nil.

func anyAction[T Object](f func(T)) func(Object) {
	if f == nil {
		return nil
	}
	return func(obj Object) { f(obj.(T)) }
}

func anyActionIn[T Object](f func(context.Context, T)) func(context.Context, Object) {
	if f == nil {
		return nil
	}
	return func(ctx context.Context, obj Object) { f(ctx, obj.(T)) }
}

func anyChange[T Object](f func(obj, old T)) func(obj, old Object) {
	if f == nil {
		return nil
	}
	return func(obj, old Object) { f(obj.(T), old.(T)) }
}

func anyAnswer[T Object, R any](f func(T) R) func(Object) R {
	if f == nil {
		return nil
	}
	return func(obj Object) R { return f(obj.(T)) }
}

func anyComparison[T Object, R any](f func(obj, old T) R) func(obj, old Object) R {
	if f == nil {
		return nil
	}
	return func(obj, old Object) R { return f(obj.(T), old.(T)) }
}

// anyWarnings passes a zero old to f for a new object.
func anyWarnings[T Object](f func(obj, old T) []string) func(obj, old Object) []string {
	if f == nil {
		return nil
	}
	return func(obj, old Object) []string {
		var was T
		if old != nil {
			was = old.(T)
		}
		return f(obj.(T), was)
	}
}
