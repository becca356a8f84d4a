package issuer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	authenticationcel "k8s.io/apiserver/pkg/authentication/cel"
	"k8s.io/apiserver/plugin/pkg/authenticator/token/oidc"

	"github.com/kx-apiserver/kx/server/health"
)

// Config says which issuers are believed.
type Config struct {
	// File is an AuthenticationConfiguration. It is read again when it changes. Empty for none.
	File string
	// Flags are one issuer, if there is no File. Nil for none.
	Flags *Flags
	// Ours are the issuers of service accounts.
	Ours []string
	// Process distinguishes this process in metrics.
	Process string

	Registry prometheus.Registerer
	Log      *slog.Logger
}

// Issuers authenticates tokens.
type Issuers struct {
	config   Config
	life     context.Context // that of what runs behind authenticators
	compiler authenticationcel.Compiler
	current  atomic.Pointer[generation]
	metrics  *counts
	reload   reload
	// anonymous is what the file says, nil if it says nothing. It stays as it was at the start.
	anonymous *apiserver.AnonymousAuthConfig
}

var _ authenticator.Token = &Issuers{}

// New makes the authenticator, or nil if no issuer is wanted. [Issuers.Run] keeps it as its file says. Nothing outlives ctx.
func New(ctx context.Context, c Config) (*Issuers, error) {
	if c.File == "" && c.Flags == nil {
		return nil, nil
	}
	i := &Issuers{config: c, life: ctx, compiler: authenticationcel.NewDefaultCompiler()}
	if c.File == "" {
		configuration, err := c.Flags.configuration()
		if err != nil {
			return nil, err
		}
		first, err := i.generation(configuration, c.Flags.SigningAlgs)
		if err != nil {
			return nil, fmt.Errorf("--oidc-*: %w", err)
		}
		i.current.Store(first)
		return i, nil
	}
	data, err := os.ReadFile(c.File)
	if err != nil {
		return nil, fmt.Errorf("--authentication-config: %w", err)
	}
	configuration, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("--authentication-config: %s: %w", c.File, err)
	}
	first, err := i.generation(configuration, oidc.AllValidSigningAlgorithms())
	if err != nil {
		return nil, fmt.Errorf("--authentication-config: %s: %w", c.File, err)
	}
	first.data, i.reload.data, i.anonymous = data, data, configuration.Anonymous
	i.metrics = newCounts(c.Registry)
	i.metrics.taken(data)
	i.current.Store(first)
	return i, nil
}

func (i *Issuers) generation(configuration *apiserver.AuthenticationConfiguration, algorithms []string) (*generation, error) {
	if err := validate(configuration, i.compiler, i.config.Ours); err != nil {
		return nil, err
	}
	return newGeneration(i.life, configuration, i.compiler, algorithms, i.config.Ours, i.config.Process)
}

// AuthenticateToken returns a [User], the library's error of a token that does not hold, or a doubt.
func (i *Issuers) AuthenticateToken(ctx context.Context, token string) (*authenticator.Response, bool, error) {
	answer, ok, err := i.current.Load().known.AuthenticateToken(ctx, token)
	if err == nil && !ok {
		err = unheardOf(token, i.config.Ours)
	}
	return answer, ok, err
}

// Anonymous is what the file says of requests without credentials, nil if it says nothing.
func (i *Issuers) Anonymous() *apiserver.AnonymousAuthConfig {
	if i == nil {
		return nil
	}
	return i.anonymous
}

const (
	// reloadEvery is how often the file is read again.
	reloadEvery = 2 * time.Second
	// reachedWithin is how long issuers of a new file are waited for before that is a failure. They are waited for on.
	reachedWithin = time.Minute
	// oldFor is how long requests may go on that have met the issuers of the file before.
	oldFor = time.Minute
)

// reload is how the file is kept. Only Run uses it, but for failed.
type reload struct {
	// data is what the file had when it was last read.
	data []byte
	// next is what it wants, until all issuers have been reached; nil for nothing.
	next  *generation
	since time.Time

	mu     sync.Mutex
	failed error
}

// Run reads the file again when it changes, until ctx ends.
func (i *Issuers) Run(ctx context.Context) {
	if i == nil || i.config.File == "" {
		return
	}
	ticker := time.NewTicker(reloadEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			i.look()
		case <-ctx.Done():
			return
		}
	}
}

// look reads the file, and takes over what has changed as soon as all issuers have been reached.
func (i *Issuers) look() {
	data, err := os.ReadFile(i.config.File)
	if err != nil {
		i.reload.data = nil // it counts as changed when it is back
		i.report(err)
		return
	}
	if !bytes.Equal(data, i.reload.data) {
		i.reload.data = data
		if err := i.want(data); err != nil {
			i.report(err)
			return
		}
	}
	next := i.reload.next
	if next == nil {
		return
	}
	if err := next.ready(); err != nil {
		if time.Since(i.reload.since) > reachedWithin {
			i.report(err)
		}
		return
	}
	i.take(next)
}

// want makes the authenticators of a new file, which are not asked yet.
func (i *Issuers) want(data []byte) error {
	if before := i.reload.next; before != nil {
		before.cancel()
		i.reload.next = nil
	}
	configuration, err := parse(data)
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(configuration.Anonymous, i.anonymous) {
		return errors.New("anonymous: it has changed, which needs another start of the server")
	}
	next, err := i.generation(configuration, oidc.AllValidSigningAlgorithms())
	if err != nil {
		return err
	}
	next.data = data
	i.reload.next, i.reload.since = next, time.Now()
	return nil
}

// take has the authenticators asked, and ends those before when their requests have ended.
func (i *Issuers) take(next *generation) {
	before := i.current.Swap(next)
	i.reload.next = nil
	time.AfterFunc(oldFor, func() {
		before.cancel()
		for url := range before.urls.Difference(i.current.Load().urls) {
			oidc.DeleteJWKSFetchMetrics(url, i.config.Process)
		}
	})
	i.metrics.taken(next.data)
	i.report(nil)
}

// report counts and logs how a reload went, once for each error.
func (i *Issuers) report(err error) {
	i.reload.mu.Lock()
	before := i.reload.failed
	i.reload.failed = err
	i.reload.mu.Unlock()
	switch {
	case err == nil:
		i.metrics.reloaded("success")
		i.config.Log.Info("the issuers of tokens are as their file says now", "file", i.config.File)
	case before == nil || before.Error() != err.Error():
		i.metrics.reloaded("failure")
		i.config.Log.Error("the issuers of tokens stay as they were, since their file is of no use", "file", i.config.File, "error", err)
	}
}

// Ready says that the file was not taken over.
func (i *Issuers) Ready(context.Context) error {
	i.reload.mu.Lock()
	defer i.reload.mu.Unlock()
	if i.reload.failed == nil {
		return nil
	}
	return errors.Join(health.Reason("the issuers of tokens are not as their file says: see the log"), i.reload.failed)
}
