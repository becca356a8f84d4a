package tokensecret

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/controller/work"
	"github.com/kx-apiserver/kx/server/serviceaccount"
)

const (
	// Name is what kube-controller-manager calls the controller.
	Name    = "serviceaccount-token-controller"
	account = "tokens-controller"

	// workers is how many Secrets are worked on at a time, as upstream.
	workers = 5
)

// Resource and AccountResource are what the controller follows.
var (
	Resource        = corev1.SchemeGroupVersion.WithResource("secrets")
	AccountResource = corev1.SchemeGroupVersion.WithResource("serviceaccounts")
)

// key is a Secret to be looked at, or one that was deleted.
type key struct {
	namespace, name string
	// of is the account of a Secret that was deleted.
	of owner
}

// owner is the account that a Secret names. Its UID is empty until the Secret is filled.
type owner struct{ name, uid string }

// is says whether an account is the one that is meant.
func (o owner) is(uid string) bool { return o.uid == "" || o.uid == uid }

func ownerOf(s *corev1.Secret) owner {
	return owner{s.Annotations[corev1.ServiceAccountNameKey], s.Annotations[corev1.ServiceAccountUIDKey]}
}

// Controller fills and deletes Secrets.
type Controller struct {
	kit      *work.Kit
	secrets  *work.Objects[*corev1.Secret]
	accounts *work.Objects[*corev1.ServiceAccount]
	signer   *serviceaccount.Signer
	renewals *work.Renewals
	log      *slog.Logger
	loop     *work.Loop[key]

	// look is what was seen since Begin; nil between looks.
	look *look

	// mu guards what is known.
	mu    sync.Mutex
	known index
}

// New makes a controller, which does nothing until it runs.
func New(kit *work.Kit) *Controller {
	writer := kit.Writer(Name, account)
	c := &Controller{
		kit: kit, signer: kit.SecretTokens, renewals: kit.Renewals(), log: kit.Log, known: index{},
		secrets:  work.ObjectsOf[*corev1.Secret](kit, writer, Resource),
		accounts: work.ObjectsOf[*corev1.ServiceAccount](kit, writer, AccountResource),
	}
	c.loop = work.NewLoop(Name, workers, kit.Metrics, kit.Log, c.try)
	return c
}

// Run works until ctx ends, and returns when all has ended.
func (c *Controller) Run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() { c.renewals.Run(ctx, c.queueAll) })
	c.loop.Run(ctx)
}

// State returns what it is about.
func (c *Controller) State() work.State { return c.loop.State() }

// queueAll queues all Secrets.
func (c *Controller) queueAll(context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for namespace, secrets := range c.known {
		for name := range secrets {
			c.loop.Add(key{namespace: namespace, name: name}, 0)
		}
	}
	return nil
}

func (c *Controller) try(ctx context.Context, k key, cause int64) error {
	if k.of != (owner{}) {
		return c.forget(ctx, k, cause)
	}
	s, found, err := c.secrets.Get(ctx, k.namespace, k.name)
	if err != nil {
		return fmt.Errorf("read the secret %s/%s: %w", k.namespace, k.name, err)
	}
	of := owner{}
	if found && s.Type == corev1.SecretTypeServiceAccountToken {
		of = ownerOf(s)
	}
	if of.name == "" {
		return nil
	}
	sa, found, err := c.accounts.Get(ctx, k.namespace, of.name)
	if err != nil {
		return fmt.Errorf("read the service account %s/%s: %w", k.namespace, of.name, err)
	}
	if found && sa.UID == "" {
		return fmt.Errorf("the service account %s/%s has no UID: its stored value is damaged", k.namespace, of.name)
	}
	if found && of.is(string(sa.UID)) {
		return c.fill(ctx, s, sa, cause)
	}
	if s.DeletionTimestamp != nil {
		return nil
	}
	return c.secrets.Delete(ctx, s, metav1.DeletePropagationBackground, work.Decide(cause, trace.AccountGone))
}

// fill adds what a Secret lacks.
func (c *Controller) fill(ctx context.Context, s *corev1.Secret, sa *corev1.ServiceAccount, cause int64) error {
	lacks := c.missing(s)
	if len(lacks) == 0 {
		return nil
	}
	if s.Immutable != nil && *s.Immutable {
		c.log.Debug("a secret is immutable, and lacks what clients expect of it", "namespace", s.Namespace, "name", s.Name, "keys", slices.Sorted(maps.Keys(lacks)))
		return nil
	}
	if lacks[corev1.ServiceAccountTokenKey] != nil {
		token, err := c.signer.Sign(ctx, serviceaccount.LegacyClaims(sa, s))
		if err != nil {
			return err
		}
		lacks[corev1.ServiceAccountTokenKey] = []byte(token)
	}
	why := work.Decision{Cause: cause, Why: func(step *trace.Step) {
		step.WhyText(trace.TokenSecretLacks, strings.Join(slices.Sorted(maps.Keys(lacks)), ", "))
	}}
	return c.secrets.Update(ctx, s, "", why, func(now *corev1.Secret) (bool, error) {
		if now.ResourceVersion != s.ResourceVersion {
			return false, nil // it is looked at again because of that
		}
		if now.Data == nil {
			now.Data = map[string][]byte{}
		}
		maps.Copy(now.Data, lacks)
		metav1.SetMetaDataAnnotation(&now.ObjectMeta, corev1.ServiceAccountNameKey, sa.Name)
		metav1.SetMetaDataAnnotation(&now.ObjectMeta, corev1.ServiceAccountUIDKey, string(sa.UID))
		return true, nil
	})
}

// missing is what a Secret has to have and does not. The value of a token is not made yet.
func (c *Controller) missing(s *corev1.Secret) map[string][]byte {
	lacks := map[string][]byte{}
	if ca := c.kit.Trust(s.Data[corev1.ServiceAccountRootCAKey]); len(ca) > 0 && string(ca) != string(s.Data[corev1.ServiceAccountRootCAKey]) {
		lacks[corev1.ServiceAccountRootCAKey] = ca
	}
	if len(s.Data[corev1.ServiceAccountNamespaceKey]) == 0 {
		lacks[corev1.ServiceAccountNamespaceKey] = []byte(s.Namespace)
	}
	if len(s.Data[corev1.ServiceAccountTokenKey]) == 0 {
		lacks[corev1.ServiceAccountTokenKey] = []byte{}
	}
	return lacks
}

// forget takes a deleted Secret off the list of its account.
func (c *Controller) forget(ctx context.Context, k key, cause int64) error {
	sa, found, err := c.accounts.Get(ctx, k.namespace, k.of.name)
	if err != nil {
		return fmt.Errorf("read the service account %s/%s: %w", k.namespace, k.of.name, err)
	}
	names := func(ref corev1.ObjectReference) bool { return ref.Name == k.name }
	if !found || !k.of.is(string(sa.UID)) || !slices.ContainsFunc(sa.Secrets, names) {
		return nil
	}
	return c.accounts.Update(ctx, sa, "", work.Decide(cause, trace.TokenSecretGone), func(now *corev1.ServiceAccount) (bool, error) {
		before := len(now.Secrets)
		now.Secrets = slices.DeleteFunc(now.Secrets, names)
		return len(now.Secrets) < before, nil
	})
}
