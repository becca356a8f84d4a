package issuer

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	authenticationcel "k8s.io/apiserver/pkg/authentication/cel"
	tokenunion "k8s.io/apiserver/pkg/authentication/token/union"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/plugin/pkg/authenticator/token/oidc"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/authn/bearer"
	"github.com/kx-apiserver/kx/server/webhook"
)

const (
	// mostBytes limits a document of an issuer: its configuration, its keys, a distributed claim.
	mostBytes = 1 << 20
	// patience is the timeout for an issuer's answer, the same as in a kube-apiserver.
	patience = 30 * time.Second
	// keysFor is the time after which an issuer's keys are fetched again, and so the longest that a withdrawn key
	// counts.
	keysFor = 5 * time.Minute
)

// User is a user and its issuer.
type User struct {
	user.Info
	Issuer string
}

// generation holds the issuers of one configuration.
type generation struct {
	urls sets.Set[string]
	// known authenticates tokens of these issuers. It has no opinion of others.
	known  authenticator.Token
	checks []func() error
	cancel context.CancelFunc
}

// newGeneration makes authenticators that at once start to connect to their issuers, until ctx ends.
func newGeneration(
	ctx context.Context, configuration *apiserver.AuthenticationConfiguration, compiler authenticationcel.Compiler,
	algorithms []string, c *Config,
) (*generation, error) {
	g := &generation{urls: sets.New[string]()}
	ctx, g.cancel = context.WithCancel(ctx)
	var all []authenticator.Token
	for i := range configuration.JWT {
		one := &configuration.JWT[i]
		client, err := newClient(ctx, one.Issuer.CertificateAuthority, cmp.Or(c.KeysFor, keysFor))
		if err != nil {
			g.cancel()
			return nil, fmt.Errorf("jwt[%d].issuer.certificateAuthority: %w", i, err)
		}
		a, err := oidc.New(ctx, oidc.Options{
			JWTAuthenticator: *one, Client: client, Compiler: compiler, SupportedSigningAlgs: algorithms,
			DisallowedIssuers: c.Ours, APIServerID: c.Process,
		})
		if err != nil {
			g.cancel()
			return nil, fmt.Errorf("jwt[%d]: %w", i, err)
		}
		go refresh(ctx, a, forgeToken(one.Issuer.URL, algorithms), cmp.Or(c.KeysFor, keysFor))
		all = append(all, nameIssuer(a, one.Issuer.URL, a.HealthCheck))
		g.urls.Insert(one.Issuer.URL)
		g.checks = append(g.checks, a.HealthCheck)
	}
	g.known = tokenunion.NewFailOnError(all...)
	return g, nil
}

// ready returns an error that names the issuers that have not been reached.
func (g *generation) ready() error {
	var errs []error
	for _, check := range g.checks {
		errs = append(errs, check())
	}
	return errors.Join(errs...)
}

// refresh makes the library fetch an issuer's keys regularly, by a token that none of them has signed. By itself the
// library fetches only for a client's token of an unknown key. A withdrawn key would then count until a client sends a
// token of a new one.
func refresh(ctx context.Context, next authenticator.Token, token string, every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			_, _, _ = next.AuthenticateToken(ctx, token) // a failure leaves the keys as they are
		}
	}
}

// forgeToken returns a token of an issuer that names a key which the issuer does not have.
func forgeToken(issuer string, algorithms []string) string {
	algorithm := "RS256" // the library's own
	if len(algorithms) > 0 {
		algorithm = algorithms[0]
	}
	header, _ := json.Marshal(map[string]string{"alg": algorithm, "kid": "kx-refreshes-keys"})
	payload, _ := json.Marshal(map[string]string{"iss": issuer})
	encode := base64.RawURLEncoding.EncodeToString
	return encode(header) + "." + encode(payload) + "." + encode([]byte("none"))
}

// newClient returns a client that verifies servers by the authorities in PEM, or by those of this machine. It follows
// redirects, as a kube-apiserver does, because documents may be elsewhere.
func newClient(ctx context.Context, authorities string, most time.Duration) (*http.Client, error) {
	config := &tls.Config{}
	if authorities != "" {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM([]byte(authorities)) {
			return nil, errors.New("there is no certificate in it")
		}
	}
	transport := utilnet.SetTransportDefaults(&http.Transport{TLSClientConfig: config})
	context.AfterFunc(ctx, transport.CloseIdleConnections)
	return &http.Client{Transport: moderate{webhook.Documents(transport, mostBytes), most}, Timeout: patience}, nil
}

var (
	issuerAway = trace.Because("issuer-away",
		"the server can't check the token before it has reached its issuer: {why:word}",
		"服务联系上签发者之前无法检查令牌：{why:word}")
	tokenOfIssuerWrong = trace.Because("token-of-issuer-wrong",
		"the token is to be of the issuer {issuer:quote}, and does not hold",
		"令牌自称由 {issuer:quote} 签发，但检查没有通过")
)

// nameIssuer adds the issuer to the answers and errors of its authenticator.
func nameIssuer(next authenticator.Token, issuer string, check func() error) authenticator.Token {
	return authenticator.TokenFunc(func(ctx context.Context, token string) (*authenticator.Response, bool, error) {
		answer, ok, err := next.AuthenticateToken(ctx, token)
		if err != nil {
			why := bearer.NewRejection(tokenOfIssuerWrong, issuer)
			if away := check(); away != nil {
				why = bearer.NewRejection(issuerAway, away.Error())
			}
			return nil, false, utilerrors.NewAggregate([]error{err, why})
		}
		if !ok {
			return nil, false, nil
		}
		return &authenticator.Response{User: &User{Info: answer.User, Issuer: issuer}, Audiences: answer.Audiences}, true, nil
	})
}

var issuerUnknown = trace.Because("issuer-unknown",
	"the token names the issuer {issuer:quote}, and that is none whom the server believes",
	"令牌写明的签发者是 {issuer:quote}，服务不信任这个签发者")

// unheardOf returns a rejection for a token of an unknown issuer. It returns nil for a token of a service account, or
// one that is no JSON Web Token.
func unheardOf(token string, ours []string) error {
	parts := strings.SplitN(token, ".", 4)
	if len(parts) != 3 {
		return nil
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return nil
	}
	var claims struct {
		Issuer *string `json:"iss"`
	}
	if json.Unmarshal(payload, &claims) != nil || claims.Issuer == nil || sets.New(ours...).Has(*claims.Issuer) {
		return nil
	}
	return bearer.NewRejection(issuerUnknown, *claims.Issuer)
}
