package admission

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/diff"
)

// internalClaim is a claim with the names of fields that refusals have: those of upstream's internal type, which has no tags.
type internalClaim struct {
	metav1.ObjectMeta
	Spec   internalClaimSpec
	Status internalClaimStatus
}

type internalClaimSpec struct {
	AccessModes               []corev1.PersistentVolumeAccessMode
	Selector                  *metav1.LabelSelector
	Resources                 internalRequirements
	VolumeName                string
	StorageClassName          *string
	VolumeMode                *corev1.PersistentVolumeMode
	DataSource                *internalLocalReference
	DataSourceRef             *internalReference
	VolumeAttributesClassName *string
}

type internalRequirements struct{ Limits, Requests corev1.ResourceList }

type internalLocalReference struct {
	APIGroup   *string
	Kind, Name string
}

type internalReference struct {
	APIGroup   *string
	Kind, Name string
	Namespace  *string
}

// internalClaimStatus has nothing in the fields that a node may write: they are left out of the comparison.
type internalClaimStatus struct {
	Phase                            corev1.PersistentVolumeClaimPhase
	AccessModes                      []corev1.PersistentVolumeAccessMode
	Capacity                         corev1.ResourceList
	Conditions                       []corev1.PersistentVolumeClaimCondition
	AllocatedResources               corev1.ResourceList
	AllocatedResourceStatuses        map[corev1.ResourceName]corev1.ClaimResourceStatus
	CurrentVolumeAttributesClassName *string
	ModifyVolumeStatus               *internalModifyStatus
	HealthStatus                     *corev1.VolumeHealthStatus
}

type internalModifyStatus struct {
	TargetVolumeAttributesClassName string
	Status                          corev1.PersistentVolumeClaimModifyVolumeStatus
}

// claimDifference shows lines of two claims as a Kubernetes API server does.
func claimDifference(old, claim *corev1.PersistentVolumeClaim) string {
	return diff.Diff(internal(old), internal(claim))
}

func internal(c *corev1.PersistentVolumeClaim) internalClaim {
	return internalClaim{
		ObjectMeta: c.ObjectMeta,
		Spec: internalClaimSpec{
			AccessModes: c.Spec.AccessModes, Selector: c.Spec.Selector, Resources: internalRequirements(c.Spec.Resources),
			VolumeName: c.Spec.VolumeName, StorageClassName: c.Spec.StorageClassName, VolumeMode: c.Spec.VolumeMode,
			DataSource: (*internalLocalReference)(c.Spec.DataSource), DataSourceRef: (*internalReference)(c.Spec.DataSourceRef),
			VolumeAttributesClassName: c.Spec.VolumeAttributesClassName,
		},
		Status: internalClaimStatus{
			Phase: c.Status.Phase, AccessModes: c.Status.AccessModes,
			CurrentVolumeAttributesClassName: c.Status.CurrentVolumeAttributesClassName,
			ModifyVolumeStatus:               (*internalModifyStatus)(c.Status.ModifyVolumeStatus),
		},
	}
}
