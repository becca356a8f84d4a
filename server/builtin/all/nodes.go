package all

import (
	nodev1 "k8s.io/api/node/v1"
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta1 "k8s.io/api/resource/v1beta1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/node/runtimeclass"
	resourceaccess "github.com/kx-apiserver/kx/server/builtin/resource"
	"github.com/kx-apiserver/kx/server/builtin/resource/deviceclass"
	"github.com/kx-apiserver/kx/server/builtin/resource/devicetaintrule"
	"github.com/kx-apiserver/kx/server/builtin/resource/resourceclaim"
	"github.com/kx-apiserver/kx/server/builtin/resource/resourceclaimtemplate"
	"github.com/kx-apiserver/kx/server/builtin/resource/resourceslice"
	"github.com/kx-apiserver/kx/server/builtin/resource/v1beta1"
)

func node() builtin.Group {
	return builtin.Group{
		Versions: []builtin.Version{
			version(nodev1.SchemeGroupVersion, nodev1.AddToScheme),
		},
		Resources: []builtin.Declaration{
			builtin.Declare(runtimeclass.Resource),
		},
	}
}

func resource(n Needs) builtin.Group {
	access := resourceaccess.Access{Namespace: n.Namespace, Authorizer: n.Authorizer}
	return builtin.Group{
		Versions: []builtin.Version{
			version(resourcev1.SchemeGroupVersion, resourcev1.AddToScheme),
			beta(resourcev1beta2.SchemeGroupVersion, resourcev1beta2.AddToScheme),
			{GroupVersion: resourcev1beta1.SchemeGroupVersion, Types: resourcev1beta1.AddToScheme, Convert: v1beta1.AddToScheme, OffByDefault: true},
		},
		Resources: []builtin.Declaration{
			builtin.Declare(deviceclass.Resource),
			builtin.Declare(devicetaintrule.Resource),
			builtin.Declare(resourceclaim.Resource(access)),
			builtin.Declare(resourceclaimtemplate.Resource(access)),
			builtin.Declare(resourceslice.Resource),
		},
	}
}
