package kxtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// User returns the configuration of a user in groups. Roles and bindings give the user rights. In the group
// system:masters, the user has all rights.
func (s *Server) User(name string, groups ...string) *rest.Config {
	s.t.Helper()
	if name == "" {
		s.fatal(s.t, errors.New("a user needs a name"))
	}
	if err := s.waitRoles(); err != nil {
		s.fatal(s.t, err)
	}
	cert, key, err := s.process.users.client(name, groups)
	if err != nil {
		s.fatal(s.t, err)
	}
	config := rest.AnonymousClientConfig(s.process.admin)
	config.TLSClientConfig.CertData, config.TLSClientConfig.KeyData = cert, key
	config.QPS, config.Burst = s.process.admin.QPS, s.process.admin.Burst
	return config
}

// rolesMost limits the wait for the roles that every cluster has.
const rolesMost = time.Minute

// waitRoles waits until the server has the roles that every cluster has, without which a user can't even ask what the
// server has. Administrators do not need them, so that only tests with other users wait.
func (i *instance) waitRoles() error {
	ctx, cancel := context.WithTimeout(context.Background(), rolesMost)
	defer cancel()
	for {
		err := i.client.call(ctx, "GET", "/readyz", nil, nil)
		if err == nil || code(err) == 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the server has no roles after %v: %w", rolesMost, err)
		case <-time.After(lookEvery):
		}
	}
}

// As returns the configuration of a new user who has the rights of the roles and cluster roles in files and
// directories, and no others. A Role counts in its namespace, which is made if it is missing. Bindings and all else in
// the files are left out. The user's name begins with that of the first role. The roles are copies for this user, so
// that a role of the same name in another file is another one.
func (s *Server) As(files ...string) *rest.Config {
	s.t.Helper()
	roles, err := readOf(files, rbacv1.GroupName, "Role", "ClusterRole")
	if err != nil {
		s.fatal(s.t, err)
	}
	if len(roles) == 0 {
		s.fatal(s.t, errors.New("As needs the file of a role"))
	}
	number := s.named.Add(1)
	name := fmt.Sprintf("%s-%d", roles[0].object.GetName(), number)
	ctx := context.Background()
	last := roles[0] // the last one that grants anything
	for _, role := range roles {
		role.object.SetName(fmt.Sprintf("%s-%d", role.object.GetName(), number))
		if err := s.grant(ctx, role, name); err != nil {
			s.fatal(s.t, err)
		}
		if firstAccess(role) != nil {
			last = role
		}
	}
	config := s.User(name)
	if err := s.waitGranted(ctx, config, last); err != nil {
		s.fatal(s.t, err)
	}
	return config
}

// grant creates a role and binds a user to it.
func (s *Server) grant(ctx context.Context, role *manifest, user string) error {
	if role.is(rbacv1.GroupName, "Role") {
		if role.object.GetNamespace() == "" {
			role.object.SetNamespace(metav1.NamespaceDefault)
		}
		namespace := object("v1", "Namespace", role.object.GetNamespace())
		if err := s.client.create(ctx, &manifest{role.file, namespace}); err != nil {
			return err
		}
	}
	if err := s.client.create(ctx, role); err != nil {
		return err
	}
	binding := object(rbacv1.SchemeGroupVersion.String(), role.object.GetKind()+"Binding", user+"-"+role.object.GetName())
	binding.SetNamespace(role.object.GetNamespace())
	binding.Object["subjects"] = []any{map[string]any{"kind": "User", "apiGroup": rbacv1.GroupName, "name": user}}
	binding.Object["roleRef"] = map[string]any{
		"kind": role.object.GetKind(), "apiGroup": rbacv1.GroupName, "name": role.object.GetName(),
	}
	return s.client.create(ctx, &manifest{role.file, binding})
}

func object(apiVersion, kind, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetAPIVersion(apiVersion)
	o.SetKind(kind)
	o.SetName(name)
	return o
}

// grantedMost limits the wait until the server knows of a binding.
const grantedMost = time.Minute

// waitGranted waits until the server grants the first rule of a role. It learns of bindings in their order, so the last
// one is enough.
func (s *Server) waitGranted(ctx context.Context, user *rest.Config, role *manifest) error {
	access := firstAccess(role)
	if access == nil {
		return nil
	}
	config := rest.CopyConfig(user)
	config.Wrap(silence)
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	for deadline := time.Now().Add(grantedMost); ; time.Sleep(2 * time.Millisecond) {
		answer, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, access, metav1.CreateOptions{})
		switch {
		case err != nil:
			return fmt.Errorf("%v: ask for the rights of its user: %w", role, err)
		case answer.Status.Allowed:
			return nil
		case time.Now().After(deadline):
			return fmt.Errorf("%v: its user has no rights after %v: %s", role, grantedMost, answer.Status.Reason)
		}
	}
}

// firstAccess asks for what the first rule of a role allows; nil if no rule allows anything.
func firstAccess(role *manifest) *authorizationv1.SelfSubjectAccessReview {
	var rules rbacv1.ClusterRole // a Role has the same rules
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(role.object.Object, &rules); err != nil {
		return nil // the server has refused it
	}
	for _, rule := range rules.Rules {
		if len(rule.Verbs) == 0 {
			continue
		}
		review := &authorizationv1.SelfSubjectAccessReview{}
		switch {
		case len(rule.APIGroups) > 0 && len(rule.Resources) > 0:
			resource, sub, _ := strings.Cut(rule.Resources[0], "/")
			review.Spec.ResourceAttributes = &authorizationv1.ResourceAttributes{
				Namespace: role.object.GetNamespace(), Verb: rule.Verbs[0], Group: rule.APIGroups[0], Resource: resource, Subresource: sub,
			}
			if len(rule.ResourceNames) > 0 {
				review.Spec.ResourceAttributes.Name = rule.ResourceNames[0]
			}
		case len(rule.NonResourceURLs) > 0:
			review.Spec.NonResourceAttributes = &authorizationv1.NonResourceAttributes{Verb: rule.Verbs[0], Path: rule.NonResourceURLs[0]}
		default:
			continue
		}
		return review
	}
	return nil
}
