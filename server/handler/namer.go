package handler

import (
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/request"

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
	_, step := trace.Start(req.Context(), trace.HandlerNamer, info.Name)
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
