package apps

import (
	"context"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/apps/workload"
	"github.com/kx-apiserver/kx/server/builtin/core/podspec"
)

// DaemonSet is the resource daemonsets: a pod on each node.
//
// The server counts changes of the template in an annotation. The first versions of the group had a field for the
// count.
var DaemonSet = builtin.Resource[*appsv1.DaemonSet]{
	Names:   builtin.Names{Plural: "daemonsets", Singular: "daemonset", Short: []string{"ds"}, Categories: []string{"all"}},
	List:    &appsv1.DaemonSetList{},
	Stored:  appsv1.SchemeGroupVersion,
	Default: setDaemonSetDefaults,
	PrepareCreate: func(_ context.Context, ds *appsv1.DaemonSet) {
		setTemplateGeneration(ds, max(templateGeneration(ds), 1))
		podspec.DropDisabledFields(&ds.Spec.Template.Spec, nil)
	},
	PrepareUpdate: func(ds, old *appsv1.DaemonSet) {
		podspec.DropDisabledFields(&ds.Spec.Template.Spec, &old.Spec.Template.Spec)
		generation := templateGeneration(old)
		if !apiequality.Semantic.DeepEqual(ds.Spec.Template, old.Spec.Template) {
			generation++
		}
		setTemplateGeneration(ds, generation)
	},
	Validate:       validateDaemonSet,
	ValidateUpdate: validateDaemonSetUpdate,
	Warnings: func(ds, old *appsv1.DaemonSet) []string {
		if old != nil && templateGeneration(ds) == templateGeneration(old) {
			return nil
		}
		return podspec.TemplateWarnings(&ds.Spec.Template, daemonSetSpecPath.Child("template"))
	},
	Spec: func(ds *appsv1.DaemonSet) any { return &ds.Spec },
	Status: &builtin.Status[*appsv1.DaemonSet]{
		Of: func(ds *appsv1.DaemonSet) any { return &ds.Status },
		Part: builtin.Part[*appsv1.DaemonSet]{
			Keep: func(ds, old *appsv1.DaemonSet) {
				ds.Spec = old.Spec
				setTemplateGeneration(ds, templateGeneration(old))
			},
			Check: validateDaemonSetStatusUpdate,
		},
	},
	Sample: `
spec:
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME}}
    spec: {containers: [{name: main, image: nginx}]}`,
	Columns: []builtin.Column{
		builtin.NameColumn,
		{Name: "Desired", Type: "integer", Description: appsv1.DaemonSetStatus{}.SwaggerDoc()["desiredNumberScheduled"]},
		{Name: "Current", Type: "integer", Description: appsv1.DaemonSetStatus{}.SwaggerDoc()["currentNumberScheduled"]},
		{Name: "Ready", Type: "integer", Description: appsv1.DaemonSetStatus{}.SwaggerDoc()["numberReady"]},
		{Name: "Up-to-date", Type: "integer", Description: appsv1.DaemonSetStatus{}.SwaggerDoc()["updatedNumberScheduled"]},
		{Name: "Available", Type: "integer", Description: appsv1.DaemonSetStatus{}.SwaggerDoc()["numberAvailable"]},
		{Name: "Node Selector", Type: "string", Description: corev1.PodSpec{}.SwaggerDoc()["nodeSelector"]},
		builtin.AgeColumn,
		workload.ContainersColumn,
		workload.ImagesColumn,
		{Name: "Selector", Type: "string", Priority: 1, Description: appsv1.DaemonSetSpec{}.SwaggerDoc()["selector"]},
	},
	Row: daemonSetRow,
}

func daemonSetRow(ds *appsv1.DaemonSet) metav1.TableRow {
	s := &ds.Status
	names, images := workload.ContainerCells(ds.Spec.Template.Spec.Containers)
	return builtin.Row(ds.Name, int64(s.DesiredNumberScheduled), int64(s.CurrentNumberScheduled), int64(s.NumberReady),
		int64(s.UpdatedNumberScheduled), int64(s.NumberAvailable), labels.FormatLabels(ds.Spec.Template.Spec.NodeSelector),
		builtin.Age(ds.CreationTimestamp), names, images, metav1.FormatLabelSelector(ds.Spec.Selector))
}

func setDaemonSetDefaults(ds *appsv1.DaemonSet) {
	strategy := &ds.Spec.UpdateStrategy
	if strategy.Type == "" {
		strategy.Type = appsv1.RollingUpdateDaemonSetStrategyType
	}
	if strategy.Type == appsv1.RollingUpdateDaemonSetStrategyType {
		podspec.SetDefault(&strategy.RollingUpdate, appsv1.RollingUpdateDaemonSet{})
		podspec.SetDefault(&strategy.RollingUpdate.MaxUnavailable, intstr.FromInt32(1))
	}
	if strategy.RollingUpdate != nil {
		// Both numbers are set even if the strategy ignores them.
		podspec.SetDefault(&strategy.RollingUpdate.MaxUnavailable, intstr.FromInt32(0))
		podspec.SetDefault(&strategy.RollingUpdate.MaxSurge, intstr.FromInt32(0))
	}
	podspec.SetDefault(&ds.Spec.RevisionHistoryLimit, 10)
	podspec.SetDefaultsPodTemplate(&ds.Spec.Template)
	if _, ok := ds.Annotations[appsv1.DeprecatedTemplateGeneration]; !ok {
		setTemplateGeneration(ds, 0) // so that the client that creates the set owns the annotation
	}
}

func templateGeneration(ds *appsv1.DaemonSet) int64 {
	n, err := strconv.ParseInt(ds.Annotations[appsv1.DeprecatedTemplateGeneration], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func setTemplateGeneration(ds *appsv1.DaemonSet, n int64) {
	metav1.SetMetaDataAnnotation(&ds.ObjectMeta, appsv1.DeprecatedTemplateGeneration, strconv.FormatInt(n, 10))
}
