package handler

import (
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// ScopeNamer finds names in requests and in objects.
type ScopeNamer interface {
	// Namespace is the request's namespace, "" if it has none.
	Namespace(req *http.Request) (namespace string, err error)
	// Name is the name that a request is about, and its namespace. It is an error if there is no name.
	Name(req *http.Request) (namespace, name string, err error)
	// ObjectName is the name and namespace in an object's metadata. It is an error if there is no name.
	ObjectName(obj runtime.Object) (namespace, name string, err error)
}

// ContextBasedNaming is the ScopeNamer that takes a request's names from its RequestInfo.
type ContextBasedNaming struct{}

var _ ScopeNamer = ContextBasedNaming{}

var (
	errEmptyName     = apierrors.NewBadRequest("name must be provided")
	errNoRequestInfo = errors.New("missing requestInfo")
)

func (ContextBasedNaming) Namespace(req *http.Request) (string, error) {
	info, ok := request.RequestInfoFrom(req.Context())
	if !ok {
		return "", errNoRequestInfo
	}
	return namespaceOf(info)
}

// namespaceOf refuses a namespace that would be no part of a key but a step in it: the client's mistake, which the storage
// could only call an invalid key. What else is no namespace's name finds nothing.
func namespaceOf(info *request.RequestInfo) (string, error) {
	if ns := info.Namespace; ns == "." || ns == ".." {
		return "", apierrors.NewBadRequest(fmt.Sprintf("Namespace parameter invalid: %q: may not be '%s'", ns, ns))
	}
	return info.Namespace, nil
}

func (ContextBasedNaming) Name(req *http.Request) (namespace, name string, err error) {
	info, ok := request.RequestInfoFrom(req.Context())
	if !ok {
		return "", "", errNoRequestInfo
	}
	if info.Name == "" {
		return "", "", errEmptyName
	}
	namespace, err = namespaceOf(info)
	return namespace, info.Name, err
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
