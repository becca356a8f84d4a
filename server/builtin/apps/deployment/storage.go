package deployment

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/apps/replicaset"
	"github.com/kx-apiserver/kx/server/builtin/apps/scale"
	"github.com/kx-apiserver/kx/server/builtin/table"
	"github.com/kx-apiserver/kx/store/backend"
)

// DeploymentStorage is deployments and its subresources status, scale and rollback.
type DeploymentStorage struct {
	Deployment *REST
	Status     *StatusREST
	Scale      *ScaleREST
	Rollback   *RollbackREST
}

// REST serves deployments.
type REST struct{ *builtin.REST }

// StatusREST serves deployments/status.
type StatusREST struct{ *builtin.SubresourceREST }

// ScaleREST serves deployments/scale.
type ScaleREST struct {
	*scale.REST[*appsv1.Deployment]
}

// NewStorage makes the storage of deployments.
func NewStorage(optsGetter backend.RESTOptionsGetter) (DeploymentStorage, error) {
	r, err := builtin.Resource{
		Group: appsv1.GroupName, Plural: "deployments", Singular: "deployment",
		ShortNames: []string{"deploy"}, Categories: []string{"all"},
		New:      func() runtime.Object { return &appsv1.Deployment{} },
		NewList:  func() runtime.Object { return &appsv1.DeploymentList{} },
		Strategy: Strategy,
		Table:    Table,
	}.NewREST(optsGetter)
	if err != nil {
		return DeploymentStorage{}, err
	}
	return DeploymentStorage{
		Deployment: &REST{r},
		Status:     &StatusREST{r.Subresource(StatusStrategy)},
		Scale: &ScaleREST{scale.New(r.Store, func(d *appsv1.Deployment) scale.View {
			return scale.View{Replicas: d.Spec.Replicas, Current: d.Status.Replicas, Selector: d.Spec.Selector}
		})},
		Rollback: &RollbackREST{store: r.Store},
	}, nil
}

var columns = []table.Column{
	table.NameColumn,
	{Name: "Ready", Type: "string", Description: "Number of the pod with ready state"},
	{Name: "Up-to-date", Type: "string", Description: appsv1.DeploymentStatus{}.SwaggerDoc()["updatedReplicas"]},
	{Name: "Available", Type: "string", Description: appsv1.DeploymentStatus{}.SwaggerDoc()["availableReplicas"]},
	table.AgeColumn,
	{Name: "Containers", Type: "string", Priority: 1, Description: "Names of each container in the template."},
	{Name: "Images", Type: "string", Priority: 1, Description: "Images referenced by each container in the template."},
	{Name: "Selector", Type: "string", Priority: 1, Description: appsv1.DeploymentSpec{}.SwaggerDoc()["selector"]},
}

// Table has kubectl's columns.
var Table = table.New(columns, func(d *appsv1.Deployment) metav1.TableRow {
	desired := int32(0)
	if d.Spec.Replicas != nil {
		desired = *d.Spec.Replicas
	}
	names, images := replicaset.ContainerCells(d.Spec.Template.Spec.Containers)
	selector := "<invalid>"
	if s, err := metav1.LabelSelectorAsSelector(d.Spec.Selector); err == nil {
		selector = s.String()
	}
	return table.Row(d.Name, fmt.Sprintf("%d/%d", d.Status.ReadyReplicas, desired), int64(d.Status.UpdatedReplicas),
		int64(d.Status.AvailableReplicas), table.Age(d.CreationTimestamp), names, images, selector)
})
