package audit

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/apiserver/pkg/audit"
	webhookutil "k8s.io/apiserver/pkg/util/webhook"

	kxwebhook "github.com/kx-apiserver/kx/server/webhook"
)

// Webhook configures the webhook that gets events.
type Webhook struct {
	// File is a kubeconfig; empty for no webhook.
	File string
	// InitialBackoff is the wait before the first retry.
	InitialBackoff time.Duration
	Delivery
}

const (
	// webhookSenders limits the batches that are on their way at once. A webhook that takes three seconds for each
	// batch can still get 4000 events per second.
	webhookSenders = 32
	// mostAnswerBytes limits the size of an answer, whose content is ignored.
	mostAnswerBytes = 1 << 20
)

// webhook sends events to a webhook.
type webhook struct {
	client  *webhookutil.GenericWebhook
	backoff wait.Backoff
}

func newWebhook(c Webhook) (*webhook, error) {
	bad := func(err error) error { return fmt.Errorf("--audit-webhook-config-file: %s: %w", c.File, err) }
	client, err := kxwebhook.Kubeconfig(c.File)
	if err != nil {
		return nil, fmt.Errorf("--audit-webhook-config-file: %w", err)
	}
	client = kxwebhook.LimitAnswers(client, func(int64) int64 { return mostAnswerBytes })
	w := &webhook{backoff: webhookutil.DefaultRetryBackoffWithInitialDelay(c.InitialBackoff)}
	w.client, err = webhookutil.NewGenericWebhook(audit.Scheme, audit.Codecs, client,
		[]schema.GroupVersion{auditv1.SchemeGroupVersion}, w.backoff)
	if err != nil {
		return nil, bad(err)
	}
	return w, nil
}

// Close closes connections.
func (w *webhook) Close() error {
	if c := w.client.RestClient.Client; c != nil {
		utilnet.CloseIdleConnectionsFor(c.Transport)
	}
	return nil
}

// send makes five attempts, whatever the error is, because the configuration of a webhook may be corrected meanwhile.
func (w *webhook) send(ctx context.Context, events []*auditinternal.Event) (lost int, err error) {
	list := &auditinternal.EventList{Items: make([]auditinternal.Event, 0, len(events))}
	for _, e := range events {
		list.Items = append(list.Items, *e)
	}
	err = webhookutil.WithExponentialBackoff(ctx, w.backoff, func() error {
		return w.client.RestClient.Post().Body(list).Do(ctx).Error()
	}, func(err error) bool { return err != nil })
	if err != nil {
		return len(events), err
	}
	return 0, nil
}
