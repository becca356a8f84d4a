package controller_test

import (
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/kx-apiserver/kx/server/internal/builtintest"
)

func TestAPIApproval(t *testing.T) {
	noLeaks(t)
	p := start(t, builtintest.NewEtcd(t), noObjects{})
	d := crd("g.k8s.io", "ones", "one", "One")
	const bad = `protected groups must have approval annotation "api-approved.kubernetes.io" with either a URL or a reason starting with "unapproved", see https://github.com/kubernetes/enhancements/pull/1111`
	conformant := apiextensionsv1.KubernetesAPIApprovalPolicyConformant
	d.Annotations = map[string]string{apiextensionsv1.KubeAPIApprovedAnnotation: "unapproved, a test"}
	p.create(d)
	p.until(d.Name, says(conformant, no, "UnapprovedAnnotation", `not approved: "unapproved, a test"`))
	for _, tt := range []struct {
		annotation      string
		status          apiextensionsv1.ConditionStatus
		reason, message string
	}{
		{"https://example.com/approval", yes, "ApprovedAnnotation", "approved in https://example.com/approval"},
		{"unapproved, again", no, "UnapprovedAnnotation", `not approved: "unapproved, again"`},
	} {
		p.edit(p.crds, d.Name, func(d *apiextensions.CustomResourceDefinition) {
			d.Annotations[apiextensionsv1.KubeAPIApprovedAnnotation] = tt.annotation
		})
		p.until(d.Name, says(conformant, tt.status, tt.reason, tt.message))
	}
	// Validation lets nobody change it so, but there may be one from before.
	strategy := p.crds.UpdateStrategy
	p.crds.UpdateStrategy = uncheckedUpdate{strategy}
	p.edit(p.crds, d.Name, func(d *apiextensions.CustomResourceDefinition) {
		d.Annotations[apiextensionsv1.KubeAPIApprovedAnnotation] = "yes"
	})
	p.until(d.Name, says(conformant, no, "InvalidAnnotation", bad))

	p.create(crd("g.example.com", "twos", "two", "Two"))
	if d := p.until("twos.g.example.com", isEstablished); apihelpers.FindCRDCondition(d, conformant) != nil {
		t.Errorf("%q, though the group is not protected", conditions(d))
	}
}

func TestNonStructural(t *testing.T) {
	noLeaks(t)
	etcd := builtintest.NewEtcd(t)
	p := start(t, etcd, noObjects{})
	older, _ := storages(t, etcd)
	older.CreateStrategy = unvalidated{older.CreateStrategy}
	d := crd("g.example.com", "ones", "one", "One")
	d.Spec.PreserveUnknownFields = true
	d.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties = map[string]apiextensionsv1.JSONSchemaProps{"a": {}}
	(&process{t: t, crds: older}).create(d)
	p.until(d.Name, says(apiextensionsv1.NonStructuralSchema, yes, "Violations",
		"[spec.preserveUnknownFields: Invalid value: true: must be false, "+
			"spec.versions[0].schema.openAPIV3Schema.properties[a].type: Required value: must not be empty for specified object fields]"))
	p.until(d.Name, isEstablished)
	p.edit(p.crds, d.Name, func(d *apiextensions.CustomResourceDefinition) {
		no := false
		d.Spec.PreserveUnknownFields = &no
		d.Spec.Validation.OpenAPIV3Schema.Properties = nil
	})
	p.until(d.Name, func(d *apiextensionsv1.CustomResourceDefinition) bool {
		return apihelpers.FindCRDCondition(d, apiextensionsv1.NonStructuralSchema) == nil
	})
}
