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

// watchList is true because kx supports watches with sendInitialEvents.
const watchList = true

// source is the part of a request that holds its options.
type source uint8

const (
	inQuery source = iota
	inBody
	nowhere
)

// decodeOptions calls decode in a step. decode reads options of a kind from the query of req.
func decodeOptions(req *http.Request, kind string, decode func() error) error {
	return decodeOptionsFrom(inQuery, req, kind, decode)
}

var (
	noOptions = trace.Because("no-options",
		"the query is empty: no option is set",
		"查询串为空：没有设置选项")
	optionsInQuery = trace.Because("options-in-query",
		"the query has {parameters:quote}",
		"查询串中有 {parameters:quote}")
	optionsInBody     = trace.Because("options-in-body", "the body has them", "选项在请求体中")
	optionsNotAllowed = trace.Because("options-not-allowed",
		"the resource takes none: neither query nor body is read",
		"该资源不接受选项：查询串和请求体都不读")
)

func decodeOptionsFrom(from source, req *http.Request, kind string, decode func() error) (err error) {
	_, step := trace.Start(req.Context(), trace.HandlerOptions, kind)
	defer step.End(&err)
	switch {
	case !step.Recording():
	case from == inBody:
		step.Why(optionsInBody)
	case from == nowhere:
		step.Why(optionsNotAllowed)
	case req.URL.RawQuery == "":
		step.Why(noOptions)
	default:
		step.WhyText(optionsInQuery, parametersOf(req.URL.RawQuery))
	}
	return decode()
}

// maxQuery limits the part of a query that a step shows.
const maxQuery = 4 << 10

// parametersOf names the parameters of a query, and counts those beyond maxQuery.
func parametersOf(query string) string {
	begin := query[:min(len(query), maxQuery)]
	values, _ := url.ParseQuery(begin) // the decoder reports an invalid query
	list := trace.ListOf(slices.Sorted(maps.Keys(values)))
	list.Skip(strings.Count(query[len(begin):], "&"))
	return list.String()
}

// decodeParameters decodes options that all resources share from the query.
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

// invalidOptions returns the 422 for a verb's options, or nil.
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

// decodeGetOptions decodes the one field of GetOptions much faster than decodeParameters would.
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

// updateToCreateOptions converts the options of an update that creates its object.
func updateToCreateOptions(uo *metav1.UpdateOptions) *metav1.CreateOptions {
	co := &metav1.CreateOptions{DryRun: uo.DryRun, FieldManager: uo.FieldManager, FieldValidation: uo.FieldValidation}
	co.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("CreateOptions"))
	return co
}

// listOptions returns the options of a list or watch. Its field selector uses the hub's names of the fields.
func listOptions(req *http.Request, scope *RequestScope) (*metainternalversion.ListOptions, error) {
	options := &metainternalversion.ListOptions{}
	err := decodeOptions(req, "ListOptions", func() error { return decodeListOptions(req, scope, options) })
	return options, err
}

// These limit the terms of a selector, counting each value, and the labels that it names. Selectors of users and
// controllers have a few terms; one that lists all names of a large cluster has thousands. For each named label the
// server looks at each object once.
const (
	maxSelectorTerms = 10_000
	maxSelectorNames = 1_000
)

// checkTerms refuses a selector with too many terms before it is parsed. It counts commas, because a comma precedes or
// follows each value.
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

// checkNames refuses a label selector that names too many labels. A field selector can name only a few fields anyway.
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

// selectName restricts a list or watch to the name in its path, if there is one.
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
