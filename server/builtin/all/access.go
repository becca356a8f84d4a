package all

import (
	authenticationv1 "k8s.io/api/authentication/v1"
	authenticationv1beta1 "k8s.io/api/authentication/v1beta1"
	authorizationv1 "k8s.io/api/authorization/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/authentication"
	"github.com/kx-apiserver/kx/server/builtin/authorization"
	"github.com/kx-apiserver/kx/server/builtin/certificates/certificatesigningrequest"
	"github.com/kx-apiserver/kx/server/builtin/certificates/clustertrustbundle"
	"github.com/kx-apiserver/kx/server/builtin/certificates/podcertificaterequest"
	grants "github.com/kx-apiserver/kx/server/builtin/rbac"
	"github.com/kx-apiserver/kx/server/builtin/rbac/clusterrole"
	"github.com/kx-apiserver/kx/server/builtin/rbac/clusterrolebinding"
	"github.com/kx-apiserver/kx/server/builtin/rbac/role"
	"github.com/kx-apiserver/kx/server/builtin/rbac/rolebinding"
)

func authenticationGroup(n Needs) builtin.Group {
	return builtin.Group{
		Versions: []builtin.Version{
			version(authenticationv1.SchemeGroupVersion, authenticationv1.AddToScheme),
			beta(authenticationv1beta1.SchemeGroupVersion, authenticationv1beta1.AddToScheme),
		},
		Resources: authentication.Resources(n.Authenticator, n.Tokens.Audiences),
	}
}

func authorizationGroup(n Needs) builtin.Group {
	return builtin.Group{
		Versions: []builtin.Version{
			version(authorizationv1.SchemeGroupVersion, authorizationv1.AddToScheme),
		},
		Resources: authorization.Resources(n.Authorizer, n.Rules),
	}
}

func certificates(n Needs) builtin.Group {
	return builtin.Group{
		Versions: []builtin.Version{
			{GroupVersion: certificatesv1.SchemeGroupVersion, Types: certificatesv1.AddToScheme, Convert: podcertificaterequest.AddVersions},
			beta(certificatesv1beta1.SchemeGroupVersion, certificatesv1beta1.AddToScheme),
		},
		Resources: []builtin.Declaration{
			builtin.Declare(certificatesigningrequest.Resource),
			builtin.Declare(clustertrustbundle.Resource),
			builtin.Declare(podcertificaterequest.Resource(n.Authorizer)),
		},
	}
}

func rbac(n Needs) builtin.Group {
	guard := &grants.Guard{Authorizer: n.Authorizer, Storage: n.Storage}
	return builtin.Group{
		Versions: []builtin.Version{
			version(rbacv1.SchemeGroupVersion, rbacv1.AddToScheme),
		},
		Resources: []builtin.Declaration{
			builtin.Declare(clusterrolebinding.Resource(guard)),
			builtin.Declare(clusterrole.Resource(guard)),
			builtin.Declare(rolebinding.Resource(guard)),
			builtin.Declare(role.Resource(guard)),
		},
	}
}
