package handler

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metainternalversionscheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	internalvalidation "k8s.io/apimachinery/pkg/apis/meta/internalversion/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/core/mask"
	"github.com/kx-apiserver/kx/core/trace"
)

// watchList says that kx knows watches with sendInitialEvents.
const watchList = true

// source is where options come from.
type source uint8

const (
	inQuery source = iota
	inBody
	nowhere
)

// decodeOptions calls decode, which reads options of a kind from the query of req, as a step.
func decodeOptions(req *http.Request, kind string, decode func() error) error {
	return decodeOptionsFrom(inQuery, req, kind, decode)
}

func decodeOptionsFrom(from source, req *http.Request, kind string, decode func() error) (err error) {
	_, step := trace.Start(req.Context(), trace.HandlerOptions, kind)
	defer step.End(&err)
	switch {
	case !step.Recording():
	case from == inBody:
		step.Why(trace.OptionsInBody)
	case from == nowhere:
		step.Why(trace.OptionsNotAllowed)
	case req.URL.RawQuery == "":
		step.Why(trace.NoOptions)
	default:
		step.WhyText(trace.OptionsInQuery, parametersOf(req.URL.RawQuery))
	}
	return decode()
}

// maxQuery is how much of a query a step looks at.
const maxQuery = 4 << 10

// parametersOf names the parameters of a query, and counts those far behind.
func parametersOf(query string) string {
	begin := query[:min(len(query), maxQuery)]
	values, _ := url.ParseQuery(begin) // what can't be read is refused with a reason of its own
	list := trace.ListOf(slices.Sorted(maps.Keys(values)))
	list.Skip(strings.Count(query[len(begin):], "&"))
	return list.String()
}

// decodeParameters reads options that all resources share from the query.
func decodeParameters(req *http.Request, version schema.GroupVersion, into runtime.Object) error {
	if req.URL.RawQuery == "" {
		return nil
	}
	if err := metainternalversionscheme.ParameterCodec.DecodeParameters(req.URL.Query(), version, into); err != nil {
		if req.URL.Query().Has("fieldSelector") {
			return mask.ForClient(apierrors.NewBadRequest(err.Error()), "the query can't be read; the reason may quote its field selector")
		}
		return apierrors.NewBadRequest(err.Error())
	}
	return nil
}

// invalidOptions is the 422 for a verb's options, or nil.
func invalidOptions(kind string, errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: kind}, "", errs)
}

func getOptions(req *http.Request) (*metav1.GetOptions, error) {
	options := &metav1.GetOptions{}
	err := decodeOptions(req, "GetOptions", func() error { return decodeGetOptions(req, options) })
	return options, err
}

// decodeGetOptions reads the one field of the options of a get, which is far less work than decodeParameters has with it.
func decodeGetOptions(req *http.Request, into *metav1.GetOptions) error {
	if req.URL.RawQuery == "" {
		return nil
	}
	query := req.URL.Query()
	if values := query["export"]; len(values) > 0 {
		export := true
		if err := runtime.Convert_Slice_string_To_bool(&values, &export, nil); err != nil {
			return apierrors.NewBadRequest(fmt.Sprintf("the export parameter cannot be parsed: %v", err))
		}
		if export {
			return apierrors.NewBadRequest("the export parameter, deprecated since v1.14, is no longer supported")
		}
	}
	into.ResourceVersion = query.Get("resourceVersion")
	return nil
}

func createOptions(req *http.Request, scope *RequestScope) (*metav1.CreateOptions, error) {
	options := &metav1.CreateOptions{}
	err := decodeOptions(req, "CreateOptions", func() error {
		if err := decodeParameters(req, scope.MetaGroupVersion, options); err != nil {
			return err
		}
		return invalidOptions("CreateOptions", validation.ValidateCreateOptions(options))
	})
	if err != nil {
		return nil, err
	}
	options.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("CreateOptions"))
	return options, nil
}

