package webhook

import (
	"bytes"
	"context"
	"fmt"

	library "k8s.io/apiserver/pkg/admission/plugin/webhook"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/config"

	"github.com/kx-apiserver/kx/server/admission/manifest"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/reload"
)

// ConfigureMutating reads a WebhookAdmissionConfiguration. dir is its directory of manifests, empty for none.
func (w *Webhooks) ConfigureMutating(data []byte) (dir string, err error) {
	return w.configure(mutatingSide, data)
}

// ConfigureValidating reads a WebhookAdmissionConfiguration. dir is its directory of manifests, empty for none.
func (w *Webhooks) ConfigureValidating(data []byte) (dir string, err error) {
	return w.configure(validatingSide, data)
}

func (w *Webhooks) configure(s side, data []byte) (dir string, err error) {
	if len(data) == 0 {
		return "", nil
	}
	c, err := config.LoadConfig(bytes.NewReader(data))
	if err != nil {
		return "", err
	}
	if c.KubeConfigFile != "" {
		if err := w.authenticate(s, c.KubeConfigFile); err != nil {
			return "", fmt.Errorf("kubeConfigFile: %w", err)
		}
	}
	return c.StaticManifestsDir, nil
}

// TakeMutating replaces the mutating webhooks from files.
func (w *Webhooks) TakeMutating(_ context.Context, files []reload.File, _ string) error {
	return take(files, manifest.MutatingWebhooks, ofMutating, &w.mutating)
}

// TakeValidating replaces the validating webhooks from files.
func (w *Webhooks) TakeValidating(_ context.Context, files []reload.File, _ string) error {
	return take(files, manifest.ValidatingWebhooks, ofValidating, &w.validating)
}

func take[C builtin.Object](files []reload.File, read func([]reload.File) ([]C, error), of func(C) []library.WebhookAccessor,
	into *hooks) error {
	configurations, err := read(files)
	if err != nil {
		return err
	}
	var all []library.WebhookAccessor
	for _, c := range configurations {
		all = append(all, of(c)...)
	}
	into.static.Store(&all)
	return nil
}
