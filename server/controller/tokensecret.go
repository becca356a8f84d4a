package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/controller/work"
	"github.com/kx-apiserver/kx/server/serviceaccount"
)

// tokenSecrets fills the Secrets that request a token of a service account, and deletes those whose account is
// gone. A deleted Secret also leaves the list of secrets of its account.
//
// It owns the type kubernetes.io/service-account-token: the token, the authority and the namespace in such a
// Secret, and the annotation with the UID of its account. Package serviceaccount creates the tokens. They do
// not expire, so every client with such a Secret can act as its account until the Secret is deleted.
//
// A Secret is filled or deleted only in the state that was read together with its account. If it changed
// meanwhile, it is examined again. An unreadable account is no reason to delete it. Existing tokens stay: a
// token is created only where there is none, and never replaced. A correct Secret costs nothing at a start:
// only Secrets that lack something, or their account, are read. Memory holds the names of these Secrets and of
// their accounts. No log and no journey has a token.
var tokenSecrets = controller{
	name: "serviceaccount-token-controller", short: "serviceaccount-token", does: "fill secrets with tokens of service accounts",
	account: "tokens-controller", follows: []schema.GroupVersionResource{secrets, accounts}, workers: 5, make: keepTokenSecrets,
}

// secretKey is a Secret to examine, or a deleted one.
type secretKey struct {
	namespace, name string
	// of is the account of a deleted Secret.
	of secretOwner
}

// secretOwner is the account that a Secret names. Its UID is empty until the Secret is filled.
type secretOwner struct{ name, uid string }

// is reports whether the account with this UID is the owner.
func (o secretOwner) is(uid string) bool { return o.uid == "" || o.uid == uid }

func secretOwnerOf(s *corev1.Secret) secretOwner {
	return secretOwner{s.Annotations[corev1.ServiceAccountNameKey], s.Annotations[corev1.ServiceAccountUIDKey]}
}

// tokenKeeper fills and deletes Secrets. mu guards known.
type tokenKeeper struct {
	*work.Loop[secretKey]
	kit      *work.Kit
	secrets  *work.Objects[*corev1.Secret]
	accounts *work.Objects[*corev1.ServiceAccount]
	renewals *work.Renewals

	// look holds the findings since Begin; nil between looks. Only the feed's goroutine uses it.
	look *secretLook

	mu    sync.Mutex
	known secretIndex
}

func keepTokenSecrets(kit *work.Kit, self controller) follower {
	writer := self.writer(kit)
	c := &tokenKeeper{
		kit: kit, renewals: kit.Renewals(), known: secretIndex{}, secrets: work.ObjectsOf[*corev1.Secret](kit, writer, secrets),
		accounts: work.ObjectsOf[*corev1.ServiceAccount](kit, writer, accounts),
	}
	c.Loop = loopOf(kit, self, c.try)
	return c
}

// Run works until ctx ends, and returns when all goroutines have ended.
func (c *tokenKeeper) Run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() { c.renewals.Run(ctx, c.queueAll) })
	c.Loop.Run(ctx)
}

// queueAll queues all Secrets.
func (c *tokenKeeper) queueAll(context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for namespace, secrets := range c.known {
		for name := range secrets {
			c.Add(secretKey{namespace: namespace, name: name}, 0)
		}
	}
	return nil
}

var accountGone = trace.Because("account-gone",
	"the service account whose token it is for is gone, or another one has its name",
	"它的令牌所属的服务账号已不存在，或同名的是另一个")

func (c *tokenKeeper) try(ctx context.Context, k secretKey, cause int64) error {
	if k.of != (secretOwner{}) {
		return c.forget(ctx, k, cause)
	}
	s, found, err := c.secrets.Get(ctx, k.namespace, k.name)
	if err != nil {
		return fmt.Errorf("read the secret %s/%s: %w", k.namespace, k.name, err)
	}
	of := secretOwner{}
	if found && s.Type == corev1.SecretTypeServiceAccountToken {
		of = secretOwnerOf(s)
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
	return c.secrets.Delete(ctx, s, metav1.DeletePropagationBackground, work.Decide(cause, accountGone))
}

var tokenSecretLacks = trace.Because("token-secret-lacks",
	"the service account that it names exists, and it lacks {keys:word}",
	"它指定的服务账号存在，而它缺少 {keys:word}")

// fill adds the missing data of a Secret.
func (c *tokenKeeper) fill(ctx context.Context, s *corev1.Secret, sa *corev1.ServiceAccount, cause int64) error {
	lacks := c.missing(s)
	if len(lacks) == 0 {
		return nil
	}
	if s.Immutable != nil && *s.Immutable {
		c.kit.Log.Debug("a secret is immutable, and lacks what clients expect of it", "namespace", s.Namespace, "name", s.Name, "keys",
			slices.Sorted(maps.Keys(lacks)))
		return nil
	}
	if lacks[corev1.ServiceAccountTokenKey] != nil {
		token, err := c.kit.SecretTokens.Sign(ctx, serviceaccount.LegacyClaims(sa, s))
		if err != nil {
			return err
		}
		lacks[corev1.ServiceAccountTokenKey] = []byte(token)
	}
	why := work.Decision{Cause: cause, Why: func(step *trace.Step) {
		step.WhyText(tokenSecretLacks, strings.Join(slices.Sorted(maps.Keys(lacks)), ", "))
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

// missing returns the data that a Secret lacks. The value of a token is empty: it is created later.
func (c *tokenKeeper) missing(s *corev1.Secret) map[string][]byte {
	lacks := map[string][]byte{}
	if ca := c.kit.Trust(s.Data[corev1.ServiceAccountRootCAKey]); len(ca) > 0 &&
		string(ca) != string(s.Data[corev1.ServiceAccountRootCAKey]) {
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

var tokenSecretGone = trace.Because("token-secret-gone",
	"a secret that it lists was for its token, and is gone",
	"它列出的一个用于存放其令牌的 Secret 已不存在")

// forget removes a deleted Secret from the list of its account.
func (c *tokenKeeper) forget(ctx context.Context, k secretKey, cause int64) error {
	sa, found, err := c.accounts.Get(ctx, k.namespace, k.of.name)
	if err != nil {
		return fmt.Errorf("read the service account %s/%s: %w", k.namespace, k.of.name, err)
	}
	names := func(ref corev1.ObjectReference) bool { return ref.Name == k.name }
	if !found || !k.of.is(string(sa.UID)) || !slices.ContainsFunc(sa.Secrets, names) {
		return nil
	}
	return c.accounts.Update(ctx, sa, "", work.Decide(cause, tokenSecretGone), func(now *corev1.ServiceAccount) (bool, error) {
		before := len(now.Secrets)
		now.Secrets = slices.DeleteFunc(now.Secrets, names)
		return len(now.Secrets) < before, nil
	})
}
