package kms_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	kmsv2 "k8s.io/kms/apis/v2"

	"github.com/kx-apiserver/kx/store/transform/kms/kmstest"
)

// bounded checks that an error is not as long as a plugin likes.
func bounded(t *testing.T, err error) {
	t.Helper()
	if err != nil && len(err.Error()) > 2<<10 {
		t.Errorf("the error has %d bytes: %.200s", len(err.Error()), err.Error())
	}
}

// TestPluginThatLies: nothing is written with what a plugin must not say, and the next answer counts again.
func TestPluginThatLies(t *testing.T) {
	t.Parallel()
	encrypt := func(change func(*kmsv2.EncryptResponse)) kmstest.Spoil {
		return kmstest.Spoil{Encrypt: func(r *kmsv2.EncryptResponse) error {
			change(r)
			return nil
		}}
	}
	large := strings.Repeat("x", 10<<20)
	for name, c := range map[string]struct {
		spoil kmstest.Spoil
		want  string
	}{
		"another key":          {encrypt(func(r *kmsv2.EncryptResponse) { r.KeyId = "2" }), "another key than the one that its status names"},
		"no key":               {encrypt(func(r *kmsv2.EncryptResponse) { r.KeyId = "" }), "keyID is empty"},
		"a key too long":       {encrypt(func(r *kmsv2.EncryptResponse) { r.KeyId = large[:1025] }), "keyID is 1025 bytes"},
		"nothing":              {encrypt(func(r *kmsv2.EncryptResponse) { r.Ciphertext = nil }), "encrypted DEK source is empty"},
		"too much":             {encrypt(func(r *kmsv2.EncryptResponse) { r.Ciphertext = []byte(large)[:1025] }), "encrypted DEK source is 1025 bytes"},
		"far too much":         {encrypt(func(r *kmsv2.EncryptResponse) { r.Ciphertext = []byte(large) }), "larger than max"},
		"a wrong annotation":   {encrypt(func(r *kmsv2.EncryptResponse) { r.Annotations = map[string][]byte{"a\nb": nil} }), "not a fully qualified domain name"},
		"endless annotations":  {encrypt(func(r *kmsv2.EncryptResponse) { r.Annotations = map[string][]byte{"a.example": []byte(large)[:40<<10]} }), "total size of annotations is"},
		"a refusal of a novel": {kmstest.Spoil{Encrypt: func(*kmsv2.EncryptResponse) error { return errors.New(large[:1<<20]) }}, "failed to encrypt DEK"},
		"a state of a novel": {kmstest.Spoil{Status: func(r *kmsv2.StatusResponse) error {
			r.Healthz, r.Version = large[:30<<10], large[:30<<10]
			return nil
		}}, "unexpected healthz status"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := kmstest.Serve(t, "1")
			p.Spoil(c.spoil)
			e, clock := open(t, p, patience)
			_, err := e.Seal(t.Context(), []byte("value"), place)
			fails(t, err, `the KMS plugin "vault" at `, c.want)
			bounded(t, err)
			p.Spoil(kmstest.Spoil{})
			clock.add(10 * time.Second)
			opens(t, e, seal(t, e, "value"), "value", false)
		})
	}
}

// TestPluginThatDecryptsWrongly: a plugin that once decrypts to something else is asked again, and no error has what it answered.
func TestPluginThatDecryptsWrongly(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(*kmsv2.DecryptResponse) error{
		"other bytes": func(r *kmsv2.DecryptResponse) error {
			r.Plaintext = []byte(strings.Repeat("other bytes", 10))
			return nil
		},
		"nothing": func(r *kmsv2.DecryptResponse) error {
			r.Plaintext = nil
			return nil
		},
		"half": func(r *kmsv2.DecryptResponse) error {
			r.Plaintext = r.Plaintext[:16]
			return nil
		},
		"too much": func(r *kmsv2.DecryptResponse) error {
			r.Plaintext = []byte(strings.Repeat("other bytes", 1<<20))
			return nil
		},
		"a refusal that quotes it": func(r *kmsv2.DecryptResponse) error {
			return status.Errorf(codes.InvalidArgument, "%s", fmt.Sprintf("no key for %s", strings.Repeat("y", 1<<20)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := kmstest.Serve(t, "1")
			writer, _ := open(t, p, patience)
			stored := seal(t, writer, "value")
			e, clock := open(t, p, patience)
			p.Spoil(kmstest.Spoil{Decrypt: answer})
			_, _, err := e.Open(t.Context(), stored, place)
			if err == nil {
				t.Fatal("it was opened")
			}
			fails(t, err, `"vault"`)
			bounded(t, err)
			if strings.Contains(err.Error(), "other bytes") {
				t.Errorf("the error has what the plugin answered: %.200s", err)
			}
			p.Spoil(kmstest.Spoil{})
			clock.add(time.Second)
			opens(t, e, stored, "value", false)
		})
	}
}

// TestDamageIsNotThePlugins: a value that is damaged costs no call of a plugin whose seed opens others.
func TestDamageIsNotThePlugins(t *testing.T) {
	t.Parallel()
	p := kmstest.Serve(t, "1")
	writer, _ := open(t, p, patience)
	stored := seal(t, writer, "value")
	e, _ := open(t, p, patience)
	opens(t, e, stored, "value", false)
	for range 10 {
		if _, _, err := e.Open(t.Context(), stored, []byte("/registry/secrets/default/b")); err == nil {
			t.Error("it was opened elsewhere")
		}
	}
	if _, decrypts := p.Calls(); decrypts != 1 {
		t.Errorf("the plugin decrypted %d times, want once", decrypts)
	}
}
