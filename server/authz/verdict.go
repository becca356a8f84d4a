package authz

import (
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/kx-apiserver/kx/core/escape"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/authz/rbac"
)

// Verdict is a decision with its basis. Its sentences are built only when they are read.
type Verdict struct {
	Decision authorizer.Decision
	Err      error
	// reason joins the reasons of the authorizers.
	reason string
	// privileged and open are true if no authorizer was called.
	privileged, open bool
	// by is the authorizer that had an opinion, or nil.
	by *link
	// asked is true if roles were consulted, and rules is their verdict.
	asked bool
	rules rbac.Verdict
}

// Reason returns the reason that a Kubernetes API server would give.
func (v *Verdict) Reason() string {
	if v.by != nil && v.by.rbac != nil {
		return v.rules.Reason()
	}
	return v.reason
}

var noBinding = trace.Because("no-binding", "no binding of {who:word}", "没有绑定允许：{who:word}")

// Sentence returns Why as one sentence.
func (v *Verdict) Sentence() string {
	reason, text := v.Why()
	if reason == noBinding {
		return "no binding of " + text
	}
	return text
}

// Missing returns a rule that would allow a denied request, nil if no rule would.
func (v *Verdict) Missing() *rbacv1.PolicyRule {
	if v.Decision == authorizer.DecisionAllow || v.by != nil || !v.asked {
		return nil
	}
	return v.rules.Missing()
}

var (
	whyAllowed = trace.Because("allowed", "{rule:word}", "{rule:word}")
	whyDenied  = trace.Because("denied", "{authorizer:word}", "{authorizer:word}")
)

// Why returns the reason for a step: the rule that allows the request, or else the one that comes nearest.
func (v *Verdict) Why() (trace.Reason, string) {
	said := ""
	if v.reason != "" {
		said = ": " + escape.Line(v.reason)
	}
	switch {
	case v.privileged:
		return whyAllowed, "system:masters may do all"
	case v.open:
		return whyAllowed, "anybody may read this path"
	case v.by == nil && v.asked:
		return noBinding, v.rules.Why()
	case v.by == nil:
		return whyDenied, "no authorizer allows it" + said
	case v.by.rbac != nil:
		return whyAllowed, v.rules.Why()
	case v.by.kind == apiserver.AuthorizerType(AlwaysAllow):
		return whyAllowed, "the server allows everybody everything"
	case v.Decision == authorizer.DecisionAllow:
		return whyAllowed, "the authorizer " + v.by.name + " allows it" + said
	}
	return whyDenied, "the authorizer " + v.by.name + " denies it" + said
}
