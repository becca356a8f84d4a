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
	"github.com/kx-apiserver/kx/server/authn/bootstrap"
	"github.com/kx-apiserver/kx/server/authn/issuer"
)

// Known is a user, and by what the server knows it.
type Known struct {
	user.Info
	// Why says by what, with Text for its place in the sentence.
	Why  trace.Reason
	Text string
	// Bound is the object that a token ends with, such as "pod web-0"; empty for none.
	Bound string
}

// knownBy says by what a user is known, once a credential has proved who it is.
type knownBy func(user.Info) Known

// respond puts what is known of the user into an answer.
func (k knownBy) respond(answer *authenticator.Response) *authenticator.Response {
	known := k(answer.User)
	known.Info = authenticated(answer.User)
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

func byRequest(next authenticator.Request, of func(*http.Request) Known) authenticator.Request {
	return authenticator.RequestFunc(func(r *http.Request) (*authenticator.Response, bool, error) {
		answer, ok, err := next.AuthenticateRequest(r)
		if err != nil || !ok {
			return nil, false, err
		}
		return knownBy(func(user.Info) Known { return of(r) }).respond(answer), true, nil
	})
}

func knownByCertificate(*http.Request) Known { return Known{Why: trace.KnownByCertificate} }

// knownByProxy names the proxy, whose certificate has been verified.
func knownByProxy(r *http.Request) Known {
	return Known{Why: trace.KnownByProxy, Text: r.TLS.PeerCertificates[0].Subject.CommonName}
}

func knownByFile(user.Info) Known { return Known{Why: trace.KnownByTokenFile} }

// knownByAccount names the service account, and what its token is bound to.
func knownByAccount(who user.Info) Known {
	namespace, name, err := accounts.SplitUsername(who.GetName())
	if err != nil {
		namespace, name = "", who.GetName()
	}
	k := Known{Why: trace.KnownByAccountToken, Text: namespace + "/" + name}
	for _, of := range []struct{ kind, key string }{{"pod ", accounts.PodNameKey}, {"node ", accounts.NodeNameKey}} {
		if values := who.GetExtra()[of.key]; len(values) > 0 && k.Bound == "" {
			k.Bound = of.kind + values[0]
		}
	}
	return k
}

func knownByBootstrapToken(who user.Info) Known {
	return Known{Why: trace.KnownByBootstrapToken, Text: bootstrap.SecretName(who)}
}

func knownByIssuer(who user.Info) Known {
	k := Known{Why: trace.KnownByIssuer}
	if of, ok := who.(*issuer.User); ok {
		k.Text = of.Issuer
	}
	return k
}

// authenticated adds the group of all users that are known.
func authenticated(u user.Info) user.Info {
	if u.GetName() == user.Anonymous || slices.Contains(u.GetGroups(), user.AllAuthenticated) || slices.Contains(u.GetGroups(), user.AllUnauthenticated) {
		return u
	}
	groups := append(slices.Clone(u.GetGroups()), user.AllAuthenticated)
	return &user.DefaultInfo{Name: u.GetName(), UID: u.GetUID(), Groups: groups, Extra: u.GetExtra()}
}
