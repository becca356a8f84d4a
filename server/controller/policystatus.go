package controller

import (
	"context"

	registrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/controller/work"
)

// policyStatus says in the status of ValidatingAdmissionPolicies what is wrong with the types in their expressions. The
// server itself says which kinds their rules are about, and what objects of these look like.
//
// A policy is checked once for each of its generations. A kind that comes to be served later makes no difference. A
// check decides nothing: the policy holds as it is. Schemas and environments are made for one check. What a policy can
// cost is bounded: [mostPolicyKinds] kinds for a rule.
var policyStatus = controller{
	name: "validatingadmissionpolicy-status-controller", does: "check the types of policies' expressions",
	account: "validatingadmissionpolicy-status-controller", manager: "validatingadmissionpolicy-status", workers: 5,
	follows: []schema.GroupVersionResource{registrationv1.SchemeGroupVersion.WithResource("validatingadmissionpolicies")},
	make:    each(checkPolicy),
}

// policies are the ValidatingAdmissionPolicies.
type policies = work.Objects[*registrationv1.ValidatingAdmissionPolicy]

// checkPolicy checks a policy, unless its status is about what it is now.
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
		step.Why(trace.TypesChecked, int64(len(warnings)), int64(kinds))
	}}, map[string]any{"status": map[string]any{"observedGeneration": p.Generation, "typeChecking": checking}})
}
