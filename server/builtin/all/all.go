package all

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	appsv1beta1 "k8s.io/api/apps/v1beta1"
	appsv1beta2 "k8s.io/api/apps/v1beta2"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/apps/deployment"
	"github.com/kx-apiserver/kx/server/builtin/apps/replicaset"
	"github.com/kx-apiserver/kx/server/builtin/apps/v1beta1"
	"github.com/kx-apiserver/kx/server/builtin/apps/v1beta2"
	"github.com/kx-apiserver/kx/server/builtin/authentication"
	"github.com/kx-apiserver/kx/server/builtin/authorization"
	"github.com/kx-apiserver/kx/server/builtin/coordination/lease"
	"github.com/kx-apiserver/kx/server/builtin/core/configmap"
	"github.com/kx-apiserver/kx/server/builtin/core/event"
	"github.com/kx-apiserver/kx/server/builtin/core/namespace"
	"github.com/kx-apiserver/kx/server/builtin/core/pod"
	"github.com/kx-apiserver/kx/server/builtin/core/secret"
	"github.com/kx-apiserver/kx/server/builtin/core/service"
	"github.com/kx-apiserver/kx/server/builtin/core/serviceaccount"
	"github.com/kx-apiserver/kx/server/builtin/rbac/clusterrole"
	"github.com/kx-apiserver/kx/server/builtin/rbac/clusterrolebinding"
	"github.com/kx-apiserver/kx/server/builtin/rbac/role"
	"github.com/kx-apiserver/kx/server/builtin/rbac/rolebinding"
)

// Needs are the parts of the server that single resources use.
type Needs struct {
	// EventTTL is how long events live.
	EventTTL time.Duration
	// Authenticator tells the user of a token.
	Authenticator authenticator.Request
	// Authorizer decides who may do what, and Rules tell what it would decide.
	Authorizer authorizer.UnconditionalAuthorizer
	Rules      authorizer.RuleResolver
}

// Groups are all built-in groups. Without its needs a group can be looked at, but not served.
func Groups(n Needs) []builtin.Group {
	return []builtin.Group{core(n), apps(), authenticationGroup(n), authorizationGroup(n), autoscaling(), policy(), rbac(), coordination()}
}

// Group is one of them.
func Group(name string, n Needs) builtin.Group {
	groups := Groups(n)
	return groups[slices.IndexFunc(groups, func(g builtin.Group) bool { return g.Name() == name })]
}

func core(n Needs) builtin.Group {
	return builtin.Group{
		Versions: []builtin.Version{{GroupVersion: corev1.SchemeGroupVersion, Types: corev1.AddToScheme}},
		Resources: []builtin.Declaration{
			configmap.Resource,
			event.Resource(n.EventTTL),
			namespace.Resource,
			pod.Resource,
			secret.Resource,
			serviceaccount.Resource,
			service.Resource,
		},
	}
}

func apps() builtin.Group {
	return builtin.Group{
		Versions: []builtin.Version{
			{GroupVersion: appsv1.SchemeGroupVersion, Types: appsv1.AddToScheme},
			{GroupVersion: appsv1beta2.SchemeGroupVersion, Types: appsv1beta2.AddToScheme, Convert: v1beta2.AddToScheme, OffByDefault: true},
			{GroupVersion: appsv1beta1.SchemeGroupVersion, Types: appsv1beta1.AddToScheme, Convert: v1beta1.AddToScheme, OffByDefault: true},
		},
		Resources: []builtin.Declaration{deployment.Resource, replicaset.Resource},
	}
}

func authenticationGroup(n Needs) builtin.Group {
	return builtin.Group{
		Versions:  []builtin.Version{{GroupVersion: authenticationv1.SchemeGroupVersion, Types: authenticationv1.AddToScheme}},
		Resources: authentication.Resources(n.Authenticator),
	}
}

func authorizationGroup(n Needs) builtin.Group {
	return builtin.Group{
		Versions:  []builtin.Version{{GroupVersion: authorizationv1.SchemeGroupVersion, Types: authorizationv1.AddToScheme}},
		Resources: authorization.Resources(n.Authorizer, n.Rules),
	}
}

// autoscaling has the Scale of everything that can be scaled.
func autoscaling() builtin.Group {
	return types(autoscalingv1.SchemeGroupVersion, autoscalingv1.AddToScheme)
}

func rbac() builtin.Group {
	return builtin.Group{
		Versions:  []builtin.Version{{GroupVersion: rbacv1.SchemeGroupVersion, Types: rbacv1.AddToScheme}},
		Resources: []builtin.Declaration{clusterrolebinding.Resource, clusterrole.Resource, rolebinding.Resource, role.Resource},
	}
}

func coordination() builtin.Group {
	return builtin.Group{
		Versions:  []builtin.Version{{GroupVersion: coordinationv1.SchemeGroupVersion, Types: coordinationv1.AddToScheme}},
		Resources: []builtin.Declaration{lease.Resource},
	}
}

// policy has the options of evictions.
func policy() builtin.Group { return types(policyv1.SchemeGroupVersion, policyv1.AddToScheme) }

// types is a group without resources: its types occur in those of other groups.
func types(version schema.GroupVersion, add func(*runtime.Scheme) error) builtin.Group {
	return builtin.Group{Versions: []builtin.Version{{GroupVersion: version, Types: add}}}
}
