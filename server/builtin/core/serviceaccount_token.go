package core

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/warning"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/builtin"
	tokens "github.com/kx-apiserver/kx/server/serviceaccount"
)

const (
	defaultLifetime = time.Hour
	// kubeletLifetime is the lifetime that kubelets request on behalf of pods. It is odd, so other clients do not
	// request it by chance.
	kubeletLifetime = time.Hour + 7*time.Second
	// ExtendedLifetime is the lifetime of such a token if it is extended, for programs that do not renew their
	// tokens. After the lifetime that was requested, each use of the token counts as stale.
	ExtendedLifetime = 365 * 24 * time.Hour
)

// Tokens configures the tokens of service accounts.
type Tokens struct {
	Signer *tokens.Signer
	// Audiences lists the audiences of this API.
	Audiences []string
	// MaxLifetime limits the lifetimes that clients request, unless it is 0.
	MaxLifetime time.Duration
	// Extend gives tokens of kubelets the ExtendedLifetime.
	Extend bool
	// Storage returns the storage of another resource, nil if it is not served.
	Storage func(schema.GroupVersionResource) rest.Storage
}

// DeclareServiceAccounts declares service accounts with the subresource that makes tokens.
func DeclareServiceAccounts(t Tokens) builtin.Resource[*corev1.ServiceAccount] {
	r := ServiceAccount
	r.Sub = []builtin.Sub{{Name: "token", New: builtin.Make(func(accounts *builtin.REST) rest.Storage { return &TokenREST{t, accounts} })}}
	return r
}

// AddTokenRequests registers the default of a TokenRequest.
func AddTokenRequests(s *runtime.Scheme) error {
	s.AddTypeDefaultingFunc(&authenticationv1.TokenRequest{}, func(obj any) {
		if spec := &obj.(*authenticationv1.TokenRequest).Spec; spec.ExpirationSeconds == nil {
			spec.ExpirationSeconds = new(seconds(defaultLifetime))
		}
	})
	return nil
}

// TokenREST is the subresource token, which makes a token and stores nothing. A dry run makes one, too.
type TokenREST struct {
	Tokens
	accounts *builtin.REST
}

var (
	_ rest.NamedCreater                   = &TokenREST{}
	_ rest.GroupVersionKindProvider       = &TokenREST{}
	_ rest.SubresourceObjectMetaPreserver = &TokenREST{}
)

var tokenKind = authenticationv1.SchemeGroupVersion.WithKind("TokenRequest")

func (*TokenREST) New() runtime.Object { return &authenticationv1.TokenRequest{} }

// Destroy does nothing: the resource serviceaccounts owns the storage.
func (*TokenREST) Destroy() {}

// GroupVersionKind returns TokenRequest, whose group is not the service accounts'.
func (*TokenREST) GroupVersionKind(schema.GroupVersion) schema.GroupVersionKind { return tokenKind }

// PreserveRequestObjectMetaSystemFieldsOnSubresourceCreate keeps the UID of a request, to compare it with the service
// account's.
func (*TokenREST) PreserveRequestObjectMetaSystemFieldsOnSubresourceCreate() bool { return true }

// Create makes a token of the service account.
func (r *TokenREST) Create(ctx context.Context, name string, obj runtime.Object, createValidation rest.ValidateObjectFunc,
	_ *metav1.CreateOptions) (_ runtime.Object, err error) {
	ctx, step := trace.Start(ctx, steps.TokenCreate, name)
	defer step.End(&err)
	asked, err := builtin.As[*authenticationv1.TokenRequest](obj)
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("not a TokenRequest object: %T", obj))
	}
	namespace, ok := request.NamespaceFrom(ctx)
	if !ok {
		return nil, apierrors.NewBadRequest("namespace is required")
	}
	if err := checkPlace(&asked.ObjectMeta, name, namespace); err != nil {
		return nil, err
	}
	account, err := builtin.Get[*corev1.ServiceAccount](ctx, r.accounts, name, &metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	// The clock is read before the token is signed, so that the token never expires before the time in the status.
	now := time.Now()
	if err := r.complete(asked, account, now); err != nil {
		return nil, err
	}
	if errs := validateTokenRequest(&asked.Spec); len(errs) > 0 {
		return nil, apierrors.NewInvalid(tokenKind.GroupKind(), "", errs)
	}
	if createValidation != nil {
		if err := createValidation(ctx, asked.DeepCopyObject()); err != nil {
			return nil, err
		}
	}
	bound, err := r.bound(ctx, asked.Spec.BoundObjectRef, name)
	if err != nil {
		return nil, err
	}
	valid := r.validity(ctx, step, &asked.Spec, bound, now)
	token, err := r.Signer.Sign(ctx, tokens.BoundClaims(account, bound, asked.Spec.Audiences, valid))
	if err != nil {
		return nil, apierrors.NewInternalError(fmt.Errorf("failed to generate token: %w", err))
	}
	asked.Status = authenticationv1.TokenRequestStatus{
		Token:               token,
		ExpirationTimestamp: metav1.NewTime(now.Add(time.Duration(*asked.Spec.ExpirationSeconds) * time.Second)),
	}
	return asked, nil
}

