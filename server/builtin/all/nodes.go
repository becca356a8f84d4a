package all

import (
	nodev1 "k8s.io/api/node/v1"
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta1 "k8s.io/api/resource/v1beta1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/node"
	resourceaccess "github.com/kx-apiserver/kx/server/builtin/resource"
)

func nodeGroup() builtin.Group {
	return builtin.Group{
		Versions: []builtin.Version{
			version(nodev1.SchemeGroupVersion, nodev1.AddToScheme),
		},
		Resources: []builtin.Declaration{
			builtin.Declare(node.RuntimeClass),
		},
	}
}

func resourceGroup(n Needs) builtin.Group {
	access := resourceaccess.Access{Namespace: n.Namespace, Authorizer: n.Authorizer}
	return builtin.Group{
		Versions: []builtin.Version{
			version(resourcev1.SchemeGroupVersion, resourcev1.AddToScheme),
			beta(resourcev1beta2.SchemeGroupVersion, resourcev1beta2.AddToScheme),
			{GroupVersion: resourcev1beta1.SchemeGroupVersion, Types: resourcev1beta1.AddToScheme, Convert: resourceaccess.AddV1beta1,
				OffByDefault: true},
		},
		Resources: []builtin.Declaration{
			builtin.Declare(resourceaccess.DeviceClass),
			builtin.Declare(resourceaccess.DeviceTaintRule),
			builtin.Declare(resourceaccess.ResourceClaim(access)),
			builtin.Declare(resourceaccess.ResourceClaimTemplate(access)),
			builtin.Declare(resourceaccess.ResourceSlice),
		},
	}
}
