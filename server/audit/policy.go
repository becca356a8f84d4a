package audit

import (
	"errors"
	"fmt"
	"log/slog"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/apis/audit/validation"
	"k8s.io/apiserver/pkg/audit"

	"github.com/kx-apiserver/kx/core/escape"
	fieldlines "github.com/kx-apiserver/kx/core/lines"
)

// writesOnly is the default policy: the metadata of every write.
func writesOnly() *auditinternal.Policy {
	return &auditinternal.Policy{
		OmitStages: []auditinternal.Stage{auditinternal.StageRequestReceived},
		Rules: []auditinternal.PolicyRule{
			{Level: auditinternal.LevelNone, Verbs: []string{"get", "list", "watch"}},
			{Level: auditinternal.LevelMetadata},
		},
	}
}

// loadPolicy reads the policy in a file, or returns the default one. Errors name the line and the field. An unknown
// field is only a warning, as upstream: a file for another version must not prevent a start.
func loadPolicy(path string, log *slog.Logger) (*auditinternal.Policy, error) {
	if path == "" {
		return writesOnly(), nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("--audit-policy-file: %w", err)
	}
	p, warnings, err := parsePolicy(data)
	if err != nil {
		return nil, fmt.Errorf("--audit-policy-file: %s: %w", path, err)
	}
	for _, w := range warnings {
		log.Warn("the audit policy has something that is ignored", "file", path, "error", escape.Line(w.Error()))
	}
	return p, nil
}

// parsePolicy parses a policy. Warnings name the parts that it ignores.
func parsePolicy(data []byte) (p *auditinternal.Policy, warnings []error, err error) {
	at := fieldlines.NewDocument(data)
	if err := checkKind(at); err != nil {
		return nil, nil, err
	}
	p = &auditinternal.Policy{}
	strict := serializer.NewCodecFactory(audit.Scheme, serializer.EnableStrict).UniversalDecoder()
	_, _, err = strict.Decode(data, nil, p)
	if ignored, ok := runtime.AsStrictDecodingError(err); ok {
		for _, one := range ignored.Errors() {
			warnings = append(warnings, at.Error(one))
		}
		p = &auditinternal.Policy{}
		_, _, err = audit.Codecs.UniversalDecoder().Decode(data, nil, p)
	}
	if err != nil {
		return nil, nil, at.Error(err)
	}
	var errs []error
	for _, one := range validation.ValidatePolicy(p) {
		errs = append(errs, one)
	}
	if len(p.Rules) == 0 {
		errs = append(errs, fmt.Errorf("%srules: there is none: write at least one, such as \"- level: Metadata\"", at.At("rules")))
	}
	if len(errs) > 0 {
		return nil, nil, at.Error(errors.Join(errs...))
	}
	return p, warnings, nil
}

// checkKind returns an error if the document is not a policy.
func checkKind(at fieldlines.Document) error {
	if !at.Readable() {
		return nil
	}
	for _, must := range []struct{ field, be string }{{"apiVersion", Version}, {"kind", "Policy"}} {
		switch is, there := at.Value(must.field); {
		case !there:
			return fmt.Errorf("%s: it is missing: write %s: %s", must.field, must.field, must.be)
		case is != must.be:
			return fmt.Errorf("%s%s: %q must be %q", at.At(must.field), must.field, is, must.be)
		}
	}
	return nil
}
