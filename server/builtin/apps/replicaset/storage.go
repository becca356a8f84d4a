package replicaset

import (
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/apps/scale"
	"github.com/kx-apiserver/kx/server/builtin/table"
	"github.com/kx-apiserver/kx/store/backend"
)

// ReplicaSetStorage is replicasets, replicasets/status and replicasets/scale.
type ReplicaSetStorage struct {
	ReplicaSet *REST
	Status     *StatusREST
	Scale      *ScaleREST
}

// REST serves replicasets.
type REST struct{ *builtin.REST }

// StatusREST serves replicasets/status.
type StatusREST struct{ *builtin.SubresourceREST }

// ScaleREST serves replicasets/scale.
type ScaleREST struct {
	*scale.REST[*appsv1.ReplicaSet]
}

// NewStorage makes the storage of replica sets.
func NewStorage(optsGetter backend.RESTOptionsGetter) (ReplicaSetStorage, error) {
	r, err := builtin.Resource{
		Group: appsv1.GroupName, Plural: "replicasets", Singular: "replicaset",
		ShortNames: []string{"rs"}, Categories: []string{"all"},
		New:      func() runtime.Object { return &appsv1.ReplicaSet{} },
		NewList:  func() runtime.Object { return &appsv1.ReplicaSetList{} },
		Strategy: Strategy,
		Attrs:    Attrs,
		Table:    Table,
	}.NewREST(optsGetter)
	if err != nil {
		return ReplicaSetStorage{}, err
	}
	return ReplicaSetStorage{
		ReplicaSet: &REST{r},
		Status:     &StatusREST{r.Subresource(StatusStrategy)},
		Scale: &ScaleREST{scale.New(r.Store, func(rs *appsv1.ReplicaSet) scale.View {
			return scale.View{Replicas: rs.Spec.Replicas, Current: rs.Status.Replicas, Selector: rs.Spec.Selector}
		})},
	}, nil
}

var columns = []table.Column{
	table.NameColumn,
	{Name: "Desired", Type: "integer", Description: appsv1.ReplicaSetSpec{}.SwaggerDoc()["replicas"]},
	{Name: "Current", Type: "integer", Description: appsv1.ReplicaSetStatus{}.SwaggerDoc()["replicas"]},
	{Name: "Ready", Type: "integer", Description: appsv1.ReplicaSetStatus{}.SwaggerDoc()["readyReplicas"]},
	table.AgeColumn,
	{Name: "Containers", Type: "string", Priority: 1, Description: "Names of each container in the template."},
	{Name: "Images", Type: "string", Priority: 1, Description: "Images referenced by each container in the template."},
	{Name: "Selector", Type: "string", Priority: 1, Description: appsv1.ReplicaSetSpec{}.SwaggerDoc()["selector"]},
}

// Table has kubectl's columns.
var Table = table.New(columns, func(rs *appsv1.ReplicaSet) metav1.TableRow {
	desired := int32(0)
	if rs.Spec.Replicas != nil {
		desired = *rs.Spec.Replicas
	}
	names, images := ContainerCells(rs.Spec.Template.Spec.Containers)
	return table.Row(rs.Name, int64(desired), int64(rs.Status.Replicas), int64(rs.Status.ReadyReplicas), table.Age(rs.CreationTimestamp),
		names, images, metav1.FormatLabelSelector(rs.Spec.Selector))
})
