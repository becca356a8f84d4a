package core

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/core/podspec"
	"github.com/kx-apiserver/kx/store/registry"
)

var (
	persistentVolumeClaimDocs       = corev1.PersistentVolumeClaimSpec{}.SwaggerDoc()
	persistentVolumeClaimStatusDocs = corev1.PersistentVolumeClaimStatus{}.SwaggerDoc()
)

// PersistentVolumeClaim is the resource persistentvolumeclaims: requests for storage, which pods refer to.
//
// core/podspec validates the spec. This package handles data sources, updates, columns and the status.
var PersistentVolumeClaim = builtin.Resource[*corev1.PersistentVolumeClaim]{
	Names:          builtin.Names{Plural: "persistentvolumeclaims", Singular: "persistentvolumeclaim", Short: []string{"pvc"}},
	List:           &corev1.PersistentVolumeClaimList{},
	Stored:         corev1.SchemeGroupVersion,
	Default:        setPersistentVolumeClaimDefaults,
	PrepareCreate:  func(_ context.Context, c *corev1.PersistentVolumeClaim) { prepareSources(&c.Spec, nil) },
	PrepareUpdate:  func(c, old *corev1.PersistentVolumeClaim) { prepareSources(&c.Spec, &old.Spec) },
	Validate:       validatePersistentVolumeClaim,
	ValidateUpdate: validatePersistentVolumeClaimUpdate,
	Warnings:       persistentVolumeClaimWarnings,
	Status: &builtin.Status[*corev1.PersistentVolumeClaim]{
		Of: func(c *corev1.PersistentVolumeClaim) any { return &c.Status },
		Part: builtin.Part[*corev1.PersistentVolumeClaim]{
			Keep:  keepPersistentVolumeClaimInStatus,
			Check: validatePersistentVolumeClaimStatusUpdate,
		},
	},
	Sample: `
spec:
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Gi}}`,
	Columns: []builtin.Column{
		builtin.NameColumn,
		{Name: "Status", Type: "string", Description: persistentVolumeClaimStatusDocs["phase"]},
		{Name: "Volume", Type: "string", Description: persistentVolumeClaimDocs["volumeName"]},
		{Name: "Capacity", Type: "string", Description: persistentVolumeClaimStatusDocs["capacity"]},
		{Name: "Access Modes", Type: "string", Description: persistentVolumeClaimStatusDocs["accessModes"]},
		{Name: "StorageClass", Type: "string", Description: "StorageClass of the pvc"},
		{Name: "VolumeAttributesClass", Type: "string", Description: "VolumeAttributesClass of the pvc"},
		builtin.AgeColumn,
		{Name: "VolumeMode", Type: "string", Priority: 1, Description: persistentVolumeClaimDocs["volumeMode"]},
	},
	Row:                 persistentVolumeClaimRow,
	Hooks:               registry.Hooks{Decorator: completeSources},
	ReturnDeletedObject: true,
}

func persistentVolumeClaimRow(c *corev1.PersistentVolumeClaim) metav1.TableRow {
	phase, size, modes := string(c.Status.Phase), "", ""
	if c.DeletionTimestamp != nil {
		phase = "Terminating"
	}
	if c.Spec.VolumeName != "" {
		storage := c.Status.Capacity[corev1.ResourceStorage]
		size, modes = storage.String(), podspec.ModeCell(c.Status.AccessModes)
	}
	return builtin.Row(c.Name, phase, c.Spec.VolumeName, size, modes, podspec.ClassCell(c.Annotations, c.Spec.StorageClassName),
		podspec.OptionalCell(c.Spec.VolumeAttributesClassName), builtin.Age(c.CreationTimestamp), podspec.OptionalCell(c.Spec.VolumeMode))
}

func setPersistentVolumeClaimDefaults(c *corev1.PersistentVolumeClaim) {
	if c.Status.Phase == "" {
		c.Status.Phase = corev1.ClaimPending
	}
	podspec.SetClaimDefaults(&c.Spec)
	podspec.RoundUpResources(c.Status.Capacity, c.Status.AllocatedResources)
}

// keepPersistentVolumeClaimInStatus also clears healthStatus unless the stored claim has it: its feature is off by
// default.
func keepPersistentVolumeClaimInStatus(c, old *corev1.PersistentVolumeClaim) {
	c.Spec = old.Spec
	if old.Status.HealthStatus == nil {
		c.Status.HealthStatus = nil
	}
}

func persistentVolumeClaimWarnings(c, _ *corev1.PersistentVolumeClaim) []string {
	var messages []string
	if _, ok := c.Annotations[corev1.BetaStorageClassAnnotation]; ok {
		messages = append(messages, fmt.Sprintf("%s: deprecated since v1.8; use \"storageClassName\" attribute instead",
			field.NewPath("metadata", "annotations").Key(corev1.BetaStorageClassAnnotation)))
	}
	return append(messages, podspec.ClaimWarnings(&c.Spec, persistentVolumeClaimSpecPath)...)
}
