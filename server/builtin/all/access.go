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
	"github.com/kx-apiserver/kx/server/builtin/certificates"
	grants "github.com/kx-apiserver/kx/server/builtin/rbac"
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

func certificatesGroup(n Needs) builtin.Group {
	return builtin.Group{
		Versions: []builtin.Version{
			{GroupVersion: certificatesv1.SchemeGroupVersion, Types: certificatesv1.AddToScheme,
				Convert: certificates.AddPodCertificateRequests},
			beta(certificatesv1beta1.SchemeGroupVersion, certificatesv1beta1.AddToScheme),
		},
		Resources: []builtin.Declaration{
			builtin.Declare(certificates.CertificateSigningRequest),
			builtin.Declare(certificates.ClusterTrustBundle),
			builtin.Declare(certificates.PodCertificateRequest(n.Authorizer)),
		},
	}
}

func rbacGroup(n Needs) builtin.Group {
	guard := &grants.Guard{Authorizer: n.Authorizer, Storage: n.Storage}
	return builtin.Group{
		Versions: []builtin.Version{
			version(rbacv1.SchemeGroupVersion, rbacv1.AddToScheme),
		},
		Resources: []builtin.Declaration{
			builtin.Declare(grants.ClusterRoleBinding(guard)),
			builtin.Declare(grants.ClusterRole(guard)),
			builtin.Declare(grants.RoleBinding(guard)),
			builtin.Declare(grants.Role(guard)),
		},
	}
}
