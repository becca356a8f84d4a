package authn

import (
	"crypto/x509"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
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
	"github.com/kx-apiserver/kx/server/authn/account"
	"github.com/kx-apiserver/kx/server/identity"
	"github.com/kx-apiserver/kx/server/serviceaccount"
)

// Config says which credentials are accepted.
type Config struct {
	// ClientCAs returns the authorities whose client certificates are accepted at present.
	ClientCAs func() *x509.CertPool
	// FrontProxy says in headers who asks.
	FrontProxy FrontProxy
	// TokenFile is a CSV file of bearer tokens; empty for none.
	TokenFile string
	// Audiences are those whom tokens are for that name nobody else: servers of this cluster's API.
	Audiences []string
	// AccountKeys verify the tokens of service accounts that AccountIssuers have issued.
	AccountKeys    *serviceaccount.Keys
	AccountIssuers []string
	// Anonymous lets requests without credentials through to AnonymousPaths.
	Anonymous bool
}

// AnonymousPaths are open to everybody: exactly these, and none below them, as in the role system:public-info-viewer.
var AnonymousPaths = []string{"/healthz", "/livez", "/readyz", "/version", "/version/"}

// rememberedFor is how long a token is believed without being verified again. A kube-apiserver does it as long. For so long, the token
// of an account that was deleted is still accepted.
const rememberedFor = 10 * time.Second

// Authenticator finds out who sent a request. Its users are [Known].
type Authenticator struct {
	authenticator.Request
	objects *account.Objects
	// proxy has all headers by which a proxy may say who asks.
	proxy FrontProxy
}

// AuthenticateRequest removes the headers of a proxy, whoever sent them: they are for nobody else.
func (a *Authenticator) AuthenticateRequest(r *http.Request) (*authenticator.Response, bool, error) {
	answer, ok, err := a.Request.AuthenticateRequest(r)
	a.clear(r.Header)
	return answer, ok, err
}

// New makes the authenticator.
func New(c Config) (*Authenticator, error) {
	verify := func() (x509.VerifyOptions, bool) {
		options := x509request.DefaultVerifyOptions()
		options.Roots = c.ClientCAs()
		return options, true
	}
	a := &Authenticator{objects: &account.Objects{}, proxy: c.FrontProxy.headers()}
	tokens, err := a.tokens(c)
	if err != nil {
		return nil, err
	}
	var ways []authenticator.Request
	if c.FrontProxy.CAs != nil {
		// Each request of the proxy's connection is of another user.
		ways = append(ways, byRequest(c.FrontProxy.authenticator(), knownByProxy))
	}
	a.Request = union.New(append(ways,
		onceAConnection(byRequest(x509request.NewDynamic(verify, x509request.CommonNameUserConversion), knownByCertificate)),
		bearertoken.New(tokens),
		websocket.NewProtocolAuthenticator(tokens),
	)...)
	if c.Anonymous {
		a.Request = union.NewFailOnError(a.Request, authenticator.RequestFunc(anonymous))
	}
	return a, nil
}

// Initialize gives it the storages of the objects that tokens depend on, before the first request.
func (a *Authenticator) Initialize(storages map[schema.GroupVersionResource]rest.Storage) {
	a.objects.Initialize(storages)
}

// tokens makes the authenticator of tokens. Those that it knows itself come first.
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
	accounts := account.Config{Keys: c.AccountKeys, Issuers: c.AccountIssuers, Audiences: c.Audiences, Objects: a.objects}
	ways = append(ways, byToken(account.Legacy(accounts), knownByAccount), byToken(account.Bound(accounts), knownByAccount))
	return cache.New(tokenunion.New(ways...), true, rememberedFor, 0), nil
}

// checkTokenFile refuses a file that others may read, and a row without a user name: code that knows users by their names
// would take its bearer for no user at all.
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
			return fmt.Errorf("--token-auth-file: line %d of %s has %d columns: write token,user,uid and, if you like, \"group1,group2\"", line, path, len(row))
		}
		if strings.TrimSpace(row[1]) == "" {
			return fmt.Errorf("--token-auth-file: line %d of %s has no user name: write token,user,uid", line, path)
		}
	}
}

// anonymous authenticates requests without credentials as system:anonymous, on open paths. An unknown token is a credential,
// too, and is not accepted here.
func anonymous(r *http.Request) (*authenticator.Response, bool, error) {
	if r.Header.Get("Authorization") != "" || !slices.Contains(AnonymousPaths, r.URL.Path) {
		return nil, false, nil
	}
	return &authenticator.Response{User: &Known{
		Info: &user.DefaultInfo{Name: user.Anonymous, Groups: []string{user.AllUnauthenticated}},
		Why:  trace.KnownAsNobody,
	}}, true, nil
}
