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

// Config lists the accepted issuers.
type Config struct {
	// File is an AuthenticationConfiguration, which is reloaded when it changes; empty for none.
	File string
	// Flags describe one issuer if there is no File; nil for none.
	Flags *Flags
	// Ours are the issuers of service accounts.
	Ours []string
	// KeysFor is the time after which the keys of an issuer are fetched again; 0 is keysFor.
	KeysFor time.Duration
	// Process distinguishes this process in metrics.
	Process string

	Registry prometheus.Registerer
	Log      *slog.Logger
}

// Issuers authenticates tokens.
type Issuers struct {
	config   Config
	life     context.Context // the context of the authenticators' goroutines
	compiler authenticationcel.Compiler
	current  atomic.Pointer[generation]
	// reload is nil without a file.
	reload *reload.Keeper
	next   pendingIssuers
	// anonymous is the file's setting for requests without credentials, nil if it has none. A reload does not change
	// it.
	anonymous *apiserver.AnonymousAuthConfig
}

var _ authenticator.Token = &Issuers{}

// New makes the authenticator, or returns nil without a file and flags. [Issuers.Run] reloads its file. All goroutines
// end with ctx.
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

// AuthenticateToken returns a [User], the library's error about an invalid token, or a rejection.
func (i *Issuers) AuthenticateToken(ctx context.Context, token string) (*authenticator.Response, bool, error) {
	if strings.Count(token, ".") != 2 {
		return nil, false, nil // the library would split it into all parts, for each issuer
	}
	answer, ok, err := i.current.Load().known.AuthenticateToken(ctx, token)
	if err == nil && !ok {
		err = unheardOf(token, i.config.Ours)
	}
	return answer, ok, err
}

// Anonymous returns the file's setting for requests without credentials, nil if it has none.
func (i *Issuers) Anonymous() *apiserver.AnonymousAuthConfig {
	if i == nil {
		return nil
	}
	return i.anonymous
}

const (
	// reachedWithin is the time after which unreachable issuers of a new file count as a failure. Attempts to reach
	// them go on.
	reachedWithin = time.Minute
	// oldFor is the time that requests with the issuers of the previous file have to finish.
	oldFor = time.Minute
)

// pendingIssuers holds the issuers of a new file until all of them have been reached. Only take uses it.
type pendingIssuers struct {
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

// take puts the issuers of a new file into use once all of them have been reached. It ends the previous ones when their
// requests have ended.
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
	i.next = pendingIssuers{}
	time.AfterFunc(oldFor, func() {
		before.cancel()
		for url := range before.urls.Difference(i.current.Load().urls) {
			oidc.DeleteJWKSFetchMetrics(url, i.config.Process)
		}
	})
	return nil
}

// want makes the authenticators of a new file, which are not in use yet.
func (i *Issuers) want(data []byte, hash string) error {
	if i.next.generation != nil {
		i.next.cancel()
		i.next = pendingIssuers{}
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
	i.next = pendingIssuers{next, hash, time.Now()}
	return nil
}

// Ready returns an error if the current file is not in use.
func (i *Issuers) Ready(ctx context.Context) error { return i.reload.Ready(ctx) }
