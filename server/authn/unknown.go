package authn

import (
	"errors"

	"github.com/kx-apiserver/kx/server/authn/bearer"
)

// Unknown is the error of credentials that no authenticator knows. Its text is that of a kube-apiserver, without the
// rejections.
type Unknown struct {
	error
	// Rejections lists the reasons of the authenticators, in their order.
	Rejections []*bearer.Rejection
}

func (u *Unknown) Unwrap() error { return u.error }

// The client gets one of these errors if there are only rejections.
var (
	errInvalidToken  = errors.New("invalid bearer token")
	errNoCredentials = errors.New("no credentials that this server knows")
)

func unknown(err error) error {
	rejections, rest := bearer.SplitRejections(err)
	if len(rejections) == 0 {
		return err
	}
	switch {
	case rest != nil:
	case rejections[0].Why == anonymousElsewhere:
		rest = errNoCredentials
	default:
		rest = errInvalidToken
	}
	return &Unknown{error: rest, Rejections: rejections}
}
