package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kx-apiserver/kx/cmd/kx/internal/join"
	"github.com/kx-apiserver/kx/cmd/kx/internal/render"
	"github.com/kx-apiserver/kx/cmd/kx/internal/trial"
)

type policyTryOptions struct {
	serverOptions
	files     []string
	against   string
	operation string
	format    render.Format
	all       bool
	color     string
}

func newPolicyTryCommand() *cobra.Command {
	o := &policyTryOptions{serverOptions: newServerOptions()}
	cmd := &cobra.Command{
		Use:   "try -f FILE... --against 'RESOURCE [NAME...] [-A | -n NAMESPACE] [-l SELECTOR]'",
		Short: "Try admission policies on the objects of a server, without installing them",
		Long: `Try ValidatingAdmissionPolicies and MutatingAdmissionPolicies on the objects of a server, without installing them.

Each object is tried as if you wrote it now as it is: which validations do not hold, what their bindings do about that and what
the client would be told, and how mutating policies would change it. The evaluation is that of kx serve. Objects, params and
namespaces are read from the server; nothing is written. Only the policies of the files are tried, not those that are installed.

The files may have several documents: policies, their bindings, and objects that are params, which come before those of
the server. A policy without a binding is tried as if one bound it to everything with the action Deny.

An update is tried if a policy is about updates, and else a creation; --operation says which. After a change, custom
resources get no defaults of their definition.

Objects of which something would come are shown; --all shows all. The exit code is 3 if any would be refused. The rules of a
CustomResourceDefinition are tried by kx storage what-if.`,
		Example: `  kx policy try -f policy.yaml --against 'deployments -A'
  kx policy try -f policy.yaml -f binding.yaml -f params.yaml --against 'pods -n web -l app=shop' -o json
  kx policy try -f - --operation create --against 'configmaps limits quotas' < policies.yaml`,
		Args: cobra.NoArgs,
		RunE: o.run,
	}
	fs := cmd.Flags()
	fs.StringVar(&o.dataDir, "data-dir", o.dataDir, "data directory of the kx to ask")
	o.addKubeconfig(fs, "--data-dir")
	fs.StringArrayVarP(&o.files, "filename", "f", nil,
		"file with policies, bindings or params, YAML or JSON; - for standard input; may be given several times")
	fs.StringVar(&o.against, "against", "", "which objects, in kubectl's words for get: 'pods -A', 'deployments.apps web -n shop'")
	fs.StringVar(&o.operation, "operation", "", "the write to try: create or update")
	oneOf(cmd, "operation", "create", "update")
	fs.BoolVar(&o.all, "all", false, "show also objects of which nothing would come")
	fs.StringVar(&o.color, "color", "auto", "colour changes: auto, always or never")
	oneOf(cmd, "color", "auto", "always", "never")
	formatVar(cmd, fs, &o.format, "json or yaml", render.Text, render.JSON, render.YAML)
	_ = cmd.MarkFlagRequired("filename")
	_ = cmd.MarkFlagRequired("against")
	return cmd
}

func (o *policyTryOptions) run(cmd *cobra.Command, _ []string) error {
	operation := admission.Operation(strings.ToUpper(o.operation))
	if operation != "" && operation != admission.Create && operation != admission.Update {
		return fmt.Errorf("--operation %s: use create or update", o.operation)
	}
	colored, err := render.WantsColour(o.color, cmd.OutOrStdout())
	if err != nil {
		return err
	}
	set, err := o.read(cmd)
	if err != nil {
		return err
	}
	wanted, err := parseAgainst(o.against)
	if err != nil {
		return err
	}
	ctx, stop := untilInterrupted(cmd)
	defer stop()
	from, err := o.reading()
	if err != nil {
		return err
	}
	t, err := trial.New(ctx, from.config, from.mapper, set, operation)
	if err != nil {
		return err
	}
	return o.try(ctx, cmd, t, wanted.find(from), colored)
}

