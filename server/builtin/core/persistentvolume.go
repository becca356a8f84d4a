package core

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/core/podspec"
)

var (
	persistentVolumeDocs       = corev1.PersistentVolumeSpec{}.SwaggerDoc()
	persistentVolumeStatusDocs = corev1.PersistentVolumeStatus{}.SwaggerDoc()
)

// PersistentVolume is the resource persistentvolumes: storage that claims are bound to.
//
// Package podspec validates what it shares with others: sources of volumes with pods, access modes and classes with
// claims.
var PersistentVolume = builtin.Resource[*corev1.PersistentVolume]{
	Names:          builtin.Names{Plural: "persistentvolumes", Singular: "persistentvolume", Short: []string{"pv"}},
	List:           &corev1.PersistentVolumeList{},
	Stored:         corev1.SchemeGroupVersion,
	ClusterScoped:  true,
	Default:        setPersistentVolumeDefaults,
	PrepareCreate:  preparePersistentVolumeCreate,
	Validate:       validatePersistentVolume,
	ValidateUpdate: validatePersistentVolumeUpdate,
	Warnings:       persistentVolumeWarnings,
	Status: &builtin.Status[*corev1.PersistentVolume]{
		Of: func(pv *corev1.PersistentVolume) any { return &pv.Status },
		Part: builtin.Part[*corev1.PersistentVolume]{
			Keep:  keepPersistentVolumeInStatus,
			Check: validatePersistentVolumeStatusUpdate,
		},
	},
	Sample: `
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  persistentVolumeReclaimPolicy: Retain
  storageClassName: manual
  hostPath: {path: /data/NAME}`,
	Columns: []builtin.Column{
		builtin.NameColumn,
		{Name: "Capacity", Type: "string", Description: persistentVolumeDocs["capacity"]},
		{Name: "Access Modes", Type: "string", Description: persistentVolumeDocs["accessModes"]},
		{Name: "Reclaim Policy", Type: "string", Description: persistentVolumeDocs["persistentVolumeReclaimPolicy"]},
		{Name: "Status", Type: "string", Description: persistentVolumeStatusDocs["phase"]},
		{Name: "Claim", Type: "string", Description: persistentVolumeDocs["claimRef"]},
		{Name: "StorageClass", Type: "string", Description: "StorageClass of the pv"},
		{Name: "VolumeAttributesClass", Type: "string", Description: "VolumeAttributesClass of the pv"},
		{Name: "Reason", Type: "string", Description: persistentVolumeStatusDocs["reason"]},
		builtin.AgeColumn,
		{Name: "VolumeMode", Type: "string", Priority: 1, Description: persistentVolumeDocs["volumeMode"]},
	},
	Row:                 persistentVolumeRow,
	ReturnDeletedObject: true,
}

func persistentVolumeRow(pv *corev1.PersistentVolume) metav1.TableRow {
	size, phase, claimed := pv.Spec.Capacity[corev1.ResourceStorage], string(pv.Status.Phase), ""
	if ref := pv.Spec.ClaimRef; ref != nil {
		claimed = ref.Namespace + "/" + ref.Name
	}
	if pv.DeletionTimestamp != nil {
		phase = "Terminating"
	}
	return builtin.Row(pv.Name, size.String(), podspec.ModeCell(pv.Spec.AccessModes), string(pv.Spec.PersistentVolumeReclaimPolicy), phase,
		claimed, podspec.ClassCell(pv.Annotations, &pv.Spec.StorageClassName), podspec.OptionalCell(pv.Spec.VolumeAttributesClassName),
		pv.Status.Reason, builtin.Age(pv.CreationTimestamp), podspec.OptionalCell(pv.Spec.VolumeMode))
}

func setPersistentVolumeDefaults(pv *corev1.PersistentVolume) {
	if pv.Status.Phase == "" {
		pv.Status.Phase = corev1.VolumePending
	}
	if pv.Spec.PersistentVolumeReclaimPolicy == "" {
		pv.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimRetain
	}
	podspec.SetDefault(&pv.Spec.VolumeMode, corev1.PersistentVolumeFilesystem)
	podspec.SetDefaults(&pv.Spec)
}

func preparePersistentVolumeCreate(_ context.Context, pv *corev1.PersistentVolume) {
	now := metav1.Now()
	pv.Status = corev1.PersistentVolumeStatus{Phase: corev1.VolumePending, LastPhaseTransitionTime: &now}
}

// keepPersistentVolumeInStatus sets the time of a phase transition, unless the client sets it.
func keepPersistentVolumeInStatus(pv, old *corev1.PersistentVolume) {
	pv.Spec = old.Spec
	told := pv.Status.LastPhaseTransitionTime
	moved := pv.Status.Phase != old.Status.Phase
	switch {
	case !moved && told == nil:
		pv.Status.LastPhaseTransitionTime = old.Status.LastPhaseTransitionTime
	case moved && (told == nil || told.Equal(old.Status.LastPhaseTransitionTime)):
		now := metav1.Now()
		pv.Status.LastPhaseTransitionTime = &now
	}
}
