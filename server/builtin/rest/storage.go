package rest

import (
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	appsv1beta1 "k8s.io/api/apps/v1beta1"
	appsv1beta2 "k8s.io/api/apps/v1beta2"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin/apps/deployment"
	"github.com/kx-apiserver/kx/server/builtin/apps/replicaset"
	"github.com/kx-apiserver/kx/server/builtin/authentication"
	"github.com/kx-apiserver/kx/server/builtin/authorization"
	"github.com/kx-apiserver/kx/server/builtin/core/configmap"
	"github.com/kx-apiserver/kx/server/builtin/core/event"
	"github.com/kx-apiserver/kx/server/builtin/core/namespace"
	"github.com/kx-apiserver/kx/server/builtin/core/pod"
	"github.com/kx-apiserver/kx/server/builtin/core/secret"
	"github.com/kx-apiserver/kx/server/builtin/core/service"
	"github.com/kx-apiserver/kx/server/builtin/core/serviceaccount"
	"github.com/kx-apiserver/kx/server/builtin/scheme"
	"github.com/kx-apiserver/kx/server/endpoint"
	"github.com/kx-apiserver/kx/store/backend"
)

// resource is one resource of a group.
type resource struct {
	name string
	// versions are those it is served in, and the subresources it has there beside the resource itself.
	versions map[schema.GroupVersion][]string
	// storages makes the storages of the resource, "", and of all its subresources.
	storages func(options) (map[string]rest.Storage, error)
}

type options struct {
	getter   backend.RESTOptionsGetter
	eventTTL time.Duration

	authenticator authenticator.Request
	authorizer    authorizer.UnconditionalAuthorizer
	rules         authorizer.RuleResolver
}

func inCore(subresources ...string) map[schema.GroupVersion][]string {
	return map[schema.GroupVersion][]string{corev1.SchemeGroupVersion: subresources}
}

var coreResources = []resource{
	{"configmaps", inCore(), func(o options) (map[string]rest.Storage, error) {
		r, err := configmap.NewREST(o.getter)
		return map[string]rest.Storage{"": r}, err
	}},
	{"events", inCore(), func(o options) (map[string]rest.Storage, error) {
		r, err := event.NewREST(o.getter, o.eventTTL)
		return map[string]rest.Storage{"": r}, err
	}},
	{"namespaces", inCore("status", "finalize"), func(o options) (map[string]rest.Storage, error) {
		r, status, finalize, err := namespace.NewREST(o.getter)
		return map[string]rest.Storage{"": r, "status": status, "finalize": finalize}, err
	}},
	{"pods", inCore("status"), func(o options) (map[string]rest.Storage, error) {
		s, err := pod.NewStorage(o.getter)
		return map[string]rest.Storage{"": s.Pod, "status": s.Status}, err
	}},
	{"secrets", inCore(), func(o options) (map[string]rest.Storage, error) {
		r, err := secret.NewREST(o.getter)
		return map[string]rest.Storage{"": r}, err
	}},
	{"serviceaccounts", inCore(), func(o options) (map[string]rest.Storage, error) {
		r, err := serviceaccount.NewREST(o.getter)
		return map[string]rest.Storage{"": r}, err
	}},
	{"services", inCore("status"), func(o options) (map[string]rest.Storage, error) {
		r, status, err := service.NewREST(o.getter)
		return map[string]rest.Storage{"": r, "status": status}, err
	}},
}

var appsResources = []resource{
	{"deployments", map[schema.GroupVersion][]string{
		appsv1.SchemeGroupVersion:      {"status", "scale"},
		appsv1beta2.SchemeGroupVersion: {"status", "scale"},
		appsv1beta1.SchemeGroupVersion: {"status", "scale", "rollback"},
	}, func(o options) (map[string]rest.Storage, error) {
		s, err := deployment.NewStorage(o.getter)
		return map[string]rest.Storage{"": s.Deployment, "status": s.Status, "scale": s.Scale, "rollback": s.Rollback}, err
	}},
	{"replicasets", map[schema.GroupVersion][]string{
		appsv1.SchemeGroupVersion: {"status", "scale"},
	}, func(o options) (map[string]rest.Storage, error) {
		s, err := replicaset.NewStorage(o.getter)
		return map[string]rest.Storage{"": s.ReplicaSet, "status": s.Status, "scale": s.Scale}, err
	}},
}

var inAuthentication = map[schema.GroupVersion][]string{authenticationv1.SchemeGroupVersion: nil}

// The reviews of two groups are answered, and not kept.
var authenticationResources = []resource{
	{"selfsubjectreviews", inAuthentication, func(options) (map[string]rest.Storage, error) {
		return map[string]rest.Storage{"": authentication.SelfSubjectReviewREST{}}, nil
	}},
	{"tokenreviews", inAuthentication, func(o options) (map[string]rest.Storage, error) {
		return map[string]rest.Storage{"": authentication.TokenReviewREST{Authenticator: o.authenticator}}, nil
	}},
}

var inAuthorization = map[schema.GroupVersion][]string{authorizationv1.SchemeGroupVersion: nil}

