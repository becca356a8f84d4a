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

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/group"
	"k8s.io/apiserver/pkg/authentication/request/bearertoken"
	"k8s.io/apiserver/pkg/authentication/request/union"
	"k8s.io/apiserver/pkg/authentication/request/websocket"
	x509request "k8s.io/apiserver/pkg/authentication/request/x509"
	"k8s.io/apiserver/pkg/authentication/token/tokenfile"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/kx-apiserver/kx/server/identity"
)

// Config says which credentials are accepted.
type Config struct {
	// ClientCAs returns the authorities whose client certificates are accepted at present.
	ClientCAs func() *x509.CertPool
	// TokenFile is a CSV file of bearer tokens; empty for none.
	TokenFile string
	// Audiences are those whom the tokens of the file are for: servers of this cluster's API.
	Audiences []string
	// Anonymous lets requests without credentials through to AnonymousPaths.
	Anonymous bool
}

// AnonymousPaths are open to everybody: exactly these, and none below them, as in the role system:public-info-viewer.
var AnonymousPaths = []string{"/healthz", "/livez", "/readyz", "/version", "/version/"}

// New makes the authenticator.
func New(c Config) (authenticator.Request, error) {
	verify := func() (x509.VerifyOptions, bool) {
		options := x509request.DefaultVerifyOptions()
		options.Roots = c.ClientCAs()
		return options, true
	}
	certificates := x509request.NewDynamic(verify, x509request.CommonNameUserConversion)
	ways := []authenticator.Request{onceAConnection(group.NewAuthenticatedGroupAdder(certificates))}
	if c.TokenFile != "" {
		if err := checkTokenFile(c.TokenFile); err != nil {
			return nil, err
		}
		tokens, err := tokenfile.NewCSV(c.TokenFile)
		if err != nil {
			return nil, fmt.Errorf("read --token-auth-file: %w", err)
		}
		forServer := authenticator.WrapAudienceAgnosticToken(c.Audiences, tokens)
		ways = append(ways, group.NewAuthenticatedGroupAdder(
			union.New(bearertoken.New(forServer), websocket.NewProtocolAuthenticator(forServer))))
	}
	known := union.New(ways...)
	if !c.Anonymous {
		return known, nil
	}
	return union.NewFailOnError(known, authenticator.RequestFunc(anonymous)), nil
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
	return &authenticator.Response{User: &user.DefaultInfo{
		Name:   user.Anonymous,
		Groups: []string{user.AllUnauthenticated},
	}}, true, nil
}
