package authn

import (
	"errors"

	"github.com/kx-apiserver/kx/server/authn/bearer"
)

// Unknown is the error of credentials that no authenticator knows. Its text is that of a kube-apiserver, without the
// doubts.
type Unknown struct {
	error
	// Doubts lists the reasons of the authenticators, in their order.
	Doubts []*bearer.Doubt
}

func (u *Unknown) Unwrap() error { return u.error }

// The client gets one of these errors if there are only doubts.
var (
	errInvalidToken  = errors.New("invalid bearer token")
	errNoCredentials = errors.New("no credentials that this server knows")
)

func unknown(err error) error {
	doubts, rest := bearer.SplitDoubts(err)
	if len(doubts) == 0 {
		return err
	}
	switch {
	case rest != nil:
	case doubts[0].Why == anonymousElsewhere:
		rest = errNoCredentials
	default:
		rest = errInvalidToken
	}
	return &Unknown{error: rest, Doubts: doubts}
}
