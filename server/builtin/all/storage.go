package all

import (
	storagev1 "k8s.io/api/storage/v1"
	storagev1beta1 "k8s.io/api/storage/v1beta1"
	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	storagemigrationv1beta1 "k8s.io/api/storagemigration/v1beta1"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/storage"
	"github.com/kx-apiserver/kx/server/builtin/storagemigration"
)

func storageGroup() builtin.Group {
	return builtin.Group{
		Versions: []builtin.Version{
			version(storagev1.SchemeGroupVersion, storagev1.AddToScheme),
			beta(storagev1beta1.SchemeGroupVersion, storagev1beta1.AddToScheme),
		},
		Resources: []builtin.Declaration{
			builtin.Declare(storage.StorageClass),
			builtin.Declare(storage.VolumeAttachment),
			builtin.Declare(storage.VolumeAttributesClass),
			builtin.Declare(storage.CSINode),
			builtin.Declare(storage.CSIDriver),
			builtin.Declare(storage.CSIStorageCapacity),
		},
	}
}

func storagemigrationGroup() builtin.Group {
	return builtin.Group{
		Versions: []builtin.Version{
			version(storagemigrationv1.SchemeGroupVersion, storagemigrationv1.AddToScheme),
			beta(storagemigrationv1beta1.SchemeGroupVersion, storagemigrationv1beta1.AddToScheme),
		},
		Resources: []builtin.Declaration{
			builtin.Declare(storagemigration.StorageVersionMigration),
		},
	}
}
