package kubectl

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/kubectl/pkg/cmd/auth"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	"sigs.k8s.io/yaml"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
)

// newWhy makes kx auth why: can-i with the rule that allows the action, or with the missing permission.
func (w *wiring) newWhy(f cmdutil.Factory, streams Streams) *cobra.Command {
	o := &auth.CanIOptions{IOStreams: streams}
	cmd := &cobra.Command{
		Use:                   "why VERB [TYPE | TYPE NAME | NONRESOURCEURL]",
		DisableFlagsInUseLine: true,
		Short:                 "Say which rule allows an action, or what would have to be granted",
		Long: `Say which binding, role and rule allow an action, or which come nearest, and what would have to be granted.

With --as and --as-group it is about that user. Nobody acts as them for it: it takes the verb create on accessreviews.kx.dev, which
the roles kx:viewer and kx:admin have. A user without --as-group has the groups that --as gives them.

The exit code is 1 if the action is not allowed. Then the output is a role and a binding that would allow it, with the reason as a
comment, so that it can be read, changed, and given to kx apply -f -.`,
		Example: `  # Which rule lets ann read config maps
  kx auth why get configmaps --as ann -n default

  # Let a service account create secrets, and nothing else
  kx auth why create secrets --as system:serviceaccount:dev:robot -n prod | kx apply -f -

  # Why a group may read the metrics
  kx auth why get /metrics --as anybody --as-group monitoring`,
		RunE: func(_ *cobra.Command, args []string) error {
			review := &v1alpha1.AccessReview{TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.SchemeGroupVersion.String(),
				Kind: "AccessReview"}}
			if err := w.subject(&review.Spec); err != nil {
				return err
			}
			if err := w.question(f, o, args, &review.Spec); err != nil {
				return err
			}
			if err := ask(f, review); err != nil {
				return err
			}
			if review.Status.EvaluationError != "" {
				w.say("not all authorizers could be asked: " + review.Status.EvaluationError)
			}
			if review.Status.Allowed {
				_, err := fmt.Fprintf(streams.Out, "yes: %s\n", review.Status.Why)
				return err
			}
			if err := lack(streams.Out, review); err != nil {
				return err
			}
			w.exit(1)
			return nil
		},
	}
	cmd.Flags().BoolVarP(&o.AllNamespaces, "all-namespaces", "A", false, "Ask about all namespaces")
	cmd.Flags().StringVar(&o.Subresource, "subresource", "", "Subresource such as log or scale")
	return cmd
}

// subject sets the review's user from the impersonation flags.
func (w *wiring) subject(spec *authorizationv1.SubjectAccessReviewSpec) error {
	spec.User, spec.UID, spec.Groups = *w.flags.Impersonate, *w.flags.ImpersonateUID, *w.flags.ImpersonateGroup
	for _, pair := range *w.flags.ImpersonateUserExtra {
		key, value, ok := strings.Cut(pair, "=")
		if !ok {
			return fmt.Errorf("--as-user-extra: %q is not KEY=VALUE", pair)
		}
		if spec.Extra == nil {
			spec.Extra = map[string]authorizationv1.ExtraValue{}
		}
		spec.Extra[key] = append(spec.Extra[key], value)
	}
	*w.flags.Impersonate, *w.flags.ImpersonateUID, *w.flags.ImpersonateGroup, *w.flags.ImpersonateUserExtra = "", "", nil, nil
	if spec.User == "" {
		if len(spec.Groups) > 0 || spec.UID != "" || len(spec.Extra) > 0 {
			return errors.New("--as has to say of which user, since a group alone asks for nothing")
		}
		return nil
	}
	if namespace, _, err := serviceaccount.SplitUsername(spec.User); err == nil && len(spec.Groups) == 0 {
		spec.Groups = serviceaccount.MakeGroupNames(namespace)
	}
	everybody := user.AllAuthenticated
	if spec.User == user.Anonymous {
		everybody = user.AllUnauthenticated
	}
	if !slices.Contains(spec.Groups, user.AllUnauthenticated) && !slices.Contains(spec.Groups, everybody) {
		spec.Groups = append(spec.Groups, everybody)
	}
	return nil
}

