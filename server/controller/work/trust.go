package work

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"slices"
	"time"
)

// Trust returns the authorities that clients in the cluster should trust; have is the present list. The result
// has this server's authority. If servers share the etcd, it keeps the other servers' authorities, in any
// order, while they are valid: clients must still be able to verify those servers.
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

// Renewals signals each change of the certificates that verify this server.
type Renewals struct {
	kit  *Kit
	next <-chan struct{}
}

// Renewals returns the changes from now on.
func (k *Kit) Renewals() *Renewals {
	_, next := k.ServerCA()
	return &Renewals{k, next}
}

// Run calls a function at each change, again until it succeeds, and returns when ctx ends.
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

// certificates returns the valid certificates in a text. clean means that the text has nothing else.
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
