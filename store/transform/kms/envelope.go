package kms

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	kmsv2 "k8s.io/kms/apis/v2"
)

const (
	// fresh is the time for which the plugin's answer counts as current.
	fresh = time.Minute
	// retry is the pause after a failure of the plugin.
	retry = 10 * time.Second
	// usable is the time for which values are written with a key after the plugin has named it.
	usable = 3 * time.Minute
	// maxSecrets limits the decrypted seeds in memory: each start of a server makes one, and each change of the
	// plugin's key.
	maxSecrets = 1000
	// breather is the time after a timeout of the plugin during which no read waits for it.
	breather = time.Second
)

// Config configures an Envelope.
type Config struct {
	// Name is the provider's in the configuration.
	Name string
	// Endpoint is the plugin's socket.
	Endpoint string
	// Timeout ends each call.
	Timeout time.Duration
}

// Observer counts calls of the plugin, and values by the id of their key.
type Observer interface {
	ObserveCall(name, method, code string, took time.Duration)
	ObserveUse(name, direction, keyID string)
}

// Directions in which values go.
const (
	FromStorage = "from_storage"
	ToStorage   = "to_storage"
)

// Envelope encrypts values with the keys of one plugin. It is safe for concurrent use: mu guards secrets, closed and
// seeking.
type Envelope struct {
	config Config
	plugin *plugin
	// observer may be nil. It is set before the first value.
	observer Observer
	now      func() time.Time

	current atomic.Pointer[state]
	// refreshing holds a token of the caller that asks the plugin for its key.
	refreshing chan struct{}
	// failed is why the last refresh failed, nil if it did not. The holder of refreshing sets it.
	failed atomic.Pointer[failure]

	// away is when a plugin could not be reached last, and why.
	away atomic.Pointer[failure]
	// opened is called when values can be opened that could not be. It may be nil, and is set before the first value.
	opened func()
	// life ends with Close.
	life context.Context
	end  context.CancelFunc

	mu      sync.Mutex
	secrets map[sourceID]*openSource
	// closed holds sources that the plugin failed to decrypt. While there are some, seeking: a goroutine retries
	// them.
	closed  map[sourceID]source
	seeking bool
}

// state is with what values are written.
type state struct {
	source
	seed seed
	// asOf is the time of the request to which the plugin answered with the key.
	asOf time.Time
}

type failure struct {
	err error
	at  time.Time
}

// New makes an Envelope. Its first use calls the plugin.
func New(c Config) (*Envelope, error) {
	e := &Envelope{config: c, now: time.Now, refreshing: make(chan struct{}, 1), secrets: map[sourceID]*openSource{},
		closed: map[sourceID]source{}}
	e.life, e.end = context.WithCancel(context.Background())
	var err error
	e.plugin, err = dial(c.Endpoint, c.Timeout, e.observe)
	return e, err
}

// Observe sets the observer of calls. It must be called before the first value.
func (e *Envelope) Observe(o Observer) { e.observer = o }

// OnOpened sets a function that is called when values become readable that were not. It must be called before the
// first value.
func (e *Envelope) OnOpened(opened func()) { e.opened = opened }

func (e *Envelope) observe(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker,
	opts ...grpc.CallOption) error {
	start := time.Now()
	err := concise(invoke(ctx, method, req, reply, cc, opts...))
	if e.observer != nil {
		e.observer.ObserveCall(e.config.Name, method, status.Code(err).String(), time.Since(start))
	}
	return err
}

// Close ends the connection. Calls that wait fail.
func (e *Envelope) Close() error {
	e.end()
	return e.plugin.close()
}

// Check returns what is wrong with the plugin. It asks the plugin unless that is known.
func (e *Envelope) Check(ctx context.Context) error {
	_, err := e.currentState(ctx, true)
	return err
}

// Seal returns the bytes to store. place is authenticated: the value can be opened there only.
func (e *Envelope) Seal(ctx context.Context, value, place []byte) ([]byte, error) {
	s, err := e.currentState(ctx, true)
	if s == nil {
		return nil, err
	}
	if age := e.now().Sub(s.asOf); age > usable {
		return nil, fmt.Errorf("the KMS plugin %q has not named its key for %s, so nothing is encrypted with it: %w", e.config.Name,
			age.Round(time.Second), err)
	}
	e.observeUse(ToStorage, s.keyID)
	data, err := s.seed.seal(make([]byte, 0, overhead+len(value)), value, place)
	if err != nil {
		return nil, err
	}
	return appendObject(&s.source, data), nil
}

// Open is the way back. stale says that the plugin has another key by now.
func (e *Envelope) Open(ctx context.Context, stored, place []byte) (value []byte, stale bool, err error) {
	from, data, err := parse(stored)
	if err != nil {
		return nil, false, err
	}
	opener, err := e.secretOf(ctx, &from)
	if err != nil {
		return nil, false, err
	}
	if value, err = opener.open(data, place); err != nil {
		return nil, false, e.damageError(opener, err)
	}
	e.observeUse(FromStorage, from.keyID)
	// Who can't know the key of today has the value all the same.
	s, _ := e.currentState(ctx, false)
	return value, s != nil && (s.keyID != from.keyID || from.kind != sourceSeed), nil
}