func updateOptions(req *http.Request, scope *RequestScope) (*metav1.UpdateOptions, error) {
	options := &metav1.UpdateOptions{}
	err := decodeOptions(req, "UpdateOptions", func() error {
		if err := decodeParameters(req, scope.MetaGroupVersion, options); err != nil {
			return err
		}
		return invalidOptions("UpdateOptions", validation.ValidateUpdateOptions(options))
	})
	if err != nil {
		return nil, err
	}
	options.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("UpdateOptions"))
	return options, nil
}

// updateToCreateOptions are the options of an update that turns out to create.
func updateToCreateOptions(uo *metav1.UpdateOptions) *metav1.CreateOptions {
	co := &metav1.CreateOptions{DryRun: uo.DryRun, FieldManager: uo.FieldManager, FieldValidation: uo.FieldValidation}
	co.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("CreateOptions"))
	return co
}

// listOptions are the options of a list or watch, with the fields of its selector named as the hub names them.
func listOptions(req *http.Request, scope *RequestScope) (*metainternalversion.ListOptions, error) {
	options := &metainternalversion.ListOptions{}
	err := decodeOptions(req, "ListOptions", func() error { return decodeListOptions(req, scope, options) })
	return options, err
}

// A selector may have as many terms, counting each value, about as many labels. What people and controllers write has a few; one of all
// names of a large cluster has thousands. The server looks at each object once for each label that is named.
const (
	maxSelectorTerms = 10_000
	maxSelectorNames = 1_000
)

// checkTerms refuses selectors of too many terms before they are parsed. Each value has a comma before it or behind it.
func checkTerms(req *http.Request) error {
	if len(req.URL.RawQuery) < maxSelectorTerms {
		return nil
	}
	query := req.URL.Query()
	for _, name := range []string{"labelSelector", "fieldSelector"} {
		for _, text := range query[name] {
			if n := strings.Count(text, ",") + 1; n > maxSelectorTerms {
				return apierrors.NewBadRequest(fmt.Sprintf("the %s has %d terms and values, the limit is %d", name, n, maxSelectorTerms))
			}
		}
	}
	return nil
}

// checkNames refuses a label selector that names too many labels. The fields that there are to name are few.
func checkNames(req *http.Request, selector labels.Selector) error {
	if selector == nil || len(req.URL.RawQuery) < maxSelectorNames {
		return nil
	}
	requirements, _ := selector.Requirements()
	names := map[string]bool{}
	for i := range requirements {
		names[requirements[i].Key()] = true
	}
	if len(names) > maxSelectorNames {
		return apierrors.NewBadRequest(fmt.Sprintf("the labelSelector names %d labels, the limit is %d", len(names), maxSelectorNames))
	}
	return nil
}

func decodeListOptions(req *http.Request, scope *RequestScope, options *metainternalversion.ListOptions) error {
	if err := checkTerms(req); err != nil {
		return err
	}
	if err := decodeParameters(req, scope.MetaGroupVersion, options); err != nil {
		return err
	}
	if err := checkNames(req, options.LabelSelector); err != nil {
		return err
	}
	metainternalversion.SetListOptionsDefaults(options, watchList)
	if err := invalidOptions("ListOptions", internalvalidation.ValidateListOptions(options, watchList)); err != nil {
		return err
	}
	if options.FieldSelector == nil {
		return nil
	}
	selector, err := options.FieldSelector.Transform(func(label, value string) (string, string, error) {
		return scope.Convertor.ConvertFieldLabel(scope.Kind, label, value)
	})
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	options.FieldSelector = selector
	return nil
}

// selectName narrows a list or watch to the name that its path gives, if any.
func selectName(name string, options *metainternalversion.ListOptions) error {
	if name == "" {
		return nil
	}
	if options.FieldSelector == nil || options.FieldSelector.Empty() {
		options.FieldSelector = fields.OneTermEqualSelector("metadata.name", name)
		return nil
	}
	if selected, ok := options.FieldSelector.RequiresExactMatch("metadata.name"); !ok || selected != name {
		return apierrors.NewBadRequest("fieldSelector metadata.name doesn't match requested name")
	}
	return nil
}
