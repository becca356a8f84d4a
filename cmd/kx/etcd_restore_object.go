package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"

	"github.com/kx-apiserver/kx/cmd/kx/internal/migrate"
	"github.com/kx-apiserver/kx/cmd/kx/internal/render"
	"github.com/kx-apiserver/kx/store/admin"
)

// mostRestored limits the objects of one restore-object: they are sorted in memory.
const mostRestored = 20_000

type etcdRestoreObjectOptions struct {
	*etcdOptions
	format    render.Format
	server    serverOptions
	namespace string
}

func newEtcdRestoreObjectCommand(etcd *etcdOptions) *cobra.Command {
	o := &etcdRestoreObjectOptions{etcdOptions: etcd}
	cmd := &cobra.Command{
		Use:   "restore-object --file FILE {KEY... | -n NAMESPACE}",
		Short: "Create objects or a namespace out of a snapshot again, through the API",
		Long: `Create objects that are in a snapshot again, through the API of a server that runs: those at KEY or below, or all of a
namespace with the namespace itself.

They get new UIDs, and owner references are made to point to the owners that live now; a reference to one that does not is
left out. Status is not restored: controllers write it. What exists is left as it is.`,
		Example: `  kx etcd restore-object --file backup.db configmaps/default/settings
  kx etcd restore-object --file backup.db -n shop
  kx etcd restore-object --file backup.db deployments/shop replicasets/shop --kubeconfig other.kubeconfig`,
		ValidArgsFunction: o.completeKeys(anyNumber),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.file == "" || (len(args) == 0) == (o.namespace == "") {
				return errors.New("restore what? Give --file, and keys or --namespace")
			}
			return o.read(cmd, func(ctx context.Context, r *reader) error { return o.run(ctx, r, args) })
		},
	}
	fs := cmd.Flags()
	fs.StringVarP(&o.namespace, "namespace", "n", "", "all of this namespace")
	completeFlag(cmd, "namespace", o.completeNamespace)
	o.server.addKubeconfig(fs, "--data-dir")
	listFormatVar(cmd, &o.format)
	return cmd
}

func (o *etcdRestoreObjectOptions) run(ctx context.Context, r *reader, args []string) error {
	objects, err := o.collect(ctx, r, args)
	if err != nil {
		return err
	}
	target, err := o.target()
	if err != nil {
		return err
	}
	list := render.NewList(r.out, o.format, render.PutBack)
	failed := 0
	err = target.Objects(ctx, objects, func(p migrate.Restoration) error {
		if p.Error != "" {
			failed++
		}
		return list.Add(p)
	})
	if err = errors.Join(err, list.Close()); err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d objects were not restored", failed, len(objects))
	}
	return nil
}

// collect reads the objects to restore.
func (o *etcdRestoreObjectOptions) collect(ctx context.Context, r *reader, args []string) ([]*unstructured.Unstructured, error) {
	paths := []string{""}
	if len(args) > 0 {
		paths = nil
		for _, arg := range args {
			paths = append(paths, o.path(arg))
		}
	}
	var out []*unstructured.Unstructured
	for _, path := range paths {
		for kv, err := range admin.Subtree(ctx, r, path, admin.Range{}) {
			if err != nil {
				return nil, err
			}
			l, ok := admin.Locate(o.keyPrefix(), kv.Key)
			if !ok || len(args) == 0 && l.Namespace != o.namespace && (l.Resource.String() != "namespaces" || l.Name != o.namespace) {
				continue
			}
			v, err := r.decoder.Decode(kv.Key, kv.Value)
			if err != nil {
				return nil, err
			}
			if out = append(out, &unstructured.Unstructured{Object: v.Object}); len(out) > mostRestored {
				return nil, fmt.Errorf("%s: there are more than %d objects: restore the whole snapshot instead", r.Name(), mostRestored)
			}
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s: there is nothing to restore", r.Name())
	}
	return out, nil
}

func (o *etcdRestoreObjectOptions) target() (*migrate.Restorer, error) {
	o.server.dataDir = o.dataDir
	config, err := o.server.server()
	if err != nil {
		return nil, err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	d, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	return &migrate.Restorer{Client: client, Mapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(d))}, nil
}
