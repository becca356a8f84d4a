package issuer

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/apis/apiserver/install"
	"k8s.io/apiserver/pkg/apis/apiserver/validation"
	authenticationcel "k8s.io/apiserver/pkg/authentication/cel"

	"github.com/kx-apiserver/kx/core/lines"
)

// Flags holds the flags --oidc-*, which describe one issuer.
type Flags struct {
	IssuerURL, ClientID, CAFile   string
	UsernameClaim, UsernamePrefix string
	GroupsClaim, GroupsPrefix     string
	SigningAlgs                   []string
	RequiredClaims                map[string]string
}

// noPrefix is the flag's value for user names without a prefix.
const noPrefix = "-"

// configuration returns the configuration that the flags abbreviate.
func (f *Flags) configuration() (*apiserver.AuthenticationConfiguration, error) {
	prefix := f.UsernamePrefix
	switch {
	case prefix == noPrefix:
		prefix = ""
	case prefix == "" && f.UsernameClaim != "email":
		prefix = f.IssuerURL + "#"
	}
	one := apiserver.JWTAuthenticator{
		Issuer:        apiserver.Issuer{URL: f.IssuerURL, Audiences: []string{f.ClientID}},
		ClaimMappings: apiserver.ClaimMappings{Username: apiserver.PrefixedClaimOrExpression{Claim: f.UsernameClaim, Prefix: &prefix}},
	}
	if f.GroupsClaim != "" {
		one.ClaimMappings.Groups = apiserver.PrefixedClaimOrExpression{Claim: f.GroupsClaim, Prefix: &f.GroupsPrefix}
	}
	if f.CAFile != "" {
		pem, err := os.ReadFile(f.CAFile)
		if err != nil {
			return nil, fmt.Errorf("--oidc-ca-file: %w", err)
		}
		one.Issuer.CertificateAuthority = string(pem)
	}
	for _, claim := range slices.Sorted(maps.Keys(f.RequiredClaims)) {
		one.ClaimValidationRules = append(one.ClaimValidationRules,
			apiserver.ClaimValidationRule{Claim: claim, RequiredValue: f.RequiredClaims[claim]})
	}
	return &apiserver.AuthenticationConfiguration{JWT: []apiserver.JWTAuthenticator{one}}, nil
}

// parse parses a file. Errors name the line and the field.
func parse(data []byte) (_ *apiserver.AuthenticationConfiguration, err error) {
	defer func() { err = lines.Error(data, err) }()
	if len(data) == 0 {
		return nil, errors.New("it is empty: it must have an AuthenticationConfiguration of apiserver.config.k8s.io")
	}
	scheme := runtime.NewScheme()
	install.Install(scheme)
	object, err := runtime.Decode(serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDecoder(), data)
	if err != nil {
		return nil, err
	}
	configuration, ok := object.(*apiserver.AuthenticationConfiguration)
	if !ok {
		return nil, fmt.Errorf("kind: it must have an AuthenticationConfiguration, and has another kind of apiserver.config.k8s.io")
	}
	return configuration, nil
}

// validate returns an error that names the invalid fields. ours are the issuers of service accounts, which the file
// must not name.
func validate(configuration *apiserver.AuthenticationConfiguration, compiler authenticationcel.Compiler, ours []string) error {
	for i := range configuration.JWT {
		if kind := configuration.JWT[i].Issuer.EgressSelectorType; kind != "" {
			return fmt.Errorf("jwt[%d].issuer.egressSelectorType: there are no egress selectors here: leave %s out", i, kind)
		}
	}
	return validation.ValidateAuthenticationConfiguration(compiler, configuration, ours).ToAggregate()
}