// damageError names the plugin if its answer may be why a value was not opened.
func (e *Envelope) damageError(opener *openSource, err error) error {
	if opener.proved.Load() {
		return err
	}
	return fmt.Errorf("%w: the value is damaged, or the KMS plugin %q at %s decrypted the source of its key wrongly", err, e.config.Name,
		e.config.Endpoint)
}

func (e *Envelope) observeUse(direction, keyID string) {
	if e.observer != nil {
		e.observer.ObserveUse(e.config.Name, direction, keyID)
	}
}

// currentState returns the state, after asking the plugin if the last answer is old. If the plugin does not answer, it
// returns the last state (nil if there is none) and the error. Writers wait for the plugin, and so do readers before
// its first answer. While it fails, only those writers wait that can't write without it.
func (e *Envelope) currentState(ctx context.Context, write bool) (*state, error) {
	s, now := e.current.Load(), e.now()
	if s != nil && now.Sub(s.asOf) < fresh {
		return s, nil
	}
	f := e.failed.Load()
	switch {
	case f == nil && (write || s == nil), write && (s == nil || now.Sub(s.asOf) > usable):
		select {
		case e.refreshing <- struct{}{}:
			// The answer is everybody's, so it does not end with the request that asks.
			return e.refresh(context.WithoutCancel(ctx))
		case <-ctx.Done():
			return s, ctx.Err()
		}
	case f == nil || now.Sub(f.at) >= retry:
		select {
		case e.refreshing <- struct{}{}:
			go func() { _, _ = e.refresh(context.WithoutCancel(ctx)) }()
		default: // somebody does
		}
	}
	if f == nil {
		return s, nil
	}
	return s, f.err
}

// refresh asks the plugin, unless another caller has done so meanwhile. It gives refreshing back.
func (e *Envelope) refresh(ctx context.Context) (*state, error) {
	defer func() { <-e.refreshing }()
	s := e.current.Load()
	if s != nil && e.now().Sub(s.asOf) < fresh {
		return s, nil
	}
	if f := e.failed.Load(); f != nil && e.now().Sub(f.at) < retry {
		return s, f.err
	}
	next, err := e.ask(ctx, s)
	if err != nil {
		err = fmt.Errorf("the KMS plugin %q at %s: %w", e.config.Name, e.config.Endpoint, err)
		e.failed.Store(&failure{err, e.now()})
		return s, err
	}
	e.failed.Store(nil)
	e.current.Store(next)
	return next, nil
}

// ask asks the plugin for its key, and has a new seed encrypted if it is another one.
func (e *Envelope) ask(ctx context.Context, last *state) (*state, error) {
	began := e.now()
	said, err := e.plugin.status(ctx)
	if err != nil {
		return nil, fmt.Errorf("it does not tell its status: %w", err)
	}
	if err := healthy(said); err != nil {
		return nil, err
	}
	if last != nil && last.keyID == said.KeyId {
		again := *last
		again.asOf = began
		return &again, nil
	}
	next := &state{seed: make(seed, seedSize), asOf: began}
	if _, err := rand.Read(next.seed); err != nil {
		return nil, fmt.Errorf("make a seed: %w", err)
	}
	sealed, err := e.plugin.encrypt(ctx, next.seed)
	if err != nil {
		return nil, fmt.Errorf("failed to encrypt DEK, error: %w", err)
	}
	next.source = source{kind: sourceSeed, keyID: sealed.KeyId, encrypted: sealed.Ciphertext, annotations: sealed.Annotations}
	if err := next.validate(); err != nil {
		return nil, err
	}
	if next.keyID != said.KeyId {
		// It has changed its mind between the two calls: the next one will tell.
		return nil, errors.New("it encrypted with another key than the one that its status names")
	}
	own := &openSource{secret: next.seed, at: began}
	own.proved.Store(true)
	e.keep(next.id(), own)
	return next, nil
}

// healthy returns what is wrong with a plugin by its status.
func healthy(said *kmsv2.StatusResponse) error {
	var errs []error
	if said.Healthz != "ok" {
		errs = append(errs, fmt.Errorf("got unexpected healthz status: %s", brief(said.Healthz)))
	}
	if said.Version != "v2" && said.Version != "v2beta1" {
		errs = append(errs, fmt.Errorf("expected KMSv2 API version v2, got %s", brief(said.Version)))
	}
	if err := validateKeyID(said.KeyId); err != nil {
		errs = append(errs, fmt.Errorf("got an invalid key id: %w", err))
	}
	return errors.Join(errs...)
}
