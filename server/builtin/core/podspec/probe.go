package podspec

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// handler holds the actions of a probe or a lifecycle hook. Each kind allows some of them.
type handler struct {
	exec  *corev1.ExecAction
	http  *corev1.HTTPGetAction
	tcp   *corev1.TCPSocketAction
	grpc  *corev1.GRPCAction
	sleep *corev1.SleepAction
}

func (v *validator) validateLifecycleAndProbes(c *corev1.Container, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if l := c.Lifecycle; l != nil {
		at := path.Child("lifecycle")
		for _, hook := range []struct {
			name string
			hook *corev1.LifecycleHandler
		}{{"postStart", l.PostStart}, {"preStop", l.PreStop}} {
			if h := hook.hook; h != nil {
				errs = append(errs,
					v.validateHandler(handler{exec: h.Exec, http: h.HTTPGet, tcp: h.TCPSocket, sleep: h.Sleep}, at.Child(hook.name))...)
			}
		}
		if l.StopSignal != nil {
			errs = append(errs, v.validateStopSignal(*l.StopSignal, at.Child("stopSignal"))...)
		}
	}
	for _, p := range []struct {
		name  string
		probe *corev1.Probe
	}{{"livenessProbe", c.LivenessProbe}, {"readinessProbe", c.ReadinessProbe}, {"startupProbe", c.StartupProbe}} {
		if p.probe == nil {
			continue
		}
		at := path.Child(p.name)
		errs = append(errs, v.validateProbe(p.probe, at)...)
		if readiness := p.name == "readinessProbe"; readiness && p.probe.TerminationGracePeriodSeconds != nil {
			errs = append(errs,
				field.Invalid(at.Child("terminationGracePeriodSeconds"), p.probe.TerminationGracePeriodSeconds,
					"must not be set for readinessProbes"))
		} else if !readiness && p.probe.SuccessThreshold != 1 {
			errs = append(errs, field.Invalid(at.Child("successThreshold"), p.probe.SuccessThreshold, "must be 1"))
		}
	}
	return errs
}

func (v *validator) validateProbe(p *corev1.Probe, path *field.Path) field.ErrorList {
	errs := v.validateHandler(handler{exec: p.Exec, http: p.HTTPGet, tcp: p.TCPSocket, grpc: p.GRPC}, path)
	for _, n := range []struct {
		name  string
		value int32
	}{
		{"initialDelaySeconds", p.InitialDelaySeconds}, {"timeoutSeconds", p.TimeoutSeconds}, {"periodSeconds", p.PeriodSeconds},
		{"successThreshold", p.SuccessThreshold}, {"failureThreshold", p.FailureThreshold},
	} {
		errs = append(errs, apivalidation.ValidateNonnegativeField(int64(n.value), path.Child(n.name))...)
	}
	if grace := p.TerminationGracePeriodSeconds; grace != nil && *grace <= 0 {
		errs = append(errs, field.Invalid(path.Child("terminationGracePeriodSeconds"), *grace, "must be greater than 0"))
	}
	return errs
}

// validateHandler requires exactly one valid action. If there are several, the first in this order is checked.
func (v *validator) validateHandler(h handler, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	found := false
	for _, action := range []struct {
		name     string
		set      bool
		validate func(*field.Path) field.ErrorList
	}{
		{"exec", h.exec != nil, func(p *field.Path) field.ErrorList {
			if len(h.exec.Command) == 0 {
				return field.ErrorList{field.Required(p.Child("command"), "")}
			}
			return nil
		}},
		{"httpGet", h.http != nil, func(p *field.Path) field.ErrorList { return validateHTTPGet(h.http, p) }},
		{"tcpSocket", h.tcp != nil, func(p *field.Path) field.ErrorList { return portNumberOrName(h.tcp.Port, p.Child("port")) }},
		{"grpc", h.grpc != nil, func(p *field.Path) field.ErrorList {
			return portNumberOrName(intstr.FromInt32(h.grpc.Port), p.Child("port"))
		}},
		{"sleep", h.sleep != nil, func(p *field.Path) field.ErrorList { return v.validateSleep(h.sleep.Seconds, p) }},
	} {
		switch {
		case action.set && found:
			errs = append(errs, field.Forbidden(path.Child(action.name), "may not specify more than 1 handler type"))
		case action.set:
			found = true
			errs = append(errs, action.validate(path.Child(action.name))...)
		}
	}
	if !found {
		errs = append(errs, field.Required(path, "must specify a handler type"))
	}
	return errs
}

func validateHTTPGet(h *corev1.HTTPGetAction, path *field.Path) field.ErrorList {
	errs := required(path, "path", h.Path)
	errs = append(errs, portNumberOrName(h.Port, path.Child("port"))...)
	errs = append(errs, supportedOrEmpty(path.Child("scheme"), h.Scheme, corev1.URISchemeHTTP, corev1.URISchemeHTTPS)...)
	for _, header := range h.HTTPHeaders {
		errs = append(errs, invalid(path.Child("httpHeaders"), header.Name, validation.IsHTTPHeaderName(header.Name))...)
	}
	return errs
}

func portNumberOrName(port intstr.IntOrString, path *field.Path) field.ErrorList {
	if port.Type == intstr.String {
		return invalid(path, port.StrVal, validation.IsValidPortName(port.StrVal))
	}
	return invalid(path, port.IntValue(), validation.IsValidPortNum(port.IntValue()))
}

func (v *validator) validateSleep(seconds int64, path *field.Path) field.ErrorList {
	grace := v.spec.TerminationGracePeriodSeconds
	if grace != nil && (seconds < 0 || seconds > *grace) {
		return field.ErrorList{field.Invalid(path, seconds,
			fmt.Sprintf("must be non-negative and less than terminationGracePeriodSeconds (%d)", *grace))}
	}
	return nil
}

func (v *validator) validateStopSignal(signal corev1.Signal, path *field.Path) field.ErrorList {
	if v.spec.OS == nil {
		return field.ErrorList{field.Forbidden(path, "may not be set for containers with empty `spec.os.name`")}
	}
	if v.spec.OS.Name == corev1.Windows {
		return supportedOrEmpty(path, signal, corev1.SIGKILL, corev1.SIGTERM)
	}
	if !strings.HasPrefix(string(signal), "SIG") {
		return field.ErrorList{field.NotSupported[corev1.Signal](path, signal, nil)}
	}
	return nil
}