// checkPlace requires that name and namespace in the body, if set, equal those of the path.
func checkPlace(asked *metav1.ObjectMeta, name, namespace string) error {
	path := field.NewPath("metadata")
	switch {
	case asked.Name != "" && asked.Name != name:
		return apierrors.NewInvalid(tokenKind.GroupKind(), name, field.ErrorList{
			field.Invalid(path.Child("name"), asked.Name, "must match the service account name if specified"),
		})
	case asked.Namespace != "" && asked.Namespace != namespace:
		return apierrors.NewInvalid(tokenKind.GroupKind(), name, field.ErrorList{
			field.Invalid(path.Child("namespace"), asked.Namespace, "must match the service account namespace if specified"),
		})
	}
	return nil
}

// complete fills in metadata and audiences, and refuses another UID than the account's.
func (r *TokenREST) complete(asked *authenticationv1.TokenRequest, account *corev1.ServiceAccount, now time.Time) error {
	if asked.UID != "" && asked.UID != account.UID {
		return apierrors.NewConflict(kindResource(tokenKind), account.Name, fmt.Errorf(
			"the UID in the token request (%s) does not match the UID of the service account (%s)", asked.UID, account.UID))
	}
	asked.Name, asked.Namespace, asked.UID = account.Name, account.Namespace, account.UID
	asked.CreationTimestamp = metav1.NewTime(now)
	asked.Status = authenticationv1.TokenRequestStatus{}
	if len(asked.Spec.Audiences) == 0 {
		asked.Spec.Audiences = slices.Clone(r.Audiences)
	}
	return nil
}

var (
	tokenShortened = trace.Because("token-shortened",
		"{asked} s were asked for, and the server allows {seconds} s",
		"请求 {asked} 秒，服务器只允许 {seconds} 秒")
	tokenExtended = trace.Because("token-extended",
		"a pod's own token for this API, for the {asked} s that kubelets ask for: it lives for {seconds} s, since old "+
			"programs do not know that it ends",
		"Pod 自己用于此 API 的令牌，时长是 kubelet 请求的 {asked} 秒：旧程序不知道它会到期，所以有效期为 {seconds} 秒")
)

// validity returns the token's lifetime. It shortens the request's lifetime to the maximum. An extension does not
// show in the request.
func (r *TokenREST) validity(ctx context.Context, step *trace.Step, spec *authenticationv1.TokenRequestSpec, bound tokens.Binding,
	now time.Time) tokens.Validity {
	if wanted, most := *spec.ExpirationSeconds, seconds(r.MaxLifetime); most > 0 && wanted > most {
		warning.AddWarning(ctx, "", fmt.Sprintf("requested expiration of %d seconds shortened to %d seconds", wanted, most))
		step.Why(tokenShortened, wanted, most)
		spec.ExpirationSeconds = &most
	}
	lifetime := time.Duration(*spec.ExpirationSeconds) * time.Second
	if r.Extend && bound.Pod != nil && lifetime == kubeletLifetime && r.isForThisAPI(spec.Audiences) {
		step.Why(tokenExtended, seconds(lifetime), seconds(ExtendedLifetime))
		return tokens.Validity{From: now, For: ExtendedLifetime, WarnAfter: lifetime}
	}
	return tokens.Validity{From: now, For: lifetime}
}