// question reads the action from the arguments.
func (w *wiring) question(f cmdutil.Factory, o *auth.CanIOptions, args []string, spec *authorizationv1.SubjectAccessReviewSpec) error {
	if len(args) == 3 {
		args = []string{args[0], args[1] + "/" + args[2]}
	}
	if len(args) != 2 {
		return errors.New(
			"say a verb, a resource, and the name of an object if you like, or a verb and a path: kx auth why get configmaps settings")
	}
	if err := o.Complete(f, args); err != nil {
		return err
	}
	if o.NonResourceURL != "" {
		if o.Subresource != "" {
			return errors.New("--subresource: a path has none")
		}
		spec.NonResourceAttributes = &authorizationv1.NonResourceAttributes{Verb: o.Verb, Path: o.NonResourceURL}
		return nil
	}
	if o.ResourceName != "" && (o.Verb == "create" && o.Subresource == "" || o.Verb == "deletecollection") {
		w.say("a request to " + o.Verb + " has no name when it is authorized, so " + o.ResourceName + " is left out")
		o.ResourceName = ""
	}
	mapper, err := f.ToRESTMapper()
	if err != nil {
		return err
	}
	if kind, err := mapper.KindFor(o.Resource); err == nil {
		mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		switch {
		case err == nil && kind.GroupKind() == (schema.GroupKind{Kind: "Namespace"}):
			o.Namespace = o.ResourceName // the API treats a request for a namespace as one in it
		case err == nil && mapping.Scope.Name() == meta.RESTScopeNameRoot:
			o.Namespace = ""
		}
	} else if o.Verb == "impersonate" || strings.HasPrefix(o.Verb, "impersonate:") {
		// The parts of an impersonated user are resources only in roles: no server serves them. Only service accounts
		// have a namespace.
		part := schema.ParseGroupResource(o.Resource.Resource)
		if o.Resource = part.WithVersion(""); part.Resource != "serviceaccounts" {
			o.Namespace = ""
		}
	}
	spec.ResourceAttributes = &authorizationv1.ResourceAttributes{
		Namespace: o.Namespace, Verb: o.Verb, Group: o.Resource.Group, Resource: o.Resource.Resource, Subresource: o.Subresource,
		Name: o.ResourceName,
	}
	return nil
}

// ask sends a review to the server, and fills in its answer.
func ask(f cmdutil.Factory, review *v1alpha1.AccessReview) error {
	client, err := f.KubernetesClientSet()
	if err != nil {
		return err
	}
	body, err := json.Marshal(review)
	if err != nil {
		return err
	}
	answer := client.CoreV1().RESTClient().Post().AbsPath("/apis/"+v1alpha1.SchemeGroupVersion.String()+"/accessreviews").
		SetHeader("Content-Type", "application/json").SetHeader("Accept", "application/json").Body(body).Do(context.Background())
	if err := answer.Error(); err != nil {
		return err
	}
	data, err := answer.Raw()
	if err != nil {
		return err
	}
	*review = v1alpha1.AccessReview{}
	return json.Unmarshal(data, review)
}

// lack writes the reason of a refusal, and the role and the binding that would allow the action.
func lack(out io.Writer, review *v1alpha1.AccessReview) error {
	if _, err := fmt.Fprintf(out, "# no: %s\n", review.Status.Why); err != nil || review.Status.Missing == nil {
		return err
	}
	for _, object := range grant(review) {
		data, err := yaml.Marshal(object)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out, "---\n%s", data); err != nil {
			return err
		}
	}
	return nil
}

// nameMost limits the bytes of a role's name here. A shortened name ends with hashBytes of a hash.
const (
	nameMost  = 200
	hashBytes = 4
)

// roleName builds a role's name from its rule and its user, so that the role for one user does not replace another
// user's. If the user's name has characters that a role's name can't have, or if the result is too long, a hash keeps
// names distinct.
func roleName(rule *rbacv1.PolicyRule, who string) string {
	resources := slices.Clone(rule.Resources)
	for i := range resources {
		if group := rule.APIGroups[0]; group != "" {
			resources[i] += "." + group
		}
	}
	what := strings.Join(slices.Concat(rule.Verbs, resources, rule.ResourceNames, rule.NonResourceURLs), "-")
	valid := strings.NewReplacer("-/", "-", "/", "-", "%", "-", "*", "all")
	name := valid.Replace(what) + "-" + valid.Replace(who)
	if len(name) <= nameMost && valid.Replace(who) == who {
		return name
	}
	hash := sha256.Sum256([]byte(what + " " + who))
	return fmt.Sprintf("%s-%x", strings.ToValidUTF8(name[:min(len(name), nameMost)], ""), hash[:hashBytes])
}

// grant returns a role with the missing rule, and its binding to the review's user.
func grant(review *v1alpha1.AccessReview) []any {
	rule, spec := *review.Status.Missing, review.Spec
	named := metav1.ObjectMeta{Name: roleName(&rule, spec.User)}
	who := rbacv1.Subject{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: spec.User}
	if namespace, account, err := serviceaccount.SplitUsername(spec.User); err == nil {
		who = rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: account}
	}
	to := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: named.Name}
	rules, subjects := []rbacv1.PolicyRule{rule}, []rbacv1.Subject{who}
	of := func(kind string) metav1.TypeMeta {
		return metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: kind}
	}
	if spec.ResourceAttributes == nil || spec.ResourceAttributes.Namespace == "" {
		return []any{
			&rbacv1.ClusterRole{TypeMeta: of("ClusterRole"), ObjectMeta: named, Rules: rules},
			&rbacv1.ClusterRoleBinding{TypeMeta: of("ClusterRoleBinding"), ObjectMeta: named, RoleRef: to, Subjects: subjects},
		}
	}
	named.Namespace = spec.ResourceAttributes.Namespace
	to.Kind = "Role"
	return []any{
		&rbacv1.Role{TypeMeta: of("Role"), ObjectMeta: named, Rules: rules},
		&rbacv1.RoleBinding{TypeMeta: of("RoleBinding"), ObjectMeta: named, RoleRef: to, Subjects: subjects},
	}
}
