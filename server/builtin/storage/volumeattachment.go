package storage

import (
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/core/podspec"
)

var (
	specDocs   = storagev1.VolumeAttachmentSpec{}.SwaggerDoc()
	sourceDocs = storagev1.VolumeAttachmentSource{}.SwaggerDoc()
	statusDocs = storagev1.VolumeAttachmentStatus{}.SwaggerDoc()
)

// VolumeAttachment declares volumeattachments.storage.k8s.io, which attach a volume to a node.
var VolumeAttachment = builtin.Resource[*storagev1.VolumeAttachment]{
	Names:          builtin.Names{Plural: "volumeattachments", Singular: "volumeattachment"},
	List:           &storagev1.VolumeAttachmentList{},
	Stored:         storagev1.SchemeGroupVersion,
	ClusterScoped:  true,
	Default:        setVolumeAttachmentDefaults,
	Validate:       validateVolumeAttachment,
	ValidateUpdate: validateVolumeAttachmentUpdate,
	Status: &builtin.Status[*storagev1.VolumeAttachment]{
		Of: func(a *storagev1.VolumeAttachment) any { return &a.Status },
		Part: builtin.Part[*storagev1.VolumeAttachment]{
			Keep: func(a, old *storagev1.VolumeAttachment) {
				a.Spec = old.Spec
				metav1.ResetObjectMetaForStatus(&a.ObjectMeta, &old.ObjectMeta)
			},
			Reset: []string{"metadata", "spec"},
			Check: validateVolumeAttachmentUpdate,
		},
	},
	ConditionalUpdate:   true,
	ReturnDeletedObject: true,
	Sample:              "spec: {attacher: csi.example.com, nodeName: node-1, source: {persistentVolumeName: volume-1}}",
	Columns: []builtin.Column{
		builtin.NameColumn,
		{Name: "Attacher", Type: "string", Format: "name", Description: specDocs["attacher"]},
		{Name: "PV", Type: "string", Description: sourceDocs["persistentVolumeName"]},
		{Name: "Node", Type: "string", Description: specDocs["nodeName"]},
		{Name: "Attached", Type: "boolean", Description: statusDocs["attached"]},
		builtin.AgeColumn,
	},
	Row: func(a *storagev1.VolumeAttachment) metav1.TableRow {
		return builtin.Row(a.Name, a.Spec.Attacher, ptr.Deref(a.Spec.Source.PersistentVolumeName, ""), a.Spec.NodeName, a.Status.Attached,
			builtin.Age(a.CreationTimestamp))
	},
}

func setVolumeAttachmentDefaults(a *storagev1.VolumeAttachment) {
	if inline := a.Spec.Source.InlineVolumeSpec; inline != nil {
		podspec.SetDefaults(inline)
	}
}
