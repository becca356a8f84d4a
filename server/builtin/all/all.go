package all

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/core"
	"github.com/kx-apiserver/kx/server/kubelet"
)

// Needs are the parts of the server that single resources use.
type Needs struct {
	// EventTTL is how long events live.
	EventTTL time.Duration
	// EtcdHealth returns why etcd can't be used.
	EtcdHealth func() error
	// Authenticator tells the user of a token.
	Authenticator authenticator.Request
	// Authorizer decides who may do what, and Rules tell what it would decide.
	Authorizer authorizer.UnconditionalAuthorizer
	Rules      authorizer.RuleResolver
	// Namespace reads a namespace.
	Namespace func(ctx context.Context, name string) (*corev1.Namespace, error)
	// Kubelets reach nodes and pods.
	Kubelets *kubelet.Client
	// Tokens says how tokens of service accounts are made. Its Storage is the one below.
	Tokens core.Tokens
	// Storage returns the storage of a resource, nil if it is not served. It is asked when requests come.
	Storage func(schema.GroupVersionResource) rest.Storage
}

func (n Needs) tokens() core.Tokens {
	n.Tokens.Storage = n.Storage
	return n.Tokens
}

// Groups are all built-in groups, in the order of discovery. Without its needs a group can be looked at, but not
// served.
func Groups(n Needs) []builtin.Group {
	return []builtin.Group{
		coreGroup(n), apiregistrationGroup(), appsGroup(), eventsGroup(n), authenticationGroup(n), authorizationGroup(n),
		autoscalingGroup(), batchGroup(), certificatesGroup(n), networkingGroup(), policyGroup(), rbacGroup(n), storageGroup(),
		admissionregistrationGroup(), schedulingGroup(), coordinationGroup(), nodeGroup(), discoveryGroup(), flowcontrolGroup(),
		resourceGroup(n), storagemigrationGroup(),
	}
}

// Group is one built-in group.
func Group(name string, n Needs) builtin.Group {
	groups := Groups(n)
	return groups[slices.IndexFunc(groups, func(g builtin.Group) bool { return g.Name() == name })]
}

// version is served by default.
func version(gv schema.GroupVersion, types func(*runtime.Scheme) error) builtin.Version {
	return builtin.Version{GroupVersion: gv, Types: types}
}

// beta is a version that is served only if --runtime-config says so.
func beta(gv schema.GroupVersion, types func(*runtime.Scheme) error) builtin.Version {
	return builtin.Version{GroupVersion: gv, Types: types, OffByDefault: true}
}
