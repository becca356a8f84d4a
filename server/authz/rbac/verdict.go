package rbac

import (
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apiserver/pkg/authentication/user"
)

// Verdict is a decision with its basis.
type Verdict struct {
	grant grant
	// failed is true if a role of the user is missing or can't be read.
	failed bool
	index  *index
	who    user.Info
	asked  question
}

// Allowed reports whether a rule allows the request.
func (v *Verdict) Allowed() bool { return v.grant.by != nil }

// Reason returns the reason that a Kubernetes API server would give.
func (v *Verdict) Reason() string {
	if b := v.grant.by; b != nil {
		name := b.name
		if b.namespace != "" {
			name += "/" + b.namespace
		}
		return fmt.Sprintf("RBAC: allowed by %s %q of %s %q to %s", b.kind(), name, b.to.Kind, b.to.Name,
			describe(b.subjectOf(v.who), b.namespace))
	}
	if !v.failed {
		return ""
	}
	return fmt.Sprintf("RBAC: %v", utilerrors.NewAggregate(v.failures()))
}

func describe(s *rbacv1.Subject, namespace string) string {
	name := s.Name
	if s.Kind == rbacv1.ServiceAccountKind {
		if s.Namespace != "" {
			namespace = s.Namespace
		}
		name += "/" + namespace
	}
	return fmt.Sprintf("%s %q", s.Kind, name)
}

// failures returns the reasons why some roles of the user don't count.
func (v *Verdict) failures() (errs []error) {
	for _, b := range v.index.bindingsIn(v.who, v.asked.namespace) {
		if _, err := v.index.rulesOf(b.to, b.namespace); err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}
