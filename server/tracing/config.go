package tracing

import (
	"errors"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/apis/apiserver/install"
	tracingapi "k8s.io/component-base/tracing/api/v1"

	"github.com/kx-apiserver/kx/core/lines"
)

// load reads and parses the file. Errors name the line and the field.
func load(file string) (*tracingapi.TracingConfiguration, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	configuration, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return configuration, nil
}

func parse(data []byte) (_ *tracingapi.TracingConfiguration, err error) {
	defer func() { err = lines.Error(data, err) }()
	if len(data) == 0 {
		return nil, errors.New("it is empty: it must have a TracingConfiguration of apiserver.config.k8s.io")
	}
	scheme := runtime.NewScheme()
	install.Install(scheme)
	object, err := runtime.Decode(serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDecoder(), data)
	if err != nil {
		return nil, err
	}
	configuration, ok := object.(*apiserver.TracingConfiguration)
	if !ok {
		return nil, errors.New("kind: it must have a TracingConfiguration, and has another kind of apiserver.config.k8s.io")
	}
	bad := tracingapi.ValidateTracingConfiguration(&configuration.TracingConfiguration, nil, nil)
	return &configuration.TracingConfiguration, bad.ToAggregate()
}
