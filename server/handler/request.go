package handler

// What a handler reads of a request before it calls rest: here the names and the options, in negotiation the form of
// the answer.

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metainternalversionscheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/mask"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
)

// ScopeNamer finds names and namespaces in requests and in objects.
type ScopeNamer interface {
	// Namespace returns the request's namespace, "" if it has none.
	Namespace(req *http.Request) (namespace string, err error)
	// Name returns the namespace and the name of the requested object. A missing name is an error.
	Name(req *http.Request) (namespace, name string, err error)
	// NameIfAny is Name for a request that may lack a name.
	NameIfAny(req *http.Request) (namespace, name string, err error)
	// ObjectName returns the namespace and the name in an object's metadata. A missing name is an error.
	ObjectName(obj runtime.Object) (namespace, name string, err error)
}

// ContextBasedNaming is the ScopeNamer that takes a request's names from its RequestInfo.
type ContextBasedNaming struct{}

var _ ScopeNamer = ContextBasedNaming{}

var (
	errEmptyName     = apierrors.NewBadRequest("name must be provided")
	errNoRequestInfo = errors.New("missing requestInfo")
)

func (n ContextBasedNaming) Namespace(req *http.Request) (string, error) {
	namespace, _, err := n.names(req, false)
	return namespace, err
}

func (n ContextBasedNaming) Name(req *http.Request) (namespace, name string, err error) {
	return n.names(req, true)
}

func (n ContextBasedNaming) NameIfAny(req *http.Request) (namespace, name string, err error) {
	return n.names(req, false)
}

var nothingNamed = trace.Because("nothing-named",
	"the path has no name that can be part of a key",
	"路径中没有可以用在键里的名称")

// names reads the names of a request. If needed, a missing name is an error.
func (ContextBasedNaming) names(req *http.Request, needed bool) (namespace, name string, err error) {
	info, ok := request.RequestInfoFrom(req.Context())
	if !ok {
		return "", "", errNoRequestInfo
	}
	_, step := trace.Start(req.Context(), steps.HandlerNamer, info.Name)
	defer step.End(&err)
	if needed && info.Name == "" {
		step.Why(nothingNamed)
		return "", "", errEmptyName
	}
	if namespace, err = namespaceOf(info); err != nil {
		step.Why(nothingNamed)
		return "", "", err
	}
	whyNamed(step, namespace, info.Name)
	return namespace, info.Name, nil
}

var (
	objectNamed = trace.Because("object-named",
		"the path names an object, and its namespace",
		"路径指明一个对象和它的命名空间")
	objectNamedAlone = trace.Because("object-named-alone",
		"the path names an object that is in no namespace",
		"路径指明一个对象，它不属于命名空间")
	namespaceNamed = trace.Because("namespace-named",
		"the path names a collection, and a namespace",
		"路径指明一个集合和一个命名空间")
	collectionNamed = trace.Because("collection-named",
		"the path names a collection, in all namespaces or none",
		"路径指明一个集合，跨所有命名空间，或没有命名空间")
)

func whyNamed(step *trace.Step, namespace, name string) {
	if namespace != "" {
		step.Text("namespace", namespace)
	}
	switch {
	case name != "" && namespace != "":
		step.Why(objectNamed)
	case name != "":
		step.Why(objectNamedAlone)
	case namespace != "":
		step.Why(namespaceNamed)
	default:
		step.Why(collectionNamed)
	}
}

// namespaceOf refuses the namespaces "." and "..", which would change the path of a key. The storage could only report
// an invalid key, but the mistake is the client's. Any other invalid namespace contains no objects.
func namespaceOf(info *request.RequestInfo) (string, error) {
	if ns := info.Namespace; ns == "." || ns == ".." {
		return "", apierrors.NewBadRequest(fmt.Sprintf("Namespace parameter invalid: %q: may not be '%s'", ns, ns))
	}
	return info.Namespace, nil
}

func (ContextBasedNaming) ObjectName(obj runtime.Object) (namespace, name string, err error) {
	m, err := meta.Accessor(obj)
	if err != nil {
		return "", "", err
	}
	if m.GetName() == "" {
		return "", "", errEmptyName
	}
	return m.GetNamespace(), m.GetName(), nil
}

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
	_, step := trace.Start(req.Context(), steps.HandlerOptions, kind)
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
