package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/store/admin"
	"github.com/kx-apiserver/kx/tui/api"
)

// completeWait limits the wait after Tab. Completion then offers the results so far. Tests wait longer.
var completeWait = 2 * time.Second

// completeMost limits the keys that completion offers.
const completeMost = 500

// oneOf completes a flag by its values.
func oneOf(cmd *cobra.Command, flag string, values ...cobra.Completion) {
	completeFlag(cmd, flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// completeFlag completes a flag. It panics if the command lacks the flag.
func completeFlag(cmd *cobra.Command, flag string, complete cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic(err)
	}
}

// completeKeys completes up to most arguments with keys of the etcd or file, one directory at a time.
func (o *etcdOptions) completeKeys(most int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return o.below(cmd.Context(), "", typed)
	}
}

// completeNamespace completes a flag with the namespaces in the etcd or file.
func (o *etcdOptions) completeNamespace(cmd *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return o.below(cmd.Context(), "namespaces/", typed)
}

// below returns the keys and directories in dir that begin with the typed text.
func (o *etcdOptions) below(ctx context.Context, dir, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	directive := cobra.ShellCompDirectiveNoFileComp
	ctx, cancel := context.WithTimeout(ctx, completeWait)
	defer cancel()
	source, err := o.source(ctx, func(string) {})
	if err != nil {
		return nil, directive
	}
	defer source.Close()
	paths := admin.Children(ctx, source, o.path(dir+typed), completeMost)
	for i, path := range paths {
		if strings.HasSuffix(path, "/") {
			directive |= cobra.ShellCompDirectiveNoSpace // more of the key follows
		}
		if !strings.HasPrefix(typed, "/") {
			paths[i] = strings.TrimPrefix(path, o.path(dir))
		}
	}
	return paths, directive
}

// completing makes a completion function from ask, which gets names from the server.
func (o *serverOptions) completing(most int, ask func(context.Context, *rest.Config) []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), completeWait)
		defer cancel()
		config, err := o.server()
		if err != nil || len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		config.Timeout = completeWait
		names := slices.DeleteFunc(ask(ctx, config), func(name string) bool {
			return !strings.HasPrefix(name, typed) || name == "" || slices.Contains(args, name)
		})
		slices.Sort(names)
		return slices.Compact(names), cobra.ShellCompDirectiveNoFileComp
	}
}

// anyNumber is the value of most for completion of any number of arguments.
const anyNumber = 1 << 30

// completeFilter completes the flags that select requests.
func (o *traceOptions) completeFilter(cmd *cobra.Command) {
	oneOf(cmd, "verb", "get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")
	completeFlag(cmd, "resource", o.completing(anyNumber, resourceNames))
	completeFlag(cmd, "namespace", o.completing(anyNumber, namespaceNames))
	completeFlag(cmd, "user", o.completing(anyNumber, ofJourneys(func(j *v1alpha1.Journey) string { return j.Spec.User })))
	completeFlag(cmd, "name", o.completing(anyNumber, ofJourneys(func(j *v1alpha1.Journey) string { return j.Spec.Name })))
}

// completeID completes up to most arguments with the IDs of the server's journeys, described by their requests.
func (o *traceOptions) completeID(most int) cobra.CompletionFunc {
	return o.completing(most, ofJourneys(func(j *v1alpha1.Journey) string {
		return cobra.CompletionWithDesc(j.Name, j.Spec.Method+" "+j.Spec.URI)
	}))
}

// ofJourneys returns a function that gets one word about each journey of the server.
func ofJourneys(word func(*v1alpha1.Journey) string) func(context.Context, *rest.Config) []string {
	return func(ctx context.Context, config *rest.Config) (words []string) {
		var list v1alpha1.JourneyList
		read(ctx, config, api.KX+"/journeys", &list)
		for i := range list.Items {
			words = append(words, word(&list.Items[i]))
		}
		return words
	}
}

func cacheNames(ctx context.Context, config *rest.Config) (names []string) {
	var list v1alpha1.CacheList
	read(ctx, config, cachesPath, &list)
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names
}

func namespaceNames(ctx context.Context, config *rest.Config) (names []string) {
	var list metav1.PartialObjectMetadataList
	read(ctx, config, "/api/v1/namespaces", &list)
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names
}

// read reads a list of the server. The list stays empty after an error, which completion cannot report.
func read(ctx context.Context, config *rest.Config, path string, list any) {
	if client, err := api.New(config); err == nil {
		defer client.Close()
		_ = client.Get(ctx, path, nil, list)
	}
}

// resourceNames returns the resources of a server without their groups.
func resourceNames(ctx context.Context, config *rest.Config) (names []string) {
	for _, resource := range resourcesOf(ctx, config) {
		names = append(names, resource.Resource)
	}
	return names
}

// groupResourceNames returns the resources of a server with their groups.
func groupResourceNames(ctx context.Context, config *rest.Config) (names []string) {
	for _, resource := range resourcesOf(ctx, config) {
		names = append(names, resource.String())
	}
	return names
}

func resourcesOf(_ context.Context, config *rest.Config) (all []schema.GroupResource) {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil
	}
	lists, _ := client.ServerPreferredResources() // an error still leaves the groups that answered
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		for _, r := range list.APIResources {
			if err == nil && slices.Contains(r.Verbs, "list") {
				all = append(all, schema.GroupResource{Group: gv.Group, Resource: r.Name})
			}
		}
	}
	return all
}
