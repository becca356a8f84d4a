package policy

import (
	"bytes"
	"context"
	"io"

	"k8s.io/apiserver/pkg/admission/plugin/policy/config"

	"github.com/kx-apiserver/kx/server/admission/manifest"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/reload"
)

// MutatingDir reads a MutatingAdmissionPolicyConfiguration and returns its directory of manifests, empty for
// none.
func MutatingDir(data []byte) (string, error) { return dirOf(data, config.LoadMutatingConfig) }

// ValidatingDir reads a ValidatingAdmissionPolicyConfiguration and returns its directory of manifests, empty
// for none.
func ValidatingDir(data []byte) (string, error) { return dirOf(data, config.LoadValidatingConfig) }

func dirOf(data []byte, load func(io.Reader) (config.PolicyConfig, error)) (string, error) {
	if len(data) == 0 {
		return "", nil
	}
	c, err := load(bytes.NewReader(data))
	return c.StaticManifestsDir, err
}

// TakeMutating replaces the mutating policies from files.
func (p *Policies) TakeMutating(_ context.Context, files []reload.File, _ string) error {
	policies, bindings, err := manifest.MutatingPolicies(files)
	if err == nil {
		take(&p.mutating, policies, bindings, p.mutatingPolicy, mutatingBinding)
	}
	return err
}

// TakeValidating replaces the validating policies from files.
func (p *Policies) TakeValidating(_ context.Context, files []reload.File, _ string) error {
	policies, bindings, err := manifest.ValidatingPolicies(files)
	if err == nil {
		take(&p.validating, policies, bindings, p.validatingPolicy, validatingBinding)
	}
	return err
}

func take[P, B builtin.Object, E any](into *set[E], policies []P, bindings []B, ofPolicy func(P) policy[E], ofBinding func(B) *binding) {
	known := map[string]policy[E]{}
	for _, obj := range policies {
		known[obj.GetName()] = ofPolicy(obj)
	}
	all := boundPolicies(known, byPolicy(bindings, ofBinding))
	into.static.Store(&all)
}
