package work

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/escape"
	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin"
)

// Definition is a CustomResourceDefinition, as lister has them.
type Definition = apiextensionsv1.CustomResourceDefinition

// ErrChanged says that a definition is not, or not any more, as it was when it was judged. Whoever changed it has us told.
var ErrChanged = errors.New("the definition has changed since it was looked at")

const (
	// WritesMost is how many definitions a controller writes at a time: enough for etcd to sync its disk once for many.
	WritesMost = 16
	// longestWrite is how long etcd may take for one.
	longestWrite = 30 * time.Second
)

var apiServer = &user.DefaultInfo{Name: user.APIServerUser, Groups: []string{user.SystemPrivilegedGroup}}

// As is the context of a request that a controller makes.
func As(ctx context.Context, info *request.RequestInfo) context.Context {
	ctx = request.WithUser(ctx, apiServer)
	ctx = request.WithNamespace(ctx, info.Namespace)
	return request.WithRequestInfo(ctx, info)
}

// Status writes statuses of definitions.
type Status struct {
	// Storage is that of customresourcedefinitions/status.
	Storage rest.Updater
}

// Update writes what change makes of the definition, as it was seen, and returns it. change may touch the status and the
// finalizers. If the definition in etcd is not the one that was seen, it is ErrChanged.
func (s Status) Update(ctx context.Context, seen *Definition, change func(*Definition)) (*Definition, error) {
	next := *seen
	next.Status = *seen.Status.DeepCopy()
	next.Finalizers = slices.Clone(seen.Finalizers)
	change(&next)
	for i := range next.Status.Conditions {
		c := &next.Status.Conditions[i]
		c.Message = escape.Text(c.Message) // it may quote the schema
	}

	ctx, cancel := context.WithTimeout(ctx, longestWrite)
	defer cancel()
	ctx = As(ctx, &request.RequestInfo{
		IsResourceRequest: true, Verb: "update", APIGroup: apiextensions.GroupName, APIVersion: "v1",
		Resource: "customresourcedefinitions", Subresource: "status", Name: seen.Name,
	})
	out, _, err := s.Storage.Update(ctx, seen.Name, rest.DefaultUpdatedObjectInfo(nil, replace(seen, &next)),
		rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil, ErrChanged
	}
	if err != nil {
		return nil, err
	}
	m, err := meta.Accessor(out)
	if err != nil {
		return nil, err
	}
	next.ResourceVersion = m.GetResourceVersion()
	return &next, nil
}

// replace makes next of what is stored, if that is what was seen.
func replace(seen, next *Definition) rest.TransformFunc {
	return func(_ context.Context, _, old runtime.Object) (runtime.Object, error) {
		stored, err := builtin.As[*apiextensions.CustomResourceDefinition](old)
		if err != nil {
			return nil, err
		}
		if stored.UID != seen.UID || stored.ResourceVersion != seen.ResourceVersion {
			return nil, ErrChanged
		}
		// The spec, which may be large, is shared: a status update leaves it alone.
		d := *stored
		d.ObjectMeta = *stored.ObjectMeta.DeepCopy()
		d.Finalizers = next.Finalizers
		d.Status = apiextensions.CustomResourceDefinitionStatus{}
		err = apiextensionsv1.Convert_v1_CustomResourceDefinitionStatus_To_apiextensions_CustomResourceDefinitionStatus(&next.Status, &d.Status, nil)
		return &d, err
	}
}

// Revision is that of a definition's state; 0 if it has none, which nothing that storage gives lacks.
func Revision(d *Definition) uint64 {
	revision, _ := strconv.ParseUint(d.ResourceVersion, 10, 64)
	return revision
}
