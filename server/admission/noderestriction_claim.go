package admission

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/diff"
)

// internalClaim is a claim with upstream's internal field names, which refusals quote. The internal type has no
// tags.
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

// internalClaimStatus leaves the fields empty that a node may write: they are not compared.
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

// claimDifference returns the differing lines of two claims, formatted as in a Kubernetes API server.
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
