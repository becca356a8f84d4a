package apps

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	appsv1beta1 "k8s.io/api/apps/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/store"
	"github.com/kx-apiserver/kx/store/registry"
)

// RollbackREST serves deployments/rollback: it writes the request into the deployment, and a controller does the
// rollback.
type RollbackREST struct {
	store *registry.Store
}

var (
	_ rest.NamedCreater    = &RollbackREST{}
	_ rest.StorageMetadata = &RollbackREST{}
)

func (*RollbackREST) New() runtime.Object { return &appsv1beta1.DeploymentRollback{} }

// Destroy does nothing: the resource owns the storage.
func (*RollbackREST) Destroy() {}

func (*RollbackREST) ProducesObject(string) runtime.Object { return &metav1.Status{} }

// Create answers with a Status: the server does not store the DeploymentRollback.
func (r *RollbackREST) Create(ctx context.Context, name string, obj runtime.Object, createValidation rest.ValidateObjectFunc,
	options *metav1.CreateOptions) (_ runtime.Object, err error) {
	ctx, step := trace.Start(ctx, steps.RollbackCreate, name)
	defer step.End(&err)
	rollback, ok := obj.(*appsv1beta1.DeploymentRollback)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("not a DeploymentRollback: %#v", obj))
	}
	if errs := validateRollback(rollback); len(errs) > 0 {
		return nil, apierrors.NewInvalid(schema.GroupKind{Group: appsv1.GroupName, Kind: "DeploymentRollback"}, rollback.Name, errs)
	}
	if name != rollback.Name {
		return nil, apierrors.NewBadRequest("name in URL does not match name in DeploymentRollback object")
	}
	if createValidation != nil {
		if err := createValidation(ctx, obj.DeepCopyObject()); err != nil {
			return nil, err
		}
	}
	if err := r.rollbackDeployment(ctx, rollback, options); err != nil {
		return nil, err
	}
	return &metav1.Status{
		Status:  metav1.StatusSuccess,
		Message: fmt.Sprintf("rollback request for deployment %q succeeded", name),
		Code:    http.StatusOK,
	}, nil
}

// rollbackDeployment bypasses the strategy: a deployment that validation would reject today can still go back.
func (r *RollbackREST) rollbackDeployment(ctx context.Context, rollback *appsv1beta1.DeploymentRollback,
	options *metav1.CreateOptions) error {
	key, err := r.store.KeyFunc(ctx, rollback.Name)
	if err != nil {
		return err
	}
	mark := func(input runtime.Object, _ store.ResponseMeta) (runtime.Object, *uint64, error) {
		d, err := builtin.As[*appsv1.Deployment](input)
		if err != nil {
			return nil, nil, err
		}
		d = d.DeepCopy()
		if d.Annotations == nil {
			d.Annotations = map[string]string{}
		}
		for k, v := range rollback.UpdatedAnnotations {
			d.Annotations[k] = v
		}
		d.Annotations[appsv1.DeprecatedRollbackTo] = strconv.FormatInt(rollback.RollbackTo.Revision, 10)
		return d, nil, nil
	}
	dryRun := options != nil && len(options.DryRun) > 0
	_, err = r.store.Storage.GuaranteedUpdate(ctx, key, &appsv1.Deployment{}, mark, dryRun, store.UpdateOptions{})
	if err == nil {
		return nil
	}
	err = registry.InterpretUpdateError(ctx, err, r.store.DefaultQualifiedResource, rollback.Name)
	if _, ok := err.(apierrors.APIStatus); !ok {
		return apierrors.NewInternalError(err)
	}
	return err
}
