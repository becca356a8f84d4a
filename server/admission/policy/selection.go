package policy

import (
	"context"

	registrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	library "k8s.io/apiserver/pkg/admission/plugin/authorizer"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/object"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/admission/match"
	"github.com/kx-apiserver/kx/server/admission/plugin"
)

// selection selects the writes that a policy or a binding applies to.
type selection struct {
	resources                 registrationv1.MatchResources
	namespaces, objects       labels.Selector
	namespacesErr, objectsErr error
}

func newSelection(m *registrationv1.MatchResources) *selection {
	s := &selection{}
	if m != nil {
		s.resources = *m
	}
	s.namespaces, s.namespacesErr = metav1.LabelSelectorAsSelector(s.resources.NamespaceSelector)
	s.objects, s.objectsErr = metav1.LabelSelectorAsSelector(s.resources.ObjectSelector)
	return s
}

func (s *selection) GetParsedNamespaceSelector() (labels.Selector, error) {
	return s.namespaces, s.namespacesErr
}

func (s *selection) GetParsedObjectSelector() (labels.Selector, error) {
	return s.objects, s.objectsErr
}

// rulesOf are the rules of a selection, with selectors that select everything.
type rulesOf struct{ *selection }

func (rulesOf) GetParsedNamespaceSelector() (labels.Selector, error) { return labels.Everything(), nil }
func (rulesOf) GetParsedObjectSelector() (labels.Selector, error)    { return labels.Everything(), nil }
func (r rulesOf) GetMatchResources() registrationv1.MatchResources   { return r.resources }

// target is the resource and kind in which a policy wants to see a write.
type target struct {
	resource schema.GroupVersionResource
	kind     schema.GroupVersionKind
}

// visit is the evaluation of all policies of one kind for one write. One goroutine uses it.
type visit struct {
	p *Policies
	w plugin.Write
	// authorizer caches answers: an expression may ask the same question for each param.
	authorizer authorizer.UnconditionalAuthorizer
	kinds      map[schema.GroupVersionKind]*admission.VersionedAttributes
	// namespace is the object's namespace, nil until it is first needed.
	namespace *corev1.Namespace
}

func (p *Policies) visit(w plugin.Write) visit {
	return visit{
		p: p, w: w, authorizer: library.NewCachingAuthorizer(p.config.Authorizer),
		kinds: map[schema.GroupVersionKind]*admission.VersionedAttributes{},
	}
}

// matches reports whether the rules of a selection match the write, and in which resource and kind.
func (p *Policies) matches(s *selection, w *plugin.Write) (bool, target, error) {
	about, resource, kind, err := p.rules.Matches(w.Attributes, w.Objects, rulesOf{s})
	return about, target{resource, kind}, err
}

var (
	policyOtherNamespace = trace.Because("policy-other-namespace",
		"its rules are about this write, but its namespaceSelector is not about the namespace",
		"规则匹配这次写入，但 namespaceSelector 不匹配该命名空间")
	policyOtherLabels = trace.Because("policy-other-labels",
		"its rules are about this write, but its objectSelector is not about the object",
		"规则匹配这次写入，但 objectSelector 不匹配该对象")
)

// differs returns the reason why the selectors of a selection exclude the write; 0 if they select it.
func (v *visit) differs(ctx context.Context, s *selection) (trace.Reason, error) {
	inNamespace, namespaceErr := match.Namespace(ctx, v.readNamespace, s, v.w.Attributes)
	if !inNamespace && namespaceErr == nil {
		return policyOtherNamespace, nil
	}
	ofLabels, objectErr := (&object.Matcher{}).MatchObjectSelector(s, v.w.Attributes)
	switch {
	case !ofLabels && objectErr == nil:
		return policyOtherLabels, nil
	case namespaceErr != nil:
		return trace.Reason{}, namespaceErr
	case objectErr != nil:
		return trace.Reason{}, objectErr
	}
	return trace.Reason{}, nil
}

func (v *visit) readNamespace(ctx context.Context, name string) (_ *corev1.Namespace, err error) {
	if v.namespace == nil {
		v.namespace, err = v.p.config.Namespace(ctx, name)
	}
	return v.namespace, err
}

// namespaceObject returns the value of namespaceObject in expressions: nil for cluster-scoped objects and for
// namespaces.
func (v *visit) namespaceObject(ctx context.Context) (*corev1.Namespace, error) {
	name, kind := v.w.GetNamespace(), v.w.GetKind()
	if name == "" || kind == corev1.SchemeGroupVersion.WithKind("Namespace") {
		return nil, nil
	}
	return v.readNamespace(ctx, name)
}

// convert returns the objects of the write in a kind.
func (v *visit) convert(kind schema.GroupVersionKind) (_ *admission.VersionedAttributes, err error) {
	if v.kinds[kind] == nil {
		v.kinds[kind], err = match.ConvertObjects(v.w.Attributes, kind, v.w.Objects)
	}
	return v.kinds[kind], err
}
