package kxtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Option says what a server has from its start.
type Option func(*options) error

type options struct {
	crds, namespaces, objects, webhooks []*manifest
	flags                               []string
	shared, space                       bool
	serve                               serve
	explore                             explorer
}

const (
	crdGroup     = "apiextensions.k8s.io"
	crdKind      = "CustomResourceDefinition"
	webhookGroup = "admissionregistration.k8s.io"
	mutating     = "MutatingWebhookConfiguration"
	validating   = "ValidatingWebhookConfiguration"
)

// CRDs creates the definitions of files and directories, and waits until their resources are served. Objects of other
// kinds in them are left out. A directory that has none, but a directory bases, stands for that one: so kubebuilder's
// config/crd can be named.
func CRDs(paths ...string) Option {
	return func(o *options) error {
		for _, path := range paths {
			found, err := readOf([]string{path}, crdGroup, crdKind)
			if bases := filepath.Join(path, "bases"); err != nil && isDir(bases) {
				found, err = readOf([]string{bases}, crdGroup, crdKind)
			}
			if err != nil {
				return err
			}
			o.crds = append(o.crds, found...)
		}
		return nil
	}
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// Webhooks creates the webhook configurations of files and directories, and points them at this test: at the host and
// the port of [Server.Webhook], with the certificate of its directory. Conversion webhooks of CRDs that name a service
// are pointed there too, also without this option. Objects of other kinds in the files are left out.
func Webhooks(paths ...string) Option {
	return func(o *options) error {
		found, err := readOf(paths, webhookGroup, mutating, validating)
		o.webhooks = append(o.webhooks, found...)
		return err
	}
}

// Objects creates the objects of files and directories: definitions and namespaces first, the others in their order.
func Objects(paths ...string) Option {
	return func(o *options) error {
		found, err := readAll(paths)
		if err == nil && len(found) == 0 {
			err = fmt.Errorf("%s has no objects", strings.Join(paths, ", "))
		}
		for _, m := range found {
			switch {
			case m.is(crdGroup, crdKind):
				o.crds = append(o.crds, m)
			case m.is("", "Namespace"):
				o.namespaces = append(o.namespaces, m)
			default:
				o.objects = append(o.objects, m)
			}
		}
		return err
	}
}

// Flags adds flags of kx serve, such as --controllers=-garbagecollector.
func Flags(flags ...string) Option {
	return func(o *options) error {
		o.flags = append(o.flags, flags...)
		return nil
	}
}

// Shared has [Start] return the server that [Main] started for all tests of the package.
func Shared() Option {
	return func(o *options) error {
		o.shared = true
		return nil
	}
}

// InProcess runs the server in the test's process, by the function Serve of package github.com/kx-apiserver/kx/server:
//
//	s := kxtest.Start(t, kxtest.InProcess(server.Serve), kxtest.CRDs("../config/crd"))
//
// Each further server of a process needs 14 MB instead of 100, a debugger steps from a controller into the server,
// and no binary is looked for. In return the test's module takes over kx's versions of Kubernetes' libraries, and its
// binary links all of kx. Such a server can't be killed, so it has no [Server.Restart] and no [Server.Fork], and
// [Explore] needs [WithoutRestarts]. What Kubernetes' libraries log goes to the logger of klog.
func InProcess(serve func(ctx context.Context, dir string, flags []string, out, log io.Writer) error) Option {
	return func(o *options) error {
		o.serve = serve
		return nil
	}
}

// optionsOf reads the options of a server.
func optionsOf(all []Option) (*options, error) {
	o, err := readOptions(all)
	if err == nil && len(o.explore.given) > 0 {
		err = fmt.Errorf("%s is for kxtest.Explore", strings.Join(o.explore.given, ", "))
	}
	return o, err
}

// readOptions reads options, also those of [Explore].
func readOptions(all []Option) (*options, error) {
	o := &options{explore: explorer{runs: exploreRuns, time: exploreTime}}
	for _, option := range all {
		if err := option(o); err != nil {
			return nil, err
		}
	}
	if o.shared && (len(o.crds)+len(o.namespaces)+len(o.objects)+len(o.webhooks)+len(o.flags) > 0 || o.serve != nil) {
		return nil, errors.New("a shared server has what kxtest.Main was given: use Shared without other options")
	}
	if o.space && (o.shared || len(o.flags) > 0 || o.serve != nil) {
		return nil, errors.New("a space has the flags that kxtest.Main was given: use Space with CRDs, Webhooks and Objects alone")
	}
	return o, nil
}
