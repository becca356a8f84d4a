package all

import (
	"context"
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

// Needs holds the parts of the server that individual resources use.
type Needs struct {
	// EventTTL is the lifetime of events.
	EventTTL time.Duration
	// EtcdHealth returns an error if etcd is unusable.
	EtcdHealth func() error
	// Authenticator finds the user of a token.
	Authenticator authenticator.Request
	// Authorizer decides requests, and Rules lists the permissions of a user.
	Authorizer authorizer.UnconditionalAuthorizer
	Rules      authorizer.RuleResolver
	// Namespace reads a namespace.
	Namespace func(ctx context.Context, name string) (*corev1.Namespace, error)
	// Kubelets connects to the kubelets of nodes and pods.
	Kubelets *kubelet.Client
	// Tokens configures the tokens of service accounts. Groups sets its Storage to the one below.
	Tokens core.Tokens
	// Storage returns the storage of a resource, nil if it is not served. Resources call it during requests, when all
	// storages exist.
	Storage func(schema.GroupVersionResource) rest.Storage
}

func (n Needs) tokens() core.Tokens {
	n.Tokens.Storage = n.Storage
	return n.Tokens
}

// Groups returns all built-in groups, in the order of discovery. With empty needs a group can be inspected, but not
// served.
func Groups(n Needs) []builtin.Group {
	return []builtin.Group{
		coreGroup(n), apiregistrationGroup(), appsGroup(), eventsGroup(n), authenticationGroup(n), authorizationGroup(n),
		autoscalingGroup(), batchGroup(), certificatesGroup(n), networkingGroup(), policyGroup(), rbacGroup(n), storageGroup(),
		admissionregistrationGroup(), schedulingGroup(), coordinationGroup(), nodeGroup(), discoveryGroup(), flowcontrolGroup(),
		resourceGroup(n), storagemigrationGroup(),
	}
}

// version makes a version that is served by default.
func version(gv schema.GroupVersion, types func(*runtime.Scheme) error) builtin.Version {
	return builtin.Version{GroupVersion: gv, Types: types}
}

// beta makes a version that is served only if --runtime-config enables it.
func beta(gv schema.GroupVersion, types func(*runtime.Scheme) error) builtin.Version {
	return builtin.Version{GroupVersion: gv, Types: types, OffByDefault: true}
}
