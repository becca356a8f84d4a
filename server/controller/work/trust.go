package work

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"slices"
	"time"
)

// Trust returns what clients in the cluster are to trust, where they are told to trust have. That is this server's
// authority. Of other servers on the same etcd the authorities stay beside it, in whatever order, as long as they are
// valid: what verifies the one is not taken away by the other.
func (k *Kit) Trust(have []byte) []byte {
	own, _ := k.ServerCA()
	if !k.Shared || bytes.Equal(have, own) {
		return own
	}
	mine, _ := certificates(own)
	theirs, clean := certificates(have)
	all := true
	for _, block := range mine {
		all = all && slices.ContainsFunc(theirs, block.same)
	}
	if clean && all {
		return have
	}
	trust := slices.Clone(own)
	for _, block := range theirs {
		if !slices.ContainsFunc(mine, block.same) {
			trust = append(trust, pem.EncodeToMemory(&pem.Block{Type: certificate, Bytes: block})...)
		}
	}
	return trust
}

// Renewals are the moments at which clients begin to verify this server by another certificate.
type Renewals struct {
	kit  *Kit
	next <-chan struct{}
}

// Renewals returns those from now on.
func (k *Kit) Renewals() *Renewals {
	_, next := k.ServerCA()
	return &Renewals{k, next}
}

// Run calls a function at each of them, again until it succeeds, and returns when ctx ends.
func (r *Renewals) Run(ctx context.Context, do func(context.Context) error) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.next:
		}
		_, r.next = r.kit.ServerCA()
		var pause Backoff
		for {
			err := do(ctx)
			if err == nil {
				break
			}
			r.kit.Log.Warn("cannot look for what has the old authority: trying again", "error", err)
			if !pause.Wait(ctx) {
				return
			}
		}
	}
}

const certificate = "CERTIFICATE"

type der []byte

func (d der) same(other der) bool { return bytes.Equal(d, other) }

// certificates are those in a text that are valid. clean says that the text has nothing else.
func certificates(text []byte) (valid []der, clean bool) {
	clean = true
	for now := time.Now(); ; {
		block, rest := pem.Decode(text)
		if block == nil {
			return valid, clean && len(bytes.TrimSpace(rest)) == 0
		}
		clean = clean && bytes.HasPrefix(text, []byte("-----BEGIN "+certificate))
		text = rest
		cert, err := x509.ParseCertificate(block.Bytes)
		if block.Type != certificate || err != nil || now.After(cert.NotAfter) {
			clean = false
			continue
		}
		valid = append(valid, block.Bytes)
	}
}
