package server

import (
	"context"
	"fmt"

	"github.com/kx-apiserver/kx/server/audit"
	"github.com/kx-apiserver/kx/server/tracing"
)

// records writes down requests for readers outside of the server.
type records struct {
	*base
	audit   *audit.Log      // nil for none
	tracing *tracing.Tracer // nil for none
}

// start opens the audit log, and configures the export of journeys.
func (r *records) start(context.Context) (err error) {
	o := r.options
	r.audit, err = audit.Open(audit.Config{
		PolicyFile: o.Audit.PolicyFile, Log: o.Audit.Log, Webhook: o.Audit.Webhook,
		RequestTimeout: o.Limits.RequestTimeout, Registry: r.metrics.Registry, Logger: r.log,
	})
	if err != nil {
		return err
	}
	r.onClose(r.audit.Close)
	if o.TracingConfigFile == "" {
		return nil
	}
	r.tracing, err = tracing.New(r.life, tracing.Config{
		File: o.TracingConfigFile, Process: r.journeys.Process(), Registry: r.metrics.Registry, Log: r.log,
	})
	if err != nil {
		return fmt.Errorf("--tracing-config-file: %w", err)
	}
	r.onClose(r.tracing.Close)
	return nil
}
