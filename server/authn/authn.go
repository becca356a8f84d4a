package authn

import (
	"context"
	"crypto/x509"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/request/bearertoken"
	"k8s.io/apiserver/pkg/authentication/request/union"
	"k8s.io/apiserver/pkg/authentication/request/websocket"
	x509request "k8s.io/apiserver/pkg/authentication/request/x509"
	"k8s.io/apiserver/pkg/authentication/token/cache"
	"k8s.io/apiserver/pkg/authentication/token/tokenfile"
	tokenunion "k8s.io/apiserver/pkg/authentication/token/union"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/authn/bearer"
	"github.com/kx-apiserver/kx/server/authn/issuer"
	"github.com/kx-apiserver/kx/server/identity"
	"github.com/kx-apiserver/kx/server/serviceaccount"
)

// Config holds the accepted credentials.
type Config struct {
	// ClientCAs returns the current authorities of client certificates.
	ClientCAs func() *x509.CertPool
	// FrontProxy is a proxy that authenticates users and names them in headers.
	FrontProxy FrontProxy
	// TokenFile is a CSV file of bearer tokens; empty for none.
	TokenFile string
	// Audiences identify this API. They are the audiences of a token that names none.
	Audiences []string
	// AccountKeys verify the tokens of service accounts that AccountIssuers have issued.
	AccountKeys    *serviceaccount.Keys
	AccountIssuers []string
	// BootstrapTokens accepts the tokens of Secrets in kube-system.
	BootstrapTokens bool
	// Issuers are the accepted external issuers.
	Issuers issuer.Config
	// Webhook comes last.
	Webhook Webhook
	// Anonymous lets requests without credentials in, as the user system:anonymous. The file of the Issuers may decide
	// that instead. AnonymousGiven is true if a flag sets Anonymous.
	Anonymous, AnonymousGiven bool
}

// rememberedFor is the time for which a verified token is cached, the same as in a kube-apiserver. For as long, the
// token of a deleted account is still accepted.
const rememberedFor = 10 * time.Second

// Authenticator finds the user of a request. Its users are [Identity].
type Authenticator struct {
	authenticator.Request
	objects *bearer.Reader
	issuers *issuer.Issuers // nil for none
	// proxy has all headers in which a proxy may name the user.
	proxy FrontProxy
}

// AuthenticateRequest removes the headers of a proxy from every request, so that no handler behind it trusts them. If
// authenticators reject the credential, its error is [Unknown].
func (a *Authenticator) AuthenticateRequest(r *http.Request) (*authenticator.Response, bool, error) {
	answer, ok, err := a.Request.AuthenticateRequest(r)
	a.proxy.clear(r.Header)
	return answer, ok, unknown(err)
}

// New makes the authenticator. Its goroutines end with ctx.
func New(ctx context.Context, c Config) (_ *Authenticator, err error) {
	verify := func() (x509.VerifyOptions, bool) {
		options := x509request.DefaultVerifyOptions()
		options.Roots = c.ClientCAs()
		return options, true
	}
	a := &Authenticator{objects: &bearer.Reader{}, proxy: c.FrontProxy.headers()}
	if a.issuers, err = issuer.New(ctx, c.Issuers); err != nil {
		return nil, err
	}
	tokens, err := a.tokens(c)
	if err != nil {
		return nil, err
	}
	nobody, err := anonymous(c, a.issuers.Anonymous())
	if err != nil {
		return nil, err
	}
	var ways []authenticator.Request
	if c.FrontProxy.CAs != nil {
		// Each request on the proxy's connection has its own user.
		ways = append(ways, byRequest(c.FrontProxy.authenticator(), knownByProxy))
	}
	a.Request = union.New(append(ways,
		onceAConnection(byRequest(x509request.NewDynamic(verify, x509request.CommonNameUserConversion), knownByCertificate)),
		bearertoken.New(tokens),
		websocket.NewProtocolAuthenticator(tokens),
	)...)
	if nobody != nil {
		a.Request = union.NewFailOnError(a.Request, nobody)
	}
	return a, nil
}

// Initialize sets the storages of the objects that tokens depend on, and the function that notes each use of a secret's
// token. It must be called before the first request.
func (a *Authenticator) Initialize(storages map[schema.GroupVersionResource]rest.Storage, used func(context.Context, *corev1.Secret)) {
	a.objects.Initialize(storages, used)
}

// Run reloads the file of the issuers when it changes, until ctx ends.
func (a *Authenticator) Run(ctx context.Context) { a.issuers.Run(ctx) }

