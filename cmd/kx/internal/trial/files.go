package trial

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	registrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/admissionregistration"
	"github.com/kx-apiserver/kx/server/builtin/scheme"
)

// Set holds the content of files: policies and bindings, in their types of v1, and other objects, which may be
// params.
type Set struct {
	Policies []runtime.Object
	Bindings []runtime.Object
	Params   []*unstructured.Unstructured
}

// Definition is the error for a file with a CustomResourceDefinition. Another command tries the rules of definitions.
type Definition struct{ Name string }

func (d *Definition) Error() string { return "it has the CustomResourceDefinition " + d.Name }

// strict refuses unknown fields.
var strict = serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict)

// kinds lists the kinds of admission policies and of their bindings.
var kinds = []string{"MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding", "ValidatingAdmissionPolicy",
	"ValidatingAdmissionPolicyBinding"}

// maxDocument limits a document of a file, as an API server limits the body of a request.
const maxDocument = 3 << 20

// Read adds the documents of a file, in YAML or JSON.
func (s *Set) Read(data []byte) error {
	documents := utilyaml.NewDocumentDecoder(io.NopCloser(bytes.NewReader(data)))
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		return s.add(data)
	}
	buffer := make([]byte, min(len(data)+1, maxDocument))
	for {
		n, err := documents.Read(buffer)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if errors.Is(err, io.ErrShortBuffer) {
			return fmt.Errorf("a document has more than %d bytes", maxDocument)
		}
		if err == nil {
			err = s.add(bytes.Clone(buffer[:n]))
		}
		if err != nil {
			return err
		}
	}
}

// add adds a document.
func (s *Set) add(document []byte) error {
	object := map[string]any{}
	if err := yaml.Unmarshal(document, &object); err != nil {
		return err
	}
	if len(object) == 0 {
		return nil
	}
	u := &unstructured.Unstructured{Object: object}
	switch kind := u.GroupVersionKind(); {
	case kind.Kind == "":
		return errors.New("an object in it has no kind")
	case kind.Kind == "CustomResourceDefinition":
		return &Definition{u.GetName()}
	case kind.Kind == "List" && u.IsList():
		return u.EachListItem(func(item runtime.Object) error {
			data, err := yaml.Marshal(item)
			if err != nil {
				return err
			}
			return s.add(data)
		})
	case kind.Group != registrationv1.GroupName || !slices.Contains(kinds, kind.Kind):
		s.Params = append(s.Params, u)
		return nil
	}
	obj, _, err := strict.UniversalDeserializer().Decode(document, nil, nil)
	if err != nil {
		return err
	}
	scheme.Scheme.Default(obj)
	if obj, err = scheme.Scheme.ConvertToVersion(obj, registrationv1.SchemeGroupVersion); err != nil {
		return err
	}
	switch obj := obj.(type) {
	case *registrationv1.MutatingAdmissionPolicy:
		s.Policies, err = append(s.Policies, obj), valid(obj, admissionregistration.MutatingAdmissionPolicy)
	case *registrationv1.ValidatingAdmissionPolicy:
		s.Policies, err = append(s.Policies, obj), valid(obj, admissionregistration.ValidatingAdmissionPolicy)
	case *registrationv1.MutatingAdmissionPolicyBinding:
		s.Bindings, err = append(s.Bindings, obj), valid(obj, admissionregistration.MutatingAdmissionPolicyBinding)
	case *registrationv1.ValidatingAdmissionPolicyBinding:
		s.Bindings, err = append(s.Bindings, obj), valid(obj, admissionregistration.ValidatingAdmissionPolicyBinding)
	}
	return err
}

// valid returns the error that an API server would return for a new object.
func valid[T builtin.Object](obj T, declared builtin.Resource[T]) error {
	if declared.Default != nil {
		declared.Default(obj)
	}
	errs := declared.Validate(obj)
	if len(errs) == 0 {
		return nil
	}
	kinds, _, err := scheme.Scheme.ObjectKinds(obj)
	if err != nil {
		return err
	}
	return apierrors.NewInvalid(kinds[0].GroupKind(), obj.GetName(), errs)
}

// check returns an error if a part is missing that the trial needs.
func (s *Set) check() error {
	if len(s.Policies) == 0 {
		return errors.New("there is no policy in the files: give a ValidatingAdmissionPolicy or a MutatingAdmissionPolicy with -f")
	}
	bound := map[string]bool{}
	for _, b := range s.Bindings {
		kind, name := policyOf(b)
		bound[kind+name] = true
		if !slices.ContainsFunc(s.Policies, func(p runtime.Object) bool {
			ofKind, _ := paramKind(p)
			return ofKind == kind && p.(metav1.Object).GetName() == name
		}) {
			return fmt.Errorf("the binding %s is of the %s %q, which is in none of the files: add its file with -f",
				b.(metav1.Object).GetName(), kind, name)
		}
	}
	for _, p := range s.Policies {
		kind, params := paramKind(p)
		if name := p.(metav1.Object).GetName(); params != nil && !bound[kind+name] {
			return fmt.Errorf("the policy %s has params of the kind %s, and no binding says which: add a binding with -f", name,
				params.Kind)
		}
	}
	return nil
}

// policyOf returns the kind and the name of a binding's policy.
func policyOf(b runtime.Object) (kind, name string) {
	switch b := b.(type) {
	case *registrationv1.MutatingAdmissionPolicyBinding:
		return "MutatingAdmissionPolicy", b.Spec.PolicyName
	case *registrationv1.ValidatingAdmissionPolicyBinding:
		return "ValidatingAdmissionPolicy", b.Spec.PolicyName
	}
	return "", ""
}

// paramKind returns the kind of a policy, and the kind of its params, which is nil without params.
func paramKind(p runtime.Object) (kind string, params *registrationv1.ParamKind) {
	switch p := p.(type) {
	case *registrationv1.MutatingAdmissionPolicy:
		return "MutatingAdmissionPolicy", p.Spec.ParamKind
	case *registrationv1.ValidatingAdmissionPolicy:
		return "ValidatingAdmissionPolicy", p.Spec.ParamKind
	}
	return "", nil
}
