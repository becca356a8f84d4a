//go:build modules

package upstream

// One small package of each module, so that go mod tidy keeps the module. Nothing is built with this tag: the tests read
// the modules' YAML files.
import (
	_ "github.com/argoproj/argo-cd/v3/util/stats"
	_ "github.com/argoproj/argo-rollouts/pkg/signals"
	_ "github.com/cert-manager/cert-manager/pkg/util/errors"
	_ "github.com/prometheus-operator/prometheus-operator/pkg/versionutil"
	_ "sigs.k8s.io/cluster-api/cmd/clusterctl/config"
	_ "sigs.k8s.io/gateway-api/pkg/consts"
)
