// Package kmstest has a KMS plugin for tests: a gRPC service on a socket that keeps its keys in memory.
//
// It is a plugin by Kubernetes' protocol v2. Tests change its key, its reported status, and whether it answers.
package kmstest

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	kmsv2 "k8s.io/kms/apis/v2"
)

// annotation is the annotation that Decrypt requires.
const annotation = "key.kmstest.example"

// Plugin is a plugin. Its functions are safe for concurrent use.
type Plugin struct {
	kmsv2.UnimplementedKeyManagementServiceServer

	// Socket is where it listens.
	Socket string

	server *grpc.Server

	mu                 sync.Mutex
	key, health        string
	version            string
	spoil              Spoil
	silent             chan struct{}
	waiting            int
	encrypts, decrypts int
}

// Spoil changes answers before they are sent. A function may be nil.
type Spoil struct {
	Status  func(*kmsv2.StatusResponse) error
	Encrypt func(*kmsv2.EncryptResponse) error
	Decrypt func(*kmsv2.DecryptResponse) error
}

// Serve starts a plugin with a key of this id. It ends with the test.
func Serve(t testing.TB, key string) *Plugin {
	t.Helper()
	dir, err := os.MkdirTemp("", "kms") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	p := &Plugin{Socket: filepath.Join(dir, "kms.sock"), key: key, health: "ok", version: "v2"}
	p.Start(t)
	t.Cleanup(func() {
		p.Answer(true)
		p.Stop()
	})
	return p
}

// Endpoint returns the socket as a configuration writes it.
func (p *Plugin) Endpoint() string { return "unix://" + p.Socket }

// Start has it listen, again after Stop.
func (p *Plugin) Start(t testing.TB) {
	t.Helper()
	l, err := net.Listen("unix", p.Socket)
	if err != nil {
		t.Fatal(err)
	}
	p.server = grpc.NewServer()
	kmsv2.RegisterKeyManagementServiceServer(p.server, p)
	go func() { _ = p.server.Serve(l) }()
}

// Stop ends it. The socket is gone.
func (p *Plugin) Stop() { p.server.Stop() }

// Use has it encrypt with the key of this id from now on.
func (p *Plugin) Use(key string) { p.set(func() { p.key = key }) }

// Say sets the health and version that it reports.
func (p *Plugin) Say(health, version string) { p.set(func() { p.health, p.version = health, version }) }

// Spoil has it lie from now on.
func (p *Plugin) Spoil(s Spoil) { p.set(func() { p.spoil = s }) }

// spoiled is an answer after a change.
func spoiled[A any](p *Plugin, answer *A, err error, change func(Spoil) func(*A) error) (*A, error) {
	p.mu.Lock()
	f := change(p.spoil)
	p.mu.Unlock()
	if err != nil || f == nil {
		return answer, err
	}
	err = f(answer)
	return answer, err
}

// Answer has it answer, or have all who ask wait.
func (p *Plugin) Answer(answer bool) {
	p.set(func() {
		if p.silent != nil {
			close(p.silent)
			p.silent = nil
		}
		if !answer {
			p.silent = make(chan struct{})
		}
	})
}

// Calls returns how often it has encrypted and decrypted.
func (p *Plugin) Calls() (encrypts, decrypts int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.encrypts, p.decrypts
}

// Waiting returns how many calls wait for an answer.
func (p *Plugin) Waiting() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.waiting
}

func (p *Plugin) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

// wait returns when it answers, with its key.
func (p *Plugin) wait(ctx context.Context) (key string, err error) {
	p.mu.Lock()
	key, silent := p.key, p.silent
	p.mu.Unlock()
	if silent != nil {
		p.set(func() { p.waiting++ })
		defer p.set(func() { p.waiting-- })
		select {
		case <-silent:
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
	return key, nil
}

// Status says how it is.
func (p *Plugin) Status(ctx context.Context, _ *kmsv2.StatusRequest) (*kmsv2.StatusResponse, error) {
	key, err := p.wait(ctx)
	p.mu.Lock()
	answer := &kmsv2.StatusResponse{Version: p.version, Healthz: p.health, KeyId: key}
	p.mu.Unlock()
	return spoiled(p, answer, err, func(s Spoil) func(*kmsv2.StatusResponse) error { return s.Status })
}

// Encrypt encrypts with the key of today.
func (p *Plugin) Encrypt(ctx context.Context, r *kmsv2.EncryptRequest) (*kmsv2.EncryptResponse, error) {
	key, err := p.wait(ctx)
	if err != nil {
		return nil, err
	}
	p.set(func() { p.encrypts++ })
	gcm, err := gcmOf(key)
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, gcm.NonceSize())
	if _, err := rand.Read(nonce); err != nil {
		return nil, err
	}
	answer := &kmsv2.EncryptResponse{
		Ciphertext: gcm.Seal(nonce, nonce, r.Plaintext, nil), KeyId: key, Annotations: map[string][]byte{annotation: []byte(key)},
	}
	return spoiled(p, answer, nil, func(s Spoil) func(*kmsv2.EncryptResponse) error { return s.Encrypt })
}

// Decrypt decrypts with the key that the request names, if the annotations are those of Encrypt.
func (p *Plugin) Decrypt(ctx context.Context, r *kmsv2.DecryptRequest) (*kmsv2.DecryptResponse, error) {
	if _, err := p.wait(ctx); err != nil {
		return nil, err
	}
	p.set(func() { p.decrypts++ })
	if string(r.Annotations[annotation]) != r.KeyId {
		return nil, status.Error(codes.InvalidArgument, "these are not the annotations that it was encrypted with")
	}
	gcm, err := gcmOf(r.KeyId)
	if err != nil {
		return nil, err
	}
	if len(r.Ciphertext) < gcm.NonceSize() {
		return nil, errors.New("too short")
	}
	plain, err := gcm.Open(nil, r.Ciphertext[:gcm.NonceSize()], r.Ciphertext[gcm.NonceSize():], nil)
	answer := &kmsv2.DecryptResponse{Plaintext: plain}
	return spoiled(p, answer, err, func(s Spoil) func(*kmsv2.DecryptResponse) error { return s.Decrypt })
}

func gcmOf(key string) (cipher.AEAD, error) {
	hash := sha256.Sum256([]byte(key))
	block, err := aes.NewCipher(hash[:])
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}
