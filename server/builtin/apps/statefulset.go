package apps

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/apps/scale"
	"github.com/kx-apiserver/kx/server/builtin/apps/workload"
	"github.com/kx-apiserver/kx/server/builtin/core/podspec"
)

// StatefulSet is the resource statefulsets: pods with names and volumes of their own.
//
// core/podspec validates the templates of their claims. After creation only the template, the counts and the
// strategies may change.
var StatefulSet = builtin.Resource[*appsv1.StatefulSet]{
	Names:          builtin.Names{Plural: "statefulsets", Singular: "statefulset", Short: []string{"sts"}, Categories: []string{"all"}},
	List:           &appsv1.StatefulSetList{},
	Stored:         appsv1.SchemeGroupVersion,
	Default:        setStatefulSetDefaults,
	PrepareCreate:  workload.PrepareCreate(statefulSetTemplate),
	PrepareUpdate:  workload.PrepareUpdate(statefulSetTemplate),
	Validate:       validateStatefulSet,
	ValidateUpdate: validateStatefulSetUpdate,
	Warnings:       warnings,
	Spec:           func(s *appsv1.StatefulSet) any { return &s.Spec },
	Status: &builtin.Status[*appsv1.StatefulSet]{
		Of: func(s *appsv1.StatefulSet) any { return &s.Status },
		Part: builtin.Part[*appsv1.StatefulSet]{
			Keep:  func(s, old *appsv1.StatefulSet) { s.Spec = old.Spec },
			Check: validateStatefulSetStatusUpdate,
		},
	},
	Sub: []builtin.Sub{scale.Sub(func(s *appsv1.StatefulSet) scale.View {
		return scale.View{Replicas: s.Spec.Replicas, Current: s.Status.Replicas, Selector: s.Spec.Selector}
	})},
	Sample: `
spec:
  replicas: 1
  serviceName: NAME
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME}}
    spec: {containers: [{name: main, image: nginx}]}`,
	Columns: []builtin.Column{
		builtin.NameColumn,
		{Name: "Ready", Type: "string", Description: "Number of the pod with ready state"},
		builtin.AgeColumn,
		workload.ContainersColumn,
		workload.ImagesColumn,
	},
	Row: statefulSetRow,
}

func statefulSetTemplate(obj *appsv1.StatefulSet) *corev1.PodTemplateSpec { return &obj.Spec.Template }

func statefulSetRow(s *appsv1.StatefulSet) metav1.TableRow {
	names, images := workload.ContainerCells(s.Spec.Template.Spec.Containers)
	return builtin.Row(s.Name, fmt.Sprintf("%d/%d", s.Status.ReadyReplicas, ptr.Deref(s.Spec.Replicas, 0)),
		builtin.Age(s.CreationTimestamp),
		names, images)
}

func setStatefulSetDefaults(s *appsv1.StatefulSet) {
	spec := &s.Spec
	if spec.PodManagementPolicy == "" {
		spec.PodManagementPolicy = appsv1.OrderedReadyPodManagement
	}
	strategy := &spec.UpdateStrategy
	if strategy.Type == "" {
		strategy.Type = appsv1.RollingUpdateStatefulSetStrategyType
		podspec.SetDefault(&strategy.RollingUpdate, appsv1.RollingUpdateStatefulSetStrategy{})
	}
	// A strategy without parameters gets no default ones if the client names its type.
	if strategy.Type == appsv1.RollingUpdateStatefulSetStrategyType && strategy.RollingUpdate != nil {
		podspec.SetDefault(&strategy.RollingUpdate.Partition, 0)
		podspec.SetDefault(&strategy.RollingUpdate.MaxUnavailable, intstr.FromInt32(1))
	}
	podspec.SetDefault(&spec.PersistentVolumeClaimRetentionPolicy, appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{})
	for _, policy := range []*appsv1.PersistentVolumeClaimRetentionPolicyType{
		&spec.PersistentVolumeClaimRetentionPolicy.WhenDeleted, &spec.PersistentVolumeClaimRetentionPolicy.WhenScaled,
	} {
		if *policy == "" {
			*policy = appsv1.RetainPersistentVolumeClaimRetentionPolicyType
		}
	}
	podspec.SetDefault(&spec.Replicas, 1)
	podspec.SetDefault(&spec.RevisionHistoryLimit, 10)
	podspec.SetDefaultsPodTemplate(&spec.Template)
	for i := range spec.VolumeClaimTemplates {
		setClaimDefaults(&spec.VolumeClaimTemplates[i])
	}
}

// setClaimDefaults also overwrites the template's kind and apiVersion: controllers compare whole templates.
func setClaimDefaults(c *corev1.PersistentVolumeClaim) {
	c.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"}
	if c.Status.Phase == "" {
		c.Status.Phase = corev1.ClaimPending
	}
	podspec.SetClaimDefaults(&c.Spec)
	podspec.RoundUpResources(c.Status.Capacity, c.Status.AllocatedResources)
}

func warnings(s, old *appsv1.StatefulSet) []string {
	var messages []string
	if old == nil || s.Generation != old.Generation {
		messages = podspec.TemplateWarnings(&s.Spec.Template, statefulSetSpecPath.Child("template"))
	}
	for i := range s.Spec.VolumeClaimTemplates {
		path := claimsPath.Index(i)
		if old != nil {
			path = path.Child("Spec") // a kube-apiserver adds "Spec" to the path only in updates, with this capital
		}
		messages = append(messages, podspec.ClaimWarnings(&s.Spec.VolumeClaimTemplates[i].Spec, path)...)
	}
	if ptr.Deref(s.Spec.RevisionHistoryLimit, 0) < 0 {
		messages = append(messages,
			"spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended")
	}
	return messages
}