// read reads the files.
func (o *policyTryOptions) read(cmd *cobra.Command) (*trial.Set, error) {
	set := &trial.Set{}
	for _, file := range o.files {
		data, err := input(cmd, file)
		if err != nil {
			return nil, fmt.Errorf("read the policies: %w", err)
		}
		err = set.Read(data)
		var definition *trial.Definition
		if errors.As(err, &definition) {
			return nil, fmt.Errorf("%s: %w: kx storage what-if --crd %s tries its rules", file, err, file)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	return set, nil
}

func (o *policyTryOptions) try(ctx context.Context, cmd *cobra.Command, t *trial.Trial, objects *resource.Result, colored bool) error {
	out := render.NewPolicies(cmd.OutOrStdout(), o.format, colored)
	progress := render.NewProgress(cmd.ErrOrStderr(), func(done int64) string { return render.Count(done).String() + " objects" })
	defer progress.Clear()
	err := objects.Visit(func(info *resource.Info, err error) error {
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		u, ok := info.Object.(*unstructured.Unstructured)
		if !ok || info.Mapping == nil {
			return fmt.Errorf("the server answered with a %T instead of an object", info.Object)
		}
		tried, err := t.Try(ctx, u, info.Mapping.Resource)
		if err != nil {
			return fmt.Errorf("%s %s: %w", info.Mapping.Resource.GroupResource(), info.ObjectName(), err)
		}
		progress.Add(1)
		if tried.Nothing() && !o.all {
			return nil
		}
		progress.Clear()
		return out.Object(tried)
	})
	progress.Clear()
	if err != nil {
		return fmt.Errorf("try the policies against %q: %w", o.against, err)
	}
	if err := out.Summary(&t.Summary); err != nil {
		return err
	}
	if t.Summary.Refused > 0 {
		return &exitError{code: exitFound}
	}
	return nil
}

// against is the parsed value of --against.
type against struct {
	words                       []string
	namespace, selector, fields string
	all                         bool
}

// parseAgainst parses the arguments of a kubectl get.
func parseAgainst(text string) (*against, error) {
	a := &against{}
	fs := pflag.NewFlagSet("--against", pflag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	fs.StringVarP(&a.namespace, "namespace", "n", "", "")
	fs.StringVarP(&a.selector, "selector", "l", "", "")
	fs.StringVar(&a.fields, "field-selector", "", "")
	fs.BoolVarP(&a.all, "all-namespaces", "A", false, "")
	words, err := splitWords(text)
	if err == nil {
		err = fs.Parse(words)
	}
	if err == nil && fs.NArg() == 0 {
		err = errors.New("it names no resource")
	}
	if err != nil {
		return nil, fmt.Errorf("--against %q: %w; write it like 'pods -A' or 'pods web -n shop'", text, err)
	}
	a.words = fs.Args()
	return a, nil
}

// splitWords splits words at spaces, but not within quotes.
func splitWords(text string) (words []string, err error) {
	var word strings.Builder
	quote, begun := rune(0), false
	end := func() {
		if begun {
			words = append(words, word.String())
			word.Reset()
			begun = false
		}
	}
	for _, r := range text {
		switch {
		case r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			quote, begun = r, true
		case quote == 0 && (r == ' ' || r == '\t' || r == '\n'):
			end()
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	if end(); quote != 0 {
		return nil, fmt.Errorf("a quote %c is not closed", quote)
	}
	return words, nil
}

// pageObjects is the size of a page of objects, as in kubectl.
const pageObjects = 500

// find returns a result that reads the objects from the server, page by page, when they are visited.
func (a *against) find(from *reading) *resource.Result {
	namespace := a.namespace
	if namespace == "" {
		namespace = from.namespace
	}
	return resource.NewBuilder(from).Unstructured().
		NamespaceParam(namespace).DefaultNamespace().AllNamespaces(a.all).
		LabelSelectorParam(a.selector).FieldSelectorParam(a.fields).RequestChunksOf(pageObjects).
		ResourceTypeOrNameArgs(true, a.words...).Flatten().Do()
}

// reading is a server from which objects are read. It is a RESTClientGetter.
type reading struct {
	config    *rest.Config
	namespace string
	discovery discovery.CachedDiscoveryInterface
	mapper    meta.RESTMapper
}

func (o *policyTryOptions) reading() (*reading, error) {
	config, err := o.server()
	if err != nil {
		return nil, err
	}
	config.QPS = -1 // requests go one after the other
	r := &reading{config: config, namespace: "default"}
	if join.SelectsOther(o.dataDir, o.kubeconfig) {
		rules := clientcmd.NewDefaultClientConfigLoadingRules()
		rules.ExplicitPath = o.kubeconfig
		if r.namespace, _, err = clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).Namespace(); err != nil {
			return nil, fmt.Errorf("read the kubeconfig: %w", err)
		}
	}
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	r.discovery = memory.NewMemCacheClient(client)
	r.mapper = restmapper.NewShortcutExpander(restmapper.NewDeferredDiscoveryRESTMapper(r.discovery), r.discovery, nil)
	return r, nil
}

// ToRESTConfig and the methods below implement kubectl's RESTClientGetter.
func (r *reading) ToRESTConfig() (*rest.Config, error) { return r.config, nil }
func (r *reading) ToDiscoveryClient() (discovery.CachedDiscoveryInterface, error) {
	return r.discovery, nil
}
func (r *reading) ToRESTMapper() (meta.RESTMapper, error) { return r.mapper, nil }
func (r *reading) ToRawKubeConfigLoader() clientcmd.ClientConfig {
	return clientcmd.NewDefaultClientConfig(*clientcmdapi.NewConfig(), nil)
}
