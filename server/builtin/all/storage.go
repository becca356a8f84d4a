package all

import (
	storagev1 "k8s.io/api/storage/v1"
	storagev1beta1 "k8s.io/api/storage/v1beta1"
	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	storagemigrationv1beta1 "k8s.io/api/storagemigration/v1beta1"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/storage/csidriver"
	"github.com/kx-apiserver/kx/server/builtin/storage/csinode"
	"github.com/kx-apiserver/kx/server/builtin/storage/csistoragecapacity"
	"github.com/kx-apiserver/kx/server/builtin/storage/storageclass"
	"github.com/kx-apiserver/kx/server/builtin/storage/volumeattachment"
	"github.com/kx-apiserver/kx/server/builtin/storage/volumeattributesclass"
	"github.com/kx-apiserver/kx/server/builtin/storagemigration/storageversionmigration"
)

func storage() builtin.Group {
	return builtin.Group{
		Versions: []builtin.Version{
			version(storagev1.SchemeGroupVersion, storagev1.AddToScheme),
			beta(storagev1beta1.SchemeGroupVersion, storagev1beta1.AddToScheme),
		},
		Resources: []builtin.Declaration{
			builtin.Declare(storageclass.Resource),
			builtin.Declare(volumeattachment.Resource),
			builtin.Declare(volumeattributesclass.Resource),
			builtin.Declare(csinode.Resource),
			builtin.Declare(csidriver.Resource),
			builtin.Declare(csistoragecapacity.Resource),
		},
	}
}

func storagemigration() builtin.Group {
	return builtin.Group{
		Versions: []builtin.Version{
			version(storagemigrationv1.SchemeGroupVersion, storagemigrationv1.AddToScheme),
			beta(storagemigrationv1beta1.SchemeGroupVersion, storagemigrationv1beta1.AddToScheme),
		},
		Resources: []builtin.Declaration{
			builtin.Declare(storageversionmigration.Resource),
		},
	}
}
