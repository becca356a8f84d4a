package controller

import (
	"context"

	registrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/controller/work"
)

// policyStatus reports type errors in the expressions of ValidatingAdmissionPolicies, in their status. The
// server itself knows the kinds that match their rules, and the schemas of these.
//
// A policy is checked once for each of its generations. A kind that is served later makes no difference. A
// check decides nothing: the policy applies in any case. Schemas and environments are built for one check. The
// cost of a policy is limited: [mostPolicyKinds] kinds for a rule.
var policyStatus = controller{
	name: "validatingadmissionpolicy-status-controller", does: "check the types of policies' expressions",
	account: "validatingadmissionpolicy-status-controller", manager: "validatingadmissionpolicy-status", workers: 5,
	follows: []schema.GroupVersionResource{registrationv1.SchemeGroupVersion.WithResource("validatingadmissionpolicies")},
	make:    each(checkPolicy),
}

// policies reads and writes the ValidatingAdmissionPolicies.
type policies = work.Objects[*registrationv1.ValidatingAdmissionPolicy]

var typesChecked = trace.Because("types-checked",
	"its status does not say what it is now: expressions with wrong types: {warnings}; kinds of objects that they "+
		"were checked for: {kinds}",
	"它的 status 没有反映现在的内容：类型有误的表达式：{warnings} 个；为之检查的对象种类：{kinds} 个")

// checkPolicy checks a policy, unless its status already describes this generation.
func checkPolicy(ctx context.Context, all *policies, p *registrationv1.ValidatingAdmissionPolicy, cause int64) error {
	if p.Generation <= p.Status.ObservedGeneration {
		return nil
	}
	check := policyChecker{all.Kit.Mapper, all.Kit.Schema, all.Kit.Log}
	warnings, kinds, err := check.policy(ctx, p)
	if err != nil {
		return err
	}
	checking := map[string]any{}
	if len(warnings) > 0 {
		list := make([]any, len(warnings))
		for i, w := range warnings {
			list[i] = map[string]any{"fieldRef": w.FieldRef, "warning": w.Warning}
		}
		checking["expressionWarnings"] = list
	}
	return all.Apply(ctx, p, "status", work.Decision{Cause: cause, Why: func(step *trace.Step) {
		step.Why(typesChecked, int64(len(warnings)), int64(kinds))
	}}, map[string]any{"status": map[string]any{"observedGeneration": p.Generation, "typeChecking": checking}})
}
