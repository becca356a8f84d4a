package storage

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/core/podspec"
)

// StorageClass declares storageclasses.storage.k8s.io. A claim names the class of the volume that it requests.
var StorageClass = builtin.Resource[*storagev1.StorageClass]{
	Names:               builtin.Names{Plural: "storageclasses", Singular: "storageclass", Short: []string{"sc"}},
	List:                &storagev1.StorageClassList{},
	Stored:              storagev1.SchemeGroupVersion,
	ClusterScoped:       true,
	Default:             setStorageClassDefaults,
	Validate:            validateStorageClass,
	ValidateUpdate:      validateStorageClassUpdate,
	Warnings:            func(c, _ *storagev1.StorageClass) []string { return storageClassWarnings(c) },
	ReturnDeletedObject: true,
	Sample:              "provisioner: csi.example.com",
	Columns: []builtin.Column{
		builtin.NameColumn,
		storageClassColumn("Provisioner", "provisioner"),
		storageClassColumn("ReclaimPolicy", "reclaimPolicy"),
		storageClassColumn("VolumeBindingMode", "volumeBindingMode"),
		storageClassColumn("AllowVolumeExpansion", "allowVolumeExpansion"),
		builtin.AgeColumn,
	},
	RowInList: storageClassRowInList,
}

func storageClassColumn(name, of string) builtin.Column {
	return builtin.Column{Name: name, Type: "string", Description: storagev1.StorageClass{}.SwaggerDoc()[of]}
}

// defaultAnnotations mark the class for claims that name none. The second one is older.
var defaultAnnotations = []string{"storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"}

// IsDefaultClass reports whether this class is marked as the default for claims that name no class.
func IsDefaultClass(c *storagev1.StorageClass) bool {
	return slices.ContainsFunc(defaultAnnotations, func(key string) bool { return c.Annotations[key] == "true" })
}

// effectiveDefault returns the class for claims without a class: the newest marked class, or the first by name of
// those that were created in the same second.
func effectiveDefault(classes []storagev1.StorageClass) string {
	var newest *storagev1.StorageClass
	for i := range classes {
		c := &classes[i]
		if !IsDefaultClass(c) {
			continue
		}
		if newest == nil || newest.CreationTimestamp.Before(&c.CreationTimestamp) ||
			newest.CreationTimestamp.Equal(&c.CreationTimestamp) && c.Name < newest.Name {
			newest = c
		}
	}
	if newest == nil {
		return ""
	}
	return newest.Name
}

// storageClassRowInList marks the effective default of a list. A single class gets no mark, since the default depends
// on the other classes.
func storageClassRowInList(list runtime.Object) func(*storagev1.StorageClass) metav1.TableRow {
	marked := ""
	if list != nil {
		marked = effectiveDefault(list.(*storagev1.StorageClassList).Items)
	}
	return func(c *storagev1.StorageClass) metav1.TableRow {
		name := c.Name
		if name == marked {
			name += " (default)"
		}
		return builtin.Row(name, c.Provisioner, string(ptr.Deref(c.ReclaimPolicy, corev1.PersistentVolumeReclaimDelete)),
			string(ptr.Deref(c.VolumeBindingMode, storagev1.VolumeBindingImmediate)), ptr.Deref(c.AllowVolumeExpansion, false),
			builtin.Age(c.CreationTimestamp))
	}
}

func setStorageClassDefaults(c *storagev1.StorageClass) {
	if c.ReclaimPolicy == nil {
		c.ReclaimPolicy = ptr.To(corev1.PersistentVolumeReclaimDelete)
	}
	if c.VolumeBindingMode == nil {
		c.VolumeBindingMode = ptr.To(storagev1.VolumeBindingImmediate)
	}
}

func storageClassWarnings(c *storagev1.StorageClass) (warnings []string) {
	for i, term := range c.AllowedTopologies {
		for j, e := range term.MatchLabelExpressions {
			if message, old := podspec.DeprecatedNodeLabel(e.Key); old {
				path := topologiesPath.Index(i).Child("matchLabelExpressions").Index(j).Child("key")
				warnings = append(warnings, fmt.Sprintf("%s: %s", path, message))
			}
		}
	}
	return warnings
}
