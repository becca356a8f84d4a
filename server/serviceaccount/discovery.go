package serviceaccount

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"

	"github.com/go-jose/go-jose/v4"
)

// The paths of the documents. OpenID Connect Discovery prescribes the first.
const (
	ConfigurationPath = "/.well-known/openid-configuration"
	KeySetPath        = "/openid/v1/jwks"
)

// Discovery holds the documents for verifying tokens: the issuer, and the public keys.
type Discovery struct {
	Configuration, KeySet []byte
}

// configuration is the part of OpenID's metadata that verification needs. There is no login here.
type configuration struct {
	Issuer        string   `json:"issuer"`
	KeySetURI     string   `json:"jwks_uri"`
	ResponseTypes []string `json:"response_types_supported"`
	SubjectTypes  []string `json:"subject_types_supported"`
	Algorithms    []string `json:"id_token_signing_alg_values_supported"`
}

// Discovery returns the documents for tokens of an issuer, which must be an https URL that can take a path. The
// keys are at keySetURI.
func (k *Keys) Discovery(issuer, keySetURI string) (*Discovery, error) {
	at, err := url.Parse(issuer)
	switch {
	case err != nil:
		return nil, err
	case at.Scheme != "https":
		return nil, fmt.Errorf("the issuer %s is not an https URL", issuer)
	case at.RawQuery != "" || at.Fragment != "":
		return nil, fmt.Errorf("the issuer %s has a query or a fragment", issuer)
	}
	set := jose.JSONWebKeySet{}
	var algorithms []string
	for _, public := range k.public {
		alg, err := algorithm(public.Key)
		if err != nil {
			return nil, err
		}
		key := jose.JSONWebKey{Key: public.Key, KeyID: public.ID, Algorithm: string(alg), Use: "sig"}
		if !key.Valid() {
			return nil, fmt.Errorf("the key %s is not valid", public.ID)
		}
		set.Keys = append(set.Keys, key)
		algorithms = append(algorithms, string(alg))
	}
	slices.Sort(algorithms)
	config, err := json.Marshal(configuration{
		Issuer: issuer, KeySetURI: keySetURI,
		ResponseTypes: []string{"id_token"}, SubjectTypes: []string{"public"}, Algorithms: slices.Compact(algorithms),
	})
	keys, keysErr := json.Marshal(set)
	return &Discovery{Configuration: config, KeySet: keys}, errors.Join(err, keysErr)
}
