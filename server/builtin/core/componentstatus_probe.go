//lint:file-ignore SA1019 Component statuses are deprecated, and a server has them all the same.

package core

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
)

const (
	timeout = 20 * time.Second
	// maxBodyBytes limits the part of an answer that becomes the condition's message.
	maxBodyBytes = 10 << 10
)

// probe returns the health of a component, with its answer or the error.
type probe func(context.Context) corev1.ComponentCondition

func etcd(health func() error) probe {
	return func(context.Context) corev1.ComponentCondition {
		if err := health(); err != nil {
			return corev1.ComponentCondition{Status: corev1.ConditionFalse, Error: err.Error()}
		}
		return corev1.ComponentCondition{Status: corev1.ConditionTrue, Message: "ok"}
	}
}

// healthz probes a component on this machine. It does not verify the component's self-signed certificate.
func healthz(port int) probe {
	client := &http.Client{Timeout: timeout, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true,
	}}
	return func(ctx context.Context) corev1.ComponentCondition {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("https://127.0.0.1:%d/healthz", port), nil)
		if err != nil {
			return corev1.ComponentCondition{Status: corev1.ConditionUnknown, Error: err.Error()}
		}
		res, err := client.Do(req)
		if err != nil {
			return corev1.ComponentCondition{Status: corev1.ConditionFalse, Message: err.Error()}
		}
		defer func() { _ = res.Body.Close() }()
		body, err := io.ReadAll(io.LimitReader(res.Body, maxBodyBytes))
		switch {
		case err != nil:
			return corev1.ComponentCondition{Status: corev1.ConditionUnknown, Error: err.Error()}
		case res.StatusCode < http.StatusOK || res.StatusCode >= http.StatusBadRequest:
			return corev1.ComponentCondition{Status: corev1.ConditionFalse,
				Message: fmt.Sprintf("HTTP probe failed with statuscode: %d", res.StatusCode)}
		}
		return corev1.ComponentCondition{Status: corev1.ConditionTrue, Message: string(body)}
	}
}
