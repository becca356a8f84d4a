package handler

import (
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	internalvalidation "k8s.io/apimachinery/pkg/apis/meta/internalversion/validation"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// watchList is true because kx supports watches with sendInitialEvents.
const watchList = true

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