var authorizationResources = []resource{
	{"localsubjectaccessreviews", inAuthorization, func(o options) (map[string]rest.Storage, error) {
		return map[string]rest.Storage{"": authorization.NewLocalSubjectAccessReviewREST(o.authorizer)}, nil
	}},
	{"selfsubjectaccessreviews", inAuthorization, func(o options) (map[string]rest.Storage, error) {
		return map[string]rest.Storage{"": authorization.NewSelfSubjectAccessReviewREST(o.authorizer)}, nil
	}},
	{"selfsubjectrulesreviews", inAuthorization, func(o options) (map[string]rest.Storage, error) {
		return map[string]rest.Storage{"": authorization.NewSelfSubjectRulesReviewREST(o.rules)}, nil
	}},
	{"subjectaccessreviews", inAuthorization, func(o options) (map[string]rest.Storage, error) {
		return map[string]rest.Storage{"": authorization.NewSubjectAccessReviewREST(o.authorizer)}, nil
	}},
}

// resourcesOf are the names of the resources that a version has.
func resourcesOf(version schema.GroupVersion) (names []string) {
	for _, r := range slices.Concat(coreResources, appsResources, authenticationResources, authorizationResources) {
		if _, ok := r.versions[version]; ok {
			names = append(names, r.name)
		}
	}
	return names
}

// LegacyRESTStorageProvider makes the storages of the core group, which has no name.
type LegacyRESTStorageProvider struct {
	// EventTTL is how long events live.
	EventTTL time.Duration
}

// AppsRESTStorageProvider makes the storages of the group apps.
type AppsRESTStorageProvider struct{}

// AuthenticationRESTStorageProvider makes the storages of the group authentication.k8s.io.
type AuthenticationRESTStorageProvider struct {
	// Authenticator knows whom tokens are of.
	Authenticator authenticator.Request
}

// AuthorizationRESTStorageProvider makes the storages of the group authorization.k8s.io.
type AuthorizationRESTStorageProvider struct {
	// Authorizer decides, and RuleResolver tells what it would decide.
	Authorizer   authorizer.UnconditionalAuthorizer
	RuleResolver authorizer.RuleResolver
}

var _ = []endpoint.RESTStorageProvider{
	LegacyRESTStorageProvider{}, AppsRESTStorageProvider{}, AuthenticationRESTStorageProvider{}, AuthorizationRESTStorageProvider{},
}

// GroupName implements endpoint.RESTStorageProvider.
func (LegacyRESTStorageProvider) GroupName() string { return corev1.GroupName }

// NewRESTStorage implements endpoint.RESTStorageProvider.
func (p LegacyRESTStorageProvider) NewRESTStorage(source endpoint.APIResourceConfigSource, getter backend.RESTOptionsGetter) (endpoint.APIGroupInfo, error) {
	return newGroup(p.GroupName(), coreResources, source, options{getter: getter, eventTTL: p.EventTTL})
}

// GroupName implements endpoint.RESTStorageProvider.
func (AppsRESTStorageProvider) GroupName() string { return appsv1.GroupName }

// NewRESTStorage implements endpoint.RESTStorageProvider.
func (p AppsRESTStorageProvider) NewRESTStorage(source endpoint.APIResourceConfigSource, getter backend.RESTOptionsGetter) (endpoint.APIGroupInfo, error) {
	return newGroup(p.GroupName(), appsResources, source, options{getter: getter})
}

// GroupName implements endpoint.RESTStorageProvider.
func (AuthenticationRESTStorageProvider) GroupName() string { return authenticationv1.GroupName }

// NewRESTStorage implements endpoint.RESTStorageProvider.
func (p AuthenticationRESTStorageProvider) NewRESTStorage(source endpoint.APIResourceConfigSource, getter backend.RESTOptionsGetter) (endpoint.APIGroupInfo, error) {
	return newGroup(p.GroupName(), authenticationResources, source, options{getter: getter, authenticator: p.Authenticator})
}

// GroupName implements endpoint.RESTStorageProvider.
func (AuthorizationRESTStorageProvider) GroupName() string { return authorizationv1.GroupName }

// NewRESTStorage implements endpoint.RESTStorageProvider.
func (p AuthorizationRESTStorageProvider) NewRESTStorage(source endpoint.APIResourceConfigSource, getter backend.RESTOptionsGetter) (endpoint.APIGroupInfo, error) {
	return newGroup(p.GroupName(), authorizationResources, source, options{getter: getter, authorizer: p.Authorizer, rules: p.RuleResolver})
}

// newGroup makes the storages of the resources that source enables. If one fails, those made before it end.
func newGroup(name string, resources []resource, source endpoint.APIResourceConfigSource, o options) (endpoint.APIGroupInfo, error) {
	group := endpoint.NewDefaultAPIGroupInfo(name, scheme.Scheme)
	var made []map[string]rest.Storage
	for _, r := range resources {
		var versions []schema.GroupVersion
		for version := range r.versions {
			if source.ResourceEnabled(version.WithResource(r.name)) {
				versions = append(versions, version)
			}
		}
		if len(versions) == 0 {
			continue
		}
		storages, err := r.storages(o)
		if err != nil {
			for _, m := range made {
				m[""].Destroy()
			}
			return endpoint.APIGroupInfo{}, fmt.Errorf("make the storage of %s: %w", r.name, err)
		}
		made = append(made, storages)
		for _, version := range versions {
			put(group.VersionedResourcesStorageMap, version.Version, r.name, storages, r.versions[version])
		}
	}
	return group, nil
}

// put enters a resource and its subresources into a version.
func put(group map[string]map[string]rest.Storage, version, name string, storages map[string]rest.Storage, subresources []string) {
	if group[version] == nil {
		group[version] = map[string]rest.Storage{}
	}
	group[version][name] = storages[""]
	for _, sub := range subresources {
		group[version][name+"/"+sub] = storages[sub]
	}
}