// Ready returns an error if the current file of the issuers is not in use.
func (a *Authenticator) Ready(ctx context.Context) error { return a.issuers.Ready(ctx) }

// tokens makes the authenticator of tokens. Tokens that the server can verify by itself come first, and the webhook
// last.
func (a *Authenticator) tokens(c Config) (authenticator.Token, error) {
	var ways []authenticator.Token
	if c.TokenFile != "" {
		if err := checkTokenFile(c.TokenFile); err != nil {
			return nil, err
		}
		file, err := tokenfile.NewCSV(c.TokenFile)
		if err != nil {
			return nil, fmt.Errorf("read --token-auth-file: %w", err)
		}
		ways = append(ways, byToken(authenticator.WrapAudienceAgnosticToken(c.Audiences, file), knownByFile))
	}
	accounts := bearer.AccountConfig{Keys: c.AccountKeys, Issuers: c.AccountIssuers, Audiences: c.Audiences, Objects: a.objects}
	ways = append(ways, byToken(bearer.LegacyTokens(accounts), knownByAccount), byToken(bearer.BoundTokens(accounts), knownByAccount))
	if c.BootstrapTokens {
		ways = append(ways, byToken(authenticator.WrapAudienceAgnosticToken(c.Audiences, bearer.BootstrapTokens(a.objects)),
			knownByBootstrapToken))
	}
	if a.issuers != nil {
		ways = append(ways, authenticator.WrapAudienceAgnosticToken(c.Audiences, byToken(a.issuers, knownByIssuer)))
	}
	if c.Webhook.File != "" {
		webhook, err := newWebhook(c.Webhook, c.Audiences)
		if err != nil {
			return nil, err
		}
		ways = append(ways, webhook)
	}
	return cache.New(tokenunion.New(ways...), true, rememberedFor, 0), nil
}

// checkTokenFile refuses a file that other users of the machine may read. It also refuses a row without a user name,
// because an empty name means no user in other code.
func checkTokenFile(path string) error {
	if err := identity.CheckSecret("--token-auth-file", path); err != nil {
		return err
	}
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read --token-auth-file: %w", err)
	}
	defer file.Close()
	rows := csv.NewReader(file)
	rows.FieldsPerRecord = -1
	for {
		row, err := rows.Read()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("read --token-auth-file %s: %w", path, err)
		}
		line, _ := rows.FieldPos(0)
		if len(row) < 3 {
			return fmt.Errorf("--token-auth-file: line %d of %s has %d columns: write token,user,uid and, if you like, \"group1,group2\"",
				line, path, len(row))
		}
		if strings.TrimSpace(row[1]) == "" {
			return fmt.Errorf("--token-auth-file: line %d of %s has no user name: write token,user,uid", line, path)
		}
	}
}

var (
	knownAsNobody = trace.Because("known-as-nobody",
		"the request has no credentials, so it is that of system:anonymous",
		"请求没有凭据，因此视为 system:anonymous 的请求")
	anonymousElsewhere = trace.Because("anonymous-elsewhere",
		"the request has no credentials, and its path is none that the authentication configuration opens for such",
		"请求没有凭据，认证配置也没有向这类请求开放这个路径")
)

// anonymous authenticates requests without credentials as system:anonymous, or returns nil if that is off. It never
// gets a request with an unknown token, which is a credential, too.
func anonymous(c Config, file *apiserver.AnonymousAuthConfig) (authenticator.Request, error) {
	if file != nil && c.AnonymousGiven {
		return nil, fmt.Errorf("--authentication-config: %s: anonymous: --anonymous-auth says it, too: leave out one of them",
			c.Issuers.File)
	}
	if file == nil {
		file = &apiserver.AnonymousAuthConfig{Enabled: c.Anonymous}
	}
	if !file.Enabled {
		return nil, nil
	}
	open := sets.New[string]()
	for _, condition := range file.Conditions {
		open.Insert(condition.Path)
	}
	return authenticator.RequestFunc(func(r *http.Request) (*authenticator.Response, bool, error) {
		if len(open) > 0 && !open.Has(r.URL.Path) {
			return nil, false, bearer.NewRejection(anonymousElsewhere, "")
		}
		return &authenticator.Response{User: &Identity{
			Info: &user.DefaultInfo{Name: user.Anonymous, Groups: []string{user.AllUnauthenticated}},
			Why:  knownAsNobody,
		}}, true, nil
	}), nil
}
