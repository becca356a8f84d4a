package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"github.com/kx-apiserver/kx/cmd/kx/internal/render"
	"github.com/kx-apiserver/kx/cmd/kx/internal/render/journey"
	"github.com/kx-apiserver/kx/core/blame"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
)

func newTraceBlameCommand(o *traceOptions) *cobra.Command {
	s := &blameOptions{journeySource: journeySource{traceOptions: o}}
	cmd := &cobra.Command{
		Use:   "blame ID|RESOURCE/NAME [PATH]",
		Short: "Show who gave a field its value: which steps of a request, or which manager; or why there was the request",
		Long: `Show which steps of a request gave a field its value: the client, defaulting, admission, a conversion, or the
resource's strategy. The request must have been made with --trace, so that its objects are recorded.

For an object, the request is the newest one that changed the field. If none is remembered with its objects, the
object's managedFields say who manages the field.

Without a path, show why there was the request: whose it was, or what a controller decided, and because of which
other request.`,
		Example: `  kx trace blame 3f2a1c-19
  kx trace blame 3f2a1c-17 spec.replicas
  kx trace blame 3f2a1c-17 'spec.template.spec.containers[0].image'
  kx trace blame configmap/web data.color
  kx trace blame deployments.apps/web 'metadata.labels[app.kubernetes.io/name]' -n shop`,
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: o.completeID(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.run(cmd.Context(), args, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	s.addFlags(cmd, "json: the steps that changed the field, with its values, or its managers; without a path, the requests", render.JSON)
	cmd.Flags().StringVarP(&s.namespace, "namespace", "n", metav1.NamespaceDefault, "in which namespace the object is")
	return cmd
}

// blameOptions holds the options of kx trace blame, which explains a request or an object.
type blameOptions struct {
	journeySource
	namespace string
}

func (s *blameOptions) run(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) error {
	subject, path := args[0], ""
	if len(args) > 1 {
		path = args[1]
		if _, err := blame.ParsePath(path); err != nil {
			return err
		}
	}
	if !strings.Contains(subject, "/") {
		j, err := s.journey(ctx, subject, in)
		if err != nil {
			return err
		}
		return s.tell(ctx, j, path, in, out)
	}
	f := objectField{path: path}
	f.resource, f.name, _ = strings.Cut(subject, "/")
	if f.resource == "" || f.name == "" || strings.Contains(f.name, "/") {
		return fmt.Errorf("%q is neither the ID of a request nor RESOURCE/NAME, such as configmap/web", subject)
	}
	if s.file != "" {
		j, err := s.newestSaved(in, f)
		if err != nil {
			return err
		}
		fmt.Fprintf(errOut, "kx: the newest request of %s about it: %s\n", s.file, j.Name)
		return s.tell(ctx, j, path, in, out)
	}
	return s.object(ctx, f, in, out, errOut)
}

// objectField is what the user asks about: a field of an object, or the whole object if the path is empty.
type objectField struct{ resource, name, path string }

func (f objectField) String() string {
	if f.path == "" {
		return f.resource + "/" + f.name
	}
	return f.path + " of " + f.resource + "/" + f.name
}

// tell writes the causes of a request, or the steps that changed the field at a path.
func (s *blameOptions) tell(ctx context.Context, j *v1alpha1.Journey, path string, in io.Reader, out io.Writer) error {
	if path == "" {
		return s.causes(ctx, j, in, out)
	}
	return s.blame(j, path, out)
}

// writes lists the verbs of requests that can change an object.
var writes = []string{"create", "update", "patch", "delete"}

// newestSaved returns the last request of a capture that wrote an object and, if a path is given, changed the field
// there. A capture holds only the plural names of resources.
func (s *blameOptions) newestSaved(in io.Reader, f objectField) (newest *v1alpha1.Journey, err error) {
	wanted := schema.ParseGroupResource(f.resource)
	var plurals []string
	for j, err := range savedJourneys(s.file, in) {
		if err != nil {
			return nil, err
		}
		if !slices.Contains(plurals, j.Spec.Resource) && j.Spec.Resource != "" {
			plurals = append(plurals, j.Spec.Resource)
		}
		if j.Spec.Resource != wanted.Resource || wanted.Group != "" && j.Spec.Group != wanted.Group || !s.wrote(j, f.name) {
			continue
		}
		if f.path != "" {
			changes, err := blame.FindChanges(j, f.path)
			if err != nil || len(changes) == 0 {
				continue
			}
		}
		newest = j
	}
	if newest == nil {
		slices.Sort(plurals)
		return nil, fmt.Errorf("%s has no request that changed %s: its requests are about %s",
			s.file, f, strings.Join(plurals, ", "))
	}
	return newest, nil
}

// wrote reports whether a request wrote the object of that name successfully.
func (s *blameOptions) wrote(j *v1alpha1.Journey, name string) bool {
	return j.Spec.Name == name && (j.Spec.Namespace == s.namespace || j.Spec.Namespace == "") && slices.Contains(writes, j.Spec.Verb) &&
		j.Spec.Subresource == "" && j.Status.Code >= 200 && j.Status.Code < 300
}

// object explains the newest request of the server that wrote an object. If there is none, it shows the object's
// managedFields.
func (s *blameOptions) object(ctx context.Context, f objectField, in io.Reader, out, errOut io.Writer) error {
	config, err := s.server()
	if err != nil {
		return err
	}
	mapping, err := mappingOf(config, f.resource)
	if err != nil {
		return err
	}
	client, _, err := s.connect(1)
	if err != nil {
		return err
	}
	defer client.Close()
	f.resource = mapping.Resource.Resource
	about := fmt.Sprintf("verb:%s resource:%s name:%s", strings.Join(writes, ","), f.resource, values([]string{f.name})[0])
	newest := func(filter string) (*v1alpha1.Journey, error) {
		rows, err := client.Rows(ctx, filter)
		for _, j := range slices.Backward(rows) {
			if j.Spec.Group == mapping.Resource.Group && s.wrote(j, f.name) {
				return client.Get(ctx, j.Name)
			}
		}
		return nil, err
	}
	wanted := about
	if f.path != "" {
		wanted += " touched:" + values([]string{f.path})[0]
	}
	j, err := newest(wanted)
	if err != nil {
		return err
	}
	if j != nil {
		fmt.Fprintf(errOut, "kx: the newest request that changed %s: %s\n", f, j.Name)
		return s.tell(ctx, j, f.path, in, out)
	}
	if f.path == "" {
		return fmt.Errorf("the server remembers no request that wrote %s: give a path, and its managedFields are asked", f)
	}
	if j, err = newest(about); err != nil {
		return err
	}
	if j == nil {
		fmt.Fprintf(errOut, "kx: the server remembers no request that wrote %s: this is what its managedFields say\n",
			objectField{resource: f.resource, name: f.name})
	} else {
		fmt.Fprintf(errOut, "kx: no request with recorded objects (--trace) changed %s, the newest without them is %s: "+
			"this is what managedFields say\n",
			f, j.Name)
	}
	return s.managers(ctx, config, mapping, f.name, f.path, out)
}

// managers writes the managers of a field from an object's managedFields.
func (s *blameOptions) managers(
	ctx context.Context, config *rest.Config, mapping *meta.RESTMapping, name, path string, out io.Writer,
) error {
	all, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	var in dynamic.ResourceInterface = all.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		in = all.Resource(mapping.Resource).Namespace(s.namespace)
	}
	object, err := in.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	data, err := object.MarshalJSON()
	if err != nil {
		return err
	}
	value, owners, err := blame.Owners(data, path)
	if err != nil {
		return err
	}
	if value == "" {
		return fmt.Errorf("%s/%s has no field %s", mapping.Resource.Resource, name, path)
	}
	if s.format == render.JSON {
		return render.WriteOne(out, render.JSON, owners)
	}
	journey.Owners(out, mapping.Resource.Resource+"/"+name, path, value, owners, journey.PaintFor(out).WithLanguage(s.language))
	return nil
}

// mappingOf finds a resource by any of its names, as kubectl does.
func mappingOf(config *rest.Config, resource string) (*meta.RESTMapping, error) {
	d, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	mapper := resourceMapper(d)
	found, err := resourceFor(mapper, resource)
	if err != nil {
		return nil, err
	}
	kind, err := mapper.KindFor(found)
	if err != nil {
		return nil, err
	}
	return mapper.RESTMapping(kind.GroupKind(), kind.Version)
}

// resourceMapper maps the resources of a server, including their short names.
func resourceMapper(d discovery.DiscoveryInterface) meta.RESTMapper {
	return restmapper.NewShortcutExpander(restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(d)), d, nil)
}

func resourceFor(mapper meta.RESTMapper, resource string) (schema.GroupVersionResource, error) {
	found, err := mapper.ResourceFor(schema.ParseGroupResource(resource).WithVersion(""))
	if meta.IsNoMatchError(err) {
		return found, fmt.Errorf("the server has no resource %q: kx api-resources lists those that it has", resource)
	}
	if err != nil {
		return found, fmt.Errorf("%s: %w", resource, err)
	}
	return found, nil
}

func (s *journeySource) blame(j *v1alpha1.Journey, path string, out io.Writer) error {
	changes, err := blame.FindChanges(j, path)
	if err != nil {
		return err
	}
	if s.format == render.JSON {
		return render.WriteOne(out, render.JSON, changes)
	}
	journey.Blame(out, j, path, changes, journey.PaintFor(out).WithLanguage(s.language))
	return nil
}

// causesMost limits the length of a chain of causes.
const causesMost = 32

// causes shows the request, the request that caused it, and so on.
func (s *journeySource) causes(ctx context.Context, j *v1alpha1.Journey, in io.Reader, out io.Writer) error {
	chain, unknown := []*v1alpha1.Journey{j}, errors.New("it is one of many")
	for j.Status.Cause != nil && len(chain) < causesMost {
		var next *v1alpha1.Journey
		var err error
		switch {
		case j.Status.Cause.Journey == "":
			err = errors.New("no request that the server remembers wrote it")
		case s.file == "-":
			err = errors.New("what comes from standard input is read once")
		default:
			next, err = s.journey(ctx, j.Status.Cause.Journey, in)
		}
		if err != nil {
			unknown = err
			break
		}
		j, chain = next, append(chain, next)
	}
	if s.format == render.JSON {
		return render.WriteOne(out, render.JSON, chain)
	}
	journey.Causes(out, chain, unknown, journey.PaintFor(out).WithLanguage(s.language))
	return nil
}
