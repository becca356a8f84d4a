//lint:file-ignore SA1019 Component statuses are deprecated, and a server has them all the same.

package core

import (
	"context"
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/store/backend"
)

// ComponentStatus is the resource componentstatuses: the health of the parts of a control plane. It is deprecated,
// and kubectl still requests it.
//
// Nothing is stored. A request probes etcd, and the scheduler and the controller manager at the ports where they
// would listen on this machine.
type ComponentStatus struct {
	// Etcd returns an error if etcd is unusable.
	Etcd func() error
}

// ComponentStatusREST answers reads.
type ComponentStatusREST struct {
	rest.TableConvertor

	components map[string]probe
}

var (
	_ builtin.Declaration       = ComponentStatus{}
	_ rest.Getter               = &ComponentStatusREST{}
	_ rest.Lister               = &ComponentStatusREST{}
	_ rest.Scoper               = &ComponentStatusREST{}
	_ rest.SingularNameProvider = &ComponentStatusREST{}
	_ rest.ShortNamesProvider   = &ComponentStatusREST{}
)

func (ComponentStatus) Name() string                  { return "componentstatuses" }
func (ComponentStatus) StoredIn() schema.GroupVersion { return schema.GroupVersion{} }
func (ComponentStatus) Versions() map[schema.GroupVersion][]string {
	return map[schema.GroupVersion][]string{corev1.SchemeGroupVersion: nil}
}
func (ComponentStatus) AddToScheme(*runtime.Scheme) error { return nil }

// Manifest returns "": the resource is read-only.
func (ComponentStatus) Manifest() string { return "" }

func (d ComponentStatus) NewStorages(backend.RESTOptionsGetter) (map[string]rest.Storage, error) {
	return map[string]rest.Storage{"": &ComponentStatusREST{
		TableConvertor: builtin.NewTable(componentStatusColumns, componentStatusRow),
		components: map[string]probe{
			"controller-manager": healthz(10257),
			"etcd-0":             etcd(d.Etcd),
			"scheduler":          healthz(10259),
		},
	}}, nil
}

func (*ComponentStatusREST) New() runtime.Object     { return &corev1.ComponentStatus{} }
func (*ComponentStatusREST) NewList() runtime.Object { return &corev1.ComponentStatusList{} }
func (*ComponentStatusREST) Destroy()                {}
func (*ComponentStatusREST) NamespaceScoped() bool   { return false }
func (*ComponentStatusREST) GetSingularName() string { return "componentstatus" }
func (*ComponentStatusREST) ShortNames() []string    { return []string{"cs"} }

// Get probes one component.
func (r *ComponentStatusREST) Get(ctx context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	probe, ok := r.components[name]
	if !ok {
		return nil, apierrors.NewNotFound(corev1.Resource("componentstatus"), name)
	}
	return statusOf(ctx, name, probe), nil
}

// List probes all components that the selectors match, at the same time.
func (r *ComponentStatusREST) List(ctx context.Context, options *metainternalversion.ListOptions) (runtime.Object, error) {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(r.components)), func(name string) bool { return !selected(name, options) })
	list := &corev1.ComponentStatusList{Items: make([]corev1.ComponentStatus, len(names))}
	var wait sync.WaitGroup
	for i, name := range names {
		wait.Go(func() { list.Items[i] = *statusOf(ctx, name, r.components[name]) })
	}
	wait.Wait()
	return list, nil
}

// selected reports whether selectors match a component, which has a name and no labels.
func selected(name string, options *metainternalversion.ListOptions) bool {
	if options == nil {
		return true
	}
	if s := options.LabelSelector; s != nil && !s.Matches(labels.Set{}) {
		return false
	}
	return options.FieldSelector == nil || options.FieldSelector.Matches(fields.Set{"metadata.name": name, "metadata.namespace": ""})
}

func statusOf(ctx context.Context, name string, probe probe) *corev1.ComponentStatus {
	condition := probe(ctx)
	condition.Type = corev1.ComponentHealthy
	return &corev1.ComponentStatus{ObjectMeta: metav1.ObjectMeta{Name: name}, Conditions: []corev1.ComponentCondition{condition}}
}

var componentStatusColumns = []builtin.Column{
	builtin.NameColumn,
	{Name: "Status", Type: "string", Description: "Status of the component conditions"},
	{Name: "Message", Type: "string", Description: "Message of the component conditions"},
	{Name: "Error", Type: "string", Description: "Error of the component conditions"},
}

func componentStatusRow(s *corev1.ComponentStatus) metav1.TableRow {
	for _, c := range s.Conditions {
		switch {
		case c.Type != corev1.ComponentHealthy:
		case c.Status == corev1.ConditionTrue:
			return builtin.Row(s.Name, "Healthy", c.Message, c.Error)
		default:
			return builtin.Row(s.Name, "Unhealthy", c.Message, c.Error)
		}
	}
	return builtin.Row(s.Name, "Unknown", "", "")
}
