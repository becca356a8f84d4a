package storage

import (
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
)

// CSINode declares csinodes.storage.k8s.io, which list the volume drivers of a node.
var CSINode = builtin.Resource[*storagev1.CSINode]{
	Names:          builtin.Names{Plural: "csinodes", Singular: "csinode"},
	List:           &storagev1.CSINodeList{},
	Stored:         storagev1.SchemeGroupVersion,
	ClusterScoped:  true,
	PrepareUpdate:  dropDisabledFields,
	Validate:       validateCSINode,
	ValidateUpdate: validateCSINodeUpdate,
	Status: &builtin.Status[*storagev1.CSINode]{
		Of: func(n *storagev1.CSINode) any { return &n.Status },
		Part: builtin.Part[*storagev1.CSINode]{
			Keep: func(n, old *storagev1.CSINode) {
				n.Spec = old.Spec
				metav1.ResetObjectMetaForStatus(&n.ObjectMeta, &old.ObjectMeta)
				dropDisabledFields(n, old)
			},
			Reset: []string{"metadata", "spec"},
			Check: validateCSINodeStatus,
		},
	},
	ConditionalUpdate:   true,
	ReturnDeletedObject: true,
	Sample:              "spec: {drivers: [{name: csi.example.com, nodeID: node-1}]}",
	Columns: []builtin.Column{
		builtin.NameColumn,
		{Name: "Drivers", Type: "integer", Description: "Drivers indicates the number of CSI drivers registered on the node"},
		builtin.AgeColumn,
	},
	Row: func(n *storagev1.CSINode) metav1.TableRow {
		return builtin.Row(n.Name, int64(len(n.Spec.Drivers)), builtin.Age(n.CreationTimestamp))
	},
}

// dropDisabledFields clears the health of volumes, which is off by default, unless old has it.
func dropDisabledFields(n, old *storagev1.CSINode) {
	if len(old.Status.StorageHealth) == 0 {
		n.Status.StorageHealth = nil
	}
}

var driversPath = field.NewPath("spec", "drivers")
