package authn

import (
	"errors"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/authn/doubt"
)

// Unknown is the error of credentials that nobody believes. It reads as that of a kube-apiserver, which says nothing of doubts.
type Unknown struct {
	error
	// Doubts are why authenticators did not believe it, in the order in which they were asked.
	Doubts []*doubt.Doubt
}

func (u *Unknown) Unwrap() error { return u.error }

// What is left if nobody does more than doubt.
var (
	errInvalidToken  = errors.New("invalid bearer token")
	errNoCredentials = errors.New("no credentials that this server knows")
)

func unknown(err error) error {
	doubts, rest := doubt.Split(err)
	if len(doubts) == 0 {
		return err
	}
	switch {
	case rest != nil:
	case doubts[0].Why == trace.AnonymousElsewhere:
		rest = errNoCredentials
	default:
		rest = errInvalidToken
	}
	return &Unknown{error: rest, Doubts: doubts}
}
