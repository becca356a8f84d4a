package handler

import (
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metainternalversionscheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	internalvalidation "k8s.io/apimachinery/pkg/apis/meta/internalversion/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// watchList says that kx knows watches with sendInitialEvents.
const watchList = true

// decodeParameters reads a verb's options from the query.
func decodeParameters(req *http.Request, version schema.GroupVersion, into runtime.Object) error {
	if req.URL.RawQuery == "" {
		return nil
	}
	if err := metainternalversionscheme.ParameterCodec.DecodeParameters(req.URL.Query(), version, into); err != nil {
		if req.URL.Query().Has("fieldSelector") {
			return &maskedError{apierrors.NewBadRequest(err.Error()), "the query can't be read; the reason may quote its field selector"}
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

// getOptions are the options of a get: their one field is read here, which is far less work than decodeParameters has with it.
func getOptions(req *http.Request) (*metav1.GetOptions, error) {
	options := &metav1.GetOptions{}
	if req.URL.RawQuery == "" {
		return options, nil
	}
	query := req.URL.Query()
	if values := query["export"]; len(values) > 0 {
		export := true
		if err := runtime.Convert_Slice_string_To_bool(&values, &export, nil); err != nil {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("the export parameter cannot be parsed: %v", err))
		}
		if export {
			return nil, apierrors.NewBadRequest("the export parameter, deprecated since v1.14, is no longer supported")
		}
	}
	options.ResourceVersion = query.Get("resourceVersion")
	return options, nil
}

func createOptions(req *http.Request, scope *RequestScope) (*metav1.CreateOptions, error) {
	options := &metav1.CreateOptions{}
	if err := decodeParameters(req, scope.MetaGroupVersion, options); err != nil {
		return nil, err
	}
	if err := invalidOptions("CreateOptions", validation.ValidateCreateOptions(options)); err != nil {
		return nil, err
	}
	options.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("CreateOptions"))
	return options, nil
}

func updateOptions(req *http.Request, scope *RequestScope) (*metav1.UpdateOptions, error) {
	options := &metav1.UpdateOptions{}
	if err := decodeParameters(req, scope.MetaGroupVersion, options); err != nil {
		return nil, err
	}
	if err := invalidOptions("UpdateOptions", validation.ValidateUpdateOptions(options)); err != nil {
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
	if err := decodeParameters(req, scope.MetaGroupVersion, options); err != nil {
		return nil, err
	}
	metainternalversion.SetListOptionsDefaults(options, watchList)
	if err := invalidOptions("ListOptions", internalvalidation.ValidateListOptions(options, watchList)); err != nil {
		return nil, err
	}
	if options.FieldSelector == nil {
		return options, nil
	}
	selector, err := options.FieldSelector.Transform(func(label, value string) (string, string, error) {
		return scope.Convertor.ConvertFieldLabel(scope.Kind, label, value)
	})
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	options.FieldSelector = selector
	return options, nil
}

// selectName narrows a list or watch to the name that its path or its field selector gives, if any.
func selectName(req *http.Request, scope *RequestScope, options *metainternalversion.ListOptions) error {
	_, name, err := scope.Namer.Name(req)
	if err != nil {
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
