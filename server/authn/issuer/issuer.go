package issuer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	authenticationcel "k8s.io/apiserver/pkg/authentication/cel"
	"k8s.io/apiserver/plugin/pkg/authenticator/token/oidc"

	"github.com/kx-apiserver/kx/core/lines"
	"github.com/kx-apiserver/kx/server/reload"
)

// Config says which issuers are believed.
type Config struct {
	// File is an AuthenticationConfiguration. It is read again when it changes. Empty for none.
	File string
	// Flags are one issuer, if there is no File. Nil for none.
	Flags *Flags
	// Ours are the issuers of service accounts.
	Ours []string
	// KeysFor is how long the keys of an issuer count before they are fetched again; 0 is keysFor.
	KeysFor time.Duration
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
	// reload is nil without a file.
	reload *reload.Keeper
	next   wanted
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
	source := reload.OneFile(c.File)
	files, hash, err := source.Read()
	if err != nil {
		return nil, fmt.Errorf("--authentication-config: %w", err)
	}
	configuration, err := parse(files[0].Data)
	if err != nil {
		return nil, fmt.Errorf("--authentication-config: %s: %w", c.File, err)
	}
	first, err := i.generation(configuration, oidc.AllValidSigningAlgorithms())
	if err != nil {
		return nil, fmt.Errorf("--authentication-config: %s: %w", c.File, lines.Error(files[0].Data, err))
	}
	i.anonymous = configuration.Anonymous
	i.reload = reload.New(reload.Config{
		Source: source, What: "the issuers of tokens", Take: i.take,
		Metrics: "apiserver_authentication_config_controller", Flag: "--authentication-config", Process: c.Process,
		Registry: c.Registry, Log: c.Log,
	}, hash)
	i.current.Store(first)
	return i, nil
}

func (i *Issuers) generation(configuration *apiserver.AuthenticationConfiguration, algorithms []string) (*generation, error) {
	if err := validate(configuration, i.compiler, i.config.Ours); err != nil {
		return nil, err
	}
	return newGeneration(i.life, configuration, i.compiler, algorithms, &i.config)
}

// AuthenticateToken returns a [User], the library's error of a token that does not hold, or a doubt.
func (i *Issuers) AuthenticateToken(ctx context.Context, token string) (*authenticator.Response, bool, error) {
	if strings.Count(token, ".") != 2 {
		return nil, false, nil // the library would make a slice of all parts, for each issuer
	}
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
	// reachedWithin is how long issuers of a new file are waited for before that is a failure. They are waited for on.
	reachedWithin = time.Minute
	// oldFor is how long requests may go on that have met the issuers of the file before.
	oldFor = time.Minute
)

// wanted are the issuers of a new file, until all of them have been reached. Only take uses it.
type wanted struct {
	*generation
	hash  string
	since time.Time
}

// Run reads the file again when it changes, until ctx ends.
func (i *Issuers) Run(ctx context.Context) {
	if i != nil {
		i.reload.Run(ctx)
	}
}

// take has the issuers of a new file asked as soon as all of them have been reached, and ends those before when their requests have
// ended.
func (i *Issuers) take(_ context.Context, files []reload.File, hash string) error {
	if i.next.generation == nil || i.next.hash != hash {
		if err := i.want(files[0].Data, hash); err != nil {
			return err
		}
	}
	if err := i.next.ready(); err != nil {
		if time.Since(i.next.since) > reachedWithin {
			return err
		}
		return reload.ErrLater
	}
	before := i.current.Swap(i.next.generation)
	i.next = wanted{}
	time.AfterFunc(oldFor, func() {
		before.cancel()
		for url := range before.urls.Difference(i.current.Load().urls) {
			oidc.DeleteJWKSFetchMetrics(url, i.config.Process)
		}
	})
	return nil
}

// want makes the authenticators of a new file, which are not asked yet.
func (i *Issuers) want(data []byte, hash string) error {
	if i.next.generation != nil {
		i.next.cancel()
		i.next = wanted{}
	}
	configuration, err := parse(data)
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(configuration.Anonymous, i.anonymous) {
		return lines.Error(data, errors.New("anonymous: it has changed, which needs another start of the server"))
	}
	next, err := i.generation(configuration, oidc.AllValidSigningAlgorithms())
	if err != nil {
		return lines.Error(data, err)
	}
	i.next = wanted{next, hash, time.Now()}
	return nil
}

// Ready says that the file was not taken over.
func (i *Issuers) Ready(ctx context.Context) error { return i.reload.Ready(ctx) }