func (r *TokenREST) isForThisAPI(audiences []string) bool {
	return !slices.ContainsFunc(audiences, func(a string) bool { return !slices.Contains(r.Audiences, a) })
}

// bound reads the object that the token is bound to: the token becomes invalid when the object is deleted.
func (r *TokenREST) bound(ctx context.Context, ref *authenticationv1.BoundObjectReference, account string) (to tokens.Binding, err error) {
	if ref == nil {
		return to, nil
	}
	var object metav1.Object
	kind := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
	switch {
	case kind.Group == "" && kind.Kind == "Pod":
		to, err = r.boundToPod(ctx, ref.Name, account)
		object = to.Pod
	case kind.Group == "" && kind.Kind == "Node":
		to.Node, err = read[*corev1.Node](ctx, r, "nodes", ref.Name, &metav1.GetOptions{})
		object = to.Node
	case kind.Group == "" && kind.Kind == "Secret":
		to.Secret, err = read[*corev1.Secret](ctx, r, "secrets", ref.Name, &metav1.GetOptions{})
		object = to.Secret
	case isWebhookRef(ref):
		return to, apierrors.NewBadRequest(
			fmt.Sprintf("cannot bind token to object of type %s (feature gate APIServerWebhookAuthenticationToken is disabled)", kind))
	default:
		return to, apierrors.NewBadRequest(fmt.Sprintf("cannot bind token to object of type %s", kind))
	}
	if err != nil {
		return to, err
	}
	if ref.UID != "" && ref.UID != object.GetUID() {
		return to, apierrors.NewConflict(kindResource(kind), ref.Name, fmt.Errorf(
			"the UID in the bound object reference (%s) does not match the UID in record. "+
				"The object might have been deleted and then recreated",
			ref.UID))
	}
	return to, nil
}

// boundToPod reads the pod, which must run as the account, and its node. If the node does not exist, the token holds
// only its name.
func (r *TokenREST) boundToPod(ctx context.Context, name, account string) (to tokens.Binding, err error) {
	if to.Pod, err = read[*corev1.Pod](ctx, r, "pods", name, &metav1.GetOptions{}); err != nil {
		return to, err
	}
	if to.Pod.Spec.ServiceAccountName != account {
		return to, apierrors.NewBadRequest(
			fmt.Sprintf("cannot bind token for serviceaccount %q to pod running with different serviceaccount name.", account))
	}
	node := to.Pod.Spec.NodeName
	if node == "" {
		return to, nil
	}
	// Any revision of the node will do, since the token needs only its UID. If the cache does not have a new node
	// yet, etcd does.
	to.Node, err = read[*corev1.Node](ctx, r, "nodes", node, &metav1.GetOptions{ResourceVersion: "0"})
	if err != nil {
		to.Node, err = read[*corev1.Node](ctx, r, "nodes", node, &metav1.GetOptions{})
	}
	switch {
	case apierrors.IsNotFound(err):
		to.Node, err = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}, nil
	case err != nil:
		err = apierrors.NewInternalError(err)
	}
	return to, err
}

// read gets an object of the core group. It does so as a request of its own: errors name the resource of the request.
func read[T runtime.Object](ctx context.Context, r *TokenREST, resource, name string, options *metav1.GetOptions) (obj T, err error) {
	info := &request.RequestInfo{
		IsResourceRequest: true, Verb: "get", APIVersion: corev1.SchemeGroupVersion.Version, Resource: resource, Name: name,
	}
	storage := r.Storage(corev1.SchemeGroupVersion.WithResource(resource))
	obj, err = builtin.Get[T](request.WithRequestInfo(ctx, info), storage, name, options)
	if errors.Is(err, builtin.ErrNotServed) {
		err = apierrors.NewInternalError(errors.New(resource + " are not served"))
	}
	return obj, err
}

// kindResource puts a kind into the place of a resource in errors, as a kube-apiserver does here.
func kindResource(kind schema.GroupVersionKind) schema.GroupResource {
	return schema.GroupResource{Group: kind.Group, Resource: kind.Kind}
}

func seconds(d time.Duration) int64 { return int64(d / time.Second) }
