package authn

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	accounts "k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/authn/bearer"
	"github.com/kx-apiserver/kx/server/authn/issuer"
)

// Identity is a user and the way in which it was authenticated.
type Identity struct {
	user.Info
	// Why is the way, with Text as its placeholder.
	Why  trace.Reason
	Text string
	// Bound is the object whose end invalidates the token, such as "pod web-0"; empty for none.
	Bound string
}

// knownBy describes the way in which a user was authenticated.
type knownBy func(user.Info) Identity

// respond adds the description to the user of an answer.
func (k knownBy) respond(answer *authenticator.Response) *authenticator.Response {
	known := k(answer.User)
	known.Info = addAuthenticated(answer.User)
	return &authenticator.Response{Audiences: answer.Audiences, User: &known}
}

func byToken(next authenticator.Token, k knownBy) authenticator.Token {
	return authenticator.TokenFunc(func(ctx context.Context, token string) (*authenticator.Response, bool, error) {
		answer, ok, err := next.AuthenticateToken(ctx, token)
		if err != nil || !ok {
			return nil, false, err
		}
		if answer.User.GetName() == "" { // which stands for no user elsewhere
			return nil, false, errors.New("the token is of a user without a name")
		}
		return k.respond(answer), true, nil
	})
}

func byRequest(next authenticator.Request, of func(*http.Request) Identity) authenticator.Request {
	return authenticator.RequestFunc(func(r *http.Request) (*authenticator.Response, bool, error) {
		answer, ok, err := next.AuthenticateRequest(r)
		if err != nil || !ok {
			return nil, false, err
		}
		return knownBy(func(user.Info) Identity { return of(r) }).respond(answer), true, nil
	})
}

var whyKnownByCertificate = trace.Because("known-by-certificate",
	"by the client certificate",
	"依据客户端证书")

func knownByCertificate(*http.Request) Identity { return Identity{Why: whyKnownByCertificate} }

var whyKnownByProxy = trace.Because("known-by-proxy",
	"by the headers of the proxy {name:word}, which has found out who asks",
	"依据代理 {name:word} 的请求头，由它完成身份认证")

// knownByProxy names the proxy by its verified certificate.
func knownByProxy(r *http.Request) Identity {
	return Identity{Why: whyKnownByProxy, Text: r.TLS.PeerCertificates[0].Subject.CommonName}
}

var knownByTokenFile = trace.Because("known-by-token-file",
	"by a token of --token-auth-file",
	"依据 --token-auth-file 中的令牌")

func knownByFile(user.Info) Identity { return Identity{Why: knownByTokenFile} }

var knownByAccountToken = trace.Because("known-by-account-token",
	"by a token of the service account {account:word}",
	"依据服务账号 {account:word} 的令牌")

// knownByAccount names the service account and the object to which its token is bound.
func knownByAccount(who user.Info) Identity {
	namespace, name, err := accounts.SplitUsername(who.GetName())
	if err != nil {
		namespace, name = "", who.GetName()
	}
	k := Identity{Why: knownByAccountToken, Text: namespace + "/" + name}
	for _, of := range []struct{ kind, key string }{{"pod ", accounts.PodNameKey}, {"node ", accounts.NodeNameKey}} {
		if values := who.GetExtra()[of.key]; len(values) > 0 && k.Bound == "" {
			k.Bound = of.kind + values[0]
		}
	}
	return k
}

var whyKnownByBootstrapToken = trace.Because("known-by-bootstrap-token",
	"by the bootstrap token of the Secret kube-system/{secret:word}",
	"依据 Secret kube-system/{secret:word} 中的引导令牌")

func knownByBootstrapToken(who user.Info) Identity {
	return Identity{Why: whyKnownByBootstrapToken, Text: bearer.BootstrapSecret(who)}
}

var whyKnownByIssuer = trace.Because("known-by-issuer",
	"by a token of the issuer {issuer:quote}",
	"依据签发者 {issuer:quote} 的令牌")

func knownByIssuer(who user.Info) Identity {
	k := Identity{Why: whyKnownByIssuer}
	if of, ok := who.(*issuer.User); ok {
		k.Text = of.Issuer
	}
	return k
}

// addAuthenticated adds the group system:authenticated.
func addAuthenticated(u user.Info) user.Info {
	if u.GetName() == user.Anonymous || slices.Contains(u.GetGroups(), user.AllAuthenticated) ||
		slices.Contains(u.GetGroups(), user.AllUnauthenticated) {
		return u
	}
	groups := append(slices.Clone(u.GetGroups()), user.AllAuthenticated)
	return &user.DefaultInfo{Name: u.GetName(), UID: u.GetUID(), Groups: groups, Extra: u.GetExtra()}
}
